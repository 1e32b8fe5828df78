#include "classd/urgent.h"

#include "classd/log.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

// Counts among processes of the same cgroup; CPUWeight= of the unit does the rest.
enum { NICE = -15 };

void urgent_become(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) < 0)
        log_line(LOG_INFO, "runs at ordinary priority: %s", strerror(errno));
}
