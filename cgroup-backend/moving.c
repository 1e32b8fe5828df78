#include "cgroup-backend/moving.h"

#include "cgroup-backend/affinity.h"
#include "cgroup-backend/files.h"
#include "common/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *move_hint(int code, bool v2)
{
    if (code == EINVAL && !v2)
        return " (a real-time process? such groups have no real-time budget: cpu.rt_runtime_us)";
    if (code == EBUSY && v2)
        return " (the group has controllers enabled for groups below it: processes go to leaves)";
    if (code == EOPNOTSUPP && v2)
        return " (somebody made the group threaded, see cgroup.type)";
    return "";
}

int moving_move(const struct hierarchy *hierarchy, const char *path, pid_t pid, struct error *err)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    struct error fault = {0};
    // The groups of v2 may be cpusets as well, whatever we make them for.
    bool may_be_unbound = *hierarchy->controller == '\0';
    cleanup_affinity struct affinity affinity = {0};
    if (may_be_unbound)
        affinity_note(pid, &affinity);
    if (file_write(path, "cgroup.procs", text, &fault) == 0) {
        affinity_restore(pid, &affinity);
        return 0;
    }
    if (fault.code == ESRCH)
        return error_set(err, ESRCH, "process %d is gone", (int)pid);
    return error_set(err, fault.code, "%s%s", fault.text,
                     move_hint(fault.code, *hierarchy->controller == '\0'));
}

char *moving_group_of(const struct hierarchy *hierarchy, pid_t pid)
{
    cleanup_free char *path = process_group_path("/proc", pid, hierarchy->controller);
    if (path == NULL || path[0] != '/' || strstr(path, "/..") != NULL)
        return NULL;
    return path[1] == '\0' ? strdup(hierarchy->mount) : path_join(hierarchy->mount, path + 1);
}

bool moving_is_class(const struct hierarchy *hierarchy, const char *path)
{
    size_t length = strlen(hierarchy->root);
    return strncmp(path, hierarchy->root, length) == 0 && path[length] == '/';
}

int moving_gone(const struct process_id *who, struct error *err)
{
    return error_set(err, ESRCH, "process %d is gone", (int)who->pid);
}

// A process that was moved to `to` by a number which had been another's. It was forked into its
// parent's group, and goes back there.
static void give_back(const struct hierarchy *hierarchy, const char *to, pid_t pid)
{
    struct placement_process stranger;
    cleanup_free char *at = moving_group_of(hierarchy, pid);
    if (at == NULL || strcmp(at, to) != 0 || !processes_look("/proc", pid, &stranger))
        return;
    cleanup_free char *home = moving_group_of(hierarchy, stranger.parent);
    if (home != NULL && strcmp(home, to) == 0)
        return; // born here
    if (home == NULL || moving_move(hierarchy, home, pid, NULL) != 0)
        moving_move(hierarchy, hierarchy->mount, pid, NULL);
}

int groups_confirm(const struct cgroup_class *class_, const struct process_id *who,
                   struct error *err)
{
    uint64_t now = processes_start_time("/proc", who->pid);
    if (now == who->start_time)
        return 0;
    for (unsigned i = 0; now != 0 && i < class_->backend->hierarchy_count; i++)
        give_back(class_->groups[i].hierarchy, class_->groups[i].path, who->pid);
    return moving_gone(who, err);
}

int moving_expel(const struct group *group, const struct process_id *who, struct error *err)
{
    const struct hierarchy *hierarchy = group->hierarchy;
    const char *to = group->origin != NULL ? group->origin : hierarchy->mount;
    struct error fault = {0};
    int rc = moving_move(hierarchy, to, who->pid, &fault);
    if (rc != 0 && fault.code != ESRCH && to != hierarchy->mount) {
        to = hierarchy->mount;
        rc = moving_move(hierarchy, to, who->pid, &fault);
    }
    if (rc == 0 && !processes_is("/proc", who))
        give_back(hierarchy, to, who->pid);
    return rc == 0 || fault.code == ESRCH ? 0 : error_set(err, fault.code, "%s", fault.text);
}
