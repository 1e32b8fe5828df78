// Inside cgroup-backend/: what an implementation is. Each one is a table of functions with the
// contracts of backend.h; its own state starts with `struct backend` and `struct backend_class`.
#ifndef COSCHED_CGROUP_BACKEND_OPS_H
#define COSCHED_CGROUP_BACKEND_OPS_H

#include "cgroup-backend/backend.h"
#include "cgroup-backend/suspension.h"

#include <stdbool.h>

struct backend_ops {
    const char *name;
    void (*backend_close)(backend_t *backend);
    int (*each_class)(backend_t *backend, int (*each)(const char *name, void *user), void *user,
                      struct error *err);
    int (*release_all)(backend_t *backend, unsigned *lifted, struct error *err);
    void (*weigh_all)(backend_t *backend);
    int (*open)(backend_t *backend, const char *name, class_t **class_, struct error *err);
    int (*open_in_place)(backend_t *backend, const char *name, const struct class_home *home,
                         class_t **class_, struct error *err);
    int (*open_named)(backend_t *backend, const char *name, const char *group, class_t **class_,
                      struct error *err);
    bool (*keeps)(backend_t *backend, pid_t pid);
    int (*displace)(class_t **class_, struct error *err); // of classes in place only
    bool (*is_stopped)(const class_t *class_);            // likewise
    bool (*is_of_script)(const class_t *class_);          // null: none is
    void (*close)(class_t *class_);
    int (*place)(class_t *class_, pid_t pid, uint64_t start_time, struct error *err);
    int (*place_others)(class_t *class_, const struct process_id *whom, size_t count,
                        struct error *err); // not in classes in place
    bool (*holds)(const class_t *class_, pid_t pid);
    int (*expel)(class_t *class_, pid_t pid, struct error *err);
    int (*set_share)(class_t *class_, uint32_t share_ppm, struct error *err);
    int (*begin_periods)(class_t *class_, uint32_t share_ppm, struct error *err);
    uint64_t (*period_us)(const class_t *class_, uint32_t share_ppm);
    int (*usage)(class_t *class_, uint64_t *usage_ns, struct error *err);
    int (*members)(class_t *class_, pid_t *pids, size_t limit, size_t *count, struct error *err);
    int (*freeze)(class_t *class_, struct error *err);
    int (*thaw)(class_t *class_, struct error *err);
    int (*kill)(class_t *class_, struct error *err);
    // For tracking.c; null in classes in place, which are their managers'. One pass each.
    bool (*has_freezer)(const class_t *class_);
    int (*freeze_pass)(class_t *class_, bool asked, struct error *err); // asked: only look
    int (*find_stopped)(class_t *class_, struct suspension *suspension, struct error *err);
    int (*stop_pass)(class_t *class_, struct suspension *suspension, struct error *err);
    int (*continue_pass)(class_t *class_, const struct suspension *suspension, struct error *err);
    int (*kill_pass)(class_t *class_, pid_t root, uint64_t root_start, bool at_once,
                     struct error *err);
    int (*remove_step)(class_t *class_, size_t limit, struct error *err);
};

struct backend {
    const struct backend_ops *ops;
    char *suspensions; // directory of those of suspended classes; null: there is none
    bool as_it_is;     // the settings', as the next
    bool once_more;
};

struct backend_class {
    const struct backend_ops *ops;
    char name[BACKEND_NAME_MAX];
    const char *suspensions; // directory of their records, the backend's; null: there is none
    struct suspension suspension;
    struct genealogy victims; // killed, and perhaps not dead yet
    bool holds; // the suspension is of victims that a kill has stopped first, nobody's wish
    struct class_suspension wish; // instead of which it is; means 0: there was none
    bool owes_thaw; // the kernel refused to thaw it: class_thaw_late()
};

// What is recorded of the class `name`, before it is opened. A record that is none says nothing,
// and is removed, unless `as_it_is`. One that cannot be read now is an error, and stays: it is all
// that tells of processes that somebody has stopped.
int tracking_read(const backend_t *backend, const char *name, struct suspension *suspension,
                  struct error *err);

// The class that was opened after that takes what was read. A class in place has no other means
// than its share: a record of another, which an earlier class of the name has left, is removed.
void tracking_open(const backend_t *backend, struct backend_class *class_,
                   struct suspension *suspension);

// Frees what is here; the record stays.
void tracking_close(struct backend_class *class_);

// True for the names that class_open() takes.
bool backend_name_valid(const char *name);

// The kernel takes no quota below 1 ms. So the period of a share that is less than that is a longer
// one: the first of 1, 2, 5, 10, 20, ... times `period_us` that is long enough, at most 1 s.
uint64_t backend_period_us(uint32_t share_ppm, unsigned cpus, uint64_t period_us);

// The quota in us per period of `period_us` that gives share_ppm of `cpus` CPUs: rounded down, at
// least the kernel's minimum, at most all CPUs.
uint64_t backend_quota_us(uint32_t share_ppm, unsigned cpus, uint64_t period_us);

// The kernel takes each expiry of the timer behind a limit from the one before, by adding periods.
// So a limit whose period is the shortest there is, and then at once the one that is meant, has
// periods that begin within that much from now. The quota is that of the long period both times:
// the class has at least its share meanwhile.
#define BACKEND_SHORTEST_PERIOD_US UINT64_C(1000)

// Opens cgroup v2, mounted at `mount`. A parameter, so that tests can give a tree of plain files.
int v2_open(const char *mount, const struct backend_settings *settings, backend_t **backend,
            struct error *err);

struct v1_mounts {
    const char *cpu;
    const char *cpuacct; // may be the same directory as cpu
    const char *freezer; // may be null
    bool libcgroup;      // these are libcgroup's own mount points: it may make groups
};

int v1_open(const struct v1_mounts *mounts, const struct backend_settings *settings,
            backend_t **backend, struct error *err);

#endif
