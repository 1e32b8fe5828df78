#include "classd/scheduler_state.h"

#include "classd/deaths.h"
#include "classd/job_class.h"
#include "classd/job_cpus.h"
#include "classd/log.h"
#include "classd/process.h"
#include "common/gang_lists.h"
#include "common/units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// Each may end a job, whose class is removed; others are served, and the watchdog told, meanwhile.
enum { DEATHS_PER_TURN = 16 };

// What is left of MPI_Finalize when all have met is mostly over within that; a tenth of the time at
// most, or who comes and goes without end would never be limited.
#define PARTING_NS (200 * NS_PER_MS)
enum { PARTING_PART = 9 };

void jobs_publish_degree(struct scheduler *scheduler)
{
    uint32_t jobs = (uint32_t)table_job_count(scheduler->table);
    uint32_t degree = scheduler->sequential.takes_part ? 1 : 0;
    for (uint32_t i = 0; i < jobs; i++)
        degree += !table_job_at(scheduler->table, i)->suspended &&
                  !table_job_at(scheduler->table, i)->dormant;
    for (uint32_t i = 0; i < jobs; i++)
        __atomic_store_n(&table_job_at(scheduler->table, i)->page->degree, degree,
                         __ATOMIC_RELAXED);
}

bool jobs_is_here_alone(const struct job *job)
{
    return job->process_count >= worlds_ranks(&job->worlds);
}

// Who parts is not to wait for its CPU: its peers on other nodes may need its answers. So it keeps
// its class without a limit, and when it ends by itself meanwhile need not be moved, for which the
// kernel takes its time. Nobody is moved out of a class in place.
static uint64_t parting_ns(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    uint64_t most_ns = (now_ns - job->registered_ns) / PARTING_PART;
    if (!job->parts || class_is_in_place(job->class_) ||
        !job_class_limit(scheduler->config, scheduler->backend, &scheduler->moment, job, false,
                         ENGINE_WHOLE_PPM))
        return 0;
    return most_ns < PARTING_NS ? most_ns : PARTING_NS;
}

void jobs_end(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    if (job->class_ != NULL)
        tracking_end(scheduler, job);
    uint64_t stay_ns = job->class_ != NULL ? parting_ns(scheduler, job, now_ns) : 0;
    if (job->page != NULL) {
        // A process that has left its job may still look at the page.
        pages_publish(scheduler->pages, job->page, true, false);
        pages_remove_job(scheduler->pages, job->uid, job->job_id);
        status_page_close(job->page, job->page_fd);
    }
    if (job->class_ != NULL)
        leaving_begin(scheduler, job->uid, job->class_, now_ns + stay_ns, now_ns);
    table_remove_job(scheduler->table, job);
    jobs_publish_degree(scheduler);
}

static uint64_t jobs_of(const struct scheduler *scheduler, uid_t uid)
{
    uint64_t count = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        count += table_job_at(scheduler->table, i)->uid == uid;
    return count;
}

// An unknown name is as good as none: configurations of nodes may differ for a moment.
static uint8_t list_of(const struct config *config, const struct job *job, const char *name)
{
    struct gang_lists lists;
    if (*name == '\0' || gang_lists_parse(config->gang_lists, &lists, NULL) < 0)
        return 0;
    int list = gang_lists_find(&lists, name);
    if (list < 0 && !job->quiet)
        log_line(LOG_INFO,
                 "job %u/%s: COSCHED_LIST=%s is none of [gang] lists = %s; it begins in %s",
                 (unsigned)job->uid, job->job_id, name, config->gang_lists, lists.list[0].name);
    return list > 0 ? (uint8_t)list : 0;
}

// Ended jobs whose classes stay for want of an end of their processes count, or a user could have
// the kernel keep as many as he likes.
static int check_jobs(const struct scheduler *scheduler, uid_t uid, const char *job_id,
                      struct error *err)
{
    const struct config *config = scheduler->config;
    size_t jobs = table_job_count(scheduler->table), ended = leavers_count(scheduler->leavers);
    if (jobs >= config->max_jobs)
        return error_set(err, ENOSPC, "[daemon] max_jobs = %llu jobs are here already",
                         (unsigned long long)config->max_jobs);
    if (jobs + ended >= SCHEDULER_CLASSES_MAX)
        return error_set(err, ENOSPC,
                         "%zu jobs are here already (%zu have ended and still have processes, "
                         "which counts)",
                         jobs + ended, ended);
    ended = leaving_of(scheduler, uid, job_id);
    if (uid != 0 && jobs_of(scheduler, uid) + ended >= config->max_jobs_per_user)
        return error_set(err, ENOSPC,
                         "user %u has [daemon] max_jobs_per_user = %llu jobs here already (%zu "
                         "have ended and still have processes, which counts)",
                         (unsigned)uid, (unsigned long long)config->max_jobs_per_user, ended);
    return 0;
}

static void make_room(struct scheduler *scheduler, pid_t pid)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *other = table_job_at(scheduler->table, i);
        if (job_class_give_way(scheduler->config, scheduler->backend, other, pid))
            decisions_reassert_job(scheduler, other);
    }
}

// `left` is what another job of the name has left, or null. A class in place would be a second one
// of that name.
static int open_class(struct scheduler *scheduler, struct job *job, pid_t pid, const class_t *left,
                      struct error *err)
{
    make_room(scheduler, pid);
    if (job_class_open(scheduler->config, scheduler->backend, job, pid, err) < 0)
        return -1;
    if (left == NULL || !class_is_in_place(job->class_))
        return 0;
    struct error fault = {0};
    if (class_remove_step(job->class_, SIZE_MAX, &fault) != 0 && fault.code == EAGAIN)
        class_close(job->class_); // nobody leaves it, and nothing was set yet
    job->class_ = NULL;
    return error_set(err, EBUSY, "job %s: one of this name has ended and still has processes",
                     job->job_id);
}

// Who was stopped with the job before goes on first: what tells of him has the name of the new
// one's class.
static int check_left(const class_t *left, const char *job_id, struct error *err)
{
    struct class_suspension how;
    if (left == NULL || !class_suspended(left, &how))
        return 0;
    return error_set(err, EBUSY,
                     "job %s: one of this name has ended, and its processes could not be continued "
                     "yet",
                     job_id);
}

// A class of this name may have stayed behind suspended, and this classd may not know of it. What
// cannot be continued now is the caller's to remove.
static int continue_those_left(struct job *job, struct error *err)
{
    struct error fault;
    struct class_suspension how;
    if (class_resume(job->class_, &fault) == 0 || !class_suspended(job->class_, &how))
        return 0;
    return error_set(err, EBUSY, "job %s: one of this name was suspended: %s", job->job_id,
                     fault.text);
}

static struct job *start_job(struct scheduler *scheduler, uid_t uid, pid_t pid, const char *job_id,
                             uint64_t now_ns, struct error *err)
{
    if (check_jobs(scheduler, uid, job_id, err) < 0)
        return NULL;
    struct job *job = table_add_job(scheduler->table, uid, job_id);
    if (job == NULL) {
        error_errno(err, ENOMEM, "process table");
        return NULL;
    }
    job->registered_ns = now_ns;
    job->quiet = !log_valve_open(&scheduler->arrivals_valve, now_ns);
    class_t *left = leaving_give_up(scheduler, uid, job_id, now_ns);
    if (check_left(left, job_id, err) == 0 &&
        pages_open_job(scheduler->pages, uid, job_id, false, &job->page, &job->page_fd, err) == 0 &&
        open_class(scheduler, job, pid, left, err) == 0) {
        class_close(left);
        left = job->class_;
        if (continue_those_left(job, err) == 0) {
            decisions_date(scheduler, now_ns);
            job_class_limit(scheduler->config, scheduler->backend, &scheduler->moment, job, false,
                            ENGINE_WHOLE_PPM);
            atomic_store_explicit(&job->page->turn, status_turn(scheduler->turn),
                                  memory_order_relaxed);
            jobs_publish_degree(scheduler);
            return job;
        }
        job->class_ = NULL;
    }
    if (left != NULL)
        leaving_begin(scheduler, uid, left, now_ns, now_ns);
    if (job->page != NULL) {
        pages_remove_job(scheduler->pages, uid, job_id);
        status_page_close(job->page, job->page_fd);
    }
    table_remove_job(scheduler->table, job);
    return NULL;
}

// ---- processes

struct process *jobs_enter(struct scheduler *scheduler, struct job *job,
                           const struct status_member *member, const struct world *world, int pidfd,
                           struct error *err)
{
    struct process *process = table_add_process(scheduler->table, job, member->pid, world);
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

static void forget(struct scheduler *scheduler, struct process *process)
{
    deaths_forget(scheduler->deaths, process);
    table_remove_process(scheduler->table, process);
}

void jobs_publish_size(struct job *job)
{
    struct status_page *page = job->page;
    uint32_t before = atomic_load_explicit(&page->width, memory_order_relaxed), width = 0;
    for (uint32_t i = 0; i < job->process_count; i++)
        width += job->processes[i]->width;
    page->ranks = worlds_ranks(&job->worlds);
    worlds_keep(&job->worlds, page->worlds);
    atomic_store_explicit(&page->width, width, memory_order_relaxed);
    if (width != before && (width > page->cpus || before > page->cpus))
        status_page_nudge(page); // its ranks may have to share CPUs, or need not any more
}

// Takes the process out of everything but its class. The job may be gone afterwards.
static void leave(struct scheduler *scheduler, struct process *process, uint64_t now_ns)
{
    struct job *job = process->job;
    struct engine_event event = {.kind = ENGINE_EXIT, .job = job->id, .width = process->width};
    log_line(LOG_DEBUG, "job %u/%s: process %d left", (unsigned)job->uid, job->job_id,
             (int)process->pid);
    page_forget_member(job->page, process->slot);
    forget(scheduler, process);
    decisions_take(scheduler, event, now_ns);
    if (job->process_count > 0) {
        jobs_publish_size(job);
        return;
    }
    trace_event(scheduler->trace, PROTOCOL_EVENT_LEFT, job_trace_number(job), 0, now_ns);
    if (!job->quiet)
        log_line(LOG_INFO, "job %u/%s left: %.1f s of CPU time here, %zu jobs remain",
                 (unsigned)job->uid, job->job_id, (double)job->usage_ns / (double)NS_PER_SEC,
                 table_job_count(scheduler->table) - 1);
    jobs_end(scheduler, job, now_ns);
    sequential_review(scheduler, now_ns);
}

static struct world world_of(const struct protocol_register *wish)
{
    return (struct world){.key = wish->world, .parent = wish->parent, .ranks = wish->ranks};
}

static void change_width(struct scheduler *scheduler, struct process *process, uint32_t width,
                         uint64_t now_ns)
{
    struct job *job = process->job;
    struct engine_event event = {
        .kind = ENGINE_WIDTH, .job = job->id, .width = width, .width_before = process->width};
    if (width == process->width)
        return;
    decisions_take(scheduler, event, now_ns);
    process->width = width;
    job->page->members[process->slot].width = width;
}

static int register_again(struct scheduler *scheduler, struct process *process,
                          const struct applicant *applicant, uint64_t now_ns, struct error *err)
{
    struct job *job = process->job;
    if (job->uid != applicant->uid || strcmp(job->job_id, applicant->wish->job_id) != 0)
        return error_set(err, EBUSY, "process %d is in job %u/%s already", (int)process->pid,
                         (unsigned)job->uid, job->job_id);
    struct world world = world_of(applicant->wish);
    change_width(scheduler, process, applicant->wish->width, now_ns);
    table_move_to_world(process, &world);
    jobs_publish_size(job);
    process->serial = table_next_serial(scheduler->table);
    process->parts = false;
    process->again = true;
    return 0;
}

// Placing goes by number; who lives still had it to himself all the time.
static int check_alive(const struct applicant *applicant, struct error *err)
{
    if (applicant->pidfd < 0 || process_alive(applicant->pidfd))
        return 0;
    return error_set(err, ESRCH, "process %d has ended", (int)applicant->pid);
}

// Who is stopped, is about to be or is to die: outside of the class nobody would find it again.
static bool must_stay(const struct job *job)
{
    struct class_suspension how;
    return job->tracking.work != TRACKING_IDLE ||
           (class_suspended(job->class_, &how) && how.means != CLASS_BY_SHARE);
}

// A job that another one has started begins in that one's class, and has to wait for its own while
// it is held there: who was stopped with that class would be continued by nobody.
static int check_not_held(const struct scheduler *scheduler, const struct applicant *applicant,
                          struct error *err)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        const struct job *job = table_job_at(scheduler->table, i);
        bool own = job->uid == applicant->uid && strcmp(job->job_id, applicant->wish->job_id) == 0;
        if (!own && must_stay(job) && class_holds(job->class_, applicant->pid))
            return error_set(
                err, EBUSY,
                "process %d is of job %u/%s, which is suspended, or about to be: start "
                "jobs in it when it is resumed",
                (int)applicant->pid, (unsigned)job->uid, job->job_id);
    }
    return 0;
}

// Undoes class_place(), unless it is to be held there; a job without processes ends.
static void withdraw(struct scheduler *scheduler, struct job *job, pid_t pid, uint64_t now_ns)
{
    if (job->process_count > 0 && must_stay(job))
        return;
    if (job->process_count > 0)
        class_expel(job->class_, pid, NULL);
    else
        jobs_end(scheduler, job, now_ns);
}

static uint64_t processes_of(const struct scheduler *scheduler, uid_t uid)
{
    uint64_t count = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        const struct job *job = table_job_at(scheduler->table, i);
        count += job->uid == uid ? job->process_count : 0;
    }
    return count;
}

// Each costs a descriptor for as long as it lives, even if it has closed its connection.
static int check_room(const struct scheduler *scheduler, const struct job *job, struct error *err)
{
    const struct config *config = scheduler->config;
    if (job->process_count >= config->max_processes)
        return error_set(err, ENOSPC,
                         "job %s has [daemon] max_processes = %llu processes here already",
                         job->job_id, (unsigned long long)config->max_processes);
    if (table_process_count(scheduler->table) >= config->max_connections)
        return error_set(err, ENOSPC,
                         "[daemon] max_connections = %llu processes are registered already",
                         (unsigned long long)config->max_connections);
    if (job->uid != 0 && processes_of(scheduler, job->uid) >= config->max_connections_per_user)
        return error_set(
            err, ENOSPC,
            "user %u has [daemon] max_connections_per_user = %llu processes registered already",
            (unsigned)job->uid, (unsigned long long)config->max_connections_per_user);
    return 0;
}

// Who says more than that of the future has another time of day.
#define STARTS_MOST_NS NS_PER_SEC

// The number of the first slice that begins when all the job's nodes know of it; 0: it is not
// known, or slices have no numbers.
static uint64_t first_turn_of(const struct scheduler *scheduler,
                              const struct protocol_register *wish, uint64_t now_ns)
{
    uint64_t slice_ns = config_slice_ns(scheduler->config);
    uint64_t wall_ns = now_ns + scheduler->wall_offset_ns;
    if (!scheduler->config->timer_align || scheduler->wall_offset_ns == 0 || wish->starts_ns == 0 ||
        (wish->starts_ns > wall_ns && wish->starts_ns - wall_ns > STARTS_MOST_NS))
        return 0;
    return wish->starts_ns / slice_ns + (wish->starts_ns % slice_ns != 0);
}

// A job that is moved for it has another class from then on, of which the kernel knows no limit.
static int place(struct scheduler *scheduler, struct job *job, const struct applicant *applicant,
                 uint64_t now_ns, struct error *err)
{
    bool in_place = class_is_in_place(job->class_);
    int rc = job_class_place(scheduler->config, scheduler->backend, job, applicant->pid,
                             applicant->start_time, err);
    if (in_place && !class_is_in_place(job->class_)) {
        decisions_date(scheduler, now_ns);
        decisions_reassert_job(scheduler, job);
    }
    return rc;
}

static struct process *join(struct scheduler *scheduler, struct job *job,
                            const struct applicant *applicant, uint64_t now_ns, struct error *err)
{
    struct status_member member = {.pid = applicant->pid,
                                   .width = applicant->wish->width,
                                   .start_time = applicant->start_time};
    struct world world = world_of(applicant->wish);
    bool first = job->process_count == 0;
    struct process *process = NULL;
    if (check_room(scheduler, job, err) < 0) {
        if (first)
            jobs_end(scheduler, job, now_ns);
        return NULL;
    }
    if (place(scheduler, job, applicant, now_ns, err) == 0 && check_alive(applicant, err) == 0)
        process = jobs_enter(scheduler, job, &member, &world, applicant->pidfd, err);
    if (process == NULL) {
        withdraw(scheduler, job, applicant->pid, now_ns);
        return NULL;
    }
    page_record_member(job->page, &member);
    job_cpus_join(job, process);
    if (first)
        job->named_ranks = worlds_largest(&job->worlds);
    if (first) // who of those who sleep has begun to compute is not to stand aside for it
        dormant_wake(scheduler, now_ns);
    struct engine_event event = {.kind = ENGINE_REGISTER,
                                 .job = job->id,
                                 .width = member.width,
                                 .name = job_turn_name(job),
                                 .owner = job_owner(job),
                                 .cpus = job_cpus(job),
                                 .from_turn = first_turn_of(scheduler, applicant->wish, now_ns),
                                 .list = job->page->list};
    dormant_rouse(scheduler, job);
    if (decisions_take(scheduler, event, now_ns) != ENGINE_DONE) {
        deaths_forget(scheduler->deaths, process);
        process->pidfd = -1; // the applicant's again
        page_forget_member(job->page, process->slot);
        table_remove_process(scheduler->table, process);
        withdraw(scheduler, job, applicant->pid, now_ns);
        error_errno(err, ENOMEM, "engine");
        return NULL;
    }
    if (first)
        accounts_start(scheduler, job, now_ns);
    return process;
}

static struct process *register_new(struct scheduler *scheduler, const struct applicant *applicant,
                                    uint64_t now_ns, struct error *err)
{
    const struct protocol_register *wish = applicant->wish;
    struct job *job = table_find_job(scheduler->table, applicant->uid, wish->job_id);
    bool new = job == NULL;
    if (check_not_held(scheduler, applicant, err) != 0)
        return NULL;
    if (new)
        job = start_job(scheduler, applicant->uid, applicant->pid, wish->job_id, now_ns, err);
    if (job == NULL)
        return NULL;
    if (new)
        job->page->list = list_of(scheduler->config, job, wish->list);
    struct process *process = join(scheduler, job, applicant, now_ns, err);
    if (process == NULL)
        return NULL;
    jobs_publish_size(job);
    if (new)
        decisions_record_arrival(scheduler, job, now_ns);
    log_line(new && !job->quiet ? LOG_INFO : LOG_DEBUG,
             "job %u/%s: process %d, rank %u of %u, width %u%s", (unsigned)job->uid, job->job_id,
             (int)applicant->pid, wish->rank, wish->ranks, wish->width,
             new ? ", is the first here" : "");
    return process;
}

int scheduler_register(scheduler_t *scheduler, const struct applicant *applicant, uint64_t now_ns,
                       struct process **process, struct error *err)
{
    struct process *known = table_find_process(scheduler->table, applicant->pid);
    if (known != NULL && known->start_time != applicant->start_time) {
        // The pid was used again before the death of its last owner was handled.
        accounts_read_all(scheduler, now_ns);
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
    accounts_read_stale(scheduler, now_ns);
    // The last process goes back when the class is removed, with its descendants.
    if (job->process_count > 1 && !must_stay(job) &&
        class_expel(job->class_, process->pid, &err) < 0 && err.code != ESRCH &&
        log_valve_open(&scheduler->exits_valve, now_ns))
        log_line(LOG_NOTICE, "job %u/%s: process %d stays in the class: %s", (unsigned)job->uid,
                 job->job_id, (int)process->pid, err.text);
    leave(scheduler, process, now_ns);
}

// Taken together, or who says it and lives on would stay idle with the others.
void scheduler_part(scheduler_t *scheduler, struct process *process, uint64_t now_ns)
{
    struct job *job = process->job;
    process->parts = true;
    for (uint32_t i = 0; i < job->process_count; i++) {
        if (!job->processes[i]->parts)
            return;
    }
    job->parts = true;
    accounts_read_all(scheduler, now_ns);
    for (uint32_t left = job->process_count; left > 0; left--) // the job goes with the last
        leave(scheduler, job->processes[left - 1], now_ns);
}

void scheduler_bury(scheduler_t *scheduler, uint64_t now_ns)
{
    struct process *process = deaths_next(scheduler->deaths);
    if (process != NULL)
        accounts_read_all(scheduler, now_ns);
    for (unsigned count = 1; process != NULL; count++) {
        leave(scheduler, process, now_ns);
        process = count < DEATHS_PER_TURN ? deaths_next(scheduler->deaths) : NULL;
    }
}

void jobs_drop_processes(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    while (job->process_count > 0) {
        struct process *process = job->processes[job->process_count - 1];
        struct engine_event event = {.kind = ENGINE_EXIT, .job = job->id, .width = process->width};
        engine_event(scheduler->engine, &event, now_ns);
        forget(scheduler, process);
    }
}
