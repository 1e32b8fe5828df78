// NAS kernel IS: ranking of small integers by buckets and counting. Each iteration sends every key
// to the rank that owns its bucket, so ranks exchange nearly all they have (RNR-94-007).
#include "bench/npb/common/grid.h"
#include "bench/npb/common/job.h"
#include "bench/npb/is/class.h"
#include "bench/npb/is/keys.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct is {
    const struct is_class *size;
    int rank, ranks;
    int buckets;
    int shift;            // from a key to its bucket
    struct npb_span part; // of the sequence, that is here
    int32_t *keys;
    int32_t first_keys[2 * IS_ITERATIONS + 1]; // of `keys`, as they are before a run changes them
    int32_t *sorted;                           // the same keys by buckets
    // Keys per bucket, here and everywhere; behind the buckets, the values of the probed keys.
    int *sizes, *totals;
    int *bucket_starts;
    int *first_bucket;                                    // of each rank, and one more
    int *sent, *sent_starts, *received, *received_starts; // keys to and from each rank

    int32_t *own; // the keys of this rank's buckets, in the order in which they came
    int own_count, own_room;
    int32_t lowest; // value of this rank's buckets
    int values;     // in them
    int below;      // keys on the ranks before this one
    int *lesser;    // for each value here: how many keys are less

    int probes_right;            // in this run, of those whose value lies here
    struct is_findings findings; // of the last run, of all ranks; on rank 0
};

static void count_keys(struct is *is)
{
    memset(is->sizes, 0, (size_t)(is->buckets + IS_PROBES) * sizeof *is->sizes);
    is_keys_count_buckets(is->keys, is->part.count, is->shift, is->sizes);
    for (int p = 0; p < IS_PROBES; p++) {
        int place = is->size->probes[p].index - is->part.start;
        if (place >= 0 && place < is->part.count)
            is->sizes[is->buckets + p] = is->keys[place];
    }
    MPI_Allreduce(is->sizes, is->totals, is->buckets + IS_PROBES, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void sort_keys(struct is *is)
{
    int start = 0;
    for (int b = 0; b < is->buckets; b++) {
        is->bucket_starts[b] = start;
        start += is->sizes[b];
    }
    is_keys_fill_buckets(is->keys, is->part.count, is->shift, is->bucket_starts, is->sorted);
}

static int sum(const int *numbers, int start, int end)
{
    int sum = 0;
    for (int i = start; i < end; i++)
        sum += numbers[i];
    return sum;
}

static void deal_buckets(struct is *is)
{
    const int *first_bucket = is->first_bucket;
    is_keys_deal_buckets(is->totals, is->buckets, is->ranks, is->first_bucket);
    int start = 0;
    for (int rank = 0; rank < is->ranks; rank++) {
        is->sent_starts[rank] = start;
        is->sent[rank] = sum(is->sizes, first_bucket[rank], first_bucket[rank + 1]);
        start += is->sent[rank];
    }
    int first = first_bucket[is->rank], end = first_bucket[is->rank + 1];
    is->lowest = first << is->shift;
    is->values = (end - first) << is->shift;
    is->below = sum(is->totals, 0, first);
    is->own_count = sum(is->totals, first, end);
}

// Room for the keys of this rank's buckets. What a run adds to them is so little that only the
// first exchange, before any time is taken, ever allocates.
static void make_room(struct is *is)
{
    if (is->own_count <= is->own_room)
        return;
    free(is->own);
    is->own_room = is->own_count + 2 * IS_ITERATIONS + (1 << is->size->log2_keys) / is->buckets;
    is->own = npb_job_allocate((size_t)is->own_room, sizeof *is->own);
}

static void exchange_keys(struct is *is)
{
    MPI_Alltoall(is->sent, 1, MPI_INT, is->received, 1, MPI_INT, MPI_COMM_WORLD);
    int start = 0;
    for (int rank = 0; rank < is->ranks; rank++) {
        is->received_starts[rank] = start;
        start += is->received[rank];
    }
    make_room(is);
    MPI_Alltoallv(is->sorted, is->sent, is->sent_starts, MPI_INT32_T, is->own, is->received,
                  is->received_starts, MPI_INT32_T, MPI_COMM_WORLD);
}

static void rank_keys(struct is *is)
{
    count_keys(is);
    sort_keys(is);
    deal_buckets(is);
    exchange_keys(is);
    is_keys_rank(is->own, is->own_count, is->lowest, is->values, is->below, is->lesser);
}

// How many of the probed keys lie in this rank's buckets and have the official rank.
static int count_right_probes(const struct is *is, int iteration)
{
    int right = 0;
    for (int p = 0; p < IS_PROBES; p++) {
        const struct is_probe *probe = &is->size->probes[p];
        int value = is->totals[is->buckets + p] - is->lowest;
        if (value >= 0 && value < is->values)
            right += is->lesser[value] == is_class_rank(probe, iteration);
    }
    return right;
}

static void is_run(void *state)
{
    struct is *is = state;
    is->probes_right = 0;
    if (is->rank == 0)
        memcpy(is->keys, is->first_keys, sizeof is->first_keys);
    for (int iteration = 1; iteration <= IS_ITERATIONS; iteration++) {
        if (is->rank == 0) {
            is->keys[iteration] = iteration;
            is->keys[iteration + IS_ITERATIONS] = (1 << is->size->log2_values) - iteration;
        }
        rank_keys(is);
        is->probes_right += count_right_probes(is, iteration);
    }
}

// Sorts the keys by their ranks, and sees that they are in order here and across the ranks.
static void is_conclude(void *state)
{
    struct is *is = state;
    int count = is->own_count;
    int32_t *ordered = npb_job_allocate((size_t)count, sizeof *ordered);
    struct is_findings own = {.probes_right = is->probes_right};
    own.misplaced =
        is_keys_place(is->own, count, is->lowest, is->values, is->below, is->lesser, ordered);
    int32_t largest = count > 0 ? ordered[count - 1] : -1, largest_before = -1;
    MPI_Exscan(&largest, &largest_before, 1, MPI_INT32_T, MPI_MAX, MPI_COMM_WORLD);
    if (is->rank > 0 && count > 0 && ordered[0] < largest_before)
        own.misplaced++;
    free(ordered);
    own.keys = count;
    MPI_Reduce(&own, &is->findings, IS_FINDINGS_INTS, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int *allocate_ints(int count)
{
    return npb_job_allocate((size_t)count, sizeof(int));
}

// All but `own`, whose size only the keys tell.
static void allocate_buffers(struct is *is)
{
    is->keys = npb_job_allocate((size_t)is->part.count, sizeof *is->keys);
    is->sorted = npb_job_allocate((size_t)is->part.count, sizeof *is->sorted);
    is->sizes = allocate_ints(is->buckets + IS_PROBES);
    is->totals = allocate_ints(is->buckets + IS_PROBES);
    is->bucket_starts = allocate_ints(is->buckets);
    is->first_bucket = allocate_ints(is->ranks + 1);
    is->sent = allocate_ints(is->ranks);
    is->sent_starts = allocate_ints(is->ranks);
    is->received = allocate_ints(is->ranks);
    is->received_starts = allocate_ints(is->ranks);
    is->lesser = allocate_ints(1 << is->size->log2_values);
}

static const char *is_prepare(const struct npb_job *job, void **state)
{
    const struct is_class *size = is_class_find(job->size_class);
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    if ((job->ranks & (job->ranks - 1)) != 0)
        return "the number of processes must be a power of two";
    if (job->ranks > 1 << size->log2_buckets)
        return "there must be a bucket of keys for each process";
    if (job->rank == 0)
        printf("NAS kernel IS, class %c: 2^%d keys below 2^%d in 2^%d buckets, %d iterations; %d "
               "ranks\n",
               size->name, size->log2_keys, size->log2_values, size->log2_buckets, IS_ITERATIONS,
               job->ranks);

    struct is *is = npb_job_allocate(1, sizeof *is);
    is->size = size;
    is->rank = job->rank;
    is->ranks = job->ranks;
    is->buckets = 1 << size->log2_buckets;
    is->shift = size->log2_values - size->log2_buckets;
    is->part = npb_grid_part(INT64_C(1) << size->log2_keys, job->ranks, job->rank);
    allocate_buffers(is);
    is_keys_make(is->keys, is->part, size->log2_values);
    memcpy(is->first_keys, is->keys, sizeof is->first_keys);
    rank_keys(is); // touches all pages and opens all connections
    *state = is;
    return NULL;
}

static bool is_verify(const void *state)
{
    const struct is *is = state;
    return is_class_verify(is->size, &is->findings);
}

static double is_operations(const void *state)
{
    return ldexp(IS_ITERATIONS, ((const struct is *)state)->size->log2_keys); // keys ranked
}

static void is_release(void *state)
{
    struct is *is = state;
    void *memory[] = {is->keys,          is->sorted,          is->sizes, is->totals,
                      is->bucket_starts, is->first_bucket,    is->sent,  is->sent_starts,
                      is->received,      is->received_starts, is->own,   is->lesser};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    free(is);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "is",
        .prepare = is_prepare,
        .run = is_run,
        .conclude = is_conclude,
        .verify = is_verify,
        .operations = is_operations,
        .release = is_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
