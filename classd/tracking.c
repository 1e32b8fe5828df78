// Process tracking: suspends, resumes and kills a job, or a subtree of its processes, pass by pass,
// as doc/design/tracking.md argues. Nothing here waits: what a pass leaves is done by the next one,
// after [tracking] retry_interval.
#include "classd/scheduler_state.h"

#include "classd/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STOPPED_LOOK_NS (100 * NS_PER_MS)

enum {
    LAST_PASSES = 5, // of KILL, when the job ends and has no freezer
};

static struct tracking_result finish(struct scheduler *scheduler, struct job *job,
                                     const struct error *fault, uint64_t now_ns)
{
    struct job_tracking *tracking = &job->tracking;
    struct tracking_result result = {.number = tracking->number,
                                     .means = (enum protocol_means)tracking->how.means,
                                     .passes = tracking->passes,
                                     .took_ns = now_ns - tracking->begun_ns};
    if (fault != NULL)
        result.fault = *fault;
    tracking->work = TRACKING_IDLE;
    ways_take_back(scheduler, job, now_ns);
    return result;
}

// From then on it is a failure: a suspension is undone, the rest reported.
static uint64_t limit_ns(const struct scheduler *scheduler)
{
    return config_tracking_limit_ns(scheduler->config);
}

// ---- one pass of each work. True when it is done, and *result says how.

static bool is_in_time(const struct scheduler *scheduler, const struct job_tracking *tracking,
                       const struct error *fault, uint64_t now_ns)
{
    return fault->code == EAGAIN && now_ns - tracking->begun_ns < limit_ns(scheduler);
}

static void say(struct scheduler *scheduler, const struct job *job, const char *what,
                enum class_means means, uint64_t now_ns)
{
    const struct job_tracking *tracking = &job->tracking;
    char part[32] = "";
    if (!log_valve_open(&scheduler->tracking_valve, now_ns))
        return;
    if (tracking->how.root != 0)
        snprintf(part, sizeof part, " from process %d on", (int)tracking->how.root);
    log_line(LOG_NOTICE, "job %u/%s%s %s by %s", (unsigned)job->uid, job->job_id, part, what,
             tracking_means_name(means));
}

// Nobody is waited for any longer.
static struct error reason_of(const struct scheduler *scheduler, const struct error *fault)
{
    struct error why = *fault;
    if (fault->code == EAGAIN)
        error_set(&why, ETIMEDOUT, "after %g s %s", (double)limit_ns(scheduler) / NS_PER_SEC,
                  fault->text);
    return why;
}

static bool resume_pass(struct scheduler *scheduler, struct job *job, uint64_t now_ns,
                        struct tracking_result *result)
{
    struct job_tracking *tracking = &job->tracking;
    struct error fault = {0};
    if (class_resume(job->class_, &fault) == 0) {
        tracking_tell_engine(scheduler, job, false, now_ns);
        if (!tracking->undoes)
            say(scheduler, job, "resumed, which was suspended", tracking->how.means, now_ns);
        *result = finish(scheduler, job, tracking->undoes ? &tracking->why : NULL, now_ns);
        return true;
    }
    if (is_in_time(scheduler, tracking, &fault, now_ns))
        return false;
    if (log_valve_open(&scheduler->tracking_valve, now_ns))
        log_line(LOG_WARNING, "job %u/%s is not resumed: %s", (unsigned)job->uid, job->job_id,
                 fault.text);
    // The suspension that could not be undone had not begun.
    struct class_suspension how;
    if (tracking->undoes && !class_suspended(job->class_, &how))
        tracking_tell_engine(scheduler, job, false, now_ns);
    fault = reason_of(scheduler, &fault);
    *result = finish(scheduler, job, &fault, now_ns);
    return true;
}

// All or none: whoever was stopped is continued.
static bool undo(struct scheduler *scheduler, struct job *job, const struct error *why,
                 uint64_t now_ns, struct tracking_result *result)
{
    struct job_tracking *tracking = &job->tracking;
    if (log_valve_open(&scheduler->tracking_valve, now_ns))
        log_line(LOG_NOTICE, "job %u/%s is not suspended: %s", (unsigned)job->uid, job->job_id,
                 why->text);
    tracking->work = TRACKING_RESUMES;
    tracking->undoes = true;
    tracking->why = reason_of(scheduler, why);
    tracking->begun_ns = now_ns;
    return resume_pass(scheduler, job, now_ns, result);
}

static bool suspend_pass(struct scheduler *scheduler, struct job *job, uint64_t now_ns,
                         struct tracking_result *result)
{
    struct job_tracking *tracking = &job->tracking;
    struct error fault = {0};
    if (class_suspend(job->class_, &tracking->how, &fault) == 0) {
        say(scheduler, job, "suspended", tracking->how.means, now_ns);
        *result = finish(scheduler, job, NULL, now_ns);
        return true;
    }
    if (is_in_time(scheduler, tracking, &fault, now_ns))
        return false;
    if (!tracking->again)
        return undo(scheduler, job, &fault, now_ns, result);
    fault = reason_of(scheduler, &fault); // who asked before was told that it is suspended
    *result = finish(scheduler, job, &fault, now_ns);
    return true;
}

// Whoever is left in a frozen class has SIGKILL pending, and would, frozen again at the next turn,
// not die when he can.
static void suspend_no_more(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    struct class_suspension how;
    struct error fault;
    if (!class_suspended(job->class_, &how) || how.means != CLASS_BY_FREEZER ||
        class_resume(job->class_, &fault) != 0)
        return;
    tracking_tell_engine(scheduler, job, false, now_ns);
    say(scheduler, job, "killed, and not suspended any more, which it was", how.means, now_ns);
}

static bool kill_pass(struct scheduler *scheduler, struct job *job, uint64_t now_ns,
                      struct tracking_result *result)
{
    struct job_tracking *tracking = &job->tracking;
    struct error fault = {0};
    bool last = now_ns - tracking->begun_ns >= limit_ns(scheduler);
    if (class_kill_pass(job->class_, tracking->how.root, tracking->how.root_start, last, &fault) ==
        0) {
        *result = finish(scheduler, job, NULL, now_ns);
        return true;
    }
    if (is_in_time(scheduler, tracking, &fault, now_ns))
        return false;
    if (fault.code == EAGAIN && tracking->how.root == 0)
        suspend_no_more(scheduler, job, now_ns);
    if (fault.code == EAGAIN)
        fault.code = ETIMEDOUT;
    *result = finish(scheduler, job, &fault, now_ns);
    return true;
}

// A freezer does the work by itself, and is asked soon. Of a class that is killed as a whole nobody
// is held first.
static uint64_t pause_ns(const struct scheduler *scheduler, const struct job *job)
{
    const struct job_tracking *tracking = &job->tracking;
    uint64_t interval_ns = scheduler->config->retry_interval_ns;
    bool freezes =
        (tracking->work == TRACKING_SUSPENDS && tracking->how.means == CLASS_BY_FREEZER) ||
        (tracking->work == TRACKING_KILLS && tracking->how.root != 0 &&
         class_has_freezer(job->class_));
    return freezes ? class_freezer_pause_ns(tracking->passes, interval_ns) : interval_ns;
}

static bool make_pass(struct scheduler *scheduler, struct job *job, uint64_t now_ns,
                      struct tracking_result *result)
{
    struct job_tracking *tracking = &job->tracking;
    bool done = true;
    if (tracking->passes == 0)
        tracking->begun_ns = now_ns;
    if (tracking->gives_way)
        ways_give(scheduler, job, now_ns);
    tracking->passes++;
    tracking->next_ns = now_ns + pause_ns(scheduler, job);
    if (tracking->work == TRACKING_SUSPENDS)
        done = suspend_pass(scheduler, job, now_ns, result);
    else if (tracking->work == TRACKING_RESUMES)
        done = resume_pass(scheduler, job, now_ns, result);
    else
        done = kill_pass(scheduler, job, now_ns, result);
    return done;
}

// ---- orders

bool scheduler_track(scheduler_t *scheduler, struct job *job, const struct tracking_order *order,
                     uint64_t now_ns, struct tracking_result *result)
{
    *result = (struct tracking_result){0};
    if (tracking_begin(scheduler, job, order, now_ns, &result->fault) != 0)
        return true;
    bool done = job->tracking.next_ns <= now_ns && make_pass(scheduler, job, now_ns, result);
    result->number = job->tracking.number;
    return done;
}

void scheduler_on_tracked(scheduler_t *scheduler,
                          void (*done)(const struct tracking_result *result, void *user),
                          void *user)
{
    scheduler->tracked = done;
    scheduler->tracked_user = user;
}

struct job *scheduler_find_job(const scheduler_t *scheduler, uint32_t uid, const char *job_id,
                               struct error *err)
{
    struct job *found = NULL;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (strcmp(job->job_id, job_id) != 0 || (uid != PROTOCOL_NO_UID && job->uid != uid))
            continue;
        if (found != NULL) {
            error_set(err, ENOTUNIQ, "several users have a job %s here: name one as USER/%s",
                      job_id, job_id);
            return NULL;
        }
        found = job;
    }
    if (found == NULL)
        error_set(err, ENOENT, "there is no job %s here: see coschedctl jobs", job_id);
    return found;
}

// ---- what goes on by itself

static void tell(struct scheduler *scheduler, const struct tracking_result *result)
{
    if (scheduler->tracked != NULL)
        scheduler->tracked(result, scheduler->tracked_user);
}

// When the next pass for this job is due, be it of what it was told or to stop whoever has come or
// was continued since.
static uint64_t pass_ns(const struct job *job)
{
    if (job->tracking.work != TRACKING_IDLE)
        return job->tracking.next_ns;
    if (job->stops_again)
        return job->rested_ns;
    return job->stopped ? job->look_ns : SCHEDULER_NO_DEADLINE;
}

static struct job *find_first(const struct scheduler *scheduler)
{
    struct job *first = NULL;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        uint64_t next_ns = pass_ns(job);
        if (next_ns != SCHEDULER_NO_DEADLINE && (first == NULL || next_ns < pass_ns(first)))
            first = job;
    }
    return first;
}

// Who did not stop in this pass is stopped by the next one, a turn later.
static void suspend_again(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    struct class_suspension how;
    struct error fault;
    job->stops_again = false;
    if (job->tracking.work == TRACKING_IDLE && class_suspended(job->class_, &how) &&
        class_suspend(job->class_, &how, &fault) != 0 && fault.code != EAGAIN &&
        log_valve_open(&scheduler->tracking_valve, now_ns))
        log_line(LOG_WARNING, "job %u/%s: %s", (unsigned)job->uid, job->job_id, fault.text);
}

static void say_of_manager(struct scheduler *scheduler, const struct job *job, const char *what,
                           uint64_t now_ns)
{
    if (log_valve_open(&scheduler->tracking_valve, now_ns))
        log_line(LOG_NOTICE, "job %u/%s: the manager of its group %s", (unsigned)job->uid,
                 job->job_id, what);
}

// Nobody else runs in its turns; so it has none, until it is looked at again and runs.
static void look_at_manager(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    struct class_suspension how;
    bool stopped = class_is_stopped_by_manager(job->class_);
    job->look_ns = now_ns + STOPPED_LOOK_NS;
    if (stopped == job->stopped)
        return;
    bool ordered = (class_suspended(job->class_, &how) && how.root == 0) ||
                   (job->tracking.work == TRACKING_SUSPENDS && job->tracking.how.root == 0);
    job->stopped = stopped;
    say_of_manager(scheduler, job,
                   stopped ? "has frozen it: it has no turns meanwhile" : "lets it run again",
                   now_ns);
    if (stopped || !ordered)
        tracking_tell_engine(scheduler, job, stopped, now_ns);
}

void tracking_look_at_managers(struct scheduler *scheduler, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        look_at_manager(scheduler, table_job_at(scheduler->table, i), now_ns);
}

bool scheduler_track_on(scheduler_t *scheduler, uint64_t now_ns, uid_t *uid)
{
    struct tracking_result result;
    ways_review(scheduler, now_ns);
    struct job *job = find_first(scheduler);
    if (job == NULL || pass_ns(job) > now_ns)
        return false;
    *uid = job->uid;
    if (job->tracking.work == TRACKING_IDLE && job->stops_again)
        suspend_again(scheduler, job, now_ns);
    else if (job->tracking.work == TRACKING_IDLE)
        look_at_manager(scheduler, job, now_ns);
    else if (make_pass(scheduler, job, now_ns, &result))
        tell(scheduler, &result);
    return true;
}

void scheduler_rest(scheduler_t *scheduler, uid_t uid, uint64_t until_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (job->uid != uid)
            continue;
        if (job->tracking.next_ns < until_ns)
            job->tracking.next_ns = until_ns;
        if (job->rested_ns < until_ns)
            job->rested_ns = until_ns;
        if (job->look_ns < until_ns)
            job->look_ns = until_ns;
    }
}

uint64_t tracking_deadline_ns(const struct scheduler *scheduler)
{
    const struct job *first = find_first(scheduler);
    uint64_t way_ns = ways_deadline_ns(scheduler);
    return first != NULL && pass_ns(first) < way_ns ? pass_ns(first) : way_ns;
}

// Each by a pass of its own, which has its user rest: a turn waits for none of them. By share there
// is nothing to be done.
void tracking_reassert(struct scheduler *scheduler)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        struct class_suspension how;
        if (class_suspended(job->class_, &how) && how.means != CLASS_BY_SHARE)
            job->stops_again = true;
        if (job->tracking.work == TRACKING_IDLE)
            class_thaw_late(job->class_);
    }
}

// Whoever is there is doomed by one pass, though it may not be dead yet: killed as a whole, or
// signalled while it stood still. Without a freezer somebody may be forked during a pass; the next
// one finds it, and whoever is of a subtree was stopped, to be killed standing. Nobody is waited
// for.
static void kill_the_rest(struct job *job, struct error *fault)
{
    const struct class_suspension *how = &job->tracking.how;
    unsigned passes = class_has_freezer(job->class_) ? 1 : LAST_PASSES;
    int rc;
    do
        rc = class_kill_pass(job->class_, how->root, how->root_start, true, fault);
    while (rc != 0 && fault->code == EAGAIN && --passes > 0);
    if (rc == 0 || fault->code == EAGAIN)
        *fault = (struct error){0};
}

void tracking_end(struct scheduler *scheduler, struct job *job)
{
    struct job_tracking *tracking = &job->tracking;
    struct error fault = {0};
    if (tracking->work == TRACKING_IDLE)
        return;
    if (tracking->work == TRACKING_KILLS)
        kill_the_rest(job, &fault);
    else
        error_set(&fault, ESRCH, "it has ended");
    struct tracking_result result = {.number = tracking->number,
                                     .means = (enum protocol_means)tracking->how.means,
                                     .passes = tracking->passes,
                                     .fault = fault};
    tracking->work = TRACKING_IDLE;
    tell(scheduler, &result);
}
