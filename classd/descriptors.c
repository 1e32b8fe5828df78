#include "classd/descriptors.h"

#include "classd/log.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

void descriptors_allow(const struct config *config)
{
    struct rlimit limit;
    rlim_t wanted = config_descriptors(config);
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (limit.rlim_cur < wanted)
        log_line(LOG_NOTICE,
                 "only %llu descriptors allowed, [daemon] max_connections and max_jobs need %llu: "
                 "raise LimitNOFILE= of the unit",
                 (unsigned long long)limit.rlim_cur, (unsigned long long)wanted);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        log_line(LOG_WARNING, "the limit of descriptors stays: %s", strerror(errno));
}
