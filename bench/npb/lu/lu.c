// NAS kernel LU: the Navier-Stokes equations in a cube by symmetric successive over-relaxation
// (RNR-94-007, section 3). The sweeps run diagonally through a grid of ranks, a plane at a time, so
// that there are many small messages, and a rank waits for its neighbours at each of them.
#include "bench/npb/cfd/cfd.h"
#include "bench/npb/common/job.h"
#include "bench/npb/lu/box.h"
#include "bench/npb/lu/class.h"
#include "bench/npb/lu/exchange.h"
#include "bench/npb/lu/flow.h"
#include "bench/npb/lu/result.h"
#include "bench/npb/lu/sweep.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RELAXATION 1.2

struct lu {
    const struct lu_class *size;
    struct lu_box box;
    struct lu_exchange exchange;
    struct lu_sweep sweep;
    struct lu_flow *flow;
    double (*u)[CFD_QUANTITIES];
    double (*v)[CFD_QUANTITIES];       // the rate of u, in the sweeps what is added to u
    double (*forcing)[CFD_QUANTITIES]; // makes the exact solution stationary
    struct lu_result result;           // after a run, of all ranks
};

// Sets the box and its ghosts, as far as the cube reaches.
static void set_state(struct lu *lu, void (*state_at)(const double *position, double *state))
{
    const struct lu_box *box = &lu->box;
    int low[CFD_DIRECTIONS], high[CFD_DIRECTIONS];
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        low[d] = box->before[d] == LU_NOBODY ? 0 : -LU_GHOSTS;
        high[d] = box->count[d] + (box->after[d] == LU_NOBODY ? 0 : LU_GHOSTS);
    }
    for (int z = low[CFD_Z]; z < high[CFD_Z]; z++) {
        for (int y = low[CFD_Y]; y < high[CFD_Y]; y++) {
            for (int x = low[CFD_X]; x < high[CFD_X]; x++) {
                double position[CFD_DIRECTIONS];
                lu_box_position(box, x, y, z, position);
                state_at(position, lu->u[lu_box_at(box, x, y, z)]);
            }
        }
    }
}

static void find_rate(struct lu *lu)
{
    lu_flow_derive(&lu->box, lu->u, lu->flow);
    lu_flow_rate(&lu->box, lu->u, lu->flow, lu->forcing, lu->v);
}

// The exact solution's rate without a forcing term, once.
static void find_forcing(struct lu *lu)
{
    set_state(lu, cfd_exact);
    find_rate(lu);
    memcpy(lu->forcing, lu->v, lu->box.storage * sizeof *lu->forcing);
}

static void sweep_lower(struct lu *lu)
{
    for (int z = lu->box.inner_first[CFD_Z]; z < lu->box.inner_end[CFD_Z]; z++) {
        lu_exchange_receive(&lu->exchange, true, z, lu->v);
        lu_sweep_lower(&lu->sweep, &lu->box, lu->flow, z, lu->v);
        lu_exchange_send(&lu->exchange, true, z, lu->v);
    }
}

static void sweep_upper(struct lu *lu)
{
    for (int z = lu->box.inner_end[CFD_Z] - 1; z >= lu->box.inner_first[CFD_Z]; z--) {
        lu_exchange_receive(&lu->exchange, false, z, lu->v);
        lu_sweep_upper(&lu->sweep, &lu->box, lu->flow, z, lu->v);
        lu_exchange_send(&lu->exchange, false, z, lu->v);
    }
}

static void advance(struct lu *lu)
{
    const struct lu_box *box = &lu->box;
    const double scale = 1 / (RELAXATION * (2 - RELAXATION));
    for (int z = box->inner_first[CFD_Z]; z < box->inner_end[CFD_Z]; z++) {
        for (int y = box->inner_first[CFD_Y]; y < box->inner_end[CFD_Y]; y++) {
            ptrdiff_t at = lu_box_at(box, 0, y, z);
            for (int x = box->inner_first[CFD_X]; x < box->inner_end[CFD_X]; x++) {
                for (int m = 0; m < CFD_QUANTITIES; m++)
                    lu->u[at + x][m] += scale * lu->v[at + x][m];
            }
        }
    }
}

static void solve(struct lu *lu, int steps)
{
    set_state(lu, cfd_initial);
    find_rate(lu);
    for (int step = 0; step < steps; step++) {
        sweep_lower(lu);
        sweep_upper(lu);
        advance(lu);
        lu_exchange_ghosts(&lu->exchange, lu->u);
        find_rate(lu);
    }
    struct lu_result own = lu_result_of(&lu->box, lu->u, lu->flow, lu->v);
    MPI_Allreduce(&own, &lu->result, LU_RESULT_DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    cfd_norms(lu->result.residual, lu->box.points);
    cfd_norms(lu->result.error, lu->box.points);
}

static const char *lu_prepare(const struct npb_job *job, void **state)
{
    const struct lu_class *size = lu_class_find(job->size_class);
    struct lu_box box;
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    const char *refusal = lu_box_init(&box, job->rank, job->ranks, size->points);
    if (refusal != NULL)
        return refusal;
    if (job->rank == 0)
        printf("NAS kernel LU, class %c: %d^3 points, %d steps of %g; %d ranks as %d x %d\n",
               size->name, size->points, size->steps, size->time_step, job->ranks, box.parts[CFD_X],
               box.parts[CFD_Y]);

    struct lu *lu = npb_job_allocate(1, sizeof *lu);
    lu->size = size;
    lu->box = box;
    lu->exchange = lu_exchange_make(&lu->box);
    lu->sweep = lu_sweep_of(&box, size->time_step, RELAXATION);
    lu->flow = npb_job_allocate(box.storage, sizeof *lu->flow);
    lu->u = npb_job_allocate(box.storage, sizeof *lu->u);
    lu->v = npb_job_allocate(box.storage, sizeof *lu->v);
    lu->forcing = npb_job_allocate(box.storage, sizeof *lu->forcing);
    find_forcing(lu);
    solve(lu, 1); // opens all connections
    *state = lu;
    return NULL;
}

static void lu_run(void *state)
{
    struct lu *lu = state;
    solve(lu, lu->size->steps);
}

static bool lu_verify(const void *state)
{
    const struct lu *lu = state;
    return lu_class_verify(lu->size, &lu->result);
}

static double lu_operations(const void *state)
{
    const struct lu_class *size = ((const struct lu *)state)->size;
    double n = size->points;
    return size->steps * (1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010);
}

static void lu_release(void *state)
{
    struct lu *lu = state;
    lu_exchange_free(&lu->exchange);
    free(lu->flow);
    free(lu->u);
    free(lu->v);
    free(lu->forcing);
    free(lu);
}

int main(int argc, char **argv)
{
    static const struct npb_kernel kernel = {
        .name = "lu",
        .prepare = lu_prepare,
        .run = lu_run,
        .verify = lu_verify,
        .operations = lu_operations,
        .release = lu_release,
    };
    return npb_job_main(argc, argv, &kernel);
}
