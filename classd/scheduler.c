#include "classd/scheduler.h"

#include "classd/deaths.h"
#include "classd/log.h"
#include "common/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Usage read less than this ago is fresh enough for a request: so a client that floods the socket
// with requests does not make the daemon read files for each.
#define USAGE_FRESH_NS NS_PER_MS

struct scheduler {
    const struct config *config;
    backend_t *backend;
    pages_t *pages;
    engine_t *engine;
    table_t *table;
    trace_t *trace;
    int deaths;
    uint64_t started_ns;
    uint64_t usage_read_ns;
    uint64_t last_switch_ns; // the last turn, whoever asked for it
    bool unasked;            // it was taken without a SWITCH
    uint64_t deadline_ns;
    uint64_t switches;
    uint64_t requests;
    uint64_t granted;
    uint64_t discarded;
};

static struct engine_settings engine_settings(const struct config *config)
{
    return (struct engine_settings){
        .policy = config->policy,
        .cpus = config_cpus(config),
        .idle_share_ppm = config->idle_share_ppm,
        .time_slice_ns = config->time_slice_ns,
        .gmet_ns = config->gmet_ns,
    };
}

int scheduler_open(const struct config *config, backend_t *backend, pages_t *pages, uint64_t now_ns,
                   scheduler_t **scheduler, struct error *err)
{
    struct scheduler *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_errno(err, ENOMEM, "scheduler");
    made->config = config;
    made->backend = backend;
    made->pages = pages;
    made->started_ns = now_ns;
    made->deadline_ns = ENGINE_NO_DEADLINE;
    struct engine_settings settings = engine_settings(config);
    made->engine = engine_new(&settings);
    made->table = table_new();
    made->trace = trace_new();
    made->deaths = deaths_open(err);
    if (made->deaths >= 0 && made->engine != NULL && made->table != NULL && made->trace != NULL) {
        *scheduler = made;
        return 0;
    }
    if (made->deaths >= 0)
        error_errno(err, ENOMEM, "policy %s", config->policy);
    scheduler_close(made);
    return -1;
}

void scheduler_close(scheduler_t *scheduler)
{
    if (scheduler == NULL)
        return;
    for (size_t i = 0; scheduler->table != NULL && i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        class_close(job->class_);
        status_page_close(job->page, job->page_fd);
    }
    table_free(scheduler->table);
    trace_free(scheduler->trace);
    engine_free(scheduler->engine);
    if (scheduler->deaths >= 0)
        close(scheduler->deaths);
    free(scheduler);
}

void scheduler_class_name(char name[BACKEND_NAME_MAX], uid_t uid, const char *job_id)
{
    snprintf(name, BACKEND_NAME_MAX, "job-%u-%s", (unsigned)uid, job_id);
}

// ---- placement

static bool is_placement(const struct scheduler *scheduler, const char *word)
{
    return strcmp(scheduler->config->placement, word) == 0;
}

// Opens the class of a new job as [cgroup] placement says.
static int open_class(struct scheduler *scheduler, struct job *job, pid_t pid, struct error *err)
{
    char name[BACKEND_NAME_MAX];
    struct error fault;
    bool only = is_placement(scheduler, "in-place");
    struct class_home home = {.pid = pid, .uid = job->uid, .any = only};
    scheduler_class_name(name, job->uid, job->job_id);
    if (is_placement(scheduler, "move"))
        return class_open(scheduler->backend, name, &job->class_, err);
    if (class_open_in_place(scheduler->backend, name, &home, &job->class_, &fault) == 0) {
        log_line(LOG_INFO, "job %u/%s: classed in place", (unsigned)job->uid, job->job_id);
        return 0;
    }
    if (only) {
        log_line(LOG_NOTICE, "job %u/%s runs unmanaged, for [cgroup] placement = in-place: %s",
                 (unsigned)job->uid, job->job_id, fault.text);
        return error_set(err, EXDEV, "%s", fault.text);
    }
    log_line(fault.code == ENOENT ? LOG_DEBUG : LOG_INFO, "job %u/%s is moved, not in place: %s",
             (unsigned)job->uid, job->job_id, fault.text);
    return class_open(scheduler->backend, name, &job->class_, err);
}

// The job is not alone any more in the group that was made for it, so that its processes go to a
// class of its own. False when they must stay where they are.
static bool displace(struct scheduler *scheduler, struct job *job, const struct error *why)
{
    struct error err;
    uint64_t before_ns = 0, after_ns = 0;
    if (why->code != EXDEV || !class_is_in_place(job->class_) || !is_placement(scheduler, "auto"))
        return false;
    bool known = class_usage(job->class_, &before_ns, NULL) == 0;
    if (class_displace(&job->class_, &err) < 0) {
        log_line(LOG_WARNING, "job %u/%s cannot leave its group: %s", (unsigned)job->uid,
                 job->job_id, err.text);
        return false;
    }
    log_line(LOG_NOTICE, "job %u/%s is moved out of its group: %s", (unsigned)job->uid, job->job_id,
             why->text);
    for (uint32_t i = 0; i < job->process_count; i++)
        if (class_place(job->class_, job->processes[i]->pid, &err) < 0 && err.code != ESRCH)
            log_line(LOG_WARNING, "job %u/%s: process %d is not limited: %s", (unsigned)job->uid,
                     job->job_id, (int)job->processes[i]->pid, err.text);
    if (known && class_usage(job->class_, &after_ns, NULL) == 0)
        job->usage_before_ns += before_ns - after_ns;
    return true;
}

static int place(struct scheduler *scheduler, struct job *job, pid_t pid, struct error *err)
{
    struct error fault;
    if (class_place(job->class_, pid, &fault) == 0 ||
        (displace(scheduler, job, &fault) && class_place(job->class_, pid, &fault) == 0))
        return 0;
    return error_set(err, fault.code, "%s", fault.text);
}

// ---- carrying out decisions

// Sets the limit; fails open. Returns false when the job must go unlimited because the limit could
// not be set. Said once per job: a kernel that refuses one write will refuse the next. It may
// accept a later one, so a job whose limit could not even be lifted is stuck and tried again every
// turn.
static bool set_share(struct scheduler *scheduler, struct job *job, bool limited,
                      uint32_t share_ppm)
{
    struct error err;
    uint32_t wanted_ppm = limited ? share_ppm : BACKEND_UNLIMITED;
    job->stuck = false;
    if (class_set_share(job->class_, wanted_ppm, &err) == 0 ||
        (displace(scheduler, job, &err) && class_set_share(job->class_, wanted_ppm, &err) == 0))
        return true;
    if (!job->share_failed)
        log_line(LOG_WARNING, "job %u/%s runs without a limit: %s", (unsigned)job->uid, job->job_id,
                 err.text);
    job->share_failed = true;
    job->stuck = !limited || class_set_share(job->class_, BACKEND_UNLIMITED, NULL) < 0;
    return false;
}

static void carry_out(struct scheduler *scheduler, struct job *job, bool scheduled, bool limited,
                      uint32_t share_ppm)
{
    // Departure (g): a limit on the scheduled job would stop it at the end of every period, on each
    // node at another moment, and its peers with it.
    bool held = limited && (!scheduled || scheduler->config->strict);
    if (!scheduled)
        pages_publish(scheduler->pages, job->page, false, limited);
    if (!set_share(scheduler, job, held, share_ppm))
        pages_publish(scheduler->pages, job->page, true, false);
    else if (scheduled)
        pages_publish(scheduler->pages, job->page, true, limited);
    if (log_wants(LOG_DEBUG))
        log_line(LOG_DEBUG, "job %u/%s: %s, %s%.1f%% of the node", (unsigned)job->uid, job->job_id,
                 scheduled ? "scheduled" : "idle", limited ? "" : "no limit, ",
                 share_ppm * 100.0 / SHARE_WHOLE_PPM);
}

// The same on all nodes (FNV-1a of the job's id).
static uint64_t name_of(const struct job *job)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = job->job_id; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash;
}

static void record(struct scheduler *scheduler, const struct job *job, bool scheduled, bool limited,
                   uint32_t share_ppm, uint64_t now_ns)
{
    trace_event(scheduler->trace,
                !limited    ? PROTOCOL_EVENT_FREE
                : scheduled ? PROTOCOL_EVENT_SCHEDULED
                            : PROTOCOL_EVENT_IDLE,
                name_of(job), share_ppm, now_ns);
}

static void record_arrival(struct scheduler *scheduler, const struct job *job, uint64_t now_ns)
{
    struct engine_job_view view;
    if (!trace_recording(scheduler->trace) || !engine_job_find(scheduler->engine, job->id, &view))
        return;
    trace_job(scheduler->trace, name_of(job), job->uid, job->job_id, view.width, now_ns);
    record(scheduler, job, view.scheduled, view.limited, view.share_ppm, now_ns);
}

// For the next classd, should this one be killed.
static void record_turns(struct scheduler *scheduler)
{
    struct engine_job_view view;
    for (size_t i = 0; engine_job_at(scheduler->engine, i, &view); i++) {
        struct job *job = table_job_with_id(scheduler->table, view.job);
        if (job == NULL)
            continue;
        job->page->turns = (struct status_turns){
            .registered_ns = job->registered_ns,
            .scheduled_since_ns = view.scheduled_since_ns,
            .scheduled_total_ns = view.scheduled_total_ns,
            .switches = view.switches,
            .slices_waited = view.slices_waited,
            .most_jobs = view.most_jobs,
            .scheduled = view.scheduled,
        };
    }
}

static enum engine_outcome happen(struct scheduler *scheduler, struct engine_event event,
                                  uint64_t now_ns)
{
    struct engine_result result = engine_event(scheduler->engine, &event, now_ns);
    for (size_t i = 0; i < result.decision_count; i++) {
        const struct engine_decision *decision = &result.decisions[i];
        struct job *job = table_job_with_id(scheduler->table, decision->job);
        if (job == NULL)
            continue;
        carry_out(scheduler, job, decision->scheduled, decision->limited, decision->share_ppm);
        record(scheduler, job, decision->scheduled, decision->limited, decision->share_ppm, now_ns);
    }
    // A request that is discarded changes nothing, and there may be many.
    if (result.decision_count > 0 || event.kind == ENGINE_SWITCH)
        record_turns(scheduler);
    scheduler->deadline_ns = result.deadline_ns;
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

// Those that could not be lifted, and limited ones in place: a stranger may have come to live
// there.
static void reassert_doubtful(struct scheduler *scheduler)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        struct engine_job_view view;
        if ((job->stuck || class_is_in_place(job->class_)) &&
            engine_job_find(scheduler->engine, job->id, &view))
            carry_out(scheduler, job, view.scheduled, view.limited, view.share_ppm);
    }
}

// Carries out every decision in force once more, whatever was carried out before.
static void reassert(struct scheduler *scheduler)
{
    reassert_those(scheduler, false);
    reassert_those(scheduler, true);
}

// ---- CPU time

static void read_usage(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
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

static void read_all_usage(struct scheduler *scheduler, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        read_usage(scheduler, table_job_at(scheduler->table, i), now_ns);
    scheduler->usage_read_ns = now_ns;
}

// The engine takes a job's first total for the mark to count from.
static void start_usage(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    if (class_usage(job->class_, &job->usage_base_ns, NULL) < 0)
        job->usage_base_ns = 0;
    job->usage_base_ns += job->usage_before_ns;
    job->usage_ns = job->usage_base_ns;
    engine_event(scheduler->engine, &(struct engine_event){.kind = ENGINE_USAGE, .job = job->id},
                 now_ns);
}

// ---- jobs

static void publish_degree(struct scheduler *scheduler)
{
    uint32_t degree = (uint32_t)table_job_count(scheduler->table);
    for (uint32_t i = 0; i < degree; i++)
        __atomic_store_n(&table_job_at(scheduler->table, i)->page->degree, degree,
                         __ATOMIC_RELAXED);
}

// Removes what is left of a job without processes: class, page, entry.
static void end_job(struct scheduler *scheduler, struct job *job)
{
    struct error err;
    if (job->page != NULL) {
        // A process that has left its job may still look at the page.
        pages_publish(scheduler->pages, job->page, true, false);
        pages_remove_job(scheduler->pages, job->uid, job->job_id);
        status_page_close(job->page, job->page_fd);
    }
    if (job->class_ != NULL && class_remove(job->class_, &err) < 0)
        log_line(LOG_WARNING, "job %u/%s: its class stays behind: %s", (unsigned)job->uid,
                 job->job_id, err.text);
    table_remove_job(scheduler->table, job);
    publish_degree(scheduler);
}

static uint64_t jobs_of(const struct scheduler *scheduler, uid_t uid)
{
    uint64_t count = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        count += table_job_at(scheduler->table, i)->uid == uid;
    return count;
}

static struct job *start_job(struct scheduler *scheduler, uid_t uid, pid_t pid, const char *job_id,
                             uint64_t now_ns, struct error *err)
{
    if (table_job_count(scheduler->table) >= scheduler->config->max_jobs) {
        error_set(err, ENOSPC, "[daemon] max_jobs = %llu jobs are here already",
                  (unsigned long long)scheduler->config->max_jobs);
        return NULL;
    }
    if (uid != 0 && jobs_of(scheduler, uid) >= scheduler->config->max_jobs_per_user) {
        error_set(err, ENOSPC, "user %u has [daemon] max_jobs_per_user = %llu jobs here already",
                  (unsigned)uid, (unsigned long long)scheduler->config->max_jobs_per_user);
        return NULL;
    }
    struct job *job = table_add_job(scheduler->table, uid, job_id);
    if (job == NULL) {
        error_errno(err, ENOMEM, "process table");
        return NULL;
    }
    job->registered_ns = now_ns;
    // A class of this name may have stayed behind, with its limit.
    if (pages_open_job(scheduler->pages, uid, job_id, false, &job->page, &job->page_fd, err) == 0 &&
        open_class(scheduler, job, pid, err) == 0) {
        set_share(scheduler, job, false, ENGINE_WHOLE_PPM);
        publish_degree(scheduler);
        return job;
    }
    if (job->page != NULL) {
        pages_remove_job(scheduler->pages, uid, job_id);
        status_page_close(job->page, job->page_fd);
    }
    table_remove_job(scheduler->table, job);
    return NULL;
}

// ---- processes

// Enters the process in table, page and set of deaths. `pidfd` is its own from here on, on success.
static struct process *enter(struct scheduler *scheduler, struct job *job,
                             const struct status_member *member, int pidfd, struct error *err)
{
    struct process *process = table_add_process(scheduler->table, job, member->pid);
    if (process == NULL) {
        error_errno(err, ENOMEM, "process table");
        return NULL;
    }
    process->start_time = member->start_time;
    process->width = member->width;
    process->pidfd = pidfd;
    if (deaths_watch(scheduler->deaths, process, err) == 0)
        return process;
    process->pidfd = -1;
    table_remove_process(scheduler->table, process);
    return NULL;
}

// Takes the process out of everything but its class. The job may be gone afterwards.
static void leave(struct scheduler *scheduler, struct process *process, uint64_t now_ns)
{
    struct job *job = process->job;
    struct engine_event event = {.kind = ENGINE_EXIT, .job = job->id, .width = process->width};
    log_line(LOG_DEBUG, "job %u/%s: process %d left", (unsigned)job->uid, job->job_id,
             (int)process->pid);
    page_forget_member(job->page, process->slot);
    table_remove_process(scheduler->table, process);
    happen(scheduler, event, now_ns);
    if (job->process_count > 0)
        return;
    trace_event(scheduler->trace, PROTOCOL_EVENT_LEFT, name_of(job), 0, now_ns);
    log_line(LOG_INFO, "job %u/%s left: %.1f s of CPU time here, %zu jobs remain",
             (unsigned)job->uid, job->job_id, (double)job->usage_ns / (double)NS_PER_SEC,
             table_job_count(scheduler->table) - 1);
    end_job(scheduler, job);
}

static int change_width(struct scheduler *scheduler, struct process *process, uint32_t width,
                        uint64_t now_ns, struct error *err)
{
    struct job *job = process->job;
    struct engine_event come = {
        .kind = ENGINE_REGISTER, .job = job->id, .width = width, .name = name_of(job)};
    struct engine_event go = {.kind = ENGINE_EXIT, .job = job->id, .width = process->width};
    if (width == process->width)
        return 0;
    if (happen(scheduler, come, now_ns) != ENGINE_DONE)
        return error_errno(err, ENOMEM, "job %s", job->job_id);
    happen(scheduler, go, now_ns);
    process->width = width;
    job->page->members[process->slot].width = width;
    return 0;
}

static int register_again(struct scheduler *scheduler, struct process *process,
                          const struct applicant *applicant, uint64_t now_ns, struct error *err)
{
    struct job *job = process->job;
    if (job->uid != applicant->uid || strcmp(job->job_id, applicant->wish->job_id) != 0)
        return error_set(err, EBUSY, "process %d is in job %u/%s already", (int)process->pid,
                         (unsigned)job->uid, job->job_id);
    if (change_width(scheduler, process, applicant->wish->width, now_ns, err) < 0)
        return -1;
    process->serial = table_next_serial(scheduler->table);
    return 0;
}

// Undoes class_place(); a job without processes ends.
static void withdraw(struct scheduler *scheduler, struct job *job, pid_t pid)
{
    if (job->process_count > 0)
        class_expel(job->class_, pid, NULL);
    else
        end_job(scheduler, job);
}

static struct process *join(struct scheduler *scheduler, struct job *job,
                            const struct applicant *applicant, uint64_t now_ns, struct error *err)
{
    struct status_member member = {.pid = applicant->pid,
                                   .width = applicant->wish->width,
                                   .start_time = applicant->start_time};
    bool first = job->process_count == 0;
    if (job->process_count >= scheduler->config->max_processes) {
        error_set(err, ENOSPC, "job %s has [daemon] max_processes = %llu processes here already",
                  job->job_id, (unsigned long long)scheduler->config->max_processes);
        return NULL;
    }
    struct process *process = NULL;
    if (place(scheduler, job, applicant->pid, err) == 0)
        process = enter(scheduler, job, &member, applicant->pidfd, err);
    if (process == NULL) {
        withdraw(scheduler, job, applicant->pid);
        return NULL;
    }
    page_record_member(job->page, &member);
    struct engine_event event = {
        .kind = ENGINE_REGISTER, .job = job->id, .width = member.width, .name = name_of(job)};
    if (happen(scheduler, event, now_ns) != ENGINE_DONE) {
        process->pidfd = -1; // the applicant's again
        page_forget_member(job->page, process->slot);
        table_remove_process(scheduler->table, process);
        withdraw(scheduler, job, applicant->pid);
        error_errno(err, ENOMEM, "engine");
        return NULL;
    }
    if (first)
        start_usage(scheduler, job, now_ns);
    return process;
}

static struct process *register_new(struct scheduler *scheduler, const struct applicant *applicant,
                                    uint64_t now_ns, struct error *err)
{
    const struct protocol_register *wish = applicant->wish;
    struct job *job = table_find_job(scheduler->table, applicant->uid, wish->job_id);
    bool new = job == NULL;
    if (new)
        job = start_job(scheduler, applicant->uid, applicant->pid, wish->job_id, now_ns, err);
    if (job == NULL)
        return NULL;
    struct process *process = join(scheduler, job, applicant, now_ns, err);
    if (process == NULL)
        return NULL;
    job->ranks = wish->ranks;
    job->page->ranks = wish->ranks;
    if (new)
        record_arrival(scheduler, job, now_ns);
    log_line(new ? LOG_INFO : LOG_DEBUG, "job %u/%s: process %d, rank %u of %u, width %u%s",
             (unsigned)job->uid, job->job_id, (int)applicant->pid, wish->rank, wish->ranks,
             wish->width, new ? ", is the first here" : "");
    return process;
}

int scheduler_register(scheduler_t *scheduler, const struct applicant *applicant, uint64_t now_ns,
                       struct process **process, struct error *err)
{
    struct process *known = table_find_process(scheduler->table, applicant->pid);
    if (known != NULL && known->start_time != applicant->start_time) {
        // The pid was used again before the death of its last owner was handled.
        read_all_usage(scheduler, now_ns);
        leave(scheduler, known, now_ns);
        known = NULL;
    }
    bool kept = false;
    if (known != NULL) {
        *process = register_again(scheduler, known, applicant, now_ns, err) == 0 ? known : NULL;
    } else {
        *process = register_new(scheduler, applicant, now_ns, err);
        kept = *process != NULL;
    }
    if (!kept && applicant->pidfd >= 0)
        close(applicant->pidfd);
    return *process != NULL ? 0 : -1;
}

struct process *scheduler_find(const scheduler_t *scheduler, pid_t pid, uint64_t serial)
{
    struct process *process = table_find_process(scheduler->table, pid);
    return process != NULL && process->serial == serial ? process : NULL;
}

void scheduler_exit(scheduler_t *scheduler, struct process *process, uint64_t now_ns)
{
    struct error err;
    struct job *job = process->job;
    read_all_usage(scheduler, now_ns);
    // The last process goes back when the class is removed, with its descendants.
    if (job->process_count > 1 && class_expel(job->class_, process->pid, &err) < 0 &&
        err.code != ESRCH)
        log_line(LOG_NOTICE, "job %u/%s: process %d stays in the class: %s", (unsigned)job->uid,
                 job->job_id, (int)process->pid, err.text);
    leave(scheduler, process, now_ns);
}

void scheduler_bury(scheduler_t *scheduler, uint64_t now_ns)
{
    struct process *process = deaths_next(scheduler->deaths);
    if (process != NULL)
        read_all_usage(scheduler, now_ns);
    for (; process != NULL; process = deaths_next(scheduler->deaths))
        leave(scheduler, process, now_ns);
}

int scheduler_deaths_fd(const scheduler_t *scheduler)
{
    return scheduler->deaths;
}

// ---- turns

static void take_turns(struct scheduler *scheduler, uint64_t now_ns, uint64_t wall_ns)
{
    uint64_t slice_ns = scheduler->config->time_slice_ns;
    bool was_silent = scheduler->last_switch_ns == 0 || scheduler->unasked ||
                      now_ns - scheduler->last_switch_ns > slice_ns + slice_ns / 2;
    scheduler->last_switch_ns = now_ns;
    read_all_usage(scheduler, now_ns);
    trace_event(scheduler->trace, PROTOCOL_EVENT_SWITCH, 0, 0, now_ns);
    struct engine_event event = {.kind = ENGINE_SWITCH};
    uint64_t early_ns = slice_ns / 8; // timerd's ticks come at about the multiples of the slice
    if (scheduler->config->timer_align && (wall_ns + early_ns) % slice_ns < 2 * early_ns)
        event.turn = (wall_ns + early_ns) / slice_ns;
    happen(scheduler, event, now_ns);
    if (was_silent)
        reassert(scheduler); // timerd may have lifted limits meanwhile
    else
        reassert_doubtful(scheduler);
}

void scheduler_switch(scheduler_t *scheduler, uint64_t now_ns, uint64_t wall_ns)
{
    scheduler->switches++;
    take_turns(scheduler, now_ns, wall_ns);
    if (scheduler->unasked)
        log_line(LOG_NOTICE, "timerd asks for switches again");
    scheduler->unasked = false;
}

// A timerd that is dead, hangs or is of another version must not leave idle jobs idle for ever.
static uint64_t overdue_ns(const struct scheduler *scheduler)
{
    uint64_t last_ns =
        scheduler->last_switch_ns != 0 ? scheduler->last_switch_ns : scheduler->started_ns;
    return last_ns + 2 * scheduler->config->time_slice_ns;
}

void scheduler_deadline(scheduler_t *scheduler, uint64_t now_ns, uint64_t wall_ns)
{
    bool overdue = overdue_ns(scheduler) <= scheduler->deadline_ns; // not the policy's wish
    take_turns(scheduler, now_ns, wall_ns);
    if (overdue && !scheduler->unasked)
        log_line(LOG_WARNING, "no SWITCH for two time-slices: classd switches by itself; is timerd "
                              "running?");
    scheduler->unasked |= overdue;
}

void scheduler_request(scheduler_t *scheduler, struct process *process, uint64_t now_ns)
{
    struct engine_event event = {.kind = ENGINE_SCHEDULE, .job = process->job->id};
    process->job->requests++;
    scheduler->requests++;
    if (now_ns - scheduler->usage_read_ns >= USAGE_FRESH_NS)
        read_all_usage(scheduler, now_ns);
    enum engine_outcome outcome = happen(scheduler, event, now_ns);
    bool granted = outcome == ENGINE_GRANTED;
    if (granted)
        scheduler->granted++;
    else
        scheduler->discarded++;
    trace_event(scheduler->trace, granted ? PROTOCOL_EVENT_GRANTED : PROTOCOL_EVENT_DISCARDED,
                name_of(process->job), 0, now_ns);
}

// ---- changes from outside

void scheduler_reconfigure(scheduler_t *scheduler, uint64_t now_ns)
{
    struct engine_settings settings = engine_settings(scheduler->config);
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        pages_describe_node(scheduler->pages, table_job_at(scheduler->table, i)->page);
    read_all_usage(scheduler, now_ns);
    happen(scheduler, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings},
           now_ns);
    reassert(scheduler); // [scheduler] strict is no decision of the engine's
}

int scheduler_start_trace(scheduler_t *scheduler, uint32_t capacity, uint64_t now_ns,
                          struct error *err)
{
    if (trace_start(scheduler->trace, capacity, err) < 0)
        return -1;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        record_arrival(scheduler, table_job_at(scheduler->table, i), now_ns);
    return 0;
}

trace_t *scheduler_trace(const scheduler_t *scheduler)
{
    return scheduler->trace;
}

uint64_t scheduler_deadline_ns(const scheduler_t *scheduler)
{
    uint64_t own_ns =
        table_job_count(scheduler->table) > 0 ? overdue_ns(scheduler) : ENGINE_NO_DEADLINE;
    return own_ns < scheduler->deadline_ns ? own_ns : scheduler->deadline_ns;
}

// ---- adoption and end

// The engine learns of the job; it decides in scheduler_resume(), when all jobs are there.
static int tell_engine(struct scheduler *scheduler, const struct job *job, uint64_t now_ns,
                       struct error *err)
{
    const struct status_turns *turns = &job->page->turns;
    uint64_t max_jobs = scheduler->config->max_jobs;
    struct engine_account account = {
        .service_ns = job->page->service_ns,
        .scheduled = turns->scheduled != 0,
        .scheduled_since_ns = turns->scheduled_since_ns,
        .scheduled_total_ns = turns->scheduled_total_ns,
        .switches = turns->switches,
        .slices_waited = turns->slices_waited,
        .most_jobs = turns->most_jobs < max_jobs ? turns->most_jobs : (uint32_t)max_jobs,
    };
    struct engine_event event = {
        .kind = ENGINE_ADOPT, .job = job->id, .name = name_of(job), .account = &account};
    for (uint32_t i = 0; i < job->process_count; i++) {
        event.width = job->processes[i]->width;
        if (engine_event(scheduler->engine, &event, now_ns).outcome != ENGINE_DONE)
            return error_errno(err, ENOMEM, "engine"); // only possible for the first
    }
    return 0;
}

static bool adopt_process(struct scheduler *scheduler, struct job *job,
                          const struct status_member *member, int pidfd, struct error *err)
{
    if (enter(scheduler, job, member, pidfd, err) == NULL)
        return false;
    page_record_member(job->page, member);
    return true;
}

static void drop_processes(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    while (job->process_count > 0) {
        struct process *process = job->processes[job->process_count - 1];
        struct engine_event event = {.kind = ENGINE_EXIT, .job = job->id, .width = process->width};
        engine_event(scheduler->engine, &event, now_ns);
        table_remove_process(scheduler->table, process);
    }
}

int scheduler_adopt(scheduler_t *scheduler, const struct adoption *adoption, uint64_t now_ns,
                    struct error *err)
{
    uint32_t entered = 0;
    struct job *job = table_add_job(scheduler->table, adoption->uid, adoption->job_id);
    if (job != NULL) {
        job->class_ = adoption->class_;
        job->page = adoption->page;
        job->page_fd = adoption->page_fd;
        job->ranks = job->page->ranks;
        job->registered_ns = job->page->turns.registered_ns;
        if (job->registered_ns == 0 || job->registered_ns > now_ns)
            job->registered_ns = now_ns;
        job->page->member_count = 0;
        while (entered < adoption->count &&
               adopt_process(scheduler, job, &adoption->processes[entered],
                             adoption->pidfds[entered], err))
            entered++;
    }
    for (uint32_t i = entered; i < adoption->count; i++)
        close(adoption->pidfds[i]);
    if (job == NULL) {
        class_close(adoption->class_);
        status_page_close(adoption->page, adoption->page_fd);
        return error_errno(err, ENOMEM, "process table");
    }
    if (entered < adoption->count || tell_engine(scheduler, job, now_ns, err) < 0) {
        drop_processes(scheduler, job, now_ns);
        end_job(scheduler, job);
        return -1;
    }
    start_usage(scheduler, job, now_ns);
    publish_degree(scheduler);
    return 0;
}

void scheduler_resume(scheduler_t *scheduler, uint64_t now_ns)
{
    struct engine_settings settings = engine_settings(scheduler->config);
    happen(scheduler, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings},
           now_ns);
    reassert(scheduler);
}

void scheduler_lift(scheduler_t *scheduler)
{
    struct error err;
    if (backend_release_all(scheduler->backend, NULL, &err) != 0)
        log_line(LOG_ERR, "limits stay behind: %s", err.text);
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        // Its record may be gone, with the runtime directory.
        if (class_is_in_place(job->class_))
            set_share(scheduler, job, false, ENGINE_WHOLE_PPM);
        pages_publish(scheduler->pages, job->page, true, false);
    }
}

void scheduler_dissolve(scheduler_t *scheduler, uint64_t now_ns)
{
    scheduler_lift(scheduler);
    while (table_job_count(scheduler->table) > 0) {
        struct job *job = table_job_at(scheduler->table, 0);
        drop_processes(scheduler, job, now_ns);
        end_job(scheduler, job);
    }
}

// ---- for people

void scheduler_describe_node(const scheduler_t *scheduler, struct protocol_node_record *record,
                             uint64_t now_ns)
{
    const struct config *config = scheduler->config;
    *record = (struct protocol_node_record){
        .node_id = pages_node_id(scheduler->pages),
        .uptime_ns = now_ns - scheduler->started_ns,
        .time_slice_ns = config->time_slice_ns,
        .gmet_ns = config->gmet_ns,
        .switches = scheduler->switches,
        .requests = scheduler->requests,
        .requests_granted = scheduler->granted,
        .requests_discarded = scheduler->discarded,
        .idle_share_ppm = config->idle_share_ppm,
        .cpus = config_cpus(config),
        .jobs = (uint32_t)table_job_count(scheduler->table),
        .processes = (uint32_t)table_process_count(scheduler->table),
        .generation = pages_generation(scheduler->pages),
        .pid = (uint32_t)getpid(),
    };
    snprintf(record->policy, sizeof record->policy, "%s", config->policy);
    snprintf(record->backend, sizeof record->backend, "%s", backend_name(scheduler->backend));
    snprintf(record->version, sizeof record->version, "%s", COSCHED_VERSION);
}

static struct job *visible_job(const struct scheduler *scheduler, uid_t viewer, bool sees_all,
                               uint32_t index)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if ((sees_all || job->uid == viewer) && index-- == 0)
            return job;
    }
    return NULL;
}

bool scheduler_describe_job(scheduler_t *scheduler, uid_t viewer, bool sees_all, uint32_t index,
                            struct protocol_job_record *record, uint64_t now_ns)
{
    struct engine_job_view view;
    struct job *job = visible_job(scheduler, viewer, sees_all, index);
    if (job == NULL || !engine_job_find(scheduler->engine, job->id, &view))
        return false;
    if (now_ns - scheduler->usage_read_ns >= USAGE_FRESH_NS)
        read_usage(scheduler, job, now_ns);
    *record = (struct protocol_job_record){
        .uid = (uint32_t)job->uid,
        .processes = job->process_count,
        .ranks = job->ranks,
        .width = view.width,
        .scheduled = view.scheduled,
        .share_ppm = view.share_ppm,
        .limited = view.limited,
        .cpu_ns = job->usage_ns,
        .registered_ns = now_ns - job->registered_ns,
        .scheduled_ns = view.scheduled_total_ns,
        .switches = view.switches,
        .requests = job->requests,
    };
    snprintf(record->job_id, sizeof record->job_id, "%s", job->job_id);
    return true;
}
