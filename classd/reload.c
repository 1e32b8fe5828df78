#include "classd/reload.h"

#include <errno.h>
#include <string.h>

// The key that the running daemon has built upon and that differs, or null.
static const char *fixed_key(const struct config *old, const struct config *new)
{
    if (strcmp(old->runtime_dir, new->runtime_dir) != 0)
        return "[daemon] runtime_dir";
    if (strcmp(old->service_user, new->service_user) != 0)
        return "[daemon] service_user";
    if (strcmp(old->backend, new->backend) != 0)
        return "[cgroup] backend";
    if (strcmp(old->cgroup_root, new->cgroup_root) != 0)
        return "[cgroup] root";
    if (old->period_ns != new->period_ns)
        return "[cgroup] period";
    if (strcmp(old->placement, new->placement) != 0)
        return "[cgroup] placement";
    if (strcmp(old->sequential_groups, new->sequential_groups) != 0)
        return "[sequential] groups";
    if (old->cpus != new->cpus)
        return "[scheduler] cpus";
    return NULL;
}

int reload(const char *file, struct config *config, struct error *err)
{
    struct config loaded;
    if (config_load(file, &loaded, err) < 0)
        return -1;
    const char *key = fixed_key(config, &loaded);
    if (key != NULL)
        return error_set(err, EBUSY,
                         "%s: %s cannot change while classd runs; restart classd, jobs are kept",
                         file, key);
    *config = loaded;
    return 0;
}
