// What is remembered of a class in place, beyond the life of the daemon that limits it: a small
// file `placed/<class>` in the runtime directory, which is there before the group is first limited
// and goes when its own limit is in force again.
#ifndef COSCHED_CGROUP_BACKEND_RECORD_H
#define COSCHED_CGROUP_BACKEND_RECORD_H

#include "cgroup-backend/ops.h"
#include "cgroup-backend/placement.h"

#include <limits.h>
#include <stdint.h>

#define LIMIT_NONE UINT64_MAX

struct limit {
    uint64_t quota_us; // LIMIT_NONE: none
    uint64_t period_us;
};

struct record {
    char group[PATH_MAX]; // below the mount points, "/slurm/uid_0/job_3/step_0"
    uint64_t inode;       // of its directory: a group made anew under this name is another one
    uid_t uid;            // of the job
    enum placement_manager manager;
    struct limit own;    // the group's, without us
    struct limit set[2]; // what we have set last, and what we set next
};

// `directory` is the one of the records everywhere. Null stands for one without any.

// Reads the record of class `name`: 1, 0 when there is none, -1 when it is not one.
int record_read(const char *directory, const char *name, struct record *record, struct error *err);

// Writes it in place of an older one; makes the directory. Returns a descriptor for
// record_intend(), which the caller closes, or -1.
int record_write(const char *directory, const char *name, const struct record *record,
                 struct error *err);

// Opens the record as it is for record_intend(), or returns -1. (Others that open the class, to
// look at it, must not put a new file in place of the one that the daemon writes to.)
int record_open(const char *directory, const char *name, struct error *err);

// Notes record->set behind `fd`. Takes no space, so a full file system does not matter.
int record_intend(int fd, const struct record *record, struct error *err);

// Removes it, and the directory after the last one.
void record_remove(const char *directory, const char *name);

// Calls `each` for the class of every record, until it returns non-zero; that is what is returned.
int record_each(const char *directory, int (*each)(const char *name, void *user), void *user);

#endif
