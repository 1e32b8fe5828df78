// Slots of policy gang, between the protocol and the engine: doc/design/gang.md, section 3.
#include "classd/scheduler_state.h"

#include "classd/log.h"
#include "classd/policy/looks.h"
#include "common/slots.h"

_Static_assert(SLOTS_ROUND == ENGINE_ROUND, "the engine's round is the protocol's");

void slots_publish(struct scheduler *scheduler)
{
    struct engine_job_view view;
    for (size_t i = 0; engine_job_at(scheduler->engine, i, &view); i++) {
        struct job *job = table_job_with_id(scheduler->table, view.job);
        uint64_t word = slots_word(view.slots, view.term);
        uint64_t before =
            job != NULL ? atomic_load_explicit(&job->page->slots, memory_order_relaxed) : word;
        if (before == word)
            continue;
        if ((slots_of_word(before) & ~view.slots) != 0)
            looks_note_loss(&job->looks);
        atomic_store_explicit(&job->page->slots, word, memory_order_relaxed);
        status_page_nudge(job->page); // its ranks are to tell those of other nodes
    }
}

// ---- growth, section 5

// How often it is found out whether a job could have more.
#define REVIEW_SLOTS (SLOTS_ROUND / 6)

static struct slots_offer offer_to(const struct scheduler *scheduler, const struct job *job,
                                   uint64_t now_ns)
{
    struct slots_offer offer;
    uint8_t most[SLOTS_LEVELS];
    engine_offer(scheduler->engine, job->id, slots_dues, SLOTS_LEVELS, offer.slots, most, now_ns);
    for (size_t i = 0; i < SLOTS_LEVELS; i++)
        offer.most[i] = slots_most(most[i]);
    offer.cut = engine_cut(scheduler->engine, job->id, now_ns);
    offer.room = slots_most(SLOTS_ROUND - engine_dummies(scheduler->engine));
    return offer;
}

static void stop_growth(struct job *job)
{
    atomic_store_explicit(&job->page->more_slots, 0, memory_order_relaxed);
}

// Nobody has to be asked. Where the job is elsewhere, too, whatever it says, its set becomes the
// same again by intersection.
static void grow_alone(struct scheduler *scheduler, struct job *job,
                       const struct slots_offer *offer, const struct engine_job_view *view,
                       uint64_t now_ns)
{
    struct slots_choice choice = slots_choose(offer, job_name_hash(job));
    uint64_t given = engine_promise(scheduler->engine, job->id, choice.slots, choice.due, now_ns);
    stop_growth(job);
    if (slots_count(given) <= slots_count(view->slots)) {
        // It has as many: what is new of these is not kept from others.
        engine_promise(scheduler->engine, job->id, 0, choice.due, now_ns);
        return;
    }
    engine_claim(scheduler->engine, job->id, given, view->term != 0 ? view->term : 1, now_ns);
    slots_publish(scheduler);
}

static uint64_t mixed(uint64_t name, uint64_t number)
{
    uint64_t both = name ^ number * UINT64_C(0x9e3779b97f4a7c15);
    return (both ^ both >> 32) * UINT64_C(0xd6e8feb86659fd93) >> 32;
}

// Another number whenever somebody has come or gone, also where one comes for two that go.
static uint64_t company(const struct scheduler *scheduler)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        sum += mixed(0, table_job_at(scheduler->table, i)->id);
    return sum;
}

// Another one each time, on all nodes of a job the same: jobs that are in each other's way once are
// not so again and again.
static uint64_t lot(const struct job *job, uint64_t number)
{
    return mixed(job_name_hash(job), number);
}

static void tell_to_look(const struct scheduler *scheduler, struct job *job, uint64_t turn)
{
    if (!looks_due(&job->looks, turn, company(scheduler), lot(job, job->looks.turn)))
        return;
    atomic_store_explicit(&job->page->more_slots, (uint8_t)(turn / LOOKS_PAUSE % UINT8_MAX + 1),
                          memory_order_relaxed);
}

static void review_job(struct scheduler *scheduler, struct job *job, uint64_t turn, uint64_t now_ns)
{
    struct engine_job_view view = {0};
    struct slots_offer offer = offer_to(scheduler, job, now_ns);
    engine_job_find(scheduler->engine, job->id, &view);
    bool alone = jobs_is_here_alone(job) && job->page->clock.ahead_ns == 0;
    bool could_grow = (view.term != 0 || alone) && !view.suspended && !view.dormant &&
                      slots_offer_more(&offer, view.slots);
    if (!could_grow)
        stop_growth(job);
    else if (alone)
        grow_alone(scheduler, job, &offer, &view, now_ns);
    else
        tell_to_look(scheduler, job, turn);
}

static bool is_its_slot(const struct job *job, uint64_t turn)
{
    return turn % REVIEW_SLOTS == lot(job, turn / REVIEW_SLOTS) % REVIEW_SLOTS;
}

void slots_review(struct scheduler *scheduler, uint64_t turn, uint64_t now_ns)
{
    bool is_gang = config_is_gang(scheduler->config);
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (!is_gang || turn == 0)
            stop_growth(job);
        else if (is_its_slot(job, turn))
            review_job(scheduler, job, turn, now_ns);
    }
}

// ---- what clients say

void scheduler_offer(scheduler_t *scheduler, const struct process *process,
                     struct protocol_offer *offer, uint64_t now_ns)
{
    engine_offer(scheduler->engine, process->job->id, slots_dues, SLOTS_LEVELS, offer->slots,
                 offer->most, now_ns);
    offer->cut = engine_cut(scheduler->engine, process->job->id, now_ns);
    offer->dummies = engine_dummies(scheduler->engine);
}

uint64_t scheduler_claim(scheduler_t *scheduler, const struct process *process,
                         const struct protocol_claim *claim, uint64_t now_ns)
{
    struct job *job = process->job;
    if (claim->final == 0)
        return engine_promise(scheduler->engine, job->id, claim->slots, (uint8_t)claim->due,
                              now_ns);
    uint64_t given = engine_claim(scheduler->engine, job->id, claim->slots, claim->term, now_ns);
    log_line(LOG_DEBUG, "job %u/%s: %u of %u slots, term %u", (unsigned)job->uid, job->job_id,
             slots_count(given), SLOTS_ROUND, claim->term);
    stop_growth(job);
    slots_publish(scheduler); // others may have lost some
    return given;
}

void scheduler_narrow(scheduler_t *scheduler, const struct process *process,
                      const struct protocol_claim *claim)
{
    if (engine_intersect(scheduler->engine, process->job->id, claim->slots, claim->term))
        slots_publish(scheduler);
}
