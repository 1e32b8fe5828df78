// What is remembered of a class in place, beyond the life of the daemon that limits it: a small
// file `placed/<class>` in the runtime directory, which is there before the group is first limited
// and goes when its own limit is in force again.
#ifndef COSCHED_CGROUP_BACKEND_RECORD_H
#define COSCHED_CGROUP_BACKEND_RECORD_H

#include "cgroup-backend/ops.h"
#include "cgroup-backend/placement.h"
#include "common/limit_record.h"

// `directory` is the one of the records everywhere. Null stands for one without any.

// Reads the record of class `name`: 1, 0 when there is none, -1 when it is not one.
int record_read(const char *directory, const char *name, struct limit_record *record,
                struct error *err);

// Writes it in place of an older one; makes the directory. Returns a descriptor for
// record_intend(), which the caller closes, or -1.
int record_write(const char *directory, const char *name, const struct limit_record *record,
                 struct error *err);

// Opens the record as it is for record_intend(), or returns -1. (Others that open the class, to
// look at it, must not put a new file in place of the one that the daemon writes to.)
int record_open(const char *directory, const char *name, struct error *err);

// Notes record->set behind `fd`. Takes no space, so a full file system does not matter.
int record_intend(int fd, const struct limit_record *record, struct error *err);

// Removes it, and the directory after the last one.
void record_remove(const char *directory, const char *name);

// Calls `each` for the class of every record, until it returns non-zero; that is what is returned.
int record_each(const char *directory, int (*each)(const char *name, void *user), void *user);

#endif
