// Moving processes between groups by their numbers, which are used again: who is moved is looked at
// before and after.
#ifndef COSCHED_CGROUP_BACKEND_MOVING_H
#define COSCHED_CGROUP_BACKEND_MOVING_H

#include "cgroup-backend/groups.h"

#include <stdbool.h>

// Moves whoever has the number into the group `path`, all his threads at once, which stay bound to
// the CPUs that they are bound to. ESRCH when he is gone.
int moving_move(const struct hierarchy *hierarchy, const char *path, pid_t pid, struct error *err);

// Where the process lives now, in memory that the caller frees; null when it cannot be known or is
// outside the cgroup namespace ("/..").
char *moving_group_of(const struct hierarchy *hierarchy, pid_t pid);

// Whether the group is one of the backend's classes.
bool moving_is_class(const struct hierarchy *hierarchy, const char *path);

// ESRCH, -1.
int moving_gone(const struct process_id *who, struct error *err);

// Moves the process out of a class's group, back to the group's origin or, when that has gone or
// does not take it, to the hierarchy's root. A process that is gone is no error.
int moving_expel(const struct group *group, const struct process_id *who, struct error *err);

#endif
