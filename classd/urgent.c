#include "classd/urgent.h"

#include "classd/log.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NICE = -15, // counts among processes of the same cgroup; CPUWeight= of the unit does the rest
    SLICE_NS = 100000, // the kernel's least: Linux 6.12 and later let a shorter slice preempt at
                       // once, where a longer one might wait for the next tick
};

void urgent_become(void)
{
    struct sched_attr wish = {.size = sizeof wish,
                              .sched_policy = SCHED_NORMAL,
                              .sched_nice = NICE,
                              .sched_runtime = SLICE_NS};
    if (syscall(SYS_sched_setattr, 0, &wish, 0) < 0)
        log_line(LOG_INFO, "runs at ordinary priority: %s", strerror(errno));
}
