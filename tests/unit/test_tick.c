// The beat: aligned, it falls on the same multiples of the wall clock on every node, which is what
// nodes switch together by.
#include "common/units.h"
#include "timerd/tick.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void the_next_multiple(void **state)
{
    (void)state;
    assert_int_equal(tick_after(7 * NS_PER_SEC + 1, NS_PER_SEC), 8 * NS_PER_SEC);
    assert_int_equal(tick_after(8 * NS_PER_SEC - 1, NS_PER_SEC), 8 * NS_PER_SEC);
    assert_int_equal(tick_after(8 * NS_PER_SEC, NS_PER_SEC), 9 * NS_PER_SEC);
    assert_int_equal(tick_after(1, 15 * NS_PER_SEC), 15 * NS_PER_SEC);
}

static uint64_t armed_for(int tick)
{
    struct itimerspec timer;
    assert_int_equal(timerfd_gettime(tick, &timer), 0);
    return (uint64_t)timer.it_value.tv_sec * NS_PER_SEC + (uint64_t)timer.it_value.tv_nsec;
}

// What is left until the first tick is asked between two looks at the clock, and tried again should
// a multiple or a step of the clock lie between.
static bool falls_on_a_multiple(uint64_t slice_ns)
{
    struct error err;
    int tick = tick_open(slice_ns, true, &err);
    assert_true(tick >= 0);
    uint64_t before = wall_ns(), left = armed_for(tick), after = wall_ns();
    close(tick);
    uint64_t due = tick_after(before, slice_ns);
    return before + left <= due && due <= after + left;
}

static void aligned_ticks_fall_on_the_wall_clocks_multiples(void **state)
{
    (void)state;
    // A slice that no second is a multiple of, too.
    const uint64_t slices[] = {NS_PER_SEC, 15 * NS_PER_SEC, 7 * NS_PER_SEC + 300 * NS_PER_MS};
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        bool on_time = false;
        for (int attempt = 0; attempt < 10 && !on_time; attempt++)
            on_time = falls_on_a_multiple(slices[i]);
        assert_true(on_time);
    }
}

static void ticks_that_were_missed_count_as_one(void **state)
{
    (void)state;
    struct error err;
    for (int align = 0; align < 2; align++) {
        int tick = tick_open(NS_PER_MS, align, &err);
        assert_true(tick >= 0);
        struct pollfd ready = {.fd = tick, .events = POLLIN};
        nanosleep(&(struct timespec){.tv_nsec = 5 * NS_PER_MS}, NULL);
        assert_int_equal(poll(&ready, 1, 10000), 1);
        assert_true(tick_take(tick, NS_PER_MS, align));
        close(tick);
        tick = tick_open(3600 * NS_PER_SEC, align, &err);
        assert_false(tick_take(tick, 3600 * NS_PER_SEC, align));
        close(tick);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_multiple),
        cmocka_unit_test(aligned_ticks_fall_on_the_wall_clocks_multiples),
        cmocka_unit_test(ticks_that_were_missed_count_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
