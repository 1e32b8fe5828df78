// NAS kernel CG: an eigenvalue of a large sparse matrix by inverse power iteration, each
// step of which is 25 steps of the conjugate gradient method (RNR-94-007).
#include "bench/npb/cg/class.h"
#include "bench/npb/cg/matrix.h"
#include "bench/npb/common/grid.h"
#include "bench/npb/common/job.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRADIENT_STEPS 25

enum { TAG_SCALARS = 1, TAG_PARTS, TAG_TRANSPOSE };

struct cg {
    const struct cg_class *size;
    struct npb_grid grid;
    struct cg_matrix matrix;
    int length;       // of the vectors' part here: grid.column_span
    double *x;        // right-hand side, the iterate of the power method
    double *z;        // solution of A z = x
    double *p, *r;    // search direction, residual
    double *image;    // A times something, distributed like the vectors
    double *row_sum;  // the product before it is one: a part of it, of grid.row_span
    double *incoming; // a partner's row_sum
    double zeta;
    double residual;
};

static void exchange(int partner, int tag, const double *sent, int sent_count, double *received,
                     int received_count)
{
    MPI_Request request;
    MPI_Irecv(received, received_count, MPI_DOUBLE, partner, tag, MPI_COMM_WORLD, &request);
    MPI_Send(sent, sent_count, MPI_DOUBLE, partner, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Sums over the grid row, which holds each vector once. All ranks get bitwise the same.
static void sum_scalars(const struct npb_grid *grid, double *values, int count)
{
    double others[2];
    for (int distance = grid->columns / 2; distance > 0; distance /= 2) {
        exchange(npb_grid_partner(grid, distance), TAG_SCALARS, values, count, others, count);
        for (int i = 0; i < count; i++)
            values[i] += others[i];
    }
}

// Sums cg->row_sum over the grid row, in the part this rank keeps. Where that is a half, the first
// exchange, between neighbours, trades halves.
static void sum_rows(struct cg *cg)
{
    const struct npb_grid *grid = &cg->grid;
    double *kept = cg->row_sum + (grid->kept.start - grid->row_span.start);
    double *given = cg->row_sum + (grid->given.start - grid->row_span.start);
    bool halves = grid->columns != grid->rows;
    for (int distance = 1; distance < grid->columns; distance *= 2) {
        bool trade = halves && distance == 1;
        exchange(npb_grid_partner(grid, distance), TAG_PARTS, trade ? given : kept,
                 trade ? grid->given.count : grid->kept.count, cg->incoming, grid->kept.count);
        for (int i = 0; i < grid->kept.count; i++)
            kept[i] += cg->incoming[i];
    }
}

// image = A vector, both distributed by columns. A rank on the grid's diagonal sends to itself, as
// the reference does: the traffic is what this kernel is for.
static void multiply(struct cg *cg, const double *vector)
{
    const struct npb_grid *grid = &cg->grid;
    cg_matrix_multiply(&cg->matrix, vector, cg->row_sum);
    sum_rows(cg);
    const double *kept = cg->row_sum + (grid->kept.start - grid->row_span.start);
    if (grid->columns == 1)
        memcpy(cg->image, kept, (size_t)cg->length * sizeof *kept);
    else
        exchange(grid->transpose_rank, TAG_TRANSPOSE, kept, grid->kept.count, cg->image,
                 cg->length);
}

static double dot(const double *a, const double *b, int length)
{
    double sum = 0;
    for (int i = 0; i < length; i++)
        sum += a[i] * b[i];
    return sum;
}

static double dot_everywhere(const struct cg *cg, const double *a, const double *b)
{
    double sum = dot(a, b, cg->length);
    sum_scalars(&cg->grid, &sum, 1);
    return sum;
}

// The norm of x - A z.
static double residual_norm(struct cg *cg)
{
    double sum = 0;
    multiply(cg, cg->z);
    for (int i = 0; i < cg->length; i++) {
        double difference = cg->x[i] - cg->image[i];
        sum += difference * difference;
    }
    sum_scalars(&cg->grid, &sum, 1);
    return sqrt(sum);
}

// Solves A z = x nearly: a fixed number of steps from z = 0.
static void conjugate_gradient(struct cg *cg)
{
    double *restrict z = cg->z, *restrict p = cg->p, *restrict r = cg->r;
    const double *restrict image = cg->image;
    size_t bytes = (size_t)cg->length * sizeof *z;
    memset(z, 0, bytes);
    memcpy(r, cg->x, bytes);
    memcpy(p, cg->x, bytes);

    double rho = dot_everywhere(cg, r, r);
    for (int step = 0; step < GRADIENT_STEPS; step++) {
        multiply(cg, p);
        double alpha = rho / dot_everywhere(cg, p, image);
        for (int i = 0; i < cg->length; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * image[i];
        }
        double rho_before = rho;
        rho = dot_everywhere(cg, r, r);
        double beta = rho / rho_before;
        for (int i = 0; i < cg->length; i++)
            p[i] = r[i] + beta * p[i];
    }
    cg->residual = residual_norm(cg);
}

static void power_iterations(struct cg *cg, int iterations)
{
    for (int i = 0; i < cg->length; i++)
        cg->x[i] = 1;
    for (int iteration = 0; iteration < iterations; iteration++) {
        conjugate_gradient(cg);
        double products[2] = {dot(cg->x, cg->z, cg->length), dot(cg->z, cg->z, cg->length)};
        sum_scalars(&cg->grid, products, 2);
        cg->zeta = cg->size->shift + 1 / products[0];
        double scale = 1 / sqrt(products[1]);
        for (int i = 0; i < cg->length; i++)
            cg->x[i] = scale * cg->z[i];
    }
}

static const char *cg_prepare(const struct npb_job *job, void **state)
{
    const struct cg_class *size = cg_class_find(job->size_class);
    struct npb_grid grid;
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    if (!npb_grid_init(&grid, job->rank, job->ranks, size->order))
        return "the number of processes must be a power of two";
    if (job->rank == 0)
        printf("NAS kernel CG, class %c: order %d, %d iterations, shift %g; %d ranks as %d x %d\n",
               size->name, size->order, size->iterations, size->shift, job->ranks, grid.rows,
               grid.columns);

    struct cg *cg = npb_job_allocate(1, sizeof *cg);
    cg->size = size;
    cg->grid = grid;
    cg->matrix =
        cg_matrix_make(size->order, size->spread, size->shift, grid.row_span, grid.column_span);
    cg->length = grid.column_span.count;
    double **vectors[] = {&cg->x, &cg->z, &cg->p, &cg->r, &cg->image};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = npb_job_allocate((size_t)cg->length, sizeof(double));
    cg->row_sum = npb_job_allocate((size_t)grid.row_span.count, sizeof(double));
    cg->incoming = npb_job_allocate((size_t)grid.row_span.count, sizeof(double));
    power_iterations(cg, 1); // touches all pages and opens all connections
    *state = cg;
    return NULL;
}

static void cg_run(void *state)
{
    struct cg *cg = state;
    power_iterations(cg, cg->size->iterations);
}

static bool cg_verify(const void *state)
{
    const struct cg *cg = state;
    printf("  last residual %.3e\n", cg->residual);
    return cg_class_verify(cg->size, cg->zeta);
}

static double cg_operations(const void *state)
{
    const struct cg_class *size = ((const struct cg *)state)->size;
    double per_row = size->spread * (size->spread + 1.0);
    return 2.0 * size->iterations * size->order *
           (3 + per_row + GRADIENT_STEPS * (5 + per_row) + 3);
}

static void cg_release(void *state)
{
    struct cg *cg = state;
    cg_matrix_free(&cg->matrix);
    double *vectors[] = {cg->x, cg->z, cg->p, cg->r, cg->image, cg->row_sum, cg->incoming};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        free(vectors[i]);
    free(cg);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "cg",
        .prepare = cg_prepare,
        .run = cg_run,
        .verify = cg_verify,
        .operations = cg_operations,
        .release = cg_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
