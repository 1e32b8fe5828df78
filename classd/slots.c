// Slots of policy gang, between the protocol and the engine: doc/design/gang.md, section 3.
#include "classd/scheduler_state.h"

#include "classd/log.h"
#include "common/slots.h"

_Static_assert(SLOTS_ROUND == ENGINE_ROUND, "the engine's round is the protocol's");

void slots_publish(struct scheduler *scheduler)
{
    struct engine_job_view view;
    for (size_t i = 0; engine_job_at(scheduler->engine, i, &view); i++) {
        const struct job *job = table_job_with_id(scheduler->table, view.job);
        if (job != NULL)
            atomic_store_explicit(&job->page->slots, slots_word(view.slots, view.term),
                                  memory_order_relaxed);
    }
}

void scheduler_offer(scheduler_t *scheduler, const struct process *process,
                     struct protocol_offer *offer, uint64_t now_ns)
{
    engine_offer(scheduler->engine, process->job->id, slots_dues, SLOTS_LEVELS, offer->slots,
                 offer->most, now_ns);
}

uint64_t scheduler_claim(scheduler_t *scheduler, const struct process *process,
                         const struct protocol_claim *claim, uint64_t now_ns)
{
    const struct job *job = process->job;
    if (claim->final == 0)
        return engine_promise(scheduler->engine, job->id, claim->slots, (uint8_t)claim->due,
                              now_ns);
    uint64_t given = engine_claim(scheduler->engine, job->id, claim->slots, claim->term, now_ns);
    log_line(LOG_DEBUG, "job %u/%s: %u of %u slots, term %u", (unsigned)job->uid, job->job_id,
             slots_count(given), SLOTS_ROUND, claim->term);
    slots_publish(scheduler); // others may have lost some
    return given;
}

void scheduler_narrow(scheduler_t *scheduler, const struct process *process,
                      const struct protocol_claim *claim)
{
    if (engine_intersect(scheduler->engine, process->job->id, claim->slots, claim->term))
        slots_publish(scheduler);
}
