#include "cgroup-backend/genealogy.h"

#include "common/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

// In place of a depth, while lines are followed.
enum { NOT_BELOW, BELOW };
#define UNKNOWN  UINT_MAX
#define FOLLOWED (UINT_MAX - 1)

void genealogy_free(struct genealogy *genealogy)
{
    free(genealogy->list);
    free(genealogy->order);
    *genealogy = (struct genealogy){0};
}

static int compare(const void *left, const void *right)
{
    const struct genealogy_process *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->start_time > b->start_time) - (a->start_time < b->start_time);
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
    if (genealogy->count > 0 && compare(&genealogy->list[genealogy->count - 1], process) > 0)
        genealogy->mixed = true;
    genealogy->list[genealogy->count++] = *process;
    return 0;
}

void genealogy_sort(struct genealogy *genealogy)
{
    if (genealogy->mixed)
        qsort(genealogy->list, genealogy->count, sizeof *genealogy->list, compare);
    genealogy->mixed = false;
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
    genealogy_sort(genealogy);
    for (size_t i = 0; i < genealogy->count; i++) {
        struct genealogy_process *process = &genealogy->list[i];
        process->above = elder(genealogy, process->parent, process);
        if (adopt && process->above == GENEALOGY_NONE)
            process->above = elder(genealogy, process->group, process);
        if (adopt && process->above == GENEALOGY_NONE)
            process->above = elder(genealogy, process->session, process);
    }
}

// Everybody's depth, each line followed once. Start times have the grain of a clock tick, so
// numbers used again within one could close a circle: it is opened where it closes.
static void find_depths(struct genealogy *genealogy)
{
    struct genealogy_process *list = genealogy->list;
    for (size_t i = 0; i < genealogy->count; i++)
        list[i].depth = UNKNOWN;
    for (size_t i = 0; i < genealogy->count; i++) {
        unsigned steps = 0;
        size_t at = i, last = i;
        while (at != GENEALOGY_NONE && list[at].depth == UNKNOWN) {
            list[at].depth = FOLLOWED;
            steps++;
            last = at;
            at = list[at].above;
        }
        if (at != GENEALOGY_NONE && list[at].depth == FOLLOWED)
            at = list[last].above = GENEALOGY_NONE;
        unsigned depth = at != GENEALOGY_NONE ? list[at].depth + 1 : 0;
        for (at = i; steps > 0; at = list[at].above)
            list[at].depth = depth + --steps;
    }
}

static bool is_in(const struct genealogy *list, const struct genealogy_process *process)
{
    return list != NULL && genealogy_find(list, process->pid, process->start_time) != NULL;
}

// Who descends from list[top], itself included: their depth is BELOW, that of others NOT_BELOW.
static void mark_below(struct genealogy *genealogy, size_t top)
{
    struct genealogy_process *list = genealogy->list;
    for (size_t i = 0; i < genealogy->count; i++)
        list[i].depth = i == top ? BELOW : UNKNOWN;
    for (size_t i = 0; i < genealogy->count; i++) {
        size_t at = i;
        while (at != GENEALOGY_NONE && list[at].depth == UNKNOWN) {
            list[at].depth = FOLLOWED;
            at = list[at].above;
        }
        unsigned known = at != GENEALOGY_NONE && list[at].depth == BELOW ? BELOW : NOT_BELOW;
        for (at = i; at != GENEALOGY_NONE && list[at].depth == FOLLOWED; at = list[at].above)
            list[at].depth = known;
    }
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
    mark_below(genealogy, at);
    for (size_t i = 0; i < genealogy->count; i++)
        if (genealogy->list[i].depth == BELOW || is_in(also, &genealogy->list[i]))
            genealogy->list[kept++] = genealogy->list[i];
    genealogy->count = kept;
}

int genealogy_find_levels(struct genealogy *genealogy, struct error *err)
{
    cleanup_free size_t *starts = NULL;
    size_t count = genealogy->count;
    find_parents(genealogy, false);
    find_depths(genealogy);
    free(genealogy->order);
    genealogy->order = calloc(count + 1, sizeof *genealogy->order);
    starts = calloc(count + 2, sizeof *starts); // of each level, in the order
    if (genealogy->order == NULL || starts == NULL)
        return error_errno(err, ENOMEM, "list of processes");
    for (size_t i = 0; i < count; i++)
        starts[genealogy->list[i].depth + 1]++;
    for (size_t depth = 1; depth <= count; depth++)
        starts[depth] += starts[depth - 1];
    for (size_t i = 0; i < count; i++)
        genealogy->order[starts[genealogy->list[i].depth]++] = i;
    return 0;
}

size_t genealogy_level_end(const struct genealogy *genealogy, size_t first)
{
    size_t end = first;
    while (end < genealogy->count && genealogy->list[genealogy->order[end]].depth ==
                                         genealogy->list[genealogy->order[first]].depth)
        end++;
    return end;
}

const struct genealogy_process *genealogy_find(const struct genealogy *genealogy, pid_t pid,
                                               uint64_t start_time)
{
    const struct genealogy_process key = {.pid = pid, .start_time = start_time};
    if (!genealogy->mixed && genealogy->count > 0)
        return bsearch(&key, genealogy->list, genealogy->count, sizeof key, compare);
    for (size_t i = 0; i < genealogy->count; i++)
        if (compare(&genealogy->list[i], &key) == 0)
            return &genealogy->list[i];
    return NULL;
}
