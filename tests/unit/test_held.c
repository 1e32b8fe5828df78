// Protects that an idle rank sleeps for as long as it is held to its share, and no longer.
#include "pmpi/variant/held.h"

#include "common/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { EPOCH = 7 };

// A rank that has one in `parts` of its CPU.
struct rank {
    struct held held;
    uint64_t now_ns, spent_ns;
    unsigned parts;
};

static bool believes(struct rank *rank)
{
    return held_believed(&rank->held, EPOCH, rank->now_ns, rank->spent_ns);
}

static void sleeps(struct rank *rank, uint64_t ns)
{
    rank->now_ns += ns;
}

static void polls(struct rank *rank)
{
    rank->spent_ns += NS_PER_MS / 8;
    rank->now_ns += rank->parts * NS_PER_MS / 8;
}

// Seconds of the next ten minutes in which it polled without a sleep.
static uint64_t polled_s(struct rank *rank)
{
    uint64_t polled_ns = 0, end_ns = rank->now_ns + 600 * NS_PER_SEC;
    while (rank->now_ns < end_ns) {
        uint64_t before_ns = rank->now_ns;
        if (believes(rank)) {
            sleeps(rank, 16 * NS_PER_MS);
            continue;
        }
        polls(rank);
        polled_ns += rank->now_ns - before_ns;
    }
    return polled_ns / NS_PER_SEC;
}

static void who_is_held_sleeps_for_as_long(void **state)
{
    struct rank rank = {.now_ns = 1, .parts = 100};
    (void)state;
    uint64_t polled = polled_s(&rank);
    assert_true(polled <= 4); // four trials of four periods each, of ten minutes
    assert_true(believes(&rank) || rank.held.trial_ns != 0);
}

static void who_is_not_polls_after_some_minutes(void **state)
{
    struct rank rank = {.now_ns = 1, .parts = 1};
    (void)state;
    assert_true(believes(&rank));
    sleeps(&rank, 60 * NS_PER_SEC);
    assert_true(believes(&rank));
    uint64_t polled = polled_s(&rank);
    assert_true(polled > 500);
}

// Its CPU may be shared with some.
static void who_has_a_good_part_is_not_held(void **state)
{
    struct rank rank = {.now_ns = 1, .parts = 4};
    (void)state;
    polled_s(&rank);
    assert_false(believes(&rank));
}

static void a_new_word_is_believed(void **state)
{
    struct rank rank = {.now_ns = 1, .parts = 1};
    (void)state;
    polled_s(&rank);
    assert_false(believes(&rank));
    assert_true(held_believed(&rank.held, EPOCH + 1, rank.now_ns, rank.spent_ns));
    sleeps(&rank, 60 * NS_PER_SEC);
    assert_true(held_believed(&rank.held, EPOCH + 1, rank.now_ns, rank.spent_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_held_sleeps_for_as_long),
        cmocka_unit_test(who_is_not_polls_after_some_minutes),
        cmocka_unit_test(who_has_a_good_part_is_not_held),
        cmocka_unit_test(a_new_word_is_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
