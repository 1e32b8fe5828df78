// Protects how LU's grid is cut for more ranks than a test machine can run, and that its sweeps
// solve with the derivative of its operator, which is found here by differences.
#include "bench/npb/lu/box.h"
#include "bench/npb/lu/flow.h"
#include "bench/npb/lu/result.h"
#include "bench/npb/lu/sweep.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 128 };

static const int sizes[] = {12, 33, 64, 102, 162};

static void impossible_cuts_are_refused(void **unused)
{
    (void)unused;
    struct lu_box box;
    for (int ranks = 0; ranks <= 20; ranks++) {
        bool power = ranks == 1 || ranks == 2 || ranks == 4 || ranks == 8 || ranks == 16;
        assert_int_equal(lu_box_init(&box, 0, ranks, 12) == NULL, power);
    }
    assert_non_null(lu_box_init(&box, 0, 32, 12));
    assert_null(lu_box_init(&box, 0, 32, 33));
}

// All that one rank must have in common with the next along `direction`.
static void check_neighbour(const struct lu_box *box, int rank, int ranks, int direction)
{
    struct lu_box other;
    int end = box->start[direction] + box->count[direction];
    assert_int_equal(box->after[direction] == LU_NOBODY, end == box->points[direction]);
    assert_int_equal(box->before[direction] == LU_NOBODY, box->start[direction] == 0);
    assert_int_equal(box->inner_end[direction],
                     box->count[direction] - (box->after[direction] == LU_NOBODY));
    assert_int_equal(box->inner_first[direction], box->before[direction] == LU_NOBODY);
    if (box->after[direction] == LU_NOBODY)
        return;
    assert_null(lu_box_init(&other, box->after[direction], ranks, box->points[direction]));
    assert_int_equal(other.before[direction], rank);
    assert_int_equal(other.start[direction], end);
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        if (d != direction) {
            assert_int_equal(other.start[d], box->start[d]);
            assert_int_equal(other.count[d], box->count[d]);
        }
    }
}

static void boxes_fill_the_grid(void **unused)
{
    (void)unused;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
            long long points = 0;
            for (int rank = 0; rank < ranks; rank++) {
                struct lu_box box;
                if (lu_box_init(&box, rank, ranks, sizes[s]) != NULL)
                    continue;
                points += (long long)box.count[CFD_X] * box.count[CFD_Y] * box.count[CFD_Z];
                for (int d = 0; d < CFD_DIRECTIONS; d++) {
                    assert_true(box.count[d] >= LU_FEWEST);
                    check_neighbour(&box, rank, ranks, d);
                }
            }
            assert_true(points == 0 || points == (long long)sizes[s] * sizes[s] * sizes[s]);
        }
    }
}

static void no_two_points_share_memory(void **unused)
{
    (void)unused;
    struct lu_box box;
    assert_null(lu_box_init(&box, 3, 8, 12));
    char *used = calloc(box.storage, 1);
    assert_non_null(used);
    for (int z = -LU_GHOSTS; z < box.count[CFD_Z] + LU_GHOSTS; z++) {
        for (int y = -LU_GHOSTS; y < box.count[CFD_Y] + LU_GHOSTS; y++) {
            for (int x = -LU_GHOSTS; x < box.count[CFD_X] + LU_GHOSTS; x++) {
                ptrdiff_t at = lu_box_at(&box, x, y, z);
                assert_in_range(at, 0, box.storage - 1);
                assert_int_equal(used[at]++, 0);
            }
        }
    }
    free(used);
}

struct fields {
    struct lu_box box;
    struct lu_flow *flow;
    double (*u)[CFD_QUANTITIES];
    double (*rate)[CFD_QUANTITIES];
    double (*forcing)[CFD_QUANTITIES];
};

static struct fields fields_make(int rank, int ranks, int points)
{
    struct fields fields;
    assert_null(lu_box_init(&fields.box, rank, ranks, points));
    size_t storage = fields.box.storage;
    fields.flow = calloc(storage, sizeof *fields.flow);
    fields.u = calloc(storage, sizeof *fields.u);
    fields.rate = calloc(storage, sizeof *fields.rate);
    fields.forcing = calloc(storage, sizeof *fields.forcing);
    assert_true(fields.flow != NULL && fields.u != NULL && fields.rate != NULL &&
                fields.forcing != NULL);
    return fields;
}

static void fields_free(struct fields *fields)
{
    free(fields->flow);
    free(fields->u);
    free(fields->rate);
    free(fields->forcing);
}

static void fill(struct fields *fields, void (*state_at)(const double *position, double *state))
{
    const struct lu_box *box = &fields->box;
    for (int z = -LU_GHOSTS; z < box->count[CFD_Z] + LU_GHOSTS; z++) {
        for (int y = -LU_GHOSTS; y < box->count[CFD_Y] + LU_GHOSTS; y++) {
            for (int x = -LU_GHOSTS; x < box->count[CFD_X] + LU_GHOSTS; x++) {
                double position[CFD_DIRECTIONS];
                lu_box_position(box, x, y, z, position);
                state_at(position, fields->u[lu_box_at(box, x, y, z)]);
            }
        }
    }
}

static void uniform(const double *position, double *state)
{
    (void)position;
    static const double values[] = {1.5, 0.4, -0.3, 0.8, 3};
    memcpy(state, values, sizeof values);
}

static void find_rate(struct fields *fields)
{
    lu_flow_derive(&fields->box, fields->u, fields->flow);
    lu_flow_rate(&fields->box, fields->u, fields->flow, fields->forcing, fields->rate);
}

// What the one-sided fourth differences near the surface make of equal values; 0 further inside.
static double sum_of_weights(int index, int points)
{
    if (index == 1 || index == points - 2)
        return 2;
    return index == 2 || index == points - 3 ? -1 : 0;
}

static void uniform_flow_changes_near_the_surface_only(void **unused)
{
    (void)unused;
    enum { POINTS = 12 };
    struct fields fields = fields_make(0, 1, POINTS);
    fill(&fields, uniform);
    find_rate(&fields);
    for (int z = 1; z < POINTS - 1; z++) {
        for (int y = 1; y < POINTS - 1; y++) {
            for (int x = 1; x < POINTS - 1; x++) {
                ptrdiff_t at = lu_box_at(&fields.box, x, y, z);
                double weights = sum_of_weights(x, POINTS) + sum_of_weights(y, POINTS) +
                                 sum_of_weights(z, POINTS);
                for (int m = 0; m < CFD_QUANTITIES; m++) {
                    double wanted = -CFD_DISSIPATION * weights * fields.u[at][m];
                    assert_true(fabs(fields.rate[at][m] - wanted) < 1e-11);
                }
            }
        }
    }
    fields_free(&fields);
}

static void forcing_is_subtracted(void **unused)
{
    (void)unused;
    struct fields fields = fields_make(0, 4, 12);
    fill(&fields, uniform);
    ptrdiff_t at = lu_box_at(&fields.box, 3, 4, 5);
    fields.forcing[at][CFD_MOMENTUM_Y] = 0.25;
    find_rate(&fields);
    assert_true(fabs(fields.rate[at][CFD_MOMENTUM_Y] + 0.25) < 1e-11);
    fields_free(&fields);
}

#define TIME_STEP  0.125
#define RELAXATION 1.2

static const double direction_of_change[CFD_QUANTITIES] = {0.3, -0.7, 0.4, 0.9, -0.5};

// How the rate at `at` changes with the state at `moved`, in the direction of `change`.
static void rate_derivative(struct fields *fields, ptrdiff_t at, ptrdiff_t moved,
                            const double change[CFD_QUANTITIES], double derivative[CFD_QUANTITIES])
{
    const double step = 1e-5;
    double kept[CFD_QUANTITIES], high[CFD_QUANTITIES];
    memcpy(kept, fields->u[moved], sizeof kept);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        fields->u[moved][m] = kept[m] + step * change[m];
    find_rate(fields);
    memcpy(high, fields->rate[at], sizeof high);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        fields->u[moved][m] = kept[m] - step * change[m];
    find_rate(fields);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        derivative[m] = (high[m] - fields->rate[at][m]) / (2 * step);
    memcpy(fields->u[moved], kept, sizeof kept);
    find_rate(fields);
}

// D times what a sweep found at `at` must be `wanted`. D is I - dt times the derivative by the
// point itself, without the fourth differences, of which each direction has -6 times the
// dissipation.
static void assert_solved(struct fields *fields, ptrdiff_t at, const double found[CFD_QUANTITIES],
                          const double wanted[CFD_QUANTITIES])
{
    double derivative[CFD_QUANTITIES], size = 0;
    rate_derivative(fields, at, at, found, derivative);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        size = fmax(size, fabs(wanted[m]));
    assert_true(size > 0);
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        double smooth = derivative[m] + 3 * 6 * CFD_DISSIPATION * found[m];
        assert_true(fabs(found[m] - TIME_STEP * smooth - wanted[m]) < 1e-6 * size);
    }
}

// The sweep over plane z must bring to the point `at` what the point `neighbour` in front of it
// has.
static void check_coupling(struct fields *fields, bool lower, int z, ptrdiff_t at,
                           ptrdiff_t neighbour)
{
    struct lu_sweep sweep = lu_sweep_of(&fields->box, TIME_STEP, RELAXATION);
    double(*v)[CFD_QUANTITIES] = calloc(fields->box.storage, sizeof *v);
    assert_non_null(v);
    memcpy(v[neighbour], direction_of_change, sizeof direction_of_change);
    (lower ? lu_sweep_lower : lu_sweep_upper)(&sweep, &fields->box, fields->flow, z, v);

    double wanted[CFD_QUANTITIES];
    rate_derivative(fields, at, neighbour, direction_of_change, wanted);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        wanted[m] =
            TIME_STEP * RELAXATION * (wanted[m] - 4 * CFD_DISSIPATION * direction_of_change[m]);
    assert_solved(fields, at, v[at], wanted);
    free(v);
}

// A box with ghosts in front of its first point: what lies there the sweep does not change itself.
static void lower_sweep_solves_with_the_operators_derivative(void **unused)
{
    (void)unused;
    struct fields fields = fields_make(3, 4, 12);
    const int z = 5;
    ptrdiff_t at = lu_box_at(&fields.box, 0, 0, z);
    fill(&fields, cfd_exact);
    find_rate(&fields);
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        check_coupling(&fields, true, z, at, at - fields.box.stride[d]);
    fields_free(&fields);
}

static void upper_sweep_solves_with_the_operators_derivative(void **unused)
{
    (void)unused;
    struct fields fields = fields_make(0, 4, 12);
    const int z = 5;
    ptrdiff_t at =
        lu_box_at(&fields.box, fields.box.count[CFD_X] - 1, fields.box.count[CFD_Y] - 1, z);
    fill(&fields, cfd_exact);
    find_rate(&fields);
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        check_coupling(&fields, false, z, at, at + fields.box.stride[d]);
    fields_free(&fields);
}

static void lower_sweep_scales_by_the_time_step(void **unused)
{
    (void)unused;
    struct fields fields = fields_make(3, 4, 12);
    struct lu_sweep sweep = lu_sweep_of(&fields.box, TIME_STEP, RELAXATION);
    double(*v)[CFD_QUANTITIES] = calloc(fields.box.storage, sizeof *v);
    double wanted[CFD_QUANTITIES];
    ptrdiff_t at = lu_box_at(&fields.box, 0, 0, 5);
    assert_non_null(v);
    fill(&fields, cfd_exact);
    find_rate(&fields);
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        v[at][m] = direction_of_change[m];
        wanted[m] = TIME_STEP * direction_of_change[m];
    }
    lu_sweep_lower(&sweep, &fields.box, fields.flow, 5, v);
    assert_solved(&fields, at, v[at], wanted);
    free(v);
    fields_free(&fields);
}

// The pressure of a uniform flow times the surface of the brick, however many ranks share it.
static void integral_measures_a_surface(void **unused)
{
    (void)unused;
    enum { POINTS = 12 };
    const double pressure = 0.4 * (3 - 0.5 * (0.4 * 0.4 + 0.3 * 0.3 + 0.8 * 0.8) / 1.5);
    const double h = 1.0 / (POINTS - 1), x = (POINTS - 3) * h, y = (POINTS - 4) * h,
                 z = (POINTS - 4) * h;
    for (int ranks = 1; ranks <= 8; ranks *= 2) {
        double integral = 0;
        for (int rank = 0; rank < ranks; rank++) {
            struct fields fields = fields_make(rank, ranks, POINTS);
            fill(&fields, uniform);
            find_rate(&fields);
            integral += lu_result_of(&fields.box, fields.u, fields.flow, fields.rate).integral;
            fields_free(&fields);
        }
        assert_true(fabs(integral / (2 * pressure * (x * y + y * z + z * x)) - 1) < 1e-12);
    }
}

static void exact_solution_has_no_error(void **unused)
{
    (void)unused;
    struct fields fields = fields_make(1, 2, 12);
    fill(&fields, cfd_exact);
    find_rate(&fields);
    struct lu_result result = lu_result_of(&fields.box, fields.u, fields.flow, fields.rate);
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        assert_true(result.error[m] == 0);
        assert_true(result.residual[m] > 0);
    }
    ptrdiff_t at = lu_box_at(&fields.box, 1, 1, 1);
    fields.u[at][CFD_ENERGY] += 3;
    result = lu_result_of(&fields.box, fields.u, fields.flow, fields.rate);
    assert_true(fabs(result.error[CFD_ENERGY] - 9) < 1e-12);
    fields_free(&fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_cuts_are_refused),
        cmocka_unit_test(boxes_fill_the_grid),
        cmocka_unit_test(no_two_points_share_memory),
        cmocka_unit_test(uniform_flow_changes_near_the_surface_only),
        cmocka_unit_test(forcing_is_subtracted),
        cmocka_unit_test(lower_sweep_solves_with_the_operators_derivative),
        cmocka_unit_test(upper_sweep_solves_with_the_operators_derivative),
        cmocka_unit_test(lower_sweep_scales_by_the_time_step),
        cmocka_unit_test(integral_measures_a_surface),
        cmocka_unit_test(exact_solution_has_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
