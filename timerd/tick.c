#include "timerd/tick.h"

#include "common/units.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

uint64_t tick_after(uint64_t wall_ns, uint64_t slice_ns)
{
    return (wall_ns / slice_ns + 1) * slice_ns;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
                             .tv_nsec = (long)(ns % NS_PER_SEC)};
}

static int arm(int tick, uint64_t slice_ns, bool align)
{
    struct itimerspec timer = {.it_interval = timespec_of(slice_ns),
                               .it_value = timespec_of(slice_ns)};
    if (!align)
        return timerfd_settime(tick, 0, &timer, NULL);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t wall_ns = (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
    timer.it_value = timespec_of(tick_after(wall_ns, slice_ns));
    // With CANCEL_ON_SET the next read says ECANCELED when the wall clock was set.
    return timerfd_settime(tick, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &timer, NULL);
}

int tick_open(uint64_t slice_ns, bool align, struct error *err)
{
    int tick = timerfd_create(align ? CLOCK_REALTIME : CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (tick < 0)
        return error_errno(err, errno, "make a timer");
    if (arm(tick, slice_ns, align) == 0)
        return tick;
    int code = errno;
    close(tick);
    return error_errno(err, code, "start a timer");
}

bool tick_take(int tick, uint64_t slice_ns, bool align)
{
    uint64_t expired;
    if (read(tick, &expired, sizeof expired) == sizeof expired)
        return true;
    // It may be set once more meanwhile.
    while (errno == ECANCELED && arm(tick, slice_ns, align) != 0)
        ;
    return false;
}
