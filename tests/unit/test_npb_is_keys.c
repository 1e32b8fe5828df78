// Protects how kernel IS makes, buckets, deals and ranks its keys, also where a few values hold
// nearly all keys and some ranks get none.
#include "bench/npb/is/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LOG2_VALUES = 8, VALUES = 1 << LOG2_VALUES, SHIFT = 3, BUCKETS = VALUES >> SHIFT };
enum { KEYS = 1000, MOST_RANKS = 64 };

static int32_t keys[KEYS];

static void make_all_keys(void)
{
    is_keys_make(keys, (struct npb_span){.start = 0, .count = KEYS}, LOG2_VALUES);
}

// The place of one key by comparison with all others.
static int count_lesser(int32_t value)
{
    int lesser = 0;
    for (int i = 0; i < KEYS; i++)
        lesser += keys[i] < value;
    return lesser;
}

// Four steps of the generator each, computed with unbounded integers.
static void keys_are_the_official_ones(void **unused)
{
    (void)unused;
    const int32_t expected[] = {1585, 825, 1060, 1343, 956, 437};
    enum { COUNT = sizeof expected / sizeof *expected };
    int32_t made[COUNT];
    is_keys_make(made, (struct npb_span){.start = 0, .count = COUNT}, 11);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(made[i], expected[i]);
}

static void parts_of_the_sequence_join(void **unused)
{
    (void)unused;
    int32_t part[KEYS];
    make_all_keys();
    for (int start = 0; start < KEYS; start += 123) {
        is_keys_make(part, (struct npb_span){.start = start, .count = KEYS - start}, LOG2_VALUES);
        for (int i = start; i < KEYS; i++)
            assert_int_equal(part[i - start], keys[i]);
    }
}

static void buckets_hold_their_keys_in_the_order_of_arrival(void **unused)
{
    (void)unused;
    int sizes[BUCKETS] = {0}, starts[BUCKETS], ends[BUCKETS];
    int32_t sorted[KEYS];
    make_all_keys();
    is_keys_count_buckets(keys, KEYS, SHIFT, sizes);
    int start = 0;
    for (int b = 0; b < BUCKETS; b++) {
        starts[b] = ends[b] = start;
        start += sizes[b];
    }
    assert_int_equal(start, KEYS);
    is_keys_fill_buckets(keys, KEYS, SHIFT, ends, sorted);
    for (int b = 0; b < BUCKETS; b++) {
        int place = starts[b];
        for (int i = 0; i < KEYS; i++) {
            if (keys[i] / (1 << SHIFT) == b)
                assert_int_equal(sorted[place++], keys[i]);
        }
        assert_int_equal(place, ends[b]);
        assert_int_equal(ends[b], starts[b] + sizes[b]);
    }
}

// Ranks own neighbouring buckets, all of them; and nobody has more than his share and one bucket.
static void check_deal(const int *sizes, int buckets, int ranks)
{
    int first_bucket[MOST_RANKS + 1];
    int64_t all = 0, before = 0;
    int largest = 0;
    for (int b = 0; b < buckets; b++) {
        all += sizes[b];
        largest = sizes[b] > largest ? sizes[b] : largest;
    }
    is_keys_deal_buckets(sizes, buckets, ranks, first_bucket);
    assert_int_equal(first_bucket[0], 0);
    assert_int_equal(first_bucket[ranks], buckets);
    for (int rank = 0; rank < ranks; rank++) {
        assert_true(first_bucket[rank] <= first_bucket[rank + 1]);
        for (int b = first_bucket[rank]; b < first_bucket[rank + 1]; b++)
            before += sizes[b];
        assert_true(before * ranks >= all * (rank + 1));
        assert_true(before * ranks < all * (rank + 1) + (int64_t)largest * ranks);
    }
    assert_int_equal(before, all);
}

static void buckets_are_dealt_evenly(void **unused)
{
    (void)unused;
    int even[BUCKETS], bell[BUCKETS] = {0}, heap[BUCKETS] = {0};
    for (int b = 0; b < BUCKETS; b++)
        even[b] = 1000000;
    make_all_keys();
    is_keys_count_buckets(keys, KEYS, SHIFT, bell);
    heap[7] = KEYS;
    for (int ranks = 1; ranks <= BUCKETS; ranks *= 2) {
        check_deal(even, BUCKETS, ranks);
        check_deal(bell, BUCKETS, ranks);
        check_deal(heap, BUCKETS, ranks);
    }
}

static void ranks_count_the_lesser_keys(void **unused)
{
    (void)unused;
    int lesser[VALUES];
    make_all_keys();
    is_keys_rank(keys, KEYS, 0, VALUES, 0, lesser);
    for (int v = 0; v < VALUES; v++)
        assert_int_equal(lesser[v], count_lesser(v));
}

// As a rank that owns the values from 100 on ranks them.
static void ranks_go_on_from_the_ranks_before(void **unused)
{
    (void)unused;
    enum { LOWEST = 100 };
    int32_t own[KEYS];
    int lesser[VALUES - LOWEST], count = 0;
    make_all_keys();
    for (int i = 0; i < KEYS; i++) {
        if (keys[i] >= LOWEST)
            own[count++] = keys[i];
    }
    is_keys_rank(own, count, LOWEST, VALUES - LOWEST, KEYS - count, lesser);
    for (int v = LOWEST; v < VALUES; v++)
        assert_int_equal(lesser[v - LOWEST], count_lesser(v));
}

static void right_ranks_put_all_keys_in_order(void **unused)
{
    (void)unused;
    int lesser[VALUES];
    int32_t ordered[KEYS];
    make_all_keys();
    is_keys_rank(keys, KEYS, 0, VALUES, 500, lesser);
    assert_int_equal(is_keys_place(keys, KEYS, 0, VALUES, 500, lesser, ordered), 0);
    for (int i = 1; i < KEYS; i++)
        assert_true(ordered[i] >= ordered[i - 1]);
}

static void a_wrong_rank_is_noticed(void **unused)
{
    (void)unused;
    int lesser[VALUES];
    int32_t ordered[KEYS];
    make_all_keys();
    for (int change = -KEYS; change <= KEYS; change += KEYS / 5) {
        for (int v = 0; v < VALUES; v++) {
            if (change == 0 || count_lesser(v) == count_lesser(v + 1))
                continue; // nothing wrong, or no key of this value that could go astray
            is_keys_rank(keys, KEYS, 0, VALUES, 0, lesser);
            lesser[v] += change;
            assert_true(is_keys_place(keys, KEYS, 0, VALUES, 0, lesser, ordered) > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_the_official_ones),
        cmocka_unit_test(parts_of_the_sequence_join),
        cmocka_unit_test(buckets_hold_their_keys_in_the_order_of_arrival),
        cmocka_unit_test(buckets_are_dealt_evenly),
        cmocka_unit_test(ranks_count_the_lesser_keys),
        cmocka_unit_test(ranks_go_on_from_the_ranks_before),
        cmocka_unit_test(right_ranks_put_all_keys_in_order),
        cmocka_unit_test(a_wrong_rank_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
