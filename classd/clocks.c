// Nodes whose wall clock is off, under policy gang: doc/design/gang.md, section 6. A job's slots
// are turns that its nodes take at the same moments. Where this node's clock is not that of the
// others, the job has none here, and its turns are those of a job that could not agree.
#include "classd/scheduler_state.h"

#include "classd/log.h"

#include <inttypes.h>

// What a job of this node alone was told while it could not be seen yet that it is one: among
// themselves the jobs of one node agree by any clock, and about slots of any length.
static void forget_where_alone(const struct job *job)
{
    if (protocol_slots_are_others(&job->page->clock) && jobs_is_here_alone(job))
        job->page->clock = (struct protocol_clock){0};
}

bool scheduler_clock_off(const struct process *process)
{
    forget_where_alone(process->job);
    return process->job->page->clock.ahead_ns != 0;
}

uint32_t clocks_count_off(const struct scheduler *scheduler)
{
    uint32_t count = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        const struct protocol_clock *clock = &table_job_at(scheduler->table, i)->page->clock;
        count += clock->ahead_ns != 0 && !protocol_slots_are_others(clock);
    }
    return count;
}

// Once for each job, whatever it says later: else a client could fill the log.
static void complain(struct job *job)
{
    const struct protocol_clock *clock = &job->page->clock;
    double off_s = (double)clock->ahead_ns / (double)NS_PER_SEC;
    if (job->quiet || job->clock_complained)
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

static void drop_slots(struct scheduler *scheduler, struct job *job,
                       const struct protocol_clock *clock)
{
    job->page->clock = *clock;
    engine_drop_slots(scheduler->engine, job->id);
}

void scheduler_report_clock(scheduler_t *scheduler, struct process *process,
                            const struct protocol_clock *clock)
{
    struct job *job = process->job;
    if (clock->ahead_ns == 0) {
        job->page->clock = *clock;
        return;
    }
    drop_slots(scheduler, job, clock);
    slots_publish(scheduler);
    complain(job);
}

static uint32_t drop_slots_of_all(struct scheduler *scheduler, struct protocol_clock clock,
                                  bool before_they_agree)
{
    struct engine_job_view view;
    uint32_t count = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (!engine_job_find(scheduler->engine, job->id, &view) || jobs_is_here_alone(job) ||
            (view.term == 0 && !before_they_agree))
            continue;
        drop_slots(scheduler, job, &clock);
        count++;
    }
    return count;
}

// They had agreed about slots with their other nodes, so the clock was right then, and is not now.
void scheduler_clock_at(scheduler_t *scheduler, int64_t offset_ns)
{
    int64_t set_by_ns = (int64_t)((uint64_t)offset_ns - (uint64_t)scheduler->clock_offset_ns);
    int64_t tolerance_ns = (int64_t)(config_slice_ns(scheduler->config) / 10);
    bool known = scheduler->clock_known;
    scheduler->clock_known = true;
    if (known && set_by_ns <= tolerance_ns && set_by_ns >= -tolerance_ns)
        return;
    scheduler->clock_offset_ns = offset_ns;
    if (!known || set_by_ns == INT64_MIN || !config_is_gang(scheduler->config))
        return;
    struct protocol_clock clock = {.ahead_ns = set_by_ns};
    uint32_t count = drop_slots_of_all(scheduler, clock, false);
    slots_publish(scheduler);
    if (count > 0)
        log_line(LOG_WARNING,
                 "the clock was set by %.3f s: %" PRIu32
                 " jobs, which had agreed on slots before, have none here any more. Let chrony "
                 "slew it while jobs run",
                 (double)set_by_ns / (double)NS_PER_SEC, count);
}

void clocks_slice_is(struct scheduler *scheduler)
{
    uint64_t before_ns = scheduler->slot_ns, slot_ns = config_slice_ns(scheduler->config);
    if (!config_is_gang(scheduler->config))
        return;
    scheduler->slot_ns = slot_ns;
    if (before_ns == 0 || before_ns == slot_ns)
        return;
    struct protocol_clock clock = protocol_slots_became((int64_t)(slot_ns - before_ns));
    uint32_t count = drop_slots_of_all(scheduler, clock, true);
    slots_publish(scheduler);
    if (count > 0)
        log_line(LOG_WARNING,
                 "slots are %.3g s long now, not %.3g s: %" PRIu32
                 " jobs of several nodes, which began before, have none here any more. Set [gang] "
                 "slot alike on all nodes, best while no jobs run",
                 (double)slot_ns / (double)NS_PER_SEC, (double)before_ns / (double)NS_PER_SEC,
                 count);
}

bool clocks_keep_slots(const struct job *job)
{
    const struct protocol_clock *clock = &job->page->clock;
    forget_where_alone(job);
    if (!protocol_slots_are_others(clock))
        return true;
    double longer_s = (double)clock->ahead_ns / (double)NS_PER_SEC;
    log_line(LOG_WARNING,
             "job %u/%s: slots are %.3g s %s than when it began; it has none here. Set [gang] slot "
             "alike on all nodes, best while no jobs run",
             (unsigned)job->uid, job->job_id, longer_s < 0 ? -longer_s : longer_s,
             longer_s < 0 ? "shorter" : "longer");
    return false;
}
