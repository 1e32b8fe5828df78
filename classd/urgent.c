#include "classd/urgent.h"

#include "classd/log.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PRIORITY_SERVING = 1,
    PRIORITY_WATCHING = 2,
    // Three times the watchdog of classd's unit: what has any business to last that long would have
    // been ended by that.
    SPIN_US = 30000000,
    NICE = -15, // counts among processes of the same cgroup; CPUWeight= of the unit does the rest
    SLICE_NS = 100000, // the kernel's least: Linux 6.12 and later let a shorter slice preempt at
                       // once, where a longer one might wait for the next tick
};

// An ordinary process that has just run is not eligible beside one that has just woken up, however
// much it weighs: classd would stand still for a tick in the middle of waking a job.
static int become_realtime(unsigned priority)
{
    struct sched_attr wish = {.size = sizeof wish,
                              .sched_policy = SCHED_FIFO,
                              .sched_flags = SCHED_FLAG_RESET_ON_FORK,
                              .sched_priority = priority};
    return (int)syscall(SYS_sched_setattr, 0, &wish, 0);
}

static int become_first_of_ordinary(void)
{
    struct sched_attr wish = {.size = sizeof wish,
                              .sched_policy = SCHED_NORMAL,
                              .sched_nice = NICE,
                              .sched_runtime = SLICE_NS};
    return (int)syscall(SYS_sched_setattr, 0, &wish, 0);
}

// A second after SIGXCPU it is SIGKILL. Where less is allowed already, that holds.
static void bound_spinning(void)
{
    static const struct rlimit most = {.rlim_cur = SPIN_US, .rlim_max = SPIN_US + 1000000};
    setrlimit(RLIMIT_RTTIME, &most);
}

static void become(unsigned priority)
{
    if (become_realtime(priority) == 0) {
        bound_spinning();
        return;
    }
    int refusal = errno;
    if (become_first_of_ordinary() == 0)
        log_line(LOG_INFO, "not real-time: %s; what asks for the CPU may wait for a clock tick",
                 strerror(refusal));
    else
        log_line(LOG_INFO, "runs at ordinary priority: %s", strerror(errno));
}

void urgent_become(void)
{
    become(PRIORITY_SERVING);
}

void urgent_watch(void)
{
    become(PRIORITY_WATCHING);
}
