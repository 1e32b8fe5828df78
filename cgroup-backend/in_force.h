// Where the classes are: version and root in force, noted in the daemon's runtime directory. The
// configuration says where the next daemon makes its own, and may have been changed since the last
// one began; whoever lifts the limits that this one left needs both.
#ifndef COSCHED_CGROUP_BACKEND_IN_FORCE_H
#define COSCHED_CGROUP_BACKEND_IN_FORCE_H

#include "cgroup-backend/backend.h"

#define IN_FORCE_FILE "cgroup"

enum { IN_FORCE_ROOT_MAX = 256 };

struct in_force {
    char kind[4]; // "v1" or "v2"
    char root[IN_FORCE_ROOT_MAX];
};

// Notes in `directory` where `backend` makes its classes, `root` being the settings'; before it
// makes one. Returns 0, or -1, and then the note is as before.
int in_force_write(const char *directory, const backend_t *backend, const char *root,
                   struct error *err);

// Returns 1, 0 when nothing is noted, or -1: EPERM when others can change the note, EBADMSG when it
// is none.
int in_force_read(const char *directory, struct in_force *noted, struct error *err);

// Opens the backend of the place that is noted in settings->records, if it is another one than the
// settings name. Returns 1, and the caller ends *other with backend_close(), 0 when there is none,
// or -1.
int in_force_open_other(const struct backend_settings *settings, backend_t **other,
                        struct error *err);

// backend_release_all() at the place that the settings name and at the one that is noted. Where the
// settings' cannot be opened, the noted one is enough. *lifted may be null. Returns 0 when no limit
// is left, or -1; so also, EPERM, when others can change settings->records, of which nothing is
// believed then.
int in_force_release(const struct backend_settings *settings, unsigned *lifted, struct error *err);

#endif
