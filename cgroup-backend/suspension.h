// What is remembered of a suspended class beyond the daemon's life: that somebody wants it
// suspended and by what means, and who had stopped before, of himself. Written before the first
// effect, removed after the last one is undone.
#ifndef COSCHED_CGROUP_BACKEND_SUSPENSION_H
#define COSCHED_CGROUP_BACKEND_SUSPENSION_H

#include "cgroup-backend/backend.h"
#include "cgroup-backend/genealogy.h"

#define SUSPENSION_DIRECTORY "suspended" // in the directory of records

struct suspension {
    bool on;
    bool asked;     // the freezer was, by the last pass, which was in vain; not recorded
    bool unwritten; // the record is not of these lists yet
    struct class_suspension how;
    struct genealogy others; // pids and start times of those that are not to be continued
    struct genealogy ours;   // of a subtree, whom we stop: what links them to its root may die
};

void suspension_forget(struct suspension *suspension);

// Reads what is recorded of class `name` in `directory`; null is a directory without any. 1, 0 when
// there is nothing, -1 with EBADMSG when it is not a record, or with the errno value of what keeps
// it from being read now.
int suspension_read(const char *directory, const char *name, struct suspension *suspension,
                    struct error *err);

// Writes it in place of an older one; makes the directory. Null: it is kept in memory only.
int suspension_write(const char *directory, const char *name, const struct suspension *suspension,
                     struct error *err);

// Removes it, and the directory after the last one.
void suspension_remove(const char *directory, const char *name);

#endif
