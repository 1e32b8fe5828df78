// Lists of cgroups as people write them: paths below the hierarchies' mount points, separated by
// spaces or commas, e.g. "user.slice, batch/night".
#ifndef COSCHED_COMMON_GROUP_LIST_H
#define COSCHED_COMMON_GROUP_LIST_H

#include <stdbool.h>
#include <stddef.h>

// Copies the first group of the list at *at, cut to `size`, and moves *at behind it. False when
// there is none.
bool group_list_next(const char **at, char *group, size_t size);

// True for a path that stays below a mount point: relative, no empty, "." or ".." component.
bool group_path_valid(const char *group);

// True for a unit of systemd, by its name: the groups below it are systemd's, but for those of a
// unit that has them delegated.
bool group_is_unit(const char *group);

// True when `inner` is `outer` or a group below it.
bool group_encloses(const char *outer, const char *inner);

#endif
