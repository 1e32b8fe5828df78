#include "classd/scheduler_state.h"

#include "classd/log.h"

void accounts_read(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    struct error err;
    struct engine_job_view view;
    if (class_usage(job->class_, &job->usage_ns, &err) < 0) {
        if (!job->usage_failed)
            log_line(LOG_WARNING, "job %u/%s: CPU time is not known: %s", (unsigned)job->uid,
                     job->job_id, err.text);
        job->usage_failed = true;
        return;
    }
    job->usage_ns += job->usage_before_ns;
    struct engine_event event = {.kind = ENGINE_USAGE, .job = job->id};
    if (job->usage_ns > job->usage_base_ns)
        event.usage_ns = job->usage_ns - job->usage_base_ns;
    engine_event(scheduler->engine, &event, now_ns);
    if (engine_job_find(scheduler->engine, job->id, &view))
        job->page->service_ns = view.service_ns;
}

void accounts_read_all(struct scheduler *scheduler, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        accounts_read(scheduler, table_job_at(scheduler->table, i), now_ns);
    sequential_account(scheduler, now_ns);
    scheduler->usage_read_ns = now_ns;
}

void accounts_read_stale(struct scheduler *scheduler, uint64_t now_ns)
{
    if (now_ns - scheduler->usage_read_ns >= USAGE_FRESH_NS)
        accounts_read_all(scheduler, now_ns);
}

void accounts_start(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    if (class_usage(job->class_, &job->usage_base_ns, NULL) < 0)
        job->usage_base_ns = 0;
    job->usage_base_ns += job->usage_before_ns;
    job->usage_ns = job->usage_base_ns;
    engine_event(scheduler->engine, &(struct engine_event){.kind = ENGINE_USAGE, .job = job->id},
                 now_ns);
}
