// Protects slots without a master, on 4 to 64 simulated nodes: jobs on random subsets of them
// start, leave and look for more at random, every word between rank and node and from node to node
// takes a random time, ranks die in the middle of it, daemons are started anew. No two jobs of a
// node ever overlap, a round after the last change every job has the same slots on all its nodes,
// and when all have looked for more, everybody has his part. How they look for more is the
// library's own code (growth.h), its messages carried by the test.
//
// A failure names the seed of its history; COSCHED_TEST_SEED=<seed> runs that history alone.
#include "classd/policy/engine.h"
#include "classd/policy/looks.h"
#include "common/slots.h"
#include "pmpi/variant/agreement_steps.h"
#include "pmpi/variant/growth.h"
#include "tests/unit/gang_settings.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NODES     64
#define JOBS      24
#define JOB_NODES 12
#define HISTORIES 40
#define DELAY     6 // ticks at most from a rank to its node's answer
#define CHILDREN  3
#define CONTACTS  4                  // neighbours in a hypercube of the job's nodes
#define LOOKS     (SLOTS_ROUND / 10) // slots, as classd/slots.c has it
#define REVIEW    (SLOTS_ROUND / 6)  // likewise
#define IDLE_TURN 3                  // ticks between two calls of an idle rank
#define NOTICES   8                  // to one rank from another that are on their way at once

// Between two nodes of a job, and between a node's rank and its classd. At most one message of a
// kind is on its way; those that go the same way keep their order.
struct letter {
    uint64_t at; // the tick at which it arrives; 0: none
    struct growth_message message;
};

struct speaker {
    struct growth growth;
    struct letter down[GROWTH_KINDS]; // from the parent
    struct letter up[CHILDREN][GROWTH_KINDS];
    uint64_t last_down, last_up; // when the last one on this way arrives
    enum growth_question question;
    struct letter to_classd;
    struct letter from_classd;
};

struct notice {
    uint64_t at; // as that of a letter
    uint64_t slots;
};

// How a node's ranks tell those of other nodes what is left of the job's slots there, as
// pmpi/variant/carrier.c does.
struct voice {
    uint64_t slots; // of the page, as a word
    bool out;
    unsigned epoch, seen_epoch;
    struct {
        uint64_t told;
        bool told_out;
        struct notice in[NOTICES];
    } contacts[CONTACTS];
};

struct job {
    bool here;
    bool leaving;
    unsigned node_count;
    unsigned nodes[JOB_NODES];
    unsigned at[JOB_NODES]; // the tick of the next word between this node and its rank; 0: none
    struct agreement agreement;
    struct speaker speakers[JOB_NODES];
    struct voice voices[JOB_NODES];
    uint64_t common;      // the slots that it has on all its nodes,
    uint64_t differ_tick; // and since when it has had others beside these; 0: it has none
    uint64_t next_look;   // the tick at which it is next found out whether it could have more
    struct looks looks;
    uint64_t lot; // of the last look
};

struct cluster {
    uint64_t seed, random;
    unsigned nodes;
    unsigned servants; // per node
    unsigned length;   // of the slots of the longer of two lists
    uint32_t sequential_share_ppm;
    engine_t *engines[NODES];
    struct job jobs[JOBS];
    engine_job_t last_id;
    engine_job_t ids[JOBS];
    uint64_t tick;
    bool quiet; // nobody comes, leaves, or looks for more
};

#define CHECK(c, condition)                                                                        \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("COSCHED_TEST_SEED=%llu, tick %llu: not so: %s",                              \
                     (unsigned long long)(c)->seed, (unsigned long long)(c)->tick, #condition);    \
    } while (0)

static uint64_t draw(struct cluster *c, uint64_t below)
{
    return random_below(&c->random, below);
}

static uint64_t now_ns(const struct cluster *c)
{
    return c->tick * SLOT;
}

static void post(struct cluster *c, unsigned node, struct engine_event event)
{
    engine_event(c->engines[node], &event, now_ns(c));
}

static bool view_at(const struct cluster *c, const struct job *job, unsigned i,
                    struct engine_job_view *view)
{
    return engine_job_find(c->engines[job->nodes[i]], c->ids[job - c->jobs], view);
}

// ---- what a job's ranks do

// The next step's questions to all nodes.
static void begin(struct cluster *c, struct job *job)
{
    for (unsigned i = 0; i < job->node_count; i++)
        job->at[i] = (unsigned)(c->tick + 1 + draw(c, DELAY));
}

static void look_for_slots(struct cluster *c, struct job *job)
{
    job->agreement = agreement_new(gang_name(c->ids[job - c->jobs]), 0);
    begin(c, job);
}

static struct slots_offer offer_of(struct cluster *c, const struct job *job, unsigned i)
{
    struct slots_offer offer;
    uint8_t most[SLOTS_LEVELS];
    engine_offer(c->engines[job->nodes[i]], c->ids[job - c->jobs], slots_dues, SLOTS_LEVELS,
                 offer.slots, most, now_ns(c));
    for (unsigned k = 0; k < SLOTS_LEVELS; k++)
        offer.most[k] = slots_most(most[k]);
    offer.cut = engine_cut(c->engines[job->nodes[i]], c->ids[job - c->jobs], now_ns(c));
    offer.room = slots_most(SLOTS_ROUND - engine_dummies(c->engines[job->nodes[i]]));
    return offer;
}

static void ask(struct cluster *c, struct job *job, unsigned i)
{
    struct slots_offer offer = offer_of(c, job, i);
    slots_offer_merge(&job->agreement.offer, &offer);
}

// The job has started.
static void rest(struct cluster *c, struct job *job)
{
    job->next_look = c->tick + draw(c, REVIEW);
    for (unsigned i = 0; i < job->node_count; i++) {
        unsigned first = CHILDREN * i + 1;
        unsigned children = first >= job->node_count ? 0 : job->node_count - first;
        job->speakers[i].growth = growth_new(i == 0, children < CHILDREN ? children : CHILDREN,
                                             gang_name(c->ids[job - c->jobs]));
    }
}

static void say(struct cluster *c, struct job *job, unsigned i)
{
    engine_t *engine = c->engines[job->nodes[i]];
    engine_job_t id = c->ids[job - c->jobs];
    job->at[i] = 0;
    struct agreement *agreement = &job->agreement;
    const struct slots_choice *choice = &agreement->choice;
    if (agreement->step == AGREEMENT_ASKS)
        ask(c, job, i);
    else if (agreement->step == AGREEMENT_RESERVES)
        agreement->given &= engine_promise(engine, id, choice->slots, choice->due, now_ns(c));
    else if (agreement->step == AGREEMENT_TAKES)
        agreement->given &= engine_claim(engine, id, choice->slots, agreement->term, now_ns(c));
}

// All ranks have heard from their nodes, and have reduced what they heard.
static void go_on(struct cluster *c, struct job *job)
{
    agreement_step_on(&job->agreement);
    if (job->agreement.step == AGREEMENT_DONE)
        rest(c, job);
    else
        begin(c, job);
}

// ---- looking for more

static void carry(struct cluster *c, struct letter *letter, uint64_t *last,
                  const struct growth_message *message)
{
    CHECK(c, letter->at == 0); // nobody has to keep more than one of a kind
    letter->at = c->tick + 1 + draw(c, DELAY);
    if (letter->at <= *last)
        letter->at = *last + 1;
    *last = letter->at;
    letter->message = *message;
}

static void carry_out(struct cluster *c, struct job *job, unsigned i,
                      const struct growth_todo *todo)
{
    struct speaker *speaker = &job->speakers[i];
    unsigned kind = todo->message.kind, parent = (i - 1) / CHILDREN;
    for (unsigned k = 0; todo->way == GROWTH_DOWN && k < speaker->growth.children; k++) {
        struct speaker *child = &job->speakers[CHILDREN * i + 1 + k];
        carry(c, &child->down[kind], &child->last_down, &todo->message);
    }
    if (todo->way == GROWTH_UP)
        carry(c, &job->speakers[parent].up[(i - 1) % CHILDREN][kind], &speaker->last_up,
              &todo->message);
    if (todo->question == GROWTH_NO_QUESTION)
        return;
    CHECK(c, speaker->to_classd.at == 0 && speaker->from_classd.at == 0);
    speaker->question = todo->question;
    speaker->to_classd = (struct letter){.at = c->tick + 1 + draw(c, DELAY)};
    speaker->to_classd.message = todo->message;
}

static void ask_classd(struct cluster *c, struct job *job, unsigned i)
{
    struct speaker *speaker = &job->speakers[i];
    engine_t *engine = c->engines[job->nodes[i]];
    engine_job_t id = c->ids[job - c->jobs];
    struct growth_message *asked = &speaker->to_classd.message;
    struct letter answer = {.at = c->tick + 1 + draw(c, DELAY)};
    if (speaker->question == GROWTH_ASK)
        answer.message.offer = offer_of(c, job, i);
    else if (speaker->question == GROWTH_RESERVE)
        answer.message.slots = engine_promise(engine, id, asked->slots, asked->due, now_ns(c));
    else
        engine_claim(engine, id, asked->slots, asked->term, now_ns(c));
    speaker->to_classd.at = 0;
    if (speaker->question != GROWTH_CLAIM)
        speaker->from_classd = answer;
}

static uint64_t slots_here(const struct cluster *c, const struct job *job, unsigned i)
{
    struct engine_job_view view = {0};
    view_at(c, job, i, &view);
    return slots_word(view.slots, view.term);
}

static void hear_classd(struct cluster *c, struct job *job, unsigned i)
{
    struct speaker *speaker = &job->speakers[i];
    const struct growth_message *answer = &speaker->from_classd.message;
    speaker->from_classd.at = 0;
    growth_has(&speaker->growth, slots_here(c, job, i));
    struct growth_todo todo = speaker->question == GROWTH_ASK
                                  ? growth_offered(&speaker->growth, &answer->offer)
                                  : growth_reserved(&speaker->growth, answer->slots);
    carry_out(c, job, i, &todo);
}

static void open_letter(struct cluster *c, struct job *job, unsigned i, struct letter *letter)
{
    if (letter->at == 0 || letter->at > c->tick || job->speakers[i].to_classd.at != 0)
        return;
    letter->at = 0;
    growth_has(&job->speakers[i].growth, slots_here(c, job, i));
    struct growth_todo todo = growth_hear(&job->speakers[i].growth, &letter->message);
    carry_out(c, job, i, &todo);
}

static uint64_t company_of(const engine_t *engine)
{
    struct engine_job_view view;
    uint64_t company = 0;
    for (size_t i = 0; engine_job_at(engine, i, &view); i++)
        company += view.job;
    return company;
}

// Rank 0's classd says when it could offer more.
static void begin_to_grow(struct cluster *c, struct job *job)
{
    struct engine_job_view view;
    if (c->quiet || c->tick < job->next_look || job->speakers[0].to_classd.at != 0 ||
        job->speakers[0].growth.step != GROWTH_RESTS || !view_at(c, job, 0, &view))
        return;
    struct slots_offer offer = offer_of(c, job, 0);
    job->next_look = c->tick + 1 + draw(c, 2 * REVIEW);
    if (!slots_offer_more(&offer, view.slots) ||
        !looks_due(&job->looks, c->tick, company_of(c->engines[job->nodes[0]]), job->lot))
        return;
    job->lot = draw(c, UINT32_MAX);
    struct growth_todo todo =
        growth_begin(&job->speakers[0].growth, slots_word(view.slots, view.term));
    carry_out(c, job, 0, &todo);
}

static void grow(struct cluster *c, struct job *job)
{
    for (unsigned i = 0; i < job->node_count; i++) {
        struct speaker *speaker = &job->speakers[i];
        if (speaker->to_classd.at == c->tick)
            ask_classd(c, job, i);
        if (speaker->from_classd.at == c->tick)
            hear_classd(c, job, i);
        for (unsigned kind = 0; kind < GROWTH_KINDS; kind++) {
            open_letter(c, job, i, &speaker->down[kind]);
            for (unsigned k = 0; k < CHILDREN; k++)
                open_letter(c, job, i, &speaker->up[k][kind]);
        }
    }
    begin_to_grow(c, job);
}

static void speak(struct cluster *c, struct job *job)
{
    bool waits = false;
    bool starts = job->agreement.step != AGREEMENT_DONE;
    for (unsigned i = 0; i < job->node_count && starts; i++) {
        if (job->at[i] == c->tick)
            say(c, job, i);
        waits |= job->at[i] != 0;
    }
    if (starts && !waits)
        go_on(c, job);
    else if (!starts)
        grow(c, job);
}

// ---- notices

static uint64_t word_at(const struct cluster *c, const struct job *job, unsigned i)
{
    struct engine_job_view view = {0};
    view_at(c, job, i, &view);
    return slots_word(view.slots, view.term);
}

static struct notice *free_notice(struct notice *notices)
{
    for (unsigned n = 0; n < NOTICES; n++) {
        if (notices[n].at == 0)
            return &notices[n];
    }
    return NULL;
}

// In any order. Where the contact is far behind, it is told later.
static void tell(struct cluster *c, struct job *job, unsigned i, unsigned k)
{
    unsigned to = i ^ 1u << k;
    uint64_t word = word_at(c, job, i);
    struct voice *own = &job->voices[i];
    if (to >= job->node_count ||
        (own->contacts[k].told == word && own->contacts[k].told_out == own->out))
        return;
    struct notice *notice = free_notice(job->voices[to].contacts[k].in);
    if (notice == NULL)
        return;
    own->contacts[k].told = word;
    own->contacts[k].told_out = own->out;
    *notice = (struct notice){.at = c->tick + 1 + draw(c, DELAY), .slots = word};
}

static void read_notice(struct cluster *c, struct job *job, unsigned i, unsigned k, uint64_t said)
{
    struct slots_heard heard = slots_hear(word_at(c, job, i), said);
    if (heard.lost)
        engine_intersect(c->engines[job->nodes[i]], c->ids[job - c->jobs], slots_of_word(said),
                         slots_term_of_word(said));
    if (heard.unaware) {
        job->voices[i].contacts[k].told = said;
        tell(c, job, i, k);
    }
}

static void hear(struct cluster *c, struct job *job, unsigned i, unsigned k)
{
    for (unsigned n = 0; n < NOTICES; n++) {
        struct notice *notice = &job->voices[i].contacts[k].in[n];
        if (notice->at == 0 || notice->at > c->tick)
            continue;
        notice->at = 0;
        read_notice(c, job, i, k, notice->slots);
    }
}

// classd has the ranks look when anything is another than before, and now and then.
static void write_page(struct cluster *c, struct job *job, unsigned i)
{
    struct engine_job_view view = {0};
    struct voice *voice = &job->voices[i];
    view_at(c, job, i, &view);
    uint64_t slots = slots_word(view.slots, view.term);
    if (i == 0 && (slots_of_word(voice->slots) & ~view.slots) != 0)
        looks_note_loss(&job->looks);
    if (view.scheduled != voice->out || slots != voice->slots ||
        (view.scheduled && c->tick % LOOKS == 0))
        voice->epoch++;
    voice->out = view.scheduled;
    voice->slots = slots;
}

// A rank that is out calls MPI in each slot, an idle one now and then, and hears in each call.
static void call_mpi(struct cluster *c, struct job *job, unsigned i)
{
    struct voice *voice = &job->voices[i];
    write_page(c, job, i);
    if (!voice->out && (c->tick + i) % IDLE_TURN != 0)
        return;
    bool changed = voice->epoch != voice->seen_epoch;
    voice->seen_epoch = voice->epoch;
    for (unsigned k = 0; k < CONTACTS; k++) {
        if (changed || !voice->out)
            hear(c, job, i, k);
        if (changed)
            tell(c, job, i, k);
    }
}

// ---- who comes, goes and fails

static void arrive(struct cluster *c, struct job *job)
{
    *job = (struct job){.here = true};
    c->ids[job - c->jobs] = ++c->last_id;
    unsigned wanted = 1 + (unsigned)draw(c, JOB_NODES);
    for (unsigned k = 0; k < wanted; k++) {
        unsigned node = (unsigned)draw(c, c->nodes);
        bool has = false;
        for (unsigned i = 0; i < job->node_count; i++)
            has |= job->nodes[i] == node;
        if (!has)
            job->nodes[job->node_count++] = node;
    }
    unsigned list = (unsigned)draw(c, 2);
    for (unsigned i = 0; i < job->node_count; i++)
        post(c, job->nodes[i],
             (struct engine_event){.kind = ENGINE_REGISTER,
                                   .job = c->last_id,
                                   .width = 1,
                                   .list = list,
                                   .name = gang_name(c->last_id)});
    look_for_slots(c, job);
}

// The ranks end one after the other, whatever they were doing.
static void leave(struct cluster *c, struct job *job)
{
    unsigned left = job->node_count;
    struct engine_job_view view;
    job->agreement.step = AGREEMENT_DONE;
    job->leaving = true;
    for (unsigned i = 0; i < job->node_count; i++) {
        if (view_at(c, job, i, &view) && draw(c, 3) == 0)
            post(c, job->nodes[i],
                 (struct engine_event){
                     .kind = ENGINE_EXIT, .job = c->ids[job - c->jobs], .width = 1});
        left -= !view_at(c, job, i, &view);
    }
    job->here = left > 0;
}

static struct engine_settings settings_of(const struct cluster *c)
{
    struct engine_settings settings = gang_settings(1);
    settings.servants = c->servants;
    settings.list_count = 2;
    settings.lists[0] = (struct engine_list){.slots = 1, .until_ns = 10 * SLOTS_ROUND * SLOT};
    settings.lists[1] = (struct engine_list){.slots = c->length};
    settings.sequential_share_ppm = c->sequential_share_ppm;
    return settings;
}

static engine_t *new_engine(const struct cluster *c)
{
    struct engine_settings settings = settings_of(c);
    return engine_new(&settings);
}

// Another daemon takes over; of promises it knows nothing.
static void restart(struct cluster *c, unsigned node)
{
    engine_t *old = c->engines[node];
    struct engine_job_view view;
    struct engine_settings settings = settings_of(c);
    c->engines[node] = new_engine(c);
    for (size_t i = 0; engine_job_at(old, i, &view); i++) {
        struct engine_account account = {.slots = view.slots, .term = view.term};
        post(c, node,
             (struct engine_event){.kind = ENGINE_ADOPT,
                                   .job = view.job,
                                   .width = view.width,
                                   .name = gang_name(view.job),
                                   .account = &account});
    }
    post(c, node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings});
    engine_free(old);
}

static void change(struct cluster *c, unsigned most_jobs)
{
    struct job *job = &c->jobs[draw(c, most_jobs)];
    if (!job->here)
        arrive(c, job);
    else if (!job->leaving && draw(c, 3) != 0)
        leave(c, job);
    if (draw(c, 10) == 0)
        restart(c, (unsigned)draw(c, c->nodes));
}

// What is mended by intersection leaves what all nodes have in common as it is.
static void check_difference(const struct cluster *c, struct job *job)
{
    uint64_t common = SLOTS_ALL, all = 0;
    for (unsigned i = 0; i < job->node_count; i++) {
        struct engine_job_view view;
        if (!view_at(c, job, i, &view))
            continue;
        common &= view.slots;
        all |= view.slots;
    }
    if (all == common)
        job->differ_tick = 0;
    else if (job->differ_tick == 0 || common != job->common)
        job->differ_tick = c->tick;
    job->common = common;
    CHECK(c, job->differ_tick == 0 || c->tick - job->differ_tick <= SLOTS_ROUND);
}

static void pass_time(struct cluster *c, unsigned ticks)
{
    for (unsigned i = 0; i < ticks; i++) {
        c->tick++;
        for (unsigned node = 0; node < c->nodes; node++)
            post(c, node, (struct engine_event){.kind = ENGINE_SWITCH, .turn = c->tick});
        for (struct job *job = c->jobs; job < c->jobs + JOBS; job++) {
            if (job->here && job->leaving)
                leave(c, job);
            else if (job->here)
                speak(c, job);
            for (unsigned k = 0; job->here && k < job->node_count; k++)
                call_mpi(c, job, k);
            if (job->here)
                check_difference(c, job);
        }
    }
}

// ---- what must hold

static unsigned holders_of(const struct cluster *c, unsigned node, unsigned slot)
{
    struct engine_job_view view;
    unsigned holders = 0;
    for (size_t i = 0; engine_job_at(c->engines[node], i, &view); i++)
        holders += view.slots >> slot & 1;
    return holders;
}

static void check_overlaps(const struct cluster *c)
{
    for (unsigned node = 0; node < c->nodes; node++) {
        for (unsigned slot = 0; slot < SLOTS_ROUND; slot++)
            CHECK(c, holders_of(c, node, slot) <= c->servants);
    }
}

static uint64_t slots_of(const struct cluster *c, const struct job *job)
{
    struct engine_job_view view = {0};
    CHECK(c, view_at(c, job, 0, &view));
    return view.slots;
}

static void check_agreement(const struct cluster *c)
{
    for (const struct job *job = c->jobs; job < c->jobs + JOBS; job++) {
        for (unsigned i = 0; job->here && i < job->node_count; i++) {
            struct engine_job_view view = {0};
            CHECK(c, view_at(c, job, i, &view));
            CHECK(c, view.slots == slots_of(c, job));
        }
    }
}

static bool meet(const struct job *one, const struct job *other)
{
    for (unsigned i = 0; i < one->node_count; i++) {
        for (unsigned k = 0; k < other->node_count; k++) {
            if (one->nodes[i] == other->nodes[k])
                return true;
        }
    }
    return false;
}

// By how much whole pieces may leave the job short of its part: what is left of one, and what each
// of the others keeps for the same reason.
static unsigned rounding(const struct cluster *c, const struct job *job, unsigned part)
{
    unsigned over = c->length - 1, kept = 0;
    for (const struct job *other = c->jobs; other < c->jobs + JOBS; other++) {
        bool beside = other != job && other->here && meet(job, other);
        unsigned count = beside ? slots_count(slots_of(c, other)) : 0;
        kept += count <= part ? 0 : count - part < over ? count - part : over;
    }
    return over + (kept > over ? kept : over);
}

// Fair: one part of as many as there are jobs that it meets anywhere, and itself, of what the
// sequential class leaves. Of several servants each gives it a part beside so many others.
static unsigned fair_count(const struct cluster *c, const struct job *job)
{
    unsigned others = 0;
    for (const struct job *other = c->jobs; other < c->jobs + JOBS; other++)
        others += other != job && other->here && meet(job, other);
    unsigned room = SLOTS_ROUND - engine_dummies(c->engines[job->nodes[0]]);
    if (others < c->servants)
        return room;
    unsigned due = SLOTS_ROUND / (1 + (others + c->servants - 1) / c->servants);
    unsigned part = due * room / SLOTS_ROUND;
    unsigned rounded = rounding(c, job, part);
    return part < c->length ? part : part > rounded ? part - rounded : 1;
}

static void check_parts(const struct cluster *c)
{
    for (const struct job *job = c->jobs; job < c->jobs + JOBS; job++) {
        if (job->here)
            CHECK(c, slots_count(slots_of(c, job)) >= fair_count(c, job));
    }
}

static void run_history(uint64_t seed)
{
    static struct cluster cluster;
    struct cluster *c = &cluster;
    *c = (struct cluster){.seed = seed, .random = seed, .tick = 6000};
    c->nodes = 4 + (unsigned)draw(c, NODES - 3);
    static const unsigned lengths[] = {1, 1, 2, 4, 5, 10};
    c->servants = 1 + (unsigned)draw(c, 3);
    c->length = lengths[draw(c, sizeof lengths / sizeof *lengths)];
    c->sequential_share_ppm = draw(c, 2) == 0 ? (uint32_t)draw(c, 400000) : 0;
    unsigned most_jobs = 2 + (unsigned)draw(c, JOBS - 1);
    for (unsigned node = 0; node < c->nodes; node++)
        c->engines[node] = new_engine(c);
    for (unsigned i = 0; i < 60; i++) {
        change(c, most_jobs);
        check_overlaps(c);
        pass_time(c, (unsigned)draw(c, draw(c, 2) == 0 ? 4 : 80));
        check_overlaps(c);
    }
    c->quiet = true;
    pass_time(c, 3 * SLOTS_TIMES_ASKED * DELAY + SLOTS_ROUND);
    check_agreement(c);
    c->quiet = false; // all look for more a few times
    pass_time(c, 30 * SLOTS_ROUND);
    c->quiet = true;
    pass_time(c, 3 * SLOTS_TIMES_ASKED * DELAY + SLOTS_ROUND);
    check_overlaps(c);
    check_agreement(c);
    check_parts(c);
    for (unsigned node = 0; node < c->nodes; node++)
        engine_free(c->engines[node]);
}

static void test_random_clusters(void **state)
{
    (void)state;
    random_run_histories(run_history, HISTORIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
