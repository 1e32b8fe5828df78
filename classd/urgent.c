#include "classd/urgent.h"

#include "classd/log.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum {
    NICE = -15
}; // counts among processes of the same cgroup; CPUWeight= of the unit does the rest

void urgent_become(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) < 0)
        log_line(LOG_INFO, "runs at ordinary priority: %s", strerror(errno));
}
