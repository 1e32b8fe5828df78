#include "classd/policy/engine.h"

#include "classd/policy/account.h"
#include "classd/policy/aside.h"
#include "classd/policy/cpus.h"
#include "classd/policy/leads.h"
#include "classd/policy/office.h"
#include "classd/policy/policy.h"
#include "classd/policy/round.h"
#include "classd/policy/shares.h"
#include "classd/policy/standing.h"

#include <stdlib.h>
#include <string.h>

// A job's first turn is said a moment before, not more slices than that.
#define TURNS_AHEAD_MOST 16

struct engine {
    const struct policy *policy;
    struct shares shares;
    struct policy_node node; // the jobs that policies see
    struct aside aside;      // the others
    struct leads leads;
    uint64_t arrivals;
    size_t capacity;                   // of each list of jobs and of decisions
    struct engine_decision *decisions; // those of the last event
};

static const struct policy *const policies[] = {&policy_yoo_jette, &policy_dcs, &policy_gang,
                                                &policy_uncoordinated, NULL};

static const struct policy *find_policy(const char *name)
{
    for (size_t i = 0; name != NULL && policies[i] != NULL; i++) {
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    }
    return NULL;
}

bool engine_policy_known(const char *policy)
{
    return find_policy(policy) != NULL;
}

static void apply(engine_t *engine, const struct engine_settings *settings)
{
    engine->policy = find_policy(settings->policy);
    engine->shares.idle_ppm = settings->idle_share_ppm;
    engine->shares.idle_total_ppm = settings->idle_total_ppm;
    engine->node.cpus = settings->cpus > 0 ? settings->cpus : 1;
    engine->node.servants = settings->servants > 0 ? settings->servants : 1;
    engine->node.sequential_share_ppm = settings->sequential_share_ppm;
    engine->node.interactive_share_ppm =
        settings->interactive_share_ppm < SHARES_INTERACTIVE_MOST_PPM
            ? settings->interactive_share_ppm
            : SHARES_INTERACTIVE_MOST_PPM;
    engine->node.time_slice_ns = settings->time_slice_ns;
    engine->node.gmet_ns = settings->gmet_ns;
    engine->node.dcs = settings->dcs;
    engine->node.counts_held =
        engine->policy->counts_held && (engine->policy != &policy_dcs || settings->dcs.calibrate);
    memcpy(engine->node.lists, settings->lists, sizeof settings->lists);
    engine->node.list_count =
        settings->list_count < ENGINE_LISTS ? settings->list_count : ENGINE_LISTS;
}

engine_t *engine_new(const struct engine_settings *settings)
{
    if (!engine_policy_known(settings->policy))
        return NULL;
    engine_t *engine = calloc(1, sizeof *engine);
    if (engine != NULL)
        apply(engine, settings);
    return engine;
}

void engine_free(engine_t *engine)
{
    if (engine == NULL)
        return;
    free(engine->node.jobs);
    free(engine->aside.jobs);
    free(engine->decisions);
    free(engine);
}

static struct policy_job *find_among(struct policy_job *jobs, size_t count, engine_job_t id)
{
    for (size_t i = 0; id != 0 && i < count; i++) {
        if (jobs[i].id == id)
            return &jobs[i];
    }
    return NULL;
}

static struct policy_job *find_in_sight(const engine_t *engine, engine_job_t id)
{
    return find_among(engine->node.jobs, engine->node.count, id);
}

static struct policy_job *find_job(const engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_in_sight(engine, id);
    return job != NULL ? job : find_among(engine->aside.jobs, engine->aside.count, id);
}

static bool grow(void *list, size_t count, size_t size)
{
    void *longer = realloc(*(void **)list, count * size);
    if (longer != NULL)
        *(void **)list = longer;
    return longer != NULL;
}

// Room for the job, if it is new, in either list, and for a decision about each. A part of the
// growth does no harm.
static bool reserve(engine_t *engine, engine_job_t job)
{
    if (engine_job_count(engine) < engine->capacity || find_job(engine, job) != NULL)
        return true;
    size_t capacity = engine->capacity > 0 ? 2 * engine->capacity : 8;
    if (!grow(&engine->node.jobs, capacity, sizeof *engine->node.jobs) ||
        !grow(&engine->aside.jobs, capacity, sizeof *engine->aside.jobs) ||
        !grow(&engine->decisions, capacity, sizeof *engine->decisions))
        return false;
    engine->capacity = capacity;
    return true;
}

static uint64_t newcomer_service_ns(const engine_t *engine)
{
    return account_of_newcomer_ns(&engine->node, &engine->aside);
}

// Who is further ahead was so for a reason which its owner's next job has nothing to do with.
// Whoever comes to an empty node begins at 0, and nobody is there to be ahead of.
static uint64_t most_of_newcomer_ns(const engine_t *engine)
{
    return account_most_ns(&engine->node, newcomer_service_ns(engine));
}

static void remember_lead(engine_t *engine, const struct policy_job *gone)
{
    uint64_t most_ns = most_of_newcomer_ns(engine);
    if (engine_job_count(engine) == 0)
        leads_clear(&engine->leads);
    else
        leads_note(&engine->leads, gone->owner,
                   gone->service_ns < most_ns ? gone->service_ns : most_ns);
}

// What others have, has fallen since then where who had most of it left.
static uint64_t lead_of_ns(const engine_t *engine, uint64_t owner, uint64_t mean_ns)
{
    uint64_t service_ns = leads_account_ns(&engine->leads, owner, mean_ns);
    uint64_t most_ns = most_of_newcomer_ns(engine);
    return service_ns < most_ns ? service_ns : most_ns;
}

static uint64_t width_of_process(const struct engine_event *event)
{
    return event->width > 0 ? event->width : 1;
}

// A caller that mixes up widths must not make a job vanish.
static void narrow(struct policy_job *job, uint64_t gone)
{
    job->width = job->width > gone ? job->width - gone : 0;
    if (job->width < job->processes)
        job->width = job->processes;
}

// It is wider than before, or was out of sight.
static void refit(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_in_sight(engine, id);
    if (job != NULL)
        office_refit(&engine->node, job);
}

// A job that may use as many CPUs as the node has, by the configuration, is bound to none.
static void bind_job(engine_t *engine, struct policy_job *job, const struct engine_cpus *cpus)
{
    struct policy_node *node = &engine->node;
    job->cpus = cpus != NULL ? *cpus : (struct engine_cpus){0};
    job->cpu_count = cpus_count(&job->cpus, ENGINE_CPU_WORDS);
    if (job->cpu_count >= node->cpus)
        job->cpu_count = 0;
    else if (cpus_words(&job->cpus) > node->cpu_words)
        node->cpu_words = cpus_words(&job->cpus);
    job->promised = 0; // as in add_process()
}

// In one step: with what it had and what it gets together the job would drive others out.
static void change_width(engine_t *engine, const struct engine_event *event)
{
    struct policy_job *job = find_job(engine, event->job);
    uint64_t gone = event->width_before > 0 ? event->width_before : 1;
    job->width += width_of_process(event);
    job->promised = 0; // as in add_process()
    narrow(job, gone);
}

static void add_process(engine_t *engine, const struct engine_event *event)
{
    struct policy_node *node = &engine->node;
    struct policy_job *job = find_job(engine, event->job);
    if (job == NULL) {
        uint64_t mean_ns = newcomer_service_ns(engine);
        uint64_t service_ns = lead_of_ns(engine, event->owner, mean_ns);
        job = &node->jobs[node->count++];
        *job = (struct policy_job){.id = event->job,
                                   .name = event->name,
                                   .arrival = ++engine->arrivals,
                                   .came_ns = node->now_ns,
                                   .runnable_ns = node->now_ns,
                                   .list = event->list,
                                   .sequential = event->sequential,
                                   .from_turn = event->from_turn,
                                   .service_ns = service_ns,
                                   .lead_ns = service_ns - mean_ns,
                                   .owner = event->owner,
                                   .turns_in_step = shares_of_newcomer(&engine->shares),
                                   .boosted_ns = node->now_ns};
        if (event->kind == ENGINE_REGISTER) // accounts of others that are adopted are still to come
            account_level(node, service_ns);
    }
    job->processes++;
    job->width += width_of_process(event);
    job->promised = 0; // to a narrower job: beside it others fitted
    bind_job(engine, job, event->cpus);
}

static void suspend(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_job(engine, id);
    job->suspended = true;
    job->dormant = job->woken = job->scheduled = false;
    if (!aside_has(&engine->aside, job))
        aside_put(&engine->node, &engine->aside, job);
}

// It could not be served meanwhile, so its account is a newcomer's; or its own, if that is higher,
// but nobody is far ahead of a newcomer.
static void take_back(engine_t *engine, struct policy_job *job)
{
    uint64_t least_ns = newcomer_service_ns(engine);
    engine_job_t id = aside_take_back(&engine->node, &engine->aside, job, least_ns)->id;
    account_level(&engine->node, least_ns);
    refit(engine, id);
}

static void rouse(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_job(engine, id);
    if (!job->dormant)
        return;
    job->dormant = false;
    job->woken = !job->scheduled;
    take_back(engine, job);
}

// Who is suspended would not compute if it were awake.
static void fall_asleep(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_job(engine, id);
    if (job->suspended || job->dormant)
        return;
    job->dormant = true;
    aside_put(&engine->node, &engine->aside, job);
}

static void resume(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_job(engine, id);
    if (!job->suspended)
        return;
    job->suspended = false;
    take_back(engine, job);
}

static void adopt_process(engine_t *engine, const struct engine_event *event)
{
    bool new = find_job(engine, event->job) == NULL;
    add_process(engine, event);
    if (!new || event->account == NULL)
        return;
    struct policy_job *job = find_job(engine, event->job);
    account_restore(&engine->node, job, event->account);
    if (engine->node.changed_ns < job->came_ns)
        engine->node.changed_ns = job->came_ns; // as its other nodes have it
    if (event->account->suspended)
        suspend(engine, event->job);
}

static void remove_process(engine_t *engine, const struct engine_event *event)
{
    struct policy_job *job = find_job(engine, event->job);
    job->processes--;
    if (job->processes == 0) {
        account_settle(&engine->node, job);
        const struct policy_job gone = *job;
        aside_forget(&engine->node, &engine->aside, job);
        remember_lead(engine, &gone);
        return;
    }
    narrow(job, width_of_process(event));
}

// When a job came tells nobody anything after two rounds. Slices are numbered anew when their
// length changes, or the clock is set: nobody waits for one that will not come.
static bool is_done_with(const struct policy_node *node, uint64_t from_turn)
{
    uint64_t turn = node->turn;
    if (turn == 0 || from_turn == 0)
        return false;
    return from_turn > turn ? from_turn - turn > TURNS_AHEAD_MOST
                            : turn - from_turn >= 2 * node->count;
}

// They could not be served meanwhile. Also said while they sleep: a restart knows of no sleepers.
static void keep_up_dormant(engine_t *engine)
{
    uint64_t least_ns = newcomer_service_ns(engine);
    for (size_t i = 0; i < engine->aside.count; i++) {
        if (engine->aside.jobs[i].dormant)
            account_raise(&engine->aside.jobs[i], least_ns);
    }
}

static void begin_slice(engine_t *engine)
{
    struct policy_node *node = &engine->node;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (is_done_with(node, job->from_turn))
            job->from_turn = 0;
        job->first = false;
    }
    account_begin_slices(node, &engine->aside);
    keep_up_dormant(engine);
    node->last_turn = node->turn;
    node->tick_ns = node->now_ns;
}

static enum engine_outcome ask_policy(engine_t *engine, const struct engine_event *event,
                                      bool crowded)
{
    struct policy_node *node = &engine->node;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].next = !crowded || node->jobs[i].scheduled;
    struct policy_job *requester =
        event->kind == ENGINE_SCHEDULE ? find_in_sight(engine, event->job) : NULL;
    if (requester != NULL && !requester->next)
        shares_note_request(&engine->shares, requester);
    if (requester != NULL)
        return requester->next ? ENGINE_GRANTED : engine->policy->on_request(node, requester);
    if (crowded && event->kind == ENGINE_SWITCH)
        engine->policy->on_tick(node);
    else if (crowded)
        engine->policy->on_change(node);
    return ENGINE_DONE;
}

// The most slices that a job may wait, as long as its turns come evenly: all jobs of the node, or
// beside the sequential class what its slots leave to each, and one for slices being whole. Where
// its share is a fair one, the class itself gives up a slot when it is ahead by accounts.
static uint32_t round_slices(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t slots_ppm = policy_sequential_slots_ppm(node), others = 0;
    for (size_t i = 0; i < node->count; i++)
        others += !node->jobs[i].sequential;
    if (slots_ppm >= ENGINE_WHOLE_PPM || others == node->count)
        return (uint32_t)node->count;
    uint64_t turns = job->sequential ? 1 : others;
    uint64_t part_ppm = job->sequential ? slots_ppm : ENGINE_WHOLE_PPM - slots_ppm;
    uint64_t round = (turns * ENGINE_WHOLE_PPM + part_ppm - 1) / part_ppm;
    bool fair = node->sequential_share_ppm == 0;
    return (uint32_t)(job->sequential && fair ? 2 * round : round + 1);
}

// Jobs that come and are gone again between two ticks are nobody's to wait for.
static void note_wait(const struct policy_node *node, struct policy_job *job, bool tick)
{
    uint32_t round = round_slices(node, job);
    if (job->slices_waited != 0 && !tick)
        return;
    job->slices_waited++;
    if (job->most_jobs < round)
        job->most_jobs = round;
}

static void begin_turn(const struct policy_node *node, struct policy_job *job)
{
    job->scheduled_since_ns = node->now_ns;
    job->switches++;
    job->woken = false;
}

static void carry_out_aside(engine_t *engine)
{
    for (size_t i = 0; i < engine->aside.count; i++) {
        struct policy_job *job = &engine->aside.jobs[i];
        if (job->next && !job->scheduled)
            begin_turn(&engine->node, job);
        job->scheduled = job->next;
    }
}

static void carry_out(struct policy_node *node, bool tick)
{
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (job->next && !job->scheduled) {
            begin_turn(node, job);
            shares_note_turn(job);
            job->slices_waited = 0;
            job->most_jobs = 0;
        } else if (!job->next) {
            note_wait(node, job, tick);
        }
        job->scheduled = job->next;
        job->first = job->first && job->next; // whoever is displaced has had the slice
        shares_note_width(node, job, tick || job->scheduled);
    }
}

static size_t list_decisions(engine_t *engine, bool limited, bool tick)
{
    for (size_t i = 0; i < engine->aside.count; i++) {
        struct policy_job *job = &engine->aside.jobs[i];
        shares_note_width(&engine->node, job, tick || job->scheduled);
    }
    return shares_decide(&engine->shares, &engine->node, &engine->aside, limited,
                         engine->decisions);
}

static bool names_a_job(const engine_t *engine, const struct engine_event *event)
{
    switch (event->kind) {
    case ENGINE_REGISTER:
    case ENGINE_ADOPT:
        return event->job != 0;
    case ENGINE_EXIT:
    case ENGINE_SCHEDULE:
    case ENGINE_USAGE:
    case ENGINE_SUSPEND:
    case ENGINE_RESUME:
    case ENGINE_DORMANT:
    case ENGINE_ACTIVE:
    case ENGINE_WIDTH:
    case ENGINE_CPUS:
        return find_job(engine, event->job) != NULL;
    case ENGINE_SWITCH:
    case ENGINE_SETTINGS:
        break;
    }
    return true;
}

// What a job has had beside the others they could not use. When its width or its CPUs change, and
// they take turns from now on, it is no more of a debtor than if it left and came again.
static void forgive(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = find_in_sight(engine, id);
    if (job != NULL)
        account_cap(&engine->node, job, newcomer_service_ns(engine));
}

// Who is here, who can run, and by which rules.
static void change(engine_t *engine, const struct engine_event *event)
{
    switch (event->kind) {
    case ENGINE_REGISTER:
        add_process(engine, event);
        rouse(engine, event->job);
        break;
    case ENGINE_EXIT:
        remove_process(engine, event);
        break;
    case ENGINE_SCHEDULE:
    case ENGINE_ACTIVE:
        rouse(engine, event->job);
        break;
    case ENGINE_DORMANT:
        fall_asleep(engine, event->job);
        break;
    case ENGINE_SUSPEND:
        suspend(engine, event->job);
        break;
    case ENGINE_RESUME:
        resume(engine, event->job);
        break;
    case ENGINE_WIDTH:
        change_width(engine, event);
        break;
    case ENGINE_CPUS:
        bind_job(engine, find_job(engine, event->job), event->cpus);
        break;
    case ENGINE_SETTINGS:
        apply(engine, event->settings);
        break;
    case ENGINE_SWITCH:
    case ENGINE_USAGE:
    case ENGINE_ADOPT:
        break;
    }
    if (event->kind == ENGINE_REGISTER || event->kind == ENGINE_WIDTH ||
        event->kind == ENGINE_CPUS) {
        forgive(engine, event->job);
        refit(engine, event->job);
    }
}

struct engine_result engine_event(engine_t *engine, const struct engine_event *event,
                                  uint64_t now_ns)
{
    struct engine_result result = {0};
    struct policy_node *node = &engine->node;
    if (!names_a_job(engine, event)) {
        result.outcome = ENGINE_UNKNOWN_JOB;
        return result;
    }
    if (event->kind == ENGINE_SETTINGS && !engine_policy_known(event->settings->policy)) {
        result.outcome = ENGINE_UNKNOWN_POLICY;
        return result;
    }
    bool comes = event->kind == ENGINE_REGISTER || event->kind == ENGINE_ADOPT;
    if (comes && !reserve(engine, event->job)) {
        result.outcome = ENGINE_NO_MEMORY;
        return result;
    }
    account_advance(node, &engine->aside, now_ns);
    node->turn = event->kind == ENGINE_SWITCH ? event->turn : 0;
    if (event->kind == ENGINE_USAGE) {
        account_usage(node, find_job(engine, event->job), event->usage_ns);
        return result;
    }
    if (event->kind == ENGINE_ADOPT) {
        adopt_process(engine, event);
        return result;
    }
    if (event->kind == ENGINE_SCHEDULE && find_job(engine, event->job)->suspended) {
        result.outcome = ENGINE_SUSPENDED;
        return result;
    }
    size_t count = node->count;
    change(engine, event);
    if (node->count != count && event->from_turn == 0)
        node->changed_ns = node->now_ns;
    if (event->kind == ENGINE_SWITCH) {
        begin_slice(engine);
        shares_note_tick(&engine->shares, node, engine->aside.count);
    }

    bool crowded = aside_judge(node, &engine->aside, engine->policy->coordinates);
    result.outcome = ask_policy(engine, event, crowded);
    carry_out(node, event->kind == ENGINE_SWITCH);
    carry_out_aside(engine);
    result.decision_count = list_decisions(engine, crowded, event->kind == ENGINE_SWITCH);
    result.decisions = engine->decisions;
    return result;
}

uint64_t engine_cut(engine_t *engine, engine_job_t job, uint64_t now_ns)
{
    struct policy_job *found = find_in_sight(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    return found != NULL ? office_cut(&engine->node, found) : ENGINE_ALL_SLOTS;
}

uint8_t engine_dummies(const engine_t *engine)
{
    return (uint8_t)__builtin_popcountll(round_dummies(&engine->node));
}

bool engine_offer(engine_t *engine, engine_job_t job, const uint8_t *dues, size_t count,
                  uint64_t *slots, uint8_t *most, uint64_t now_ns)
{
    struct policy_job *found = find_in_sight(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    for (size_t i = 0; i < count; i++) {
        struct office_offer offer = {0};
        if (found != NULL)
            offer = office_offer(&engine->node, found, dues[i]);
        slots[i] = offer.slots;
        most[i] = offer.most;
    }
    return found != NULL;
}

uint64_t engine_promise(engine_t *engine, engine_job_t job, uint64_t wish, uint8_t due,
                        uint64_t now_ns)
{
    struct policy_job *found = find_in_sight(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    return found != NULL ? office_promise(&engine->node, found, wish, due) : 0;
}

static void keep_only(engine_t *engine, struct policy_job *job, uint64_t slots)
{
    uint64_t before = job->slots;
    job->slots &= slots;
    standing_give_up(&engine->node, job, before);
}

// A job out of sight takes nothing that others may hold by now. But it is of the agreement from
// then on, with what it had of it: else no notice of its other nodes would concern this one any
// more.
static uint64_t claim_aside(engine_t *engine, struct policy_job *job, uint64_t slots, uint32_t term)
{
    keep_only(engine, job, slots);
    job->term = term;
    return job->slots;
}

uint64_t engine_claim(engine_t *engine, engine_job_t job, uint64_t slots, uint32_t term,
                      uint64_t now_ns)
{
    struct policy_job *found = find_job(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    if (found == NULL)
        return 0;
    return find_in_sight(engine, job) != NULL ? office_claim(&engine->node, found, slots, term)
                                              : claim_aside(engine, found, slots, term);
}

bool engine_intersect(engine_t *engine, engine_job_t job, uint64_t slots, uint32_t term)
{
    struct policy_job *found = find_job(engine, job);
    if (found == NULL || found->term != term || (found->slots & ~slots) == 0)
        return false;
    keep_only(engine, found, slots);
    return true;
}

void engine_drop_slots(engine_t *engine, engine_job_t job)
{
    struct policy_job *found = find_job(engine, job);
    if (found == NULL)
        return;
    uint64_t before = found->slots;
    found->slots = found->promised = 0;
    found->term = 0;
    standing_give_up(&engine->node, found, before);
}

void engine_set_service(engine_t *engine, engine_job_t job, uint64_t service_ns)
{
    struct policy_job *found = find_job(engine, job);
    if (found == NULL)
        return;
    if (service_ns > found->service_ns) {
        found->slice_used_ns += service_ns - found->service_ns;
        found->slice_counted_ns += service_ns - found->service_ns;
    }
    found->service_ns = service_ns;
    found->lead_ns = 0;
}

size_t engine_job_count(const engine_t *engine)
{
    return engine->node.count + engine->aside.count;
}

static void describe(const struct policy_job *job, struct engine_job_view *view)
{
    *view = (struct engine_job_view){
        .job = job->id,
        .processes = job->processes,
        .width = job->width < UINT32_MAX ? (uint32_t)job->width : UINT32_MAX,
        .scheduled = job->scheduled,
        .suspended = job->suspended,
        .dormant = job->dormant,
        .limited = job->decided.limited,
        .share_ppm = job->decided.share_ppm,
        .sequential = job->sequential,
        .service_ns = job->service_ns,
        .scheduled_since_ns = job->scheduled_since_ns,
        .scheduled_total_ns = job->scheduled_total_ns,
        .switches = job->switches,
        .slices_waited = job->slices_waited,
        .most_jobs = job->most_jobs,
        .slots = job->slots,
        .term = job->term,
    };
}

// Both lists are in order of registration.
static const struct policy_job *job_at(const engine_t *engine, size_t index)
{
    const struct policy_job *next = engine->node.jobs, *end = next + engine->node.count;
    const struct policy_job *aside = engine->aside.jobs, *aside_end = aside + engine->aside.count;
    for (;; index--) {
        if (aside == aside_end)
            return next + index;
        bool is_next = next < end && next->arrival < aside->arrival;
        if (index == 0)
            return is_next ? next : aside;
        if (is_next)
            next++;
        else
            aside++;
    }
}

bool engine_job_at(const engine_t *engine, size_t index, struct engine_job_view *view)
{
    if (index >= engine_job_count(engine))
        return false;
    describe(job_at(engine, index), view);
    return true;
}

bool engine_job_find(const engine_t *engine, engine_job_t job, struct engine_job_view *view)
{
    const struct policy_job *found = find_job(engine, job);
    if (found != NULL)
        describe(found, view);
    return found != NULL;
}
