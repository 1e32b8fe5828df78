#include "cgroup-backend/freezing.h"

#include "cgroup-backend/files.h"

#include <errno.h>

enum { LIMIT_MS = 100, LOOK_US = 100 };

int freezing_finish(const struct freezer *freezer, const struct cgroup_class *class_,
                    const char *path, struct error *err)
{
    if (freezer->ask(class_, err) != 0)
        return -1;
    for (uint64_t end = clock_ms() + LIMIT_MS; clock_ms() <= end; nap_us(LOOK_US)) {
        int rc = freezer->look(class_, err);
        if (rc != 0)
            return rc > 0 ? 0 : -1;
    }
    return error_set(err, ETIMEDOUT,
                     "class %s is %s after %d ms: a process waits in the kernel, see %s/%s",
                     class_->base.name, freezer->lingers, LIMIT_MS, path, freezer->file);
}

int freezing_pass(const struct freezer *freezer, const struct cgroup_class *class_, bool asked,
                  struct error *err)
{
    if (!asked && freezer->ask(class_, err) != 0)
        return -1;
    int rc = freezer->look(class_, err);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    return error_set(err, EAGAIN, "class %s is %s", class_->base.name, freezer->lingers);
}
