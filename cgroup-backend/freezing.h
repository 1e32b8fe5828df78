// Freezing a class: the kernel is asked, and then looked at until all processes stand still. How
// both are done is the version's of cgroup.
#ifndef COSCHED_CGROUP_BACKEND_FREEZING_H
#define COSCHED_CGROUP_BACKEND_FREEZING_H

#include "cgroup-backend/groups.h"

struct freezer {
    // Asks the kernel to stop the class's processes. 0 or -1.
    int (*ask)(const struct cgroup_class *class_, struct error *err);

    // 1: all stand still, 0: not yet, -1: error.
    int (*look)(const struct cgroup_class *class_, struct error *err);

    const char *lingers; // what is said of a class some of whose processes do not stop
    const char *file;    // which shows that
};

// Waits for as long as processes that wait in the kernel may take. ETIMEDOUT when some did not
// stop; `path` is the group's, for the error.
int freezing_finish(const struct freezer *freezer, const struct cgroup_class *class_,
                    const char *path, struct error *err);

// Asks, unless the class has been `asked`, and looks once, and does not wait. EAGAIN when some have
// not stopped by then.
int freezing_pass(const struct freezer *freezer, const struct cgroup_class *class_, bool asked,
                  struct error *err);

#endif
