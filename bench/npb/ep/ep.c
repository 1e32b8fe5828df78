// NAS kernel EP, "embarrassingly parallel": Gaussian pairs by the polar method from uniform pairs,
// counted in square rings around the origin (RNR-94-007). No message until the end.
#include "bench/npb/common/grid.h"
#include "bench/npb/common/job.h"
#include "bench/npb/common/random.h"
#include "bench/npb/ep/class.h"

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED        271828183
#define BATCH_PAIRS (1 << 16) // small enough for the cache
#define RINGS       10

// What is summed over batches and ranks; nothing but doubles, so that it is one MPI message.
struct tally {
    double sum_x, sum_y;
    double ring[RINGS]; // pairs with floor(max(|x|, |y|)) = index
};

enum { TALLY_DOUBLES = sizeof(struct tally) / sizeof(double) };

struct ep {
    const struct ep_class *size;
    struct npb_span batches; // of this rank
    double *uniform;         // one batch of pairs
    struct tally tally;      // after a run, of all ranks
};

// Not fmax(): its care for NaN costs a call.
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static void tally_batch(struct tally *tally, const double *uniform)
{
    double sum_x = 0, sum_y = 0;
    for (size_t i = 0; i < BATCH_PAIRS; i++) {
        double x = 2 * uniform[2 * i] - 1, y = 2 * uniform[2 * i + 1] - 1;
        double square = x * x + y * y;
        if (square > 1)
            continue;
        double stretch = sqrt(-2 * log(square) / square);
        x *= stretch;
        y *= stretch;
        tally->ring[(int)larger(fabs(x), fabs(y))]++;
        sum_x += x;
        sum_y += y;
    }
    tally->sum_x += sum_x;
    tally->sum_y += sum_y;
}

static void ep_run(void *state)
{
    struct ep *ep = state;
    const uint64_t batch_numbers = 2 * (uint64_t)BATCH_PAIRS;
    uint64_t random = npb_random_skip(SEED, (uint64_t)ep->batches.start * batch_numbers);
    struct tally own = {0};
    for (int i = 0; i < ep->batches.count; i++) {
        npb_random_fill(&random, ep->uniform, batch_numbers);
        tally_batch(&own, ep->uniform);
    }
    MPI_Allreduce(&own, &ep->tally, TALLY_DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const char *ep_prepare(const struct npb_job *job, void **state)
{
    const struct ep_class *size = ep_class_find(job->size_class);
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    if (job->rank == 0)
        printf("NAS kernel EP, class %c: 2^%d pairs; %d ranks\n", size->name, size->log2_pairs,
               job->ranks);

    struct ep *ep = npb_job_allocate(1, sizeof *ep);
    ep->size = size;
    ep->batches =
        npb_grid_part((INT64_C(1) << size->log2_pairs) / BATCH_PAIRS, job->ranks, job->rank);
    ep->uniform = npb_job_allocate(2 * (size_t)BATCH_PAIRS, sizeof *ep->uniform);
    *state = ep;
    return NULL;
}

static bool ep_verify(const void *state)
{
    const struct ep *ep = state;
    double pairs = 0;
    for (int i = 0; i < RINGS; i++)
        pairs += ep->tally.ring[i];
    printf("  %.0f Gaussian pairs, by rings:", pairs);
    for (int i = 0; i < RINGS; i++)
        printf(" %.0f", ep->tally.ring[i]);
    printf("\n");
    return ep_class_verify(ep->size, ep->tally.sum_x, ep->tally.sum_y);
}

static double ep_operations(const void *state)
{
    return ldexp(1, ((const struct ep *)state)->size->log2_pairs + 1); // random numbers
}

static void ep_release(void *state)
{
    struct ep *ep = state;
    free(ep->uniform);
    free(ep);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "ep",
        .prepare = ep_prepare,
        .run = ep_run,
        .verify = ep_verify,
        .operations = ep_operations,
        .release = ep_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
