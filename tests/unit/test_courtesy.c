// What a rank may give away of its CPU while it waits: a part of the time, and no more at once than
// a program's start.
#include "pmpi/variant/courtesy.h"

#include "common/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SLICE_NS (3 * NS_PER_MS) // of the kernel's

static uint64_t now_ns;

// Waits for so long beside somebody who takes each CPU that is given, for a slice of the kernel's.
// What he had.
static uint64_t given_ns(struct courtesy *courtesy, uint64_t time_ns)
{
    uint64_t end_ns = now_ns + time_ns, given_ns = 0;
    while (now_ns < end_ns) {
        if (courtesy_allows(courtesy, now_ns)) {
            now_ns += SLICE_NS;
            given_ns += SLICE_NS;
            courtesy_took(courtesy, SLICE_NS);
        }
        now_ns += NS_PER_US;
    }
    return given_ns;
}

static int start(void **state)
{
    (void)state;
    now_ns = 5 * NS_PER_SEC;
    return 0;
}

static void a_start_is_let_through_at_once(void **state)
{
    struct courtesy courtesy = {0};
    (void)state;
    assert_in_range(given_ns(&courtesy, 100 * NS_PER_MS), 95 * NS_PER_MS, 103 * NS_PER_MS);
}

static void who_computes_for_good_has_a_tenth(void **state)
{
    struct courtesy courtesy = {0};
    (void)state;
    given_ns(&courtesy, NS_PER_SEC);
    assert_in_range(given_ns(&courtesy, 100 * NS_PER_SEC), 9900 * NS_PER_MS, 10100 * NS_PER_MS);
}

static void what_was_not_given_is_not_saved_up(void **state)
{
    struct courtesy courtesy = {0};
    (void)state;
    given_ns(&courtesy, NS_PER_SEC);
    now_ns += 1000 * NS_PER_SEC;
    assert_in_range(given_ns(&courtesy, NS_PER_SEC), 190 * NS_PER_MS, 210 * NS_PER_MS);
}

// Who finds nobody yields millions of times.
static void finding_nobody_costs_nothing(void **state)
{
    struct courtesy courtesy = {0};
    (void)state;
    for (int i = 0; i < 1000000; i++, now_ns += NS_PER_US) {
        assert_true(courtesy_allows(&courtesy, now_ns));
        courtesy_took(&courtesy, NS_PER_US);
    }
}

// A rank that was stopped in the middle of a yield, for a day.
static void a_long_absence_is_soon_forgotten(void **state)
{
    struct courtesy courtesy = {0};
    (void)state;
    assert_true(courtesy_allows(&courtesy, now_ns));
    now_ns += 86400 * NS_PER_SEC;
    courtesy_took(&courtesy, 86400 * NS_PER_SEC);
    now_ns += NS_PER_SEC;
    assert_true(courtesy_allows(&courtesy, now_ns));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start)
    const struct CMUnitTest tests[] = {
        TEST(a_start_is_let_through_at_once),     TEST(who_computes_for_good_has_a_tenth),
        TEST(what_was_not_given_is_not_saved_up), TEST(finding_nobody_costs_nothing),
        TEST(a_long_absence_is_soon_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
