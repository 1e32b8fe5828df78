#include "classd/reload.h"

#include "classd/log.h"

#include <errno.h>
#include <string.h>

static const char kept[] = "restart classd, jobs are kept";
// Whoever lifts limits looks below the root in force, too; the next classd adopts from its own
// only.
static const char left[] = "restart classd; jobs that run now go on unmanaged and without a limit";
// A directory that the new file does not name nobody looks into.
static const char stopped[] =
    "put it back, stop both daemons, change it, start them; jobs that run now go on unmanaged";

// The key that the running daemon has built upon and that differs, or null; *remedy gets what to
// do.
static const char *fixed_key(const struct config *old, const struct config *new,
                             const char **remedy)
{
    *remedy = stopped;
    if (strcmp(old->runtime_dir, new->runtime_dir) != 0)
        return "[daemon] runtime_dir";
    *remedy = left;
    if (strcmp(old->backend, new->backend) != 0)
        return "[cgroup] backend";
    if (strcmp(old->cgroup_root, new->cgroup_root) != 0)
        return "[cgroup] root";
    *remedy = kept;
    if (strcmp(old->service_user, new->service_user) != 0)
        return "[daemon] service_user";
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

// The limits and the shares that are in force were made for the CPUs of the start.
static void keep_cpus(const struct config *old, struct config *loaded)
{
    unsigned before = config_cpus(old), now = config_cpus(loaded);
    if (now != before)
        log_line(LOG_NOTICE,
                 "classd may run on %u CPUs now, and goes on with the %u of its start: restart it, "
                 "jobs are kept",
                 now, before);
    config_hold_cpus(loaded, before);
}

int reload(const char *file, struct config *config, struct error *err)
{
    struct config loaded;
    if (config_load(file, &loaded, err) < 0)
        return -1;
    const char *remedy, *key = fixed_key(config, &loaded, &remedy);
    if (key != NULL)
        return error_set(err, EBUSY, "%s: %s cannot change while classd runs; %s", file, key,
                         remedy);
    keep_cpus(config, &loaded);
    *config = loaded;
    return 0;
}
