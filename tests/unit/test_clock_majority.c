// Protects which clocks are called wrong: none for a slow measurement, none without a majority to
// say so, and every other one that is.
#include "pmpi/variant/clock_majority.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS        UINT64_C(1000000)
#define S         (1000 * MS)
#define NOON      (UINT64_C(1700000000) * S)
#define TOLERANCE (100 * MS)

enum { MOST = 9 };

struct clocks {
    struct clock_reading all[MOST], room[MOST];
    size_t count;
};

// A clock that is off by so much, known to `known_ns`; it is somewhere within that.
static void add(struct clocks *clocks, int64_t off_ns, uint64_t known_ns)
{
    uint64_t at_ns = NOON + (uint64_t)off_ns;
    clocks->all[clocks->count++] =
        (struct clock_reading){.earliest_ns = at_ns - known_ns / 3, .latest_ns = at_ns + known_ns};
}

static struct clock_majority majority_of(struct clocks *clocks)
{
    return clock_majority_of(clocks->all, clocks->count, TOLERANCE, clocks->room);
}

static int64_t off(const struct clocks *clocks, const struct clock_majority *majority, size_t which)
{
    return clock_off_ns(&clocks->all[which], majority, clocks->all, clocks->count, TOLERANCE);
}

static void clocks_that_agree_are_right(void **state)
{
    (void)state;
    struct clocks clocks = {0};
    for (int64_t i = 0; i < 5; i++)
        add(&clocks, i * 20 * (int64_t)MS, MS);
    struct clock_majority majority = majority_of(&clocks);
    assert_int_equal(majority.agreeing, 5);
    for (size_t i = 0; i < clocks.count; i++)
        assert_int_equal(off(&clocks, &majority, i), 0);
}

static void the_odd_one_is_off(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct clocks clocks = {0};
        add(&clocks, sign * 3 * (int64_t)S, MS);
        add(&clocks, 0, MS);
        add(&clocks, 5 * (int64_t)MS, MS);
        struct clock_majority majority = majority_of(&clocks);
        assert_int_equal(majority.agreeing, 2);
        int64_t off_ns = sign * off(&clocks, &majority, 0);
        assert_true(off_ns > 2990 * (int64_t)MS && off_ns <= 3000 * (int64_t)MS);
        assert_int_equal(off(&clocks, &majority, 1), 0);
        assert_int_equal(off(&clocks, &majority, 2), 0);
    }
}

// However slow the measurement was: what is not known is nobody's fault.
static void nobody_is_off_within_what_is_known(void **state)
{
    (void)state;
    struct clocks clocks = {0};
    add(&clocks, -3 * (int64_t)S, 4 * S);
    add(&clocks, 0, MS);
    add(&clocks, 0, MS);
    struct clock_majority majority = majority_of(&clocks);
    assert_int_equal(off(&clocks, &majority, 0), 0);
    clocks.all[0] = (struct clock_reading){0};
    majority = majority_of(&clocks);
    assert_int_equal(off(&clocks, &majority, 0), 0);
    assert_int_equal(off(&clocks, &majority, 1), 0);
}

// Of two nobody can say who is right: both are off, each by what it is from the other.
static void two_that_differ_have_no_majority(void **state)
{
    (void)state;
    struct clocks clocks = {0};
    add(&clocks, 0, MS);
    add(&clocks, 3 * (int64_t)S, MS);
    struct clock_majority majority = majority_of(&clocks);
    assert_int_equal(majority.agreeing, 0);
    assert_true(off(&clocks, &majority, 0) < -2 * (int64_t)S);
    assert_true(off(&clocks, &majority, 1) > 2 * (int64_t)S);
}

// But where only one of them says that somebody keeps it right.
static void without_a_majority_the_synchronised_are_asked(void **state)
{
    (void)state;
    for (size_t right = 0; right < 2; right++) {
        struct clocks clocks = {0};
        add(&clocks, 0, MS);
        add(&clocks, 3 * (int64_t)S, MS);
        clocks.all[right].synchronised = true;
        struct clock_majority majority = majority_of(&clocks);
        assert_int_equal(majority.agreeing, 1);
        assert_int_equal(off(&clocks, &majority, right), 0);
        assert_int_not_equal(off(&clocks, &majority, 1 - right), 0);
    }
}

static void a_majority_needs_nobody_to_call_it_synchronised(void **state)
{
    (void)state;
    struct clocks clocks = {0};
    add(&clocks, 0, MS);
    add(&clocks, 0, MS);
    add(&clocks, 3 * (int64_t)S, MS);
    clocks.all[2].synchronised = true;
    struct clock_majority majority = majority_of(&clocks);
    assert_int_equal(majority.agreeing, 2);
    assert_int_not_equal(off(&clocks, &majority, 2), 0);
}

static void any_times_can_be_compared(void **state)
{
    (void)state;
    struct clocks clocks = {.count = 4};
    clocks.all[0] = (struct clock_reading){.earliest_ns = 0, .latest_ns = UINT64_MAX};
    clocks.all[1] = (struct clock_reading){.earliest_ns = INT64_MAX, .latest_ns = INT64_MAX};
    clocks.all[2] = (struct clock_reading){.earliest_ns = 9, .latest_ns = 3};
    clocks.all[3] = (struct clock_reading){.earliest_ns = 1, .latest_ns = 1};
    struct clock_majority majority = majority_of(&clocks);
    for (size_t i = 0; i < clocks.count; i++)
        assert_true(off(&clocks, &majority, i) > INT64_MIN);
    clocks.count = 0;
    assert_int_equal(majority_of(&clocks).agreeing, 0);
}

// More than half are right to a tenth of the tolerance, the others off by much more: exactly these
// are found, whatever the order and however well each is known, up to half the tolerance.
static void run_random(uint64_t seed)
{
    uint64_t state = seed;
    struct clocks clocks = {0};
    bool wrong[MOST] = {false};
    size_t count = 3 + random_below(&state, MOST - 2), wrong_left = (count - 1) / 2;
    for (size_t i = 0; i < count; i++) {
        wrong[i] = wrong_left > 0 && random_below(&state, 2) == 0;
        wrong_left -= wrong[i];
        int64_t off_ns = (int64_t)random_below(&state, TOLERANCE / 10);
        if (wrong[i])
            off_ns = ((int64_t)random_below(&state, 2) * 2 - 1) *
                     (int64_t)(S + random_below(&state, 1000 * S));
        add(&clocks, off_ns, 1 + random_below(&state, TOLERANCE / 2));
    }
    struct clock_majority majority = majority_of(&clocks);
    for (size_t i = 0; i < count; i++) {
        if ((off(&clocks, &majority, i) != 0) != wrong[i])
            fail_msg("seed %lu: clock %zu is called %s", seed, i, wrong[i] ? "right" : "wrong");
    }
}

static void exactly_the_wrong_ones_are_found(void **state)
{
    (void)state;
    random_run_histories(run_random, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_that_agree_are_right),
        cmocka_unit_test(the_odd_one_is_off),
        cmocka_unit_test(nobody_is_off_within_what_is_known),
        cmocka_unit_test(two_that_differ_have_no_majority),
        cmocka_unit_test(without_a_majority_the_synchronised_are_asked),
        cmocka_unit_test(a_majority_needs_nobody_to_call_it_synchronised),
        cmocka_unit_test(any_times_can_be_compared),
        cmocka_unit_test(exactly_the_wrong_ones_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
