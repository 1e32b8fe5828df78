// NAS kernel MG: V-cycles of a multigrid solver for Poisson's equation in a periodic cube
// (RNR-94-007). Its levels shrink from faces of many kilobytes to single points, so its messages
// have all sizes.
#include "bench/npb/common/job.h"
#include "bench/npb/mg/charges.h"
#include "bench/npb/mg/class.h"
#include "bench/npb/mg/field.h"
#include "bench/npb/mg/grid.h"
#include "bench/npb/mg/halo.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Level 1 has 2 points along each axis, and each further one twice as many.
enum { COARSEST = 1, MOST_LEVELS = 9 };

struct level {
    struct mg_level share;
    struct mg_box box;
    struct mg_pair pair; // with the next coarser level
    double *u;           // solution; on coarser levels: correction
    double *residual;
};

struct mg {
    const struct mg_class *size;
    struct level levels[MOST_LEVELS + 1];
    struct level *finest;
    double *right; // hand side, on the finest level
    struct mg_halo halo;
    double norm;    // of the residual, after a run
    double largest; // number in it
};

static double points_of(const struct mg *mg)
{
    return pow(mg->finest->share.points, MG_AXES);
}

static void fill_zero(const struct level *level, double *field)
{
    memset(field, 0, mg_field_size(&level->box) * sizeof *field);
}

static void compute_residual(struct mg *mg, struct level *level, const double *right)
{
    if (level->share.idle)
        return;
    mg_field_residual(&level->box, level->u, right, level->residual);
    mg_halo_exchange(&mg->halo, &level->share, level->residual);
}

static void smooth(struct mg *mg, struct level *level)
{
    if (level->share.idle)
        return;
    mg_field_smooth(&level->box, mg->size->smoother, level->residual, level->u);
    mg_halo_exchange(&mg->halo, &level->share, level->u);
}

static void restrict_residual(struct mg *mg, const struct level *fine, struct level *coarse)
{
    if (coarse->share.idle)
        return;
    mg_field_restrict(&fine->pair, fine->residual, coarse->residual);
    mg_halo_exchange(&mg->halo, &coarse->share, coarse->residual);
}

// The halo of the finer level comes out right without a message.
static void add_correction(struct mg *mg, struct level *coarse, struct level *fine)
{
    mg_halo_lend(&mg->halo, &coarse->share, &fine->share, coarse->u);
    if (!fine->share.idle)
        mg_field_prolong(&fine->pair, coarse->u, fine->u);
}

static void v_cycle(struct mg *mg)
{
    struct level *bottom = &mg->levels[COARSEST];
    for (struct level *level = mg->finest; level > bottom; level--)
        restrict_residual(mg, level, level - 1);
    fill_zero(bottom, bottom->u);
    smooth(mg, bottom);
    for (struct level *level = bottom + 1; level < mg->finest; level++) {
        fill_zero(level, level->u);
        add_correction(mg, level - 1, level);
        compute_residual(mg, level, level->residual);
        smooth(mg, level);
    }
    add_correction(mg, mg->finest - 1, mg->finest);
    compute_residual(mg, mg->finest, mg->right);
    smooth(mg, mg->finest);
}

static void measure_residual(struct mg *mg)
{
    struct mg_size own = mg_field_measure(&mg->finest->box, mg->finest->residual);
    double square_sum = 0;
    MPI_Allreduce(&own.square_sum, &square_sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&own.largest, &mg->largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    mg->norm = sqrt(square_sum / points_of(mg));
}

static void iterate(struct mg *mg, int iterations)
{
    fill_zero(mg->finest, mg->finest->u);
    compute_residual(mg, mg->finest, mg->right);
    measure_residual(mg);
    for (int i = 0; i < iterations; i++) {
        v_cycle(mg);
        compute_residual(mg, mg->finest, mg->right);
    }
    measure_residual(mg);
}

static void make_right_side(struct mg *mg, int ranks)
{
    enum { CHARGES_DOUBLES = sizeof(struct mg_charges) / sizeof(double) };
    struct mg_charges charges = mg_charges_find(&mg->finest->share);
    struct mg_charges *all = npb_job_allocate((size_t)ranks, sizeof *all);
    MPI_Allgather(&charges, CHARGES_DOUBLES, MPI_DOUBLE, all, CHARGES_DOUBLES, MPI_DOUBLE,
                  MPI_COMM_WORLD);
    charges = all[0];
    for (int rank = 1; rank < ranks; rank++)
        mg_charges_merge(&charges, &all[rank]);
    free(all);
    mg_charges_place(&charges, &mg->finest->share, mg->right);
}

static void make_level(struct level *level, const struct mg_grid *grid, int points)
{
    level->share = mg_grid_level(grid, points);
    level->box = mg_halo_box(&level->share);
    level->u = npb_job_allocate(mg_field_size(&level->box), sizeof *level->u);
    level->residual = npb_job_allocate(mg_field_size(&level->box), sizeof *level->residual);
}

static void make_levels(struct mg *mg, const struct mg_grid *grid)
{
    for (int i = COARSEST; i <= mg->size->finest; i++)
        make_level(&mg->levels[i], grid, 1 << i);
    mg->finest = &mg->levels[mg->size->finest];
    for (struct level *level = mg->finest; level > &mg->levels[COARSEST]; level--) {
        const struct level *coarse = level - 1;
        level->pair = (struct mg_pair){.fine = level->box, .coarse = coarse->box};
        for (int axis = 0; axis < MG_AXES; axis++)
            level->pair.shift[axis] =
                level->share.part[axis].start - 2 * coarse->share.part[axis].start;
    }
    mg->right = npb_job_allocate(mg_field_size(&mg->finest->box), sizeof *mg->right);
    mg->halo = mg_halo_make(grid, &mg->finest->share);
}

static const char *mg_prepare(const struct npb_job *job, void **state)
{
    const struct mg_class *size = mg_class_find(job->size_class);
    struct mg_grid grid;
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    if (!mg_grid_init(&grid, job->rank, job->ranks))
        return "the number of processes must be a power of two";
    if (grid.shape[MG_AXES - 1] > 1 << size->finest)
        return "there must be a point of the finest level for each process";
    if (job->rank == 0)
        printf("NAS kernel MG, class %c: %d^3 points, %d iterations; %d ranks as %d x %d x %d\n",
               size->name, 1 << size->finest, size->iterations, job->ranks, grid.shape[0],
               grid.shape[1], grid.shape[2]);

    struct mg *mg = npb_job_allocate(1, sizeof *mg);
    mg->size = size;
    make_levels(mg, &grid);
    make_right_side(mg, job->ranks);
    iterate(mg, 1); // touches all pages and opens all connections
    *state = mg;
    return NULL;
}

static void mg_run(void *state)
{
    struct mg *mg = state;
    iterate(mg, mg->size->iterations);
}

static bool mg_verify(const void *state)
{
    const struct mg *mg = state;
    printf("  largest residual %.3e\n", mg->largest);
    return mg_class_verify(mg->size, mg->norm);
}

static double mg_operations(const void *state)
{
    const struct mg *mg = state;
    return 58 * mg->size->iterations * points_of(mg);
}

static void mg_release(void *state)
{
    struct mg *mg = state;
    for (struct level *level = &mg->levels[COARSEST]; level <= mg->finest; level++) {
        free(level->u);
        free(level->residual);
    }
    free(mg->right);
    mg_halo_free(&mg->halo);
    free(mg);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "mg",
        .prepare = mg_prepare,
        .run = mg_run,
        .verify = mg_verify,
        .operations = mg_operations,
        .release = mg_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
