#include "classd/scheduler_state.h"

#include "classd/job_class.h"
#include "classd/log.h"
#include "common/hash.h"

#include <string.h>

enum { TICKS_PER_WEIGHING = 8 };

void decisions_date(struct scheduler *scheduler, uint64_t now_ns)
{
    bool known = scheduler->config->align_periods && scheduler->wall_offset_ns != 0;
    scheduler->moment = (struct phase_moment){
        .now_ns = now_ns, .wall_ns = known ? now_ns + scheduler->wall_offset_ns : 0};
}

static bool says_idle(const struct status_page *page)
{
    uint64_t word = atomic_load_explicit(&page->word, memory_order_relaxed);
    return (status_word_flags(word) & STATUS_SCHEDULED) == 0;
}

void decisions_publish(struct scheduler *scheduler, struct job *job, bool scheduled, bool limited)
{
    job->called = scheduled && (job->called || says_idle(job->page));
    scheduler->calls = scheduler->calls || job->called;
    pages_publish(scheduler->pages, job->page, scheduled, limited);
}

static void carry_out(struct scheduler *scheduler, struct job *job, bool scheduled, bool limited,
                      uint32_t share_ppm)
{
    // Departure (g): a limit on the scheduled job would stop it at the end of every period, on each
    // node at another moment, and its peers with it.
    bool held = limited && (!scheduled || scheduler->config->strict);
    if (!scheduled)
        decisions_publish(scheduler, job, false, limited);
    if (!job_class_limit(scheduler->config, scheduler->backend, &scheduler->moment, job, held,
                         share_ppm))
        decisions_publish(scheduler, job, true, false);
    else if (scheduled)
        decisions_publish(scheduler, job, true, limited);
    if (log_wants(LOG_DEBUG))
        log_line(LOG_DEBUG, "job %u/%s: %s, %s%.1f%% of the node", (unsigned)job->uid, job->job_id,
                 scheduled ? "scheduled" : "idle", limited ? "" : "no limit, ",
                 share_ppm * 100.0 / SHARE_WHOLE_PPM);
}

uint64_t job_name_hash(const struct job *job)
{
    return hash_with(HASH_START, job->job_id, strlen(job->job_id));
}

// More ranks first: a job of several nodes has the same place beside jobs that each have one.
uint64_t job_turn_name(const struct job *job)
{
    return (uint64_t)(UINT32_MAX - job->named_ranks) << 32 | job_name_hash(job) >> 32;
}

uint64_t job_trace_number(const struct job *job)
{
    uint32_t uid = (uint32_t)job->uid;
    return hash_with(job_name_hash(job), &uid, sizeof uid);
}

uint64_t job_owner(const struct job *job)
{
    return (uint64_t)job->uid + 1;
}

void decisions_record(struct scheduler *scheduler, uint64_t number, bool scheduled, bool limited,
                      uint32_t share_ppm, uint64_t now_ns)
{
    trace_event(scheduler->trace,
                !limited    ? PROTOCOL_EVENT_FREE
                : scheduled ? PROTOCOL_EVENT_SCHEDULED
                            : PROTOCOL_EVENT_IDLE,
                number, share_ppm, now_ns);
}

void decisions_record_arrival(struct scheduler *scheduler, const struct job *job, uint64_t now_ns)
{
    struct engine_job_view view;
    if (!trace_recording(scheduler->trace) || !engine_job_find(scheduler->engine, job->id, &view))
        return;
    trace_job(scheduler->trace, job_trace_number(job), job->uid, job->job_id, view.width, now_ns);
    decisions_record(scheduler, job_trace_number(job), view.scheduled, view.limited, view.share_ppm,
                     now_ns);
}

// For the next classd, should this one be killed.
static void record_turns(struct scheduler *scheduler)
{
    struct engine_job_view view;
    for (size_t i = 0; engine_job_at(scheduler->engine, i, &view); i++) {
        struct job *job = table_job_with_id(scheduler->table, view.job);
        if (job == NULL)
            continue;
        job->page->service_ns = view.service_ns; // also of one whose CPU time was not read yet
        job->page->turns = (struct status_turns){
            .registered_ns = job->registered_ns,
            .scheduled_since_ns = view.scheduled_since_ns,
            .scheduled_total_ns = view.scheduled_total_ns,
            .switches = view.switches,
            .slices_waited = view.slices_waited,
            .most_jobs = view.most_jobs,
            .scheduled = view.scheduled,
            .named_ranks = job->named_ranks,
        };
    }
    slots_publish(scheduler);
}

static void take_one(struct scheduler *scheduler, const struct engine_decision *decision,
                     uint64_t now_ns)
{
    struct job *job = table_job_with_id(scheduler->table, decision->job);
    uint64_t number = job != NULL ? job_trace_number(job) : sequential_turn_name();
    if (job != NULL)
        carry_out(scheduler, job, decision->scheduled, decision->limited, decision->share_ppm);
    else if (decision->job == SEQUENTIAL_JOB)
        sequential_carry_out(scheduler, decision->scheduled, decision->limited,
                             decision->share_ppm);
    else
        return;
    decisions_record(scheduler, number, decision->scheduled, decision->limited, decision->share_ppm,
                     now_ns);
}

enum engine_outcome decisions_take(struct scheduler *scheduler, struct engine_event event,
                                   uint64_t now_ns)
{
    decisions_date(scheduler, now_ns);
    struct engine_result result = engine_event(scheduler->engine, &event, now_ns);
    for (size_t i = 0; i < result.decision_count; i++)
        take_one(scheduler, &result.decisions[i], now_ns);
    // A request that is discarded changes nothing, and there may be many.
    if (result.decision_count > 0 || event.kind != ENGINE_SCHEDULE)
        record_turns(scheduler);
    return result.outcome;
}

static void reassert_those(scheduler_t *scheduler, bool scheduled)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        struct engine_job_view view;
        if (engine_job_find(scheduler->engine, job->id, &view) && view.scheduled == scheduled)
            carry_out(scheduler, job, view.scheduled, view.limited, view.share_ppm);
    }
}

void decisions_reassert_job(struct scheduler *scheduler, struct job *job)
{
    struct engine_job_view view;
    if (engine_job_find(scheduler->engine, job->id, &view))
        carry_out(scheduler, job, view.scheduled, view.limited, view.share_ppm);
}

void decisions_reassert_doubtful(struct scheduler *scheduler)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (job->stuck || class_is_in_place(job->class_))
            decisions_reassert_job(scheduler, job);
    }
    sequential_reassert(scheduler);
    if (scheduler->switches % TICKS_PER_WEIGHING == 0)
        backend_weigh_all(scheduler->backend);
}

void decisions_reassert(struct scheduler *scheduler)
{
    struct engine_job_view view;
    bool winner = engine_job_find(scheduler->engine, SEQUENTIAL_JOB, &view) && view.scheduled;
    backend_weigh_all(scheduler->backend);
    if (!winner)
        sequential_reassert(scheduler);
    reassert_those(scheduler, false);
    reassert_those(scheduler, true);
    if (winner)
        sequential_reassert(scheduler);
}
