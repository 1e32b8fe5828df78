// Who descends from whom (the task genealogy of seed 001, M2), read from /proc.
#ifndef COSCHED_CGROUP_BACKEND_PROCESSES_H
#define COSCHED_CGROUP_BACKEND_PROCESSES_H

#include "cgroup-backend/placement.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pid_list {
    pid_t *pids;
    size_t count;
    size_t room;
};

void pid_list_free(struct pid_list *list);
#define cleanup_pids __attribute__((cleanup(pid_list_free)))

// Appends; returns 0 or -1 (no memory).
int pid_list_add(struct pid_list *list, pid_t pid, struct error *err);

// Puts the list in order and drops what is there twice.
void pid_list_sort(struct pid_list *list);

// Whether a sorted list has `pid`.
bool pid_list_has(const struct pid_list *list, pid_t pid);

// A process by number and start time together, as numbers are used again.
struct process_id {
    pid_t pid;
    uint64_t start_time; // field 22 of /proc/PID/stat, never 0
};

struct process_list {
    struct process_id *list;
    size_t count;
    size_t room;
};

void process_list_free(struct process_list *list);
#define cleanup_processes __attribute__((cleanup(process_list_free)))

// Appends; returns 0 or -1 (no memory).
int process_list_add(struct process_list *list, const struct process_id *process,
                     struct error *err);

// Puts the list in the order of the numbers.
void process_list_sort(struct process_list *list);

// Whether the first `count` of a sorted list have the process.
bool process_list_has(const struct process_list *list, size_t count,
                      const struct process_id *process);

// The start time of the process that has the number now; 0 when there is none.
uint64_t processes_start_time(const char *proc, pid_t pid);

// Whether the process still has its number, be it as a zombie.
bool processes_is(const char *proc, const struct process_id *process);

// The living descendants of `root`, without itself, sorted, in place of what *list had. Nobody is
// taken for one whose number, or whose parent's, belonged to another process meanwhile. `proc` is
// "/proc", or a tree of plain files in tests. *exact tells whether one look sees every process that
// lived all the time: the kernel's list of children may skip one while a sibling ends, the scan of
// all processes may not. E2BIG when there are more than `limit`; then no more than that are looked
// at, where the kernel lists children. *looks counts down the threads and processes that are looked
// at there; E2BIG when it is 0.
int processes_descendants(const char *proc, const struct process_id *root, size_t limit,
                          size_t *looks, struct process_list *list, bool *exact, struct error *err);

// Reads the pids of a cgroup.procs file of `directory` behind what *list has.
int processes_of_group(const char *directory, struct pid_list *list, struct error *err);

// The same for `directory` and every group below it; groups that vanish meanwhile have nobody.
// EXDEV when somebody there may not be seen, as he lives in a pid namespace that is not below ours,
// in a threaded group, or too deep down; and when there are more than 2048 groups, which whoever
// may make some there could make without end.
int processes_of_subtree(const char *directory, struct pid_list *list, struct error *err);

// The members of a group with their start times, at most `limit` of them, sorted, in place of what
// *list had: each of them was there while it had its number.
int processes_members(const char *directory, size_t limit, struct process_list *list,
                      struct error *err);

// Reads what `proc` says about a process, but for its start time. ESRCH when it is gone; else it is
// not known whether it is (no descriptor, no memory).
int processes_look_at(const char *proc, pid_t pid, struct placement_process *process,
                      struct error *err);

// The same, where who cannot be looked at counts as gone.
bool processes_look(const char *proc, pid_t pid, struct placement_process *process);

// The process, its parent, and so on, as far as they can be seen and at most `limit`. Returns how
// many; 0 when the process is gone.
size_t processes_line(const char *proc, pid_t pid, struct placement_process *chain, size_t limit);

// The path of the process's group in the hierarchy of a v1 `controller` ("" for v2), in memory that
// the caller frees; null when it cannot be known.
char *process_group_path(const char *proc, pid_t pid, const char *controller);

#endif
