// The fault campaign's own clock (tests/faults/step_clock.c, which is part of this program): what
// follows it when it is set, and what does not.
#include "common/units.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define YEAR_S INT64_C(31536000)

enum { SOON_S = 1000, STEP_S = 400, PASSED_S = 100 }; // no test takes PASSED_S

static char path[] = "/tmp/cosched-test-XXXXXX";

static void set_ahead(int64_t seconds)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%lld\n", (long long)(seconds * NS_PER_SEC));
    assert_int_equal(fclose(file), 0);
}

static int start(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return setenv("COSCHED_CLOCK", path, 1);
}

static int stop(void **state)
{
    (void)state;
    return unlink(path);
}

static int64_t now_s(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return now.tv_sec;
}

// A timer that expires in SOON_S of its clock.
static int arm(clockid_t clock, int flags)
{
    int fd = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
    struct itimerspec timer = {.it_value.tv_sec = SOON_S};
    assert_true(fd >= 0);
    if (flags & TFD_TIMER_ABSTIME)
        timer.it_value.tv_sec += now_s(clock);
    assert_int_equal(timerfd_settime(fd, flags, &timer, NULL), 0);
    return fd;
}

static void assert_left(int fd, int64_t seconds)
{
    struct itimerspec timer;
    assert_int_equal(timerfd_gettime(fd, &timer), 0);
    assert_in_range(timer.it_value.tv_sec, seconds - PASSED_S, seconds);
}

// Whoever waits for it hears of a clock that was set; returns errno of the read, 0 after an expiry.
static int look(int fd)
{
    uint64_t expiries = 0;
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    if (poll(&waited, 1, 0) == 0)
        return EAGAIN;
    return read(fd, &expiries, sizeof expiries) < 0 ? errno : 0;
}

static void only_the_wall_clock_is_set(void **state)
{
    (void)state;
    set_ahead(0);
    int64_t wall_s = now_s(CLOCK_REALTIME), monotonic_s = now_s(CLOCK_MONOTONIC);
    set_ahead(YEAR_S);
    assert_in_range(now_s(CLOCK_REALTIME) - wall_s, YEAR_S, YEAR_S + PASSED_S);
    assert_in_range(now_s(CLOCK_MONOTONIC) - monotonic_s, 0, PASSED_S);
}

// classd's deadlines: they had once been set a year ahead with the clock.
static void a_moment_of_the_monotonic_clock_stays(void **state)
{
    (void)state;
    set_ahead(-YEAR_S);
    int fd = arm(CLOCK_MONOTONIC, TFD_TIMER_ABSTIME);
    assert_left(fd, SOON_S);
    set_ahead(YEAR_S);
    assert_int_equal(look(fd), EAGAIN);
    assert_left(fd, SOON_S);
    close(fd);
}

static void a_moment_of_the_wall_clock_follows(void **state)
{
    (void)state;
    set_ahead(YEAR_S);
    int fd = arm(CLOCK_REALTIME, TFD_TIMER_ABSTIME);
    assert_left(fd, SOON_S);
    set_ahead(YEAR_S + STEP_S);
    assert_int_equal(look(fd), EAGAIN); // nobody asked to be told
    assert_left(fd, SOON_S - STEP_S);
    set_ahead(YEAR_S + 2 * SOON_S);
    while (look(fd) == EAGAIN)
        ; // it has expired, as soon as the kernel says so
    close(fd);
}

static void who_asks_is_told_once_that_the_clock_was_set(void **state)
{
    (void)state;
    set_ahead(0);
    int fd = arm(CLOCK_REALTIME, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
    assert_int_equal(look(fd), EAGAIN);
    set_ahead(-STEP_S);
    assert_int_equal(look(fd), ECANCELED);
    assert_int_equal(look(fd), EAGAIN);
    assert_left(fd, SOON_S + STEP_S);
    close(fd);
}

static void a_duration_stays(void **state)
{
    (void)state;
    set_ahead(0);
    int fd = arm(CLOCK_REALTIME, 0);
    set_ahead(STEP_S);
    assert_int_equal(look(fd), EAGAIN);
    assert_left(fd, SOON_S);
    close(fd);
}

// Its number is another timer's then.
static void a_closed_timer_is_forgotten(void **state)
{
    (void)state;
    set_ahead(0);
    int fd = arm(CLOCK_REALTIME, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
    close(fd);
    assert_int_equal(arm(CLOCK_MONOTONIC, 0), fd);
    set_ahead(STEP_S);
    assert_int_equal(look(fd), EAGAIN);
    assert_left(fd, SOON_S);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_wall_clock_is_set),
        cmocka_unit_test(a_moment_of_the_monotonic_clock_stays),
        cmocka_unit_test(a_moment_of_the_wall_clock_follows),
        cmocka_unit_test(who_asks_is_told_once_that_the_clock_was_set),
        cmocka_unit_test(a_duration_stays),
        cmocka_unit_test(a_closed_timer_is_forgotten),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
