// The class of processes that are nobody's MPI job: the groups that [sequential] names, limited
// where they are. What cannot be limited runs unlimited; what is wrong with a group is said once.
#ifndef COSCHED_CLASSD_SEQUENTIAL_CLASS_H
#define COSCHED_CLASSD_SEQUENTIAL_CLASS_H

#include "cgroup-backend/backend.h"
#include "classd/policy/phase.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sequential_class sequential_class_t;

// The class of a list of groups, none of them open yet; null when memory is short. It takes as many
// as a configuration can name.
sequential_class_t *sequential_class_new(const char *groups);

// Releases memory and descriptors; the groups stay as they are. Null is allowed.
void sequential_class_free(sequential_class_t *class_);

// Opens the groups that are not open yet and are there now.
void sequential_class_search(sequential_class_t *class_, backend_t *backend);

unsigned sequential_class_open_groups(const sequential_class_t *class_);

// CPU time that the groups have consumed together while they were open; never goes back. A group
// that has vanished is closed.
uint64_t sequential_class_usage(sequential_class_t *class_);

// Limits each of the groups to share_ppm of the node, or lifts the limits.
void sequential_class_limit(sequential_class_t *class_, const struct phase_moment *moment,
                            bool limited, uint32_t share_ppm);

// Gives the groups back as they were. They are closed then, also one that could not be restored.
void sequential_class_give_back(sequential_class_t *class_);

// True for the name of the class of such a group, which a former daemon may have left.
bool sequential_class_is(const char *name);

#endif
