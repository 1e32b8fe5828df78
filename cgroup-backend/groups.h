// A class as directories, and moving processes between them: what v1 and v2 have in common. v2 has
// one hierarchy; v1 has one for each of cpu, cpuacct and freezer, or fewer where they are mounted
// together.
#ifndef COSCHED_CGROUP_BACKEND_GROUPS_H
#define COSCHED_CGROUP_BACKEND_GROUPS_H

#include "cgroup-backend/ops.h"
#include "cgroup-backend/processes.h"

#define HIERARCHIES_MAX 3

struct hierarchy {
    const char *controller; // as /proc/PID/cgroup names it; "" on v2
    char *mount;
    char *root; // mount/root
};

// Of a group among those beside it.
struct group_weight {
    const char *file;
    unsigned usual; // the kernel's default, for one CPU here
    unsigned most;
};

struct cgroup_backend {
    struct backend base;
    const struct group_weight *weight;
    char *root;    // relative to the mount points
    char *records; // directory of those of classes in place; null: there are none
    unsigned cpus;
    uint64_t period_us;
    struct hierarchy hierarchies[HIERARCHIES_MAX];
    unsigned hierarchy_count;
    unsigned cpuacct, freezer; // their indices; freezer == hierarchy_count: there is none
    bool libcgroup;
};

// A class's directory in one hierarchy.
struct group {
    const struct hierarchy *hierarchy;
    char *path;
    char *origin; // directory that the first process placed came from; null: not known
};

struct cgroup_class {
    struct backend_class base;
    struct cgroup_backend *backend;
    struct group groups[HIERARCHIES_MAX]; // in the order of the backend's hierarchies
    int limit_fd;                         // -1 from the first step of its removal on
    int usage_fd;
    uint64_t period_us; // v1: the last that was known to be in force
};

// A backend without hierarchies, and one more hierarchy for it. groups_backend_close() frees both.
struct cgroup_backend *groups_backend_new(const struct backend_ops *ops,
                                          const struct group_weight *weight,
                                          const struct backend_settings *settings,
                                          struct error *err);
int groups_backend_add(struct cgroup_backend *backend, const char *controller, const char *mount,
                       struct error *err);
void groups_backend_close(backend_t *backend);

int groups_each_class(backend_t *backend, int (*each)(const char *name, void *user), void *user,
                      struct error *err);

// backend_release_all(), by an implementation's way of lifting the class `name`.
int groups_release_all(struct cgroup_backend *backend,
                       int (*lift)(struct cgroup_backend *backend, const char *name,
                                   struct error *err),
                       unsigned *lifted, struct error *err);

// A class with its paths, no directory made, no file open.
struct cgroup_class *groups_class_new(struct cgroup_backend *backend, const char *name,
                                      struct error *err);
void groups_class_close(class_t *class_);
void groups_close_files(struct cgroup_class *class_); // the limit can still be lifted

// Whether the class's directories have to be made: 1, 0, or -1 when they may not be (ENOENT).
int groups_are_missing(const struct cgroup_class *class_, struct error *err);

// Makes the directory of each component of `relative` below `mount`.
int groups_make_path(const char *mount, const char *relative, struct error *err);

// Removes the class's empty directories, from the last hierarchy's to the first one's, as far as it
// gets: by the first one a class is known, to the next daemon and to whoever releases.
void groups_rmdir(struct cgroup_class *class_);

// Writes the group's weight against processes outside the subtree, the usual one for every CPU of
// the node. The kernel divides a group's weight among the CPUs that it runs on, so with the default
// of a single process each rank of a wide job would be next to nothing beside any process that is
// not in a class: a job would be slower for being in one. Best effort.
// Whoever only looks may run on other CPUs than the daemon, and writes nothing.
void groups_weigh(const struct cgroup_backend *backend, const char *path);

// The same of the root and of every class below it, whose weights groups_release_all() takes back.
void groups_weigh_all(backend_t *backend);

// ---- group_placing.c

int groups_place(class_t *class_, pid_t pid, uint64_t start_time, struct error *err);
int groups_place_others(class_t *class_, const struct process_id *whom, size_t count,
                        struct error *err);
bool groups_holds(const class_t *class_, pid_t pid);

// ---- moving.c

// After a process was moved into the class by its number. If that has become another's, this one is
// not the class's: it goes back to where its parent lives, and the error is ESRCH, as when the
// process is gone.
int groups_confirm(const struct cgroup_class *class_, const struct process_id *who,
                   struct error *err);

// ---- groups.c

int groups_members(class_t *class_, pid_t *pids, size_t limit, size_t *count, struct error *err);

// SIGKILL to all, again and again until nobody is left or, for 2 s, they do not get fewer. While it
// goes through the members, `freeze` holds them still (best effort, null where it cannot be done).
int groups_kill(struct cgroup_class *class_, int (*freeze)(class_t *, struct error *),
                int (*thaw)(class_t *, struct error *), struct error *err);

// Calls `work` with the limit lifted, `no_limit` being what lifts it, and sets the limit again.
// A process needs CPU time to stop or to die, and kernels that throttle inside system calls (before
// 6.18) would let it wait for an idle job's share.
int groups_without_limit(struct cgroup_class *class_, const char *no_limit,
                         int (*work)(class_t *class_, struct error *err), struct error *err);

// ---- group_signals.c: a class's processes by signals, one pass each

// Notes who has stopped already. ESRCH when the suspension's root is not in the class.
int groups_find_stopped(class_t *class_, struct suspension *suspension, struct error *err);

int groups_stop_pass(class_t *class_, struct suspension *suspension, struct error *err);
int groups_continue_pass(class_t *class_, const struct suspension *suspension, struct error *err);

// SIGKILL to all, held still by the freezer meanwhile where there is one. `doom`, if it is not
// null, has the kernel kill all of them at once, and returns 0 if it could.
int groups_kill_pass(struct cgroup_class *class_, pid_t root, uint64_t root_start, bool at_once,
                     int (*doom)(class_t *class_), struct error *err);

// Continues whom a suspension by signals of class `name` has stopped, in the group `path`.
int groups_release_stopped(const struct cgroup_backend *backend, const char *name, const char *path,
                           struct error *err);

// ---- group_leaving.c

int groups_expel(class_t *class_, pid_t pid, struct error *err);

// class_remove_step().
int groups_remove_step(struct cgroup_class *class_, size_t limit, struct error *err);

#endif
