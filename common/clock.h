// The one clock of daemons and library: monotonic, so that nobody can turn it back. In the daemons
// it is read where an event enters and handed on from there; the scheduler reads no clock.
#ifndef COSCHED_COMMON_CLOCK_H
#define COSCHED_COMMON_CLOCK_H

#include "common/units.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

// The time of day, which nodes with synchronised clocks have in common. Only for what they are to
// agree on; nothing is measured by it.
static inline uint64_t clock_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

// The monotonic clock, with the time in which the machine was suspended.
static inline uint64_t clock_boot_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

// How far the time of day is ahead of the time since the machine was booted, which changes only
// when somebody sets it: both are slewed alike, and go on while the machine is suspended. False
// when the two could not be read within a millisecond of each other.
static inline bool clock_read_offset_ns(int64_t *offset_ns)
{
    for (int tries = 0; tries < 3; tries++) {
        uint64_t before_ns = clock_boot_ns(), wall_ns = clock_wall_ns();
        *offset_ns = (int64_t)(wall_ns - before_ns);
        if (clock_boot_ns() - before_ns < NS_PER_MS)
            return true;
    }
    return false;
}

// CPU time that this thread has consumed.
static inline uint64_t clock_spent_ns(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * NS_PER_SEC + (uint64_t)spent.tv_nsec;
}

#endif
