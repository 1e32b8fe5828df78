#include "cgroup-backend/freezing.h"

#include "cgroup-backend/files.h"

#include <errno.h>

enum { LIMIT_MS = 100, PASS_LIMIT_MS = 1, LOOK_US = 100 };

// 1: frozen, 0: not in that time, -1: error.
static int freeze_within(const struct freezer *freezer, const struct cgroup_class *class_,
                         unsigned limit_ms, struct error *err)
{
    int rc = freezer->ask(class_, err);
    if (rc != 0)
        return rc;
    for (uint64_t end = clock_ms() + limit_ms; clock_ms() <= end; nap_us(LOOK_US)) {
        rc = freezer->look(class_, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int freezing_finish(const struct freezer *freezer, const struct cgroup_class *class_,
                    const char *path, struct error *err)
{
    int rc = freeze_within(freezer, class_, LIMIT_MS, err);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    return error_set(err, ETIMEDOUT,
                     "class %s is %s after %d ms: a process waits in the kernel, see %s/%s",
                     class_->base.name, freezer->lingers, LIMIT_MS, path, freezer->file);
}

int freezing_pass(const struct freezer *freezer, const struct cgroup_class *class_,
                  struct error *err)
{
    int rc = freeze_within(freezer, class_, PASS_LIMIT_MS, err);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    return error_set(err, EAGAIN, "class %s is %s", class_->base.name, freezer->lingers);
}
