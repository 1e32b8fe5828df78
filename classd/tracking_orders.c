// What process tracking is asked for: whether it can be done, by what means and to whom, before the
// first pass.
#include "classd/scheduler_state.h"

#include "classd/job_class.h"
#include "classd/process.h"
#include "common/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_AT_FIRST = 1024 };

_Static_assert((int)PROTOCOL_MEANS_SHARE == (int)CLASS_BY_SHARE &&
                   (int)PROTOCOL_MEANS_FREEZER == (int)CLASS_BY_FREEZER &&
                   (int)PROTOCOL_MEANS_SIGNALS == (int)CLASS_BY_SIGNALS,
               "the packet's means are the backend's");

static const char *const means_names[] = {"nothing", "share", "freezer", "signals"};

const char *tracking_means_name(enum class_means means)
{
    return means_names[means];
}

void tracking_tell_engine(struct scheduler *scheduler, struct job *job, bool suspended,
                          uint64_t now_ns)
{
    struct engine_event event = {.kind = suspended ? ENGINE_SUSPEND : ENGINE_RESUME,
                                 .job = job->id};
    if (job->suspended == suspended || (job->stopped && !suspended))
        return;
    accounts_read_all(scheduler, now_ns);
    job->suspended = suspended;
    dormant_rouse(scheduler, job);
    decisions_take(scheduler, event, now_ns);
    jobs_publish_degree(scheduler);
}

// The first pass waits until it may be given way again, lest a job lives on commands to itself.
static void plan_way(struct job *job, uint64_t now_ns)
{
    job->tracking.gives_way = true;
    if (job->way_ready_ns > now_ns)
        job->tracking.next_ns = job->way_ready_ns;
}

static enum class_means choose_means(const struct scheduler *scheduler, const struct job *job,
                                     const struct tracking_order *order)
{
    const char *word = scheduler->config->tracking_means;
    if (order->means != PROTOCOL_MEANS_DEFAULT)
        return (enum class_means)order->means;
    if (order->root != 0)
        return CLASS_BY_SIGNALS;
    for (size_t i = CLASS_BY_SHARE; i <= CLASS_BY_SIGNALS; i++)
        if (strcmp(word, means_names[i]) == 0)
            return (enum class_means)i;
    return class_has_freezer(job->class_) ? CLASS_BY_FREEZER : CLASS_BY_SHARE;
}

// Before anything is done for a process that is none of the job's.
static int check_member(const struct job *job, pid_t pid, struct error *err)
{
    char name[BACKEND_NAME_MAX];
    cleanup_free pid_t *pids = NULL;
    size_t room = 0, count = MEMBERS_AT_FIRST;
    while (count > room) {
        room = 2 * count;
        free(pids);
        pids = malloc(room * sizeof *pids);
        if (pids == NULL)
            return error_errno(err, ENOMEM, "members of job %s", job->job_id);
        if (class_members(job->class_, pids, room, &count, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return 0;
    job_class_name(name, job->uid, job->job_id);
    return error_set(err, ESRCH, "process %d is not in class %s", (int)pid, name);
}

// A subtree's root is known by its start time from here on.
static int find_root(pid_t root, struct class_suspension *how, struct error *err)
{
    how->root = root;
    return root == 0 ? 0 : process_start_time(root, &how->root_start, err);
}

static int begin_suspend(struct scheduler *scheduler, struct job *job,
                         const struct tracking_order *order, uint64_t now_ns, struct error *err)
{
    struct class_suspension how = {.means = choose_means(scheduler, job, order)}, present;
    if (find_root(order->root, &how, err) != 0)
        return -1;
    bool again = class_suspended(job->class_, &present);
    if (again && (present.means != how.means || present.root != how.root))
        return error_set(err, EBUSY, "it is suspended by %s already: resume it first",
                         means_names[present.means]);
    if (how.means != CLASS_BY_SHARE && class_is_in_place(job->class_))
        return error_set(err, ENOTSUP,
                         "its group is another manager's, which stops it (scontrol suspend, "
                         "systemctl freeze); here it can be suspended by share");
    if (how.root != 0 && how.means != CLASS_BY_SIGNALS)
        return error_set(err, ENOTSUP, "a subtree is suspended by signals only");
    if (how.means == CLASS_BY_FREEZER && !class_has_freezer(job->class_))
        return error_set(err, ENOTSUP, "there is no freezer here: use share or signals");
    if (how.root != 0 && check_member(job, how.root, err) != 0)
        return -1;
    job->tracking.work = TRACKING_SUSPENDS;
    job->tracking.again = again;
    job->tracking.how = how;
    if (how.root == 0)
        tracking_tell_engine(scheduler, job, true, now_ns);
    if (how.means != CLASS_BY_SHARE)
        plan_way(job, now_ns);
    return 0;
}

// By the number alone: the subtree's root may have died since.
static int check_suspended(const struct class_suspension *how, pid_t root, struct error *err)
{
    if (root == 0 || how->root == root)
        return 0;
    if (how->root == 0)
        return error_set(err, EINVAL, "all of it is suspended: resume it without --subtree");
    return error_set(err, ESRCH, "its process %d is suspended with its subtree, not %d",
                     (int)how->root, (int)root);
}

static int begin_resume(struct job *job, pid_t root, uint64_t now_ns, struct error *err)
{
    struct class_suspension *how = &job->tracking.how;
    if (!class_suspended(job->class_, how))
        return error_set(err, EALREADY, "it is not suspended");
    if (check_suspended(how, root, err) != 0)
        return -1;
    job->tracking.work = TRACKING_RESUMES;
    if (how->means != CLASS_BY_SHARE)
        plan_way(job, now_ns);
    return 0;
}

static int begin_kill(struct job *job, const struct tracking_order *order, uint64_t now_ns,
                      struct error *err)
{
    job->tracking.how = (struct class_suspension){.means = 0};
    if (class_is_in_place(job->class_))
        return error_set(err, ENOTSUP,
                         "its group is another manager's, which kills it (scancel, systemctl "
                         "kill)");
    if (find_root(order->root, &job->tracking.how, err) != 0 ||
        (order->root != 0 && check_member(job, order->root, err) != 0))
        return -1;
    job->tracking.work = TRACKING_KILLS;
    plan_way(job, now_ns);
    if (order->root == 0)
        job->tracking.next_ns = now_ns; // nobody lives on his own end
    return 0;
}

int tracking_begin(struct scheduler *scheduler, struct job *job, const struct tracking_order *order,
                   uint64_t now_ns, struct error *err)
{
    if (job->tracking.work != TRACKING_IDLE)
        return error_set(err, EBUSY, "it is being suspended, resumed or killed: try again");
    job->tracking =
        (struct job_tracking){.next_ns = now_ns, .begun_ns = now_ns, .number = ++scheduler->works};
    switch (order->kind) {
    case TRACKING_SUSPEND:
        return begin_suspend(scheduler, job, order, now_ns, err);
    case TRACKING_RESUME:
        return begin_resume(job, order->root, now_ns, err);
    case TRACKING_KILL:
        break;
    }
    return begin_kill(job, order, now_ns, err);
}
