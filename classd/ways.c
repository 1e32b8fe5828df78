// Gives a job way: lifts its limit for a moment, as processes need CPU time to stop, to continue
// and to die. A user can ask for that without end, and a process that vfork()ed cannot stop before
// its child lets it. So each way ends by itself, and they are at most a tenth of the time.
#include "classd/scheduler_state.h"

#include "classd/job_class.h"

enum { RESTS_PER_WAY = 9 };

#define WAY_NS (100 * NS_PER_MS)

static bool is_given(const struct job *job)
{
    return job->way_end_ns != 0;
}

void ways_give(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    if (is_given(job) || job->way_ready_ns > now_ns)
        return;
    job->way_given_ns = now_ns;
    job->way_end_ns = now_ns + WAY_NS;
    decisions_date(scheduler, now_ns);
    job_class_limit(scheduler->config, scheduler->backend, &scheduler->moment, job, false,
                    ENGINE_WHOLE_PPM);
}

// Each time that a limit is set again the kernel gives a whole quota at once: so once a period at
// most.
void ways_take_back(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    if (!is_given(job))
        return;
    struct engine_job_view view = {0};
    engine_job_find(scheduler->engine, job->id, &view);
    uint64_t period_ns = class_period_ns(job->class_, view.share_ppm);
    // What is longer was a delay of the daemon's, for which nobody else had to wait.
    uint64_t given_ns = now_ns - job->way_given_ns < WAY_NS ? now_ns - job->way_given_ns : WAY_NS;
    uint64_t rest_ns = RESTS_PER_WAY * given_ns;
    job->way_end_ns = 0;
    job->way_ready_ns = now_ns + (rest_ns > period_ns ? rest_ns : period_ns);
    decisions_date(scheduler, now_ns);
    decisions_reassert_job(scheduler, job);
}

void ways_review(struct scheduler *scheduler, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (is_given(job) && job->way_end_ns <= now_ns)
            ways_take_back(scheduler, job, now_ns);
    }
}

uint64_t ways_deadline_ns(const struct scheduler *scheduler)
{
    uint64_t first_ns = SCHEDULER_NO_DEADLINE;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        const struct job *job = table_job_at(scheduler->table, i);
        if (is_given(job) && job->way_end_ns < first_ns)
            first_ns = job->way_end_ns;
    }
    return first_ns;
}
