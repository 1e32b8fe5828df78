// NAS kernel FT: a partial differential equation (diffusion) on a three-dimensional grid by
// spectral method: one transform forward, then each time step the decayed spectrum back
// (RNR-94-007).
#include "bench/npb/common/job.h"
#include "bench/npb/ft/class.h"
#include "bench/npb/ft/layout.h"
#include "bench/npb/ft/passes.h"
#include "bench/npb/ft/transform.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct ft {
    const struct ft_class *size;
    struct ft_layout layout;
    MPI_Comm members; // the ranks of this slab
    MPI_Comm slabs;   // the same member of all slabs
    struct ft_passes *passes;
    union ft_row *spectrum;
    union ft_row *sent;                               // also the state: nothing is sent after it
    union ft_row *received;                           // null where nothing is exchanged
    struct ft_checksum checksums[FT_MOST_ITERATIONS]; // of the last run; on rank 0
};

static void exchange(struct ft *ft, MPI_Comm among)
{
    int ranks;
    MPI_Comm_size(among, &ranks);
    int count = (int)(2 * ft_layout_points(&ft->layout) / (size_t)ranks);
    MPI_Alltoall(ft->sent, count, MPI_DOUBLE, ft->received, count, MPI_DOUBLE, among);
}

// Returns where the result is: with one slab, it never leaves.
static union ft_row *exchange_slabs(struct ft *ft)
{
    if (ft->layout.slabs == 1)
        return ft->sent;
    exchange(ft, ft->slabs);
    return ft->received;
}

// From the initial state to its spectrum.
static void transform_forward(struct ft *ft)
{
    if (ft->layout.members == 1) {
        ft_forward_xy(ft->passes, ft->sent);
    } else {
        ft_forward_x(ft->passes, ft->sent);
        exchange(ft, ft->members);
        ft_forward_y(ft->passes, ft->received, ft->sent);
    }
    ft_forward_z(ft->passes, exchange_slabs(ft), ft->spectrum);
}

// From the spectrum to the state at time `t`, in ft->sent.
static void transform_backward(struct ft *ft, int t)
{
    ft_backward_z(ft->passes, ft->spectrum, t, ft->sent);
    union ft_row *received = exchange_slabs(ft);
    if (ft->layout.members == 1) {
        ft_backward_yx(ft->passes, received, ft->sent);
    } else {
        ft_backward_y(ft->passes, received, ft->sent);
        exchange(ft, ft->members);
        ft_backward_x(ft->passes, ft->received, ft->sent);
    }
}

static double grid_points(const struct ft_class *size)
{
    return (double)size->nx * size->ny * size->nz;
}

static struct ft_checksum checksum(const struct ft *ft)
{
    double own[2], total[2] = {0, 0};
    ft_sum_state(ft->passes, ft->sent, own);
    MPI_Reduce(own, total, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double points = grid_points(ft->size);
    return (struct ft_checksum){.re = total[0] / points, .im = total[1] / points};
}

static void simulate(struct ft *ft, int iterations)
{
    transform_forward(ft);
    for (int t = 1; t <= iterations; t++) {
        transform_backward(ft, t);
        ft->checksums[t - 1] = checksum(ft);
    }
}

static const char *ft_prepare(const struct npb_job *job, void **state)
{
    const struct ft_class *size = ft_class_find(job->size_class);
    struct ft_layout layout;
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    if (!ft_layout_init(&layout, size->nx, size->ny, size->nz, job->rank, job->ranks))
        return "the number of processes must be a power of two that leaves lines of the grid to "
               "each";
    if (job->rank == 0)
        printf("NAS kernel FT, class %c: %d x %d x %d, %d iterations; %d ranks as %d slabs x %d\n",
               size->name, size->nx, size->ny, size->nz, size->iterations, job->ranks, layout.slabs,
               layout.members);

    struct ft *ft = npb_job_allocate(1, sizeof *ft);
    ft->size = size;
    ft->layout = layout;
    MPI_Comm_split(MPI_COMM_WORLD, layout.slab, layout.member, &ft->members);
    MPI_Comm_split(MPI_COMM_WORLD, layout.member, layout.slab, &ft->slabs);
    ft->passes = ft_passes_make(&layout);
    size_t rows = ft_layout_points(&layout) / FT_LANES;
    ft->spectrum = ft_rows_allocate(rows);
    ft->sent = ft_rows_allocate(rows);
    ft->received = job->ranks > 1 ? ft_rows_allocate(rows) : NULL;
    simulate(ft, 1); // touches all pages and opens all connections
    *state = ft;
    return NULL;
}

static void ft_run(void *state)
{
    struct ft *ft = state;
    simulate(ft, ft->size->iterations);
}

static bool ft_verify(const void *state)
{
    const struct ft *ft = state;
    return ft_class_verify(ft->size, ft->checksums);
}

static double ft_operations(const void *state)
{
    const struct ft_class *size = ((const struct ft *)state)->size;
    double points = grid_points(size), logarithm = log(points);
    return points *
           (14.8157 + 7.19641 * logarithm + (5.23518 + 7.21113 * logarithm) * size->iterations);
}

static void ft_release(void *state)
{
    struct ft *ft = state;
    ft_passes_free(ft->passes);
    free(ft->spectrum);
    free(ft->sent);
    free(ft->received);
    MPI_Comm_free(&ft->members);
    MPI_Comm_free(&ft->slabs);
    free(ft);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "ft",
        .prepare = ft_prepare,
        .run = ft_run,
        .verify = ft_verify,
        .operations = ft_operations,
        .release = ft_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
