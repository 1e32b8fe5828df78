#include "cgroup-backend/genealogy.h"

#include <errno.h>
#include <stdlib.h>

void genealogy_free(struct genealogy *genealogy)
{
    free(genealogy->list);
    *genealogy = (struct genealogy){0};
}

int genealogy_add(struct genealogy *genealogy, const struct genealogy_process *process,
                  struct error *err)
{
    if (genealogy->count == genealogy->room) {
        size_t room = genealogy->room > 0 ? 2 * genealogy->room : 64;
        void *longer = realloc(genealogy->list, room * sizeof *genealogy->list);
        if (longer == NULL)
            return error_errno(err, ENOMEM, "list of processes");
        genealogy->list = longer;
        genealogy->room = room;
    }
    genealogy->list[genealogy->count++] = *process;
    return 0;
}

static int by_pid(const void *left, const void *right)
{
    const struct genealogy_process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

// In a list that is sorted by pid.
static size_t index_of(const struct genealogy *genealogy, pid_t pid)
{
    struct genealogy_process key = {.pid = pid};
    const struct genealogy_process *found =
        genealogy->count == 0
            ? NULL
            : bsearch(&key, genealogy->list, genealogy->count, sizeof key, by_pid);
    return found != NULL ? (size_t)(found - genealogy->list) : GENEALOGY_NONE;
}

// Whose number `pid` was when the younger process got it for its parent, session or group.
static size_t elder(const struct genealogy *genealogy, pid_t pid,
                    const struct genealogy_process *younger)
{
    size_t index = index_of(genealogy, pid);
    if (index == GENEALOGY_NONE || &genealogy->list[index] == younger ||
        genealogy->list[index].start_time > younger->start_time)
        return GENEALOGY_NONE;
    return index;
}

// The parent and, of orphans if `adopt`, the leader that stands for it.
static void find_parents(struct genealogy *genealogy, bool adopt)
{
    if (genealogy->count > 0)
        qsort(genealogy->list, genealogy->count, sizeof *genealogy->list, by_pid);
    for (size_t i = 0; i < genealogy->count; i++) {
        struct genealogy_process *process = &genealogy->list[i];
        process->above = elder(genealogy, process->parent, process);
        if (adopt && process->above == GENEALOGY_NONE)
            process->above = elder(genealogy, process->group, process);
        if (adopt && process->above == GENEALOGY_NONE)
            process->above = elder(genealogy, process->session, process);
    }
}

// Start times have the grain of a clock tick, so numbers used again within one could close a
// circle: a line longer than the list has one.
static unsigned depth_of(const struct genealogy *genealogy, size_t index, size_t *top)
{
    unsigned depth = 0;
    *top = index;
    for (size_t at = genealogy->list[index].above; at != GENEALOGY_NONE && depth < genealogy->count;
         at = genealogy->list[at].above) {
        *top = at;
        depth++;
    }
    return depth;
}

static bool is_in(const struct genealogy *list, const struct genealogy_process *process)
{
    return list != NULL && genealogy_find(list, process->pid, process->start_time) != NULL;
}

void genealogy_keep_subtree(struct genealogy *genealogy, pid_t root, uint64_t root_start,
                            const struct genealogy *also)
{
    find_parents(genealogy, true);
    size_t at = index_of(genealogy, root), kept = 0;
    if (at != GENEALOGY_NONE && genealogy->list[at].start_time != root_start)
        at = GENEALOGY_NONE;
    if (at != GENEALOGY_NONE)
        genealogy->list[at].above = GENEALOGY_NONE;
    // Marked first: the list must not change while lines are followed through it.
    for (size_t i = 0; i < genealogy->count; i++) {
        size_t top = GENEALOGY_NONE;
        if (at != GENEALOGY_NONE)
            depth_of(genealogy, i, &top);
        bool below = at != GENEALOGY_NONE && top == at;
        genealogy->list[i].depth = below || is_in(also, &genealogy->list[i]);
    }
    for (size_t i = 0; i < genealogy->count; i++)
        if (genealogy->list[i].depth != 0)
            genealogy->list[kept++] = genealogy->list[i];
    genealogy->count = kept;
}

unsigned genealogy_find_levels(struct genealogy *genealogy)
{
    unsigned levels = 0;
    find_parents(genealogy, false);
    for (size_t i = 0; i < genealogy->count; i++) {
        size_t top;
        unsigned depth = depth_of(genealogy, i, &top);
        genealogy->list[i].depth = depth;
        if (depth >= levels)
            levels = depth + 1;
    }
    return levels;
}

const struct genealogy_process *genealogy_find(const struct genealogy *genealogy, pid_t pid,
                                               uint64_t start_time)
{
    for (size_t i = 0; i < genealogy->count; i++)
        if (genealogy->list[i].pid == pid && genealogy->list[i].start_time == start_time)
            return &genealogy->list[i];
    return NULL;
}
