#include "classd/job_class.h"

#include "cgroup-backend/processes.h"
#include "classd/log.h"
#include "classd/periods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_class_name(char name[BACKEND_NAME_MAX], uid_t uid, const char *job_id)
{
    snprintf(name, BACKEND_NAME_MAX, "job-%u-%s", (unsigned)uid, job_id);
}

static bool is_placement(const struct config *config, const char *word)
{
    return strcmp(config->placement, word) == 0;
}

static void say_unmanaged(const struct job *job, bool only, const struct error *why)
{
    bool no_group = !only && why->code == ENOENT;
    log_line(
        job->quiet ? LOG_DEBUG : LOG_NOTICE, "job %u/%s runs unmanaged, %s: %s%s",
        (unsigned)job->uid, job->job_id,
        only ? "for [cgroup] placement = in-place" : "as Slurm must find it in its step", why->text,
        no_group ? "; on cgroup v1 JobAcctGatherType=jobacct_gather/cgroup makes it, where cpu "
                   "and cpuacct are one hierarchy"
                 : "");
}

int job_class_open(const struct config *config, backend_t *backend, struct job *job, pid_t pid,
                   struct error *err)
{
    char name[BACKEND_NAME_MAX];
    struct error fault;
    bool only = is_placement(config, "in-place");
    struct class_home home = {.pid = pid, .uid = job->uid, .any = only};
    job_class_name(name, job->uid, job->job_id);
    if (is_placement(config, "move"))
        return class_open(backend, name, &job->class_, err);
    if (class_open_in_place(backend, name, &home, &job->class_, &fault) == 0) {
        log_line(job->quiet ? LOG_DEBUG : LOG_INFO, "job %u/%s: classed in place",
                 (unsigned)job->uid, job->job_id);
        return 0;
    }
    if (fault.code == ESRCH)
        return error_set(err, ESRCH, "%s", fault.text);
    if (only || backend_keeps(backend, pid)) {
        say_unmanaged(job, only, &fault);
        return error_set(err, EXDEV, "this job cannot be limited in its %s; classd's log has why",
                         only ? "group, where [cgroup] placement = in-place leaves it"
                              : "step of Slurm, which nobody is moved out of");
    }
    log_line(fault.code == ENOENT || job->quiet ? LOG_DEBUG : LOG_INFO,
             "job %u/%s is moved, not in place: %s", (unsigned)job->uid, job->job_id, fault.text);
    return class_open(backend, name, &job->class_, err);
}

int job_class_remove(class_t *class_, unsigned *waits, struct error *err)
{
    struct error fault = {0};
    if (class_remove_step(class_, SIZE_MAX, &fault) == 0)
        return 0;
    if (fault.code != EAGAIN)
        return error_set(err, fault.code, "%s", fault.text);
    if (*waits > 0) {
        --*waits;
        return class_remove(class_, err);
    }
    class_close(class_);
    return error_set(err, EBUSY, "%s", fault.text);
}

// Each with its wrappers and descendants; all but the first with one bound for them together, as a
// tick serves other jobs, too. Helpers without parents come along with the first.
static int place_all(struct job *job, struct error *err)
{
    struct process_id *others = malloc(job->process_count * sizeof *others);
    size_t count = 0;
    if (others == NULL)
        return error_set(err, ENOMEM, "no memory");
    for (uint32_t i = 0; i < job->process_count; i++) {
        const struct process *process = job->processes[i];
        if (i == 0 && class_place_known(job->class_, process->pid, process->start_time, NULL) == 0)
            continue;
        others[count++] = (struct process_id){process->pid, process->start_time};
    }
    int rc = class_place_others(job->class_, others, count, err);
    free(others);
    return rc;
}

// Whom his manager must find where he lives.
static bool is_kept(const struct config *config, backend_t *backend, pid_t pid)
{
    return is_placement(config, "auto") && backend_keeps(backend, pid);
}

static bool has_kept(backend_t *backend, const struct job *job)
{
    bool found = false;
    for (uint32_t i = 0; i < job->process_count && !found; i++)
        found = backend_keeps(backend, job->processes[i]->pid);
    return found;
}

// The job is not alone any more in the group that was made for it, or that has no limit any more,
// so that its processes go to a class of its own. False when they must stay where they are.
static bool displace(const struct config *config, backend_t *backend, struct job *job,
                     const struct error *why)
{
    struct error err;
    uint64_t before_ns = 0, after_ns = 0;
    bool lost = why->code == EXDEV || why->code == ENODEV;
    // Who leaves a frozen group runs again, which is for the group's manager to say.
    if (!lost || !class_is_in_place(job->class_) || !is_placement(config, "auto") ||
        has_kept(backend, job) || class_is_stopped_by_manager(job->class_))
        return false;
    bool known = class_usage(job->class_, &before_ns, NULL) == 0;
    if (class_displace(&job->class_, &err) < 0) {
        if (!job->share_failed) // else it has been said
            log_line(LOG_WARNING, "job %u/%s cannot leave its group: %s", (unsigned)job->uid,
                     job->job_id, err.text);
        return false;
    }
    job->phase = (struct phase){0};
    log_line(job->quiet ? LOG_DEBUG : LOG_NOTICE, "job %u/%s is moved out of its group: %s",
             (unsigned)job->uid, job->job_id, why->text);
    if (place_all(job, &err) != 0)
        log_line(LOG_WARNING, "job %u/%s is not limited as a whole: %s", (unsigned)job->uid,
                 job->job_id, err.text);
    if (known && class_usage(job->class_, &after_ns, NULL) == 0)
        job->usage_before_ns += before_ns - after_ns;
    return true;
}

// A process that lives elsewhere than its job, and neither is moved.
static int stays_apart(struct job *job, const struct error *why, struct error *err)
{
    if (!job->told_apart)
        log_line(job->quiet ? LOG_DEBUG : LOG_NOTICE,
                 "job %u/%s: who lives elsewhere is not taken: %s", (unsigned)job->uid, job->job_id,
                 why->text);
    job->told_apart = true;
    return error_set(err, EXDEV,
                     "the job is in another group on this node, and neither is moved; classd's log "
                     "has why");
}

int job_class_place(const struct config *config, backend_t *backend, struct job *job, pid_t pid,
                    uint64_t start_time, struct error *err)
{
    struct error fault;
    if (!class_is_in_place(job->class_) && is_kept(config, backend, pid))
        error_set(&fault, EXDEV, "process %d is in a step of Slurm", (int)pid);
    else if (class_place_known(job->class_, pid, start_time, &fault) == 0 ||
             (!is_kept(config, backend, pid) && displace(config, backend, job, &fault) &&
              class_place_known(job->class_, pid, start_time, &fault) == 0))
        return 0;
    return fault.code == EXDEV ? stays_apart(job, &fault, err)
                               : error_set(err, fault.code, "%s", fault.text);
}

bool job_class_give_way(const struct config *config, backend_t *backend, struct job *job, pid_t pid)
{
    struct error why;
    if (job->class_ == NULL || !class_is_of_script(job->class_) || !class_holds(job->class_, pid))
        return false;
    error_set(&why, EXDEV, "process %d in it is of another job", (int)pid);
    return displace(config, backend, job, &why);
}

bool job_class_limit(const struct config *config, backend_t *backend,
                     const struct phase_moment *moment, struct job *job, bool limited,
                     uint32_t share_ppm)
{
    struct error err;
    uint32_t wanted_ppm = limited ? share_ppm : BACKEND_UNLIMITED;
    job->stuck = false;
    if (periods_set_share(&job->phase, moment, job->class_, wanted_ppm, &err) == 0 ||
        (displace(config, backend, job, &err) &&
         periods_set_share(&job->phase, moment, job->class_, wanted_ppm, &err) == 0))
        return true;
    // Said once per job: a kernel that refuses one write will refuse the next.
    if (!job->share_failed)
        log_line(LOG_WARNING, "job %u/%s runs without a limit: %s", (unsigned)job->uid, job->job_id,
                 err.text);
    job->share_failed = true;
    job->stuck = !limited || class_set_share(job->class_, BACKEND_UNLIMITED, NULL) < 0;
    return false;
}
