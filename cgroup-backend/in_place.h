// A class in place: a group that somebody else has made, for a job or named by the admin, limited
// and given back as it was. Common to v1 and v2, which differ in the files of the limit only.
#ifndef COSCHED_CGROUP_BACKEND_IN_PLACE_H
#define COSCHED_CGROUP_BACKEND_IN_PLACE_H

#include "cgroup-backend/groups.h"

// class_open_in_place()
int in_place_open(backend_t *backend, const char *name, const struct class_home *home,
                  class_t **class_, struct error *err);

// backend_keeps()
bool in_place_keeps(backend_t *backend, pid_t pid);

// class_open_named()
int in_place_open_named(backend_t *backend, const char *name, const char *group, class_t **class_,
                        struct error *err);

// Opens the class that is recorded under this name: 1, 0 when there is none (any more), or -1.
int in_place_adopt(struct cgroup_backend *backend, const char *name, class_t **class_,
                   struct error *err);

// Sets the group's own limit again, if the limit in force is ours: 1, 0 when there is no such
// class, or -1. The record stays, for a daemon that adopts it.
int in_place_release(struct cgroup_backend *backend, const char *name, struct error *err);

#endif
