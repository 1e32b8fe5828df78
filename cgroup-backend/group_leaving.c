// Processes that leave a class, and the end of it.
#include "cgroup-backend/files.h"
#include "cgroup-backend/moving.h"
#include "common/cleanup.h"

#include <errno.h>
#include <unistd.h>

int groups_expel(class_t *base, pid_t pid, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    const struct process_id who = {pid, processes_start_time("/proc", pid)};
    bool found = false;
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        cleanup_pids struct pid_list members = {0};
        if (processes_of_group(class_->groups[i].path, &members, err) != 0)
            return -1;
        pid_list_sort(&members);
        if (!pid_list_has(&members, pid))
            continue;
        found = true;
        if (moving_expel(&class_->groups[i], &who, err) != 0)
            return error_context(err, "class %s", class_->base.name);
    }
    if (!found)
        return error_set(err, ESRCH, "process %d is not in class %s", (int)pid, class_->base.name);
    return 0;
}

// Of the members of a group at most `limit`. Those that are exiting stay, which is no error. EAGAIN
// when there are others who cannot be moved, as in a container, whose top group passes controllers
// on: they leave by ending.
static int expel_members(const struct group *group, size_t limit, struct error *err)
{
    cleanup_processes struct process_list members = {0};
    struct error fault = {0};
    if (processes_members(group->path, limit, &members, err) != 0)
        return -1;
    for (size_t i = 0; i < members.count; i++)
        if (processes_is("/proc", &members.list[i]))
            moving_expel(group, &members.list[i], &fault);
    return fault.code == 0 ? 0 : error_set(err, EAGAIN, "%s", fault.text);
}

// Of descriptors or memory, which will be there again.
static bool is_shortage(int code)
{
    return code == EMFILE || code == ENFILE || code == ENOMEM;
}

// The last of the class's directories that is still there, or null: the first one goes last, see
// groups_rmdir().
static const struct group *last_left(const struct cgroup_class *class_)
{
    for (unsigned i = class_->backend->hierarchy_count; i-- > 0;)
        if (directory_exists(class_->groups[i].path))
            return &class_->groups[i];
    return NULL;
}

static int remove_step(struct cgroup_class *class_, size_t limit, struct error *err)
{
    struct error fault = {0};
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        if (directory_exists(class_->groups[i].path) &&
            expel_members(&class_->groups[i], limit, &fault) != 0 && fault.code != EAGAIN)
            return error_set(err, fault.code, "%s", fault.text);
    groups_rmdir(class_);
    const struct group *left = last_left(class_);
    if (left == NULL || rmdir(left->path) == 0)
        return left == NULL ? 0 : remove_step(class_, limit, err);
    if (errno == ENOENT)
        return 0;
    // Members beyond the limit, a child forked during the step, an exiting process.
    bool busy = errno == EBUSY || errno == ENOTEMPTY;
    if (busy && fault.code != 0)
        return error_set(err, EAGAIN, "%s", fault.text);
    return error_errno(err, busy ? EAGAIN : errno, "cannot remove the group %s%s", left->path,
                       busy ? " (exiting processes, or groups below it)" : "");
}

int groups_remove_step(struct cgroup_class *class_, size_t limit, struct error *err)
{
    struct error fault = {0};
    int rc = remove_step(class_, limit, &fault);
    if (rc != 0 && is_shortage(fault.code))
        fault.code = EAGAIN;
    if (rc != 0) {
        error_set(err, fault.code, "%s", fault.text);
        error_context(err, "class %s", class_->base.name);
    }
    if (rc == 0 || fault.code != EAGAIN)
        groups_class_close(&class_->base);
    else
        groups_close_files(class_); // it may stay for long, as one of thousands
    return rc;
}
