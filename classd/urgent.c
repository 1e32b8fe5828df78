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

// An ordinary process that has just run is not eligible beside one that has just woken up, however
// much it weighs: classd would stand still for a tick in the middle of waking a job.
static int become_realtime(void)
{
    struct sched_attr lowest = {.size = sizeof lowest,
                                .sched_policy = SCHED_FIFO,
                                .sched_flags = SCHED_FLAG_RESET_ON_FORK,
                                .sched_priority = 1};
    return (int)syscall(SYS_sched_setattr, 0, &lowest, 0);
}

static int become_first_of_ordinary(void)
{
    struct sched_attr wish = {.size = sizeof wish,
                              .sched_policy = SCHED_NORMAL,
                              .sched_nice = NICE,
                              .sched_runtime = SLICE_NS};
    return (int)syscall(SYS_sched_setattr, 0, &wish, 0);
}

void urgent_become(void)
{
    if (become_realtime() == 0)
        return;
    int refusal = errno;
    if (become_first_of_ordinary() == 0)
        log_line(LOG_INFO, "not real-time: %s; what asks for the CPU may wait for a clock tick",
                 strerror(refusal));
    else
        log_line(LOG_INFO, "runs at ordinary priority: %s", strerror(errno));
}
