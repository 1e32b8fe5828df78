#include "bench/npb/adi/job.h"

#include "bench/npb/adi/field.h"
#include "bench/npb/adi/halo.h"
#include "bench/npb/adi/right.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct adi {
    const struct adi_solver *solver;
    const struct adi_class *size;
    struct multipartition partition;
    struct cfd_axis axes[CFD_DIRECTIONS];
    struct adi_cell *cells; // partition.side of them
    struct adi_halo halo;
    struct adi_lines lines;
    double residual[CFD_QUANTITIES];
    double error[CFD_QUANTITIES];
};

static void set_initial_state(struct adi *adi)
{
    for (int i = 0; i < adi->partition.side; i++) {
        struct adi_box box = adi_cell_box(&adi->cells[i], &adi->partition, 0);
        adi_field_set(&adi->cells[i], &box, adi->size->points, cfd_initial);
    }
}

static void right_side(struct adi *adi)
{
    adi_halo_exchange(&adi->halo);
    for (int i = 0; i < adi->partition.side; i++) {
        adi_primitives(&adi->cells[i], &adi->partition);
        adi_right_side(&adi->cells[i], adi->axes, adi->size->time_step);
    }
}

static void advance(struct adi *adi, int time_steps)
{
    for (int step = 0; step < time_steps; step++) {
        right_side(adi);
        if (adi->solver->before_lines != NULL) {
            for (int i = 0; i < adi->partition.side; i++)
                adi->solver->before_lines(&adi->cells[i]);
        }
        for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
            adi_lines_solve(&adi->lines, direction);
        for (int i = 0; i < adi->partition.side; i++)
            adi->solver->after_lines(&adi->cells[i]);
    }
}

static void sum_everywhere(const struct adi *adi, double sums[CFD_QUANTITIES])
{
    const int points[CFD_DIRECTIONS] = {adi->size->points, adi->size->points, adi->size->points};
    MPI_Allreduce(MPI_IN_PLACE, sums, CFD_QUANTITIES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    cfd_norms(sums, points);
}

static void measure(struct adi *adi)
{
    for (int m = 0; m < CFD_QUANTITIES; m++)
        adi->error[m] = adi->residual[m] = 0;
    right_side(adi);
    for (int i = 0; i < adi->partition.side; i++) {
        struct adi_box box = adi_cell_box(&adi->cells[i], &adi->partition, 0);
        adi_field_distance(&adi->cells[i], &box, adi->size->points, cfd_exact, adi->error);
        adi_field_right(&adi->cells[i], adi->residual);
    }
    sum_everywhere(adi, adi->error);
    sum_everywhere(adi, adi->residual);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        adi->residual[m] /= adi->size->time_step;
}

static void make_cells(struct adi *adi)
{
    const struct multipartition *partition = &adi->partition;
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        adi->axes[d] = cfd_axis_of(d, adi->size->points);
    adi->cells = npb_job_allocate((size_t)partition->side, sizeof *adi->cells);
    for (int i = 0; i < partition->side; i++) {
        struct multipartition_cell part = multipartition_cell(partition, i);
        adi->cells[i] = adi_cell_make(&part, adi->size->points, adi->solver->with_sound);
        adi_forcing(&adi->cells[i], partition, adi->axes);
    }
}

const char *adi_job_prepare(const struct adi_solver *solver, const struct npb_job *job,
                            void **state)
{
    const struct adi_class *size = adi_class_find(solver->classes, job->size_class);
    if (size == NULL)
        return "CLASS is one of S, W, A, B, C";
    struct multipartition partition;
    const char *refusal = multipartition_init(&partition, job->rank, job->ranks, size->points);
    if (refusal != NULL)
        return refusal;
    if (job->rank == 0)
        printf("NAS application %s, class %c: %d^3 points, %d time steps of %g; %d ranks with "
               "%d cells each\n",
               solver->name, size->name, size->points, size->time_steps, size->time_step,
               job->ranks, partition.side);

    struct adi *adi = npb_job_allocate(1, sizeof *adi);
    adi->solver = solver;
    adi->size = size;
    adi->partition = partition;
    make_cells(adi);
    adi->halo = adi_halo_make(&adi->partition, adi->cells);
    adi->lines =
        adi_lines_make(&solver->method, &adi->partition, adi->cells, adi->axes, size->time_step);
    set_initial_state(adi);
    advance(adi, 1); // touches all pages and opens all connections
    *state = adi;
    return NULL;
}

void adi_job_run(void *state)
{
    struct adi *adi = state;
    set_initial_state(adi);
    advance(adi, adi->size->time_steps);
    measure(adi);
}

bool adi_job_verify(const void *state)
{
    const struct adi *adi = state;
    return adi_class_verify(adi->size, adi->residual, adi->error);
}

double adi_job_operations(const void *state)
{
    const struct adi *adi = state;
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum = sum * adi->size->points + adi->solver->operations[i];
    return sum * adi->size->time_steps;
}

void adi_job_release(void *state)
{
    struct adi *adi = state;
    adi_lines_free(&adi->lines);
    adi_halo_free(&adi->halo);
    for (int i = 0; i < adi->partition.side; i++)
        adi_cell_free(&adi->cells[i]);
    free(adi->cells);
    free(adi);
}
