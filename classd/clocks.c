// Nodes whose wall clock is off, under policy gang: doc/design/gang.md, section 6. A job's slots
// are turns that its nodes take at the same moments. Where this node's clock is not that of the
// others, the job has none here, and its turns are those of a job that could not agree.
#include "classd/scheduler_state.h"

#include "classd/log.h"

#include <inttypes.h>

bool scheduler_clock_off(const struct process *process)
{
    return process->job->page->clock.ahead_ns != 0;
}

uint32_t clocks_count_off(const struct scheduler *scheduler)
{
    uint32_t count = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        count += table_job_at(scheduler->table, i)->page->clock.ahead_ns != 0;
    return count;
}

// Once for each job, whatever it says later: else a client could fill the log.
static void complain(struct job *job)
{
    const struct protocol_clock *clock = &job->page->clock;
    double off_s = (double)clock->ahead_ns / (double)NS_PER_SEC;
    if (job->clock_complained)
        return;
    job->clock_complained = true;
    if (clock->agreeing > 0)
        log_line(LOG_WARNING,
                 "job %u/%s: this node's clock is %.3f s %s those of %" PRIu32 " of its %" PRIu32
                 " nodes; it has no slots here. Synchronise the clock, e.g. with chrony",
                 (unsigned)job->uid, job->job_id, off_s < 0 ? -off_s : off_s,
                 off_s < 0 ? "behind" : "ahead of", clock->agreeing, clock->nodes);
    else
        log_line(LOG_WARNING,
                 "job %u/%s: the clocks of its %" PRIu32
                 " nodes differ by %.3f s or more, and no majority agrees; it has no slots. "
                 "Synchronise the clocks, e.g. with chrony",
                 (unsigned)job->uid, job->job_id, clock->nodes, off_s < 0 ? -off_s : off_s);
}

void scheduler_report_clock(scheduler_t *scheduler, struct process *process,
                            const struct protocol_clock *clock)
{
    struct job *job = process->job;
    job->page->clock = *clock;
    if (clock->ahead_ns == 0)
        return;
    engine_drop_slots(scheduler->engine, job->id);
    slots_publish(scheduler);
    complain(job);
}
