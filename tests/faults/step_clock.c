// Preloaded into the daemons: a wall clock that can be set without setting the machine's. The file
// $COSCHED_CLOCK holds how far it is ahead, in nanoseconds; without it it is the machine's.
//
// Timers of the wall clock follow as in the kernel: they expire by the clock that was set, and with
// TFD_TIMER_CANCEL_ON_SET a change makes them readable, the read failing with ECANCELED.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { DESCRIPTORS = 1024, STEP_MS = 10 };

#define NS_PER_S 1000000000LL

// By descriptor.
static struct {
    bool is_wall;          // a timer of the wall clock
    bool follows;          // armed for a moment of it
    bool cancelled_on_set; // as the daemon wants it
    bool cancelled;        // and nobody has been told yet
    long long ahead_ns;    // the clock that it is armed by
} timers[DESCRIPTORS];

static void *next_of(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL)
        abort();
    return symbol;
}

static long long ahead_ns(void)
{
    int before = errno;
    long long ahead = 0;
    const char *path = getenv("COSCHED_CLOCK");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (file != NULL) {
        if (fscanf(file, "%lld", &ahead) != 1)
            ahead = 0;
        fclose(file);
    }
    errno = before;
    return ahead;
}

static void add(struct timespec *time, long long ns)
{
    long long sum = time->tv_sec * NS_PER_S + time->tv_nsec + ns;
    if (sum < 1)
        sum = 1; // 0 would disarm
    time->tv_sec = (time_t)(sum / NS_PER_S);
    time->tv_nsec = (long)(sum % NS_PER_S);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*next)(clockid_t, struct timespec *);
    if (next == NULL)
        next = (int (*)(clockid_t, struct timespec *))next_of("clock_gettime");
    int rc = next(clock, time);
    if (rc == 0 && clock == CLOCK_REALTIME)
        add(time, ahead_ns());
    return rc;
}

static bool known(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS;
}

static int set_time(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    static int (*next)(int, int, const struct itimerspec *, struct itimerspec *);
    if (next == NULL)
        next = (int (*)(int, int, const struct itimerspec *, struct itimerspec *))next_of(
            "timerfd_settime");
    return next(fd, flags, new, old);
}

EXPORT int timerfd_create(clockid_t clock, int flags)
{
    static int (*next)(clockid_t, int);
    if (next == NULL)
        next = (int (*)(clockid_t, int))next_of("timerfd_create");
    int fd = next(clock, flags);
    if (known(fd)) {
        timers[fd].is_wall = clock == CLOCK_REALTIME;
        timers[fd].follows = false;
    }
    return fd;
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    struct itimerspec timer = *new;
    if (known(fd)) {
        timers[fd].follows = timers[fd].is_wall && (flags & TFD_TIMER_ABSTIME) != 0;
        timers[fd].cancelled_on_set = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
        timers[fd].cancelled = false;
        timers[fd].ahead_ns = ahead_ns();
        if (timers[fd].follows)
            add(&timer.it_value, -timers[fd].ahead_ns);
    }
    return set_time(fd, flags, &timer, old);
}

// The clock may have been set: a timer for three o'clock has another time to go then. Returns true
// when its owner is still to be told.
static bool follow(int fd)
{
    struct itimerspec timer;
    if (!known(fd) || !timers[fd].follows)
        return false;
    long long ahead = ahead_ns(), by = ahead - timers[fd].ahead_ns;
    if (by != 0) {
        timers[fd].ahead_ns = ahead;
        if (timerfd_gettime(fd, &timer) < 0) { // closed, and something else now
            timers[fd].follows = false;
            return false;
        }
        add(&timer.it_value, -by);
        set_time(fd, 0, &timer, NULL);
        timers[fd].cancelled = timers[fd].cancelled_on_set;
    }
    return timers[fd].cancelled;
}

EXPORT ssize_t read(int fd, void *bytes, size_t length)
{
    static ssize_t (*next)(int, void *, size_t);
    if (next == NULL)
        next = (ssize_t(*)(int, void *, size_t))next_of("read");
    if (!follow(fd))
        return next(fd, bytes, length);
    timers[fd].cancelled = false;
    errno = ECANCELED;
    return -1;
}

static int count_cancelled(struct pollfd *fds, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        fds[i].revents = follow(fds[i].fd) ? POLLIN : 0;
        ready += fds[i].revents != 0;
    }
    return ready;
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    if (next == NULL)
        next = (int (*)(struct pollfd *, nfds_t, int))next_of("poll");
    for (;;) {
        int ready = count_cancelled(fds, count);
        if (ready > 0)
            return ready;
        bool last = timeout_ms >= 0 && timeout_ms <= STEP_MS;
        ready = next(fds, count, last ? timeout_ms : STEP_MS);
        if (ready != 0 || last)
            return ready;
        timeout_ms -= timeout_ms > 0 ? STEP_MS : 0;
    }
}
