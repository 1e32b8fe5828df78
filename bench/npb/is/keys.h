// The keys of IS and what a rank does with them between messages: sorting into buckets, dealing
// buckets to ranks, and ranking by counting. Pure: no MPI call.
//
// Keys lie in 0 .. 2^log2_values - 1. A bucket is all keys that agree in `key >> shift`.
#ifndef COSCHED_BENCH_IS_KEYS_H
#define COSCHED_BENCH_IS_KEYS_H

#include "bench/npb/common/grid.h"

#include <stdint.h>

// Part `part` of the one official sequence of keys: each is a quarter of the number of values
// times the sum of four random numbers, so the middle values are the most frequent.
void is_keys_make(int32_t *keys, struct npb_span part, int log2_values);

// Adds the number of keys in each bucket to `sizes`.
void is_keys_count_buckets(const int32_t *keys, int count, int shift, int *sizes);

// Copies the keys to `sorted`, bucket by bucket. `starts` says at which index each bucket begins;
// afterwards it says where each ends.
void is_keys_fill_buckets(const int32_t *keys, int count, int shift, int *starts, int32_t *sorted);

// Deals the buckets, of which there are `sizes[b]` keys in bucket b, to `ranks` ranks in order: a
// rank is given buckets until it and those before it hold their share of all keys. Writes ranks + 1
// numbers: rank r has the buckets first_bucket[r] .. first_bucket[r + 1] - 1, maybe none.
void is_keys_deal_buckets(const int *sizes, int buckets, int ranks, int *first_bucket);

// Of `values` values from `lowest` on, which all `count` keys must be, writes how many keys are
// less than each, `below` being the number of keys less than all of them.
void is_keys_rank(const int32_t *keys, int count, int32_t lowest, int values, int below,
                  int *lesser);

// Puts the keys in order by what is_keys_rank() wrote, which is used up, into `ordered`, and
// returns the number of places in it that hold no key of these values or a key less than the one
// before.
int is_keys_place(const int32_t *keys, int count, int32_t lowest, int values, int below,
                  int *lesser, int32_t *ordered);

#endif
