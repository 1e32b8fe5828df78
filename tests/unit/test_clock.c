// The offset of the time of day: changes when somebody sets the clock, and at nothing else. The
// clocks are the test's.
#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t wall_ns, boot_ns, monotonic_ns;
static uint64_t reading_takes_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    uint64_t ns = clock == CLOCK_REALTIME   ? wall_ns
                  : clock == CLOCK_BOOTTIME ? boot_ns
                                            : monotonic_ns;
    *now = (struct timespec){(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};
    wall_ns += reading_takes_ns;
    boot_ns += reading_takes_ns;
    monotonic_ns += reading_takes_ns;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    wall_ns = 1700000000 * NS_PER_SEC;
    boot_ns = 500 * NS_PER_SEC;
    monotonic_ns = 400 * NS_PER_SEC;
    reading_takes_ns = 0;
    return 0;
}

static int64_t offset_ns(void)
{
    int64_t ns = 0;
    assert_true(clock_read_offset_ns(&ns));
    return ns;
}

static void a_machine_that_was_suspended_has_its_clock_not_set(void **state)
{
    (void)state;
    int64_t before_ns = offset_ns();
    wall_ns += 3600 * NS_PER_SEC;
    boot_ns += 3600 * NS_PER_SEC; // and not the monotonic one
    assert_true(offset_ns() == before_ns);
}

static void a_clock_that_is_set_is_seen(void **state)
{
    (void)state;
    int64_t before_ns = offset_ns();
    wall_ns -= 7 * NS_PER_SEC;
    assert_true(offset_ns() == before_ns - (int64_t)(7 * NS_PER_SEC));
}

static void what_was_read_too_slowly_is_not_known(void **state)
{
    (void)state;
    int64_t ns;
    reading_takes_ns = NS_PER_MS;
    assert_false(clock_read_offset_ns(&ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_machine_that_was_suspended_has_its_clock_not_set, set_up),
        cmocka_unit_test_setup(a_clock_that_is_set_is_seen, set_up),
        cmocka_unit_test_setup(what_was_read_too_slowly_is_not_known, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
