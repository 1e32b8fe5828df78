#include "bench/npb/is/keys.h"

#include "bench/npb/common/random.h"

#include <string.h>

#define SEED 314159265

enum { DRAWS_PER_KEY = 4 };

void is_keys_make(int32_t *keys, struct npb_span part, int log2_values)
{
    uint64_t random = npb_random_skip(SEED, (uint64_t)part.start * DRAWS_PER_KEY);
    double quarter = (double)(INT32_C(1) << log2_values) / DRAWS_PER_KEY;
    for (int i = 0; i < part.count; i++) {
        double draws[DRAWS_PER_KEY];
        npb_random_fill(&random, draws, DRAWS_PER_KEY);
        keys[i] = (int32_t)(quarter * (draws[0] + draws[1] + draws[2] + draws[3]));
    }
}

void is_keys_count_buckets(const int32_t *restrict keys, int count, int shift, int *restrict sizes)
{
    for (int i = 0; i < count; i++)
        sizes[keys[i] >> shift]++;
}

void is_keys_fill_buckets(const int32_t *restrict keys, int count, int shift, int *restrict starts,
                          int32_t *restrict sorted)
{
    for (int i = 0; i < count; i++)
        sorted[starts[keys[i] >> shift]++] = keys[i];
}

void is_keys_deal_buckets(const int *sizes, int buckets, int ranks, int *first_bucket)
{
    int64_t keys = 0;
    for (int b = 0; b < buckets; b++)
        keys += sizes[b];
    int64_t dealt = 0;
    int bucket = 0;
    for (int rank = 0; rank < ranks; rank++) {
        first_bucket[rank] = bucket;
        while (bucket < buckets && dealt * ranks < keys * (rank + 1))
            dealt += sizes[bucket++];
    }
    first_bucket[ranks] = buckets;
}

void is_keys_rank(const int32_t *restrict keys, int count, int32_t lowest, int values, int below,
                  int *restrict lesser)
{
    memset(lesser, 0, (size_t)values * sizeof *lesser);
    for (int i = 0; i < count; i++)
        lesser[keys[i] - lowest]++;
    for (int v = 0; v < values; v++) {
        int equal = lesser[v];
        lesser[v] = below;
        below += equal;
    }
}

int is_keys_place(const int32_t *restrict keys, int count, int32_t lowest, int values, int below,
                  int *restrict lesser, int32_t *restrict ordered)
{
    // A wrong rank puts two keys in one place and so leaves a gap, which this makes visible.
    memset(ordered, 0xff, (size_t)count * sizeof *ordered);
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        int place = lesser[keys[i] - lowest]++ - below;
        if (place >= 0 && place < count)
            ordered[place] = keys[i];
    }
    for (int i = 0; i < count; i++) {
        bool known = ordered[i] >= lowest && ordered[i] < lowest + values;
        wrong += !known || (i > 0 && ordered[i] < ordered[i - 1]);
    }
    return wrong;
}
