// Genealogy (seed 001, section 1): the tree or forest that the processes of a class form, from a
// snapshot of them. Pure. A process is a pid with its start time, as pids are used again.
#ifndef COSCHED_CGROUP_BACKEND_GENEALOGY_H
#define COSCHED_CGROUP_BACKEND_GENEALOGY_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GENEALOGY_NONE SIZE_MAX

struct genealogy_process {
    pid_t pid;
    uint64_t start_time; // field 22 of /proc/PID/stat
    pid_t parent, group, session;
    bool stopped; // all its threads, by a signal or by a debugger; or it has ended
    bool traced;  // by a debugger
    bool waits;   // for signals.c: it, or one below it, has not continued yet
    // Filled in by genealogy_find_levels().
    size_t above;   // index of its parent in the list; GENEALOGY_NONE: not of the list
    unsigned depth; // 0: it has none
};

struct genealogy {
    struct genealogy_process *list;
    size_t count;
    size_t room;
    size_t threads; // for signals.c: so many of those who stand were looked at
    bool mixed;     // not in the order of numbers
    size_t *order;  // of genealogy_find_levels(): the list's indices, level by level
};

void genealogy_free(struct genealogy *genealogy);
#define cleanup_genealogy __attribute__((cleanup(genealogy_free)))

// Appends; returns 0 or -1 (no memory).
int genealogy_add(struct genealogy *genealogy, const struct genealogy_process *process,
                  struct error *err);

// Keeps the process `root` with this start time, and its descendants; nobody when it is not there.
// An orphan, one whose parent is not in the list, descends from whoever leads its session or its
// process group, if that one is kept: the kernel does not use these numbers again while there are
// members. Orphans whose leader is gone are not kept, unless they are in `also`, which are kept
// whatever has become of the root; null: nobody.
void genealogy_keep_subtree(struct genealogy *genealogy, pid_t root, uint64_t root_start,
                            const struct genealogy *also);

// Finds everybody's parent and depth, and the order of levels. A parent that is younger than its
// child is another process with the parent's number. Returns 0 or -1 (no memory). Takes n log n
// steps, whatever the forest looks like, as do all of these.
int genealogy_find_levels(struct genealogy *genealogy, struct error *err);

// Of the level that begins at `first` in the order, the index behind its last; count: there is none
// behind it.
size_t genealogy_level_end(const struct genealogy *genealogy, size_t first);

// Sorts by number, then start time; a list that is added to in this order is sorted already.
void genealogy_sort(struct genealogy *genealogy);

// The process with this pid and start time, or null. Fast in a sorted list.
const struct genealogy_process *genealogy_find(const struct genealogy *genealogy, pid_t pid,
                                               uint64_t start_time);

#endif
