#include "cgroup-backend/occupants.h"

#include "common/cleanup.h"
#include "common/group_list.h"

#include <errno.h>
#include <unistd.h>

enum {
    LINE_MAX_PROCESSES = 64, // from a rank up to its launcher there are a few
    LOOKS_MAX = 4096,        // at new members: whoever may make some could make them without end
};

static size_t count_inside(const struct placement_process *line, size_t count,
                           const struct pid_list *members)
{
    size_t inside = 0;
    while (inside < count && pid_list_has(members, line[inside].pid))
        inside++;
    return inside;
}

static int not_alone(const struct occupants *occupants, const struct placement_process *stranger,
                     struct error *err)
{
    return error_set(err, EXDEV, "process %d (%s) of user %u in %s is not of this job",
                     (int)stranger->pid, stranger->name, (unsigned)stranger->uid, occupants->group);
}

// A program without one is not what the script waits for: a server, say, beside others.
static int check_launcher(struct occupants *occupants, const struct placement_process *line,
                          size_t inside, struct error *err)
{
    size_t at = placement_launcher(line, inside);
    if (at == 0)
        return error_set(err, EXDEV, "no launcher in %s has started process %d", occupants->group,
                         (int)line->pid);
    if (occupants->job.top != 0 && occupants->job.top != line[at].pid)
        return not_alone(occupants, &line[at], err);
    occupants->job.top = line[at].pid;
    return 0;
}

// A process that registers must live in the group, and whoever is above it there must be of the
// job.
static int check_line(struct occupants *occupants, pid_t pid, const struct pid_list *members,
                      struct error *err)
{
    struct placement_process line[LINE_MAX_PROCESSES];
    size_t count = processes_line("/proc", pid, line, LINE_MAX_PROCESSES);
    if (count == 0)
        return error_set(err, ESRCH, "process %d is gone", (int)pid);
    size_t inside = count_inside(line, count, members);
    if (inside == 0)
        return error_set(err, EXDEV, "process %d lives outside %s", (int)pid, occupants->group);
    if (occupants->job.manager == PLACEMENT_SLURM)
        return 0;
    if (occupants->job.manager == PLACEMENT_SCRIPT)
        return check_launcher(occupants, line, inside, err);
    const struct placement_process *top = &line[inside - 1];
    if (inside == LINE_MAX_PROCESSES || placement_line(line, count, inside) == 0)
        return not_alone(occupants, top, err);
    if (occupants->job.starter != 0 && occupants->job.starter != top->parent &&
        occupants->job.top != top->pid)
        return not_alone(occupants, top, err);
    occupants->job.top = top->pid;
    occupants->job.starter = top->parent;
    uint64_t start_time = processes_start_time("/proc", top->pid);
    if (occupants->job.start_time == 0 || start_time < occupants->job.start_time)
        occupants->job.start_time = start_time;
    return 0;
}

// The daemon must not wait for its own limit.
static int check_self(const struct occupants *occupants, struct error *err)
{
    cleanup_free char *own = process_group_path("/proc", getpid(), occupants->controller);
    if (own == NULL || !group_encloses(occupants->group, own))
        return 0;
    return error_set(err, EBUSY, "this program lives in %s itself", occupants->group);
}

bool occupants_hold(const struct occupants *occupants, pid_t pid)
{
    cleanup_free char *group = process_group_path("/proc", pid, occupants->controller);
    return group != NULL && group_encloses(occupants->group, group);
}

// One that was found to be of the job, and has not gone elsewhere. Of a thousand ranks that
// register not each asks about all: whether a stranger has come since is asked before a limit is
// set.
static bool is_known(const struct occupants *occupants, pid_t pid)
{
    return pid_list_has(&occupants->known, pid) && occupants_hold(occupants, pid);
}

// Takes the first `judged` for known, and of the others those that were. Takes *members.
static void learn(struct occupants *occupants, struct pid_list *members, size_t judged)
{
    size_t count = judged;
    for (size_t i = judged; i < members->count; i++)
        if (pid_list_has(&occupants->known, members->pids[i]))
            members->pids[count++] = members->pids[i];
    members->count = count;
    pid_list_free(&occupants->known);
    occupants->known = *members;
    *members = (struct pid_list){0};
}

// The kernel gives a number again only after all others, so whom we know stays known. Of too many
// new ones some are known at the next call: a class that stays open comes to an end with them.
int occupants_check(struct occupants *occupants, pid_t pid, struct error *err)
{
    cleanup_pids struct pid_list members = {0};
    if (occupants->job.manager == PLACEMENT_NAMED)
        return check_self(occupants, err);
    if (pid != 0 && is_known(occupants, pid))
        return check_line(occupants, pid, &occupants->known, err);
    if (processes_of_subtree(occupants->path, &members, err) != 0)
        return -1;
    pid_list_sort(&members);
    if (pid != 0 && check_line(occupants, pid, &members, err) != 0)
        return -1;
    for (size_t i = 0, looks = 0; i < members.count; i++) {
        struct placement_process process;
        struct error fault = {0};
        if (pid_list_has(&occupants->known, members.pids[i]))
            continue;
        if (++looks > LOOKS_MAX) {
            learn(occupants, &members, i);
            return error_set(err, EXDEV, "%s has more than %d new processes", occupants->group,
                             LOOKS_MAX);
        }
        int rc = processes_look_at("/proc", members.pids[i], &process, &fault);
        if (rc != 0 && fault.code == ESRCH)
            continue;
        if (rc != 0)
            return error_set(err, fault.code, "%s", fault.text);
        if (process.parent == 1) // of nobody else it is asked
            process.start_time = processes_start_time("/proc", process.pid);
        if (process.pid == getpid() ||
            !placement_accepts(&occupants->job, &process, pid_list_has(&members, process.parent)))
            return not_alone(occupants, &process, err);
    }
    learn(occupants, &members, members.count);
    return 0;
}

// Started by a launcher that lives in the group, too: mpiexec has proxies, and mpirun srun.
static bool is_below_launcher(const struct occupants *occupants,
                              const struct placement_process *process)
{
    struct placement_process parent;
    return pid_list_has(&occupants->known, process->parent) &&
           processes_look("/proc", process->parent, &parent) && placement_is_launcher(parent.name);
}

int occupants_check_launchers(const struct occupants *occupants, struct error *err)
{
    for (size_t i = 0; i < occupants->known.count; i++) {
        struct placement_process process;
        if (occupants->known.pids[i] != occupants->job.top &&
            processes_look("/proc", occupants->known.pids[i], &process) &&
            placement_is_launcher(process.name) && !is_below_launcher(occupants, &process))
            return not_alone(occupants, &process, err);
    }
    return 0;
}

void occupants_know(struct occupants *occupants)
{
    cleanup_pids struct pid_list members = {0};
    struct placement_process process;
    if (processes_of_subtree(occupants->path, &members, NULL) != 0)
        return;
    for (size_t i = 0; i < members.count && i < LOOKS_MAX; i++)
        if (processes_look("/proc", members.pids[i], &process) && process.uid == occupants->job.uid)
            pid_list_add(&occupants->known, process.pid, NULL);
    pid_list_sort(&occupants->known);
}

void occupants_forget(struct occupants *occupants)
{
    pid_list_free(&occupants->known);
}
