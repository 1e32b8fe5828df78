#include "timerd/outage.h"

#include "cgroup-backend/files.h"
#include "cgroup-backend/in_force.h"
#include "classd/log.h"

#include <stddef.h>
#include <string.h>

// Each stops jobs again at its start that are to be, and may be gone before it was heard of.
static void look_for_another(struct outage *outage)
{
    char generation[OUTAGE_GENERATION_MAX] = "";
    if (file_read(outage->config->runtime_dir, "generation", generation, sizeof generation, NULL) !=
            0 ||
        strcmp(generation, outage->generation) == 0)
        return;
    outage->continued = false;
    memcpy(outage->generation, generation, sizeof generation);
}

static int lift(const struct outage *outage, unsigned *lifted, struct error *err)
{
    const struct config *config = outage->config;
    struct backend_settings settings = {.kind = config->backend,
                                        .root = config->cgroup_root,
                                        .cpus = config_cpus(config),
                                        .period_ns = config->period_ns,
                                        .records = config->runtime_dir,
                                        .once_more = outage->continued};
    return in_force_release(&settings, lifted, err);
}

void outage_continue(struct outage *outage, const char *why)
{
    struct error err;
    unsigned lifted = 0;
    look_for_another(outage);
    int rc = lift(outage, &lifted, &err);
    if (rc < 0 && !outage->failed)
        log_line(LOG_ERR,
                 "classd is silent (%s) and limits could not be lifted: %s; lift them with "
                 "coschedctl release",
                 why, err.text);
    else if (rc == 0 && !outage->on)
        log_line(LOG_WARNING, "classd is silent (%s): the limits of %u classes are lifted", why,
                 lifted);
    outage->failed = rc < 0;
    outage->continued |= rc == 0;
    outage->on = true;
}

void outage_classd_found(struct outage *outage)
{
    outage->continued = false;
}

void outage_end(struct outage *outage)
{
    if (outage->on)
        log_line(LOG_NOTICE, "classd answers again");
    *outage = (struct outage){.config = outage->config};
}
