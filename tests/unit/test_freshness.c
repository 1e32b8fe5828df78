// Whether what a peer said is of this slice or of an earlier one, where clocks agree and where they
// do not.
#include "common/status_page.h"
#include "pmpi/variant/freshness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void learn(struct freshness *freshness, uint16_t here, uint16_t said, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        freshness_learn(freshness, here, said);
}

static void what_is_of_an_earlier_slice_is_stale(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    assert_false(freshness_is_stale(&freshness, 7, 7));
    assert_true(freshness_is_stale(&freshness, 8, 7));
    assert_false(freshness_is_stale(&freshness, 7, 8)); // its node was a little earlier
    assert_true(freshness_is_stale(&freshness, 7, 7 - 4));
}

// Numbers go on, and what was said is not said anew.
static void what_is_old_is_stale_for_ever(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    for (uint64_t turn = 8; turn < 7 + UINT16_MAX - 64; turn++)
        assert_true(freshness_is_stale(&freshness, status_turn(turn), status_turn(7)));
}

static void numbers_begin_again(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    for (uint64_t turn = UINT16_MAX - 3; turn < UINT16_MAX + 3; turn++) {
        uint16_t here = status_turn(turn);
        assert_int_not_equal(here, 0);
        assert_false(freshness_is_stale(&freshness, here, here));
        assert_true(freshness_is_stale(&freshness, status_turn(turn + 1), here));
        assert_false(freshness_is_stale(&freshness, here, status_turn(turn + 1)));
    }
}

static void what_is_not_known_is_not_stale(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    assert_int_equal(status_turn(0), 0);
    assert_false(freshness_is_stale(&freshness, 0, 7));
    assert_false(freshness_is_stale(&freshness, 7, 0));
    learn(&freshness, 7, 0, 100);
    learn(&freshness, 0, 7, 100);
    assert_true(freshness_is_stale(&freshness, 8, 7));
}

static void a_clock_that_is_off_is_learnt(void **state)
{
    (void)state;
    for (int off = -100; off <= 100; off += 200) {
        struct freshness freshness = {0};
        uint16_t here = 1000, there = (uint16_t)(here - off);
        learn(&freshness, here, there, 4);
        assert_false(freshness_is_stale(&freshness, here, there));
        assert_true(freshness_is_stale(&freshness, (uint16_t)(here + 1), there));
        learn(&freshness, here, here, 4); // and was set right
        assert_false(freshness_is_stale(&freshness, here, here));
        assert_true(freshness_is_stale(&freshness, here, (uint16_t)(here - 1)));
    }
}

// A rank that comes out again reads what it was told long ago; and one node's slices begin a little
// before another's.
static void a_few_that_differ_change_nothing(void **state)
{
    (void)state;
    struct freshness freshness = {0};
    for (uint16_t here = 100; here < 200; here++) {
        learn(&freshness, here, (uint16_t)(here - 6), 1);
        learn(&freshness, here, (uint16_t)(here - 3), 2);
        learn(&freshness, here, here, 1);
        learn(&freshness, here, (uint16_t)(here + 1), 3);
        assert_false(freshness_is_stale(&freshness, here, here));
        assert_true(freshness_is_stale(&freshness, here, (uint16_t)(here - 1)));
        assert_true(freshness_is_news(&freshness, here, here));
        learn(&freshness, here, here, 1);
        assert_false(freshness_is_news(&freshness, here, here));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_of_an_earlier_slice_is_stale),
        cmocka_unit_test(what_is_old_is_stale_for_ever),
        cmocka_unit_test(numbers_begin_again),
        cmocka_unit_test(what_is_not_known_is_not_stale),
        cmocka_unit_test(a_clock_that_is_off_is_learnt),
        cmocka_unit_test(a_few_that_differ_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
