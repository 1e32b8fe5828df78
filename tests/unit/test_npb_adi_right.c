// Protects what BT and SP compute in a cell: the dissipation's weights, the right side, whatever
// the cells, and that a change passes through SP's waves as it is.
#include "bench/npb/adi/field.h"
#include "bench/npb/adi/right.h"
#include "bench/npb/common/job.h"
#include "bench/npb/sp/waves.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { POINTS = 13 };

// The original would end an MPI job.
void *npb_job_allocate(size_t count, size_t element_bytes)
{
    void *memory = calloc(count, element_bytes);
    assert_non_null(memory);
    return memory;
}

static struct cfd_axis axes[CFD_DIRECTIONS];

static int make_axes(void **unused)
{
    (void)unused;
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        axes[d] = cfd_axis_of(d, POINTS);
    return 0;
}

static struct multipartition partition_of(int rank, int ranks)
{
    struct multipartition partition;
    assert_null(multipartition_init(&partition, rank, ranks, POINTS));
    return partition;
}

static struct adi_cell cell_of(const struct multipartition *partition, int index)
{
    struct multipartition_cell part = multipartition_cell(partition, index);
    return adi_cell_make(&part, POINTS, true);
}

// Any state that the differences do not reduce to 0.
static void wavy(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES])
{
    for (int m = 0; m < CFD_QUANTITIES; m++)
        state[m] = 0.1 * sin(5 * position[CFD_X] + m) * cos(3 * position[CFD_Y] - m) *
                   exp(position[CFD_Z]);
    state[CFD_DENSITY] += 2;
    state[CFD_ENERGY] += 5;
}

static void weights_are_symmetric_and_damp_no_cube(void **unused)
{
    (void)unused;
    for (int index = 1; index <= POINTS - 2; index++) {
        const double *weights = adi_damping(index, POINTS);
        const double *mirrored = adi_damping(POINTS - 1 - index, POINTS);
        double sums[4] = {0};
        for (int k = 0; k < ADI_DAMPING_POINTS; k++) {
            assert_true(weights[k] == mirrored[ADI_DAMPING_POINTS - 1 - k]);
            for (int power = 0; power < 4; power++)
                sums[power] += weights[k] * pow(k - 2, power);
            if (index + k - 2 < 0 || index + k - 2 > POINTS - 1)
                assert_true(weights[k] == 0);
        }
        for (int power = 0; power < 4 && index > 2 && index < POINTS - 3; power++)
            assert_true(sums[power] == 0);
    }
    assert_true(adi_damping(1, POINTS)[2] == 5);
    assert_true(adi_damping(2, POINTS)[0] == 0 && adi_damping(2, POINTS)[2] == 6);
}

static void exact_solution_stays(void **unused)
{
    (void)unused;
    struct multipartition partition = partition_of(0, 1);
    struct adi_cell cell = cell_of(&partition, 0);
    double sums[CFD_QUANTITIES] = {0};
    adi_forcing(&cell, &partition, axes);
    adi_right_side(&cell, axes, 1);
    adi_field_right(&cell, sums);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        assert_true(sums[m] < 1e-18);
    adi_field_set(&cell, &(struct adi_box){.count = {POINTS, POINTS, POINTS}}, POINTS, wavy);
    adi_primitives(&cell, &partition);
    adi_right_side(&cell, axes, 1);
    adi_field_right(&cell, sums);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        assert_true(sums[m] > 1);
    adi_cell_free(&cell);
}

static void make_right_side(struct adi_cell *cell, const struct multipartition *partition)
{
    struct adi_box wide = adi_cell_box(cell, partition, ADI_HALO);
    adi_field_set(cell, &wide, POINTS, wavy);
    adi_primitives(cell, partition);
    adi_right_side(cell, axes, 0.1);
}

static void compare_right_sides(const struct adi_cell *cell, const struct adi_cell *whole)
{
    for (int z = 0; z < cell->size[CFD_Z]; z++) {
        for (int y = 0; y < cell->size[CFD_Y]; y++) {
            for (int x = 0; x < cell->size[CFD_X]; x++) {
                for (int m = 0; m < CFD_QUANTITIES; m++) {
                    double here = cell->right[adi_cell_at(cell, x, y, z) + m * cell->quantity];
                    double there =
                        whole->right[adi_cell_at(whole, cell->first[CFD_X] + x,
                                                 cell->first[CFD_Y] + y, cell->first[CFD_Z] + z) +
                                     m * whole->quantity];
                    assert_true(fabs(here - there) <= 1e-12 * (1 + fabs(there)));
                }
            }
        }
    }
}

static void right_side_does_not_depend_on_the_cells(void **unused)
{
    (void)unused;
    struct multipartition alone = partition_of(0, 1);
    struct adi_cell whole = cell_of(&alone, 0);
    make_right_side(&whole, &alone);
    for (int side = 2; side <= 4; side++) {
        for (int rank = 0; rank < side * side; rank++) {
            struct multipartition partition = partition_of(rank, side * side);
            for (int i = 0; i < side; i++) {
                struct adi_cell cell = cell_of(&partition, i);
                make_right_side(&cell, &partition);
                compare_right_sides(&cell, &whole);
                adi_cell_free(&cell);
            }
        }
    }
    adi_cell_free(&whole);
}

static void a_change_passes_through_the_waves(void **unused)
{
    (void)unused;
    struct multipartition partition = partition_of(0, 1);
    struct adi_cell cell = cell_of(&partition, 0);
    make_right_side(&cell, &partition);
    const int middle = POINTS / 2;
    const ptrdiff_t at = adi_cell_at(&cell, middle, middle, middle);
    double expected[CFD_QUANTITIES];
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        cell.right[at + m * cell.quantity] = 0.01 * (m + 1);
        expected[m] = cell.state[at + m * cell.quantity] + 0.01 * (m + 1);
    }
    sp_waves_enter(&cell);
    assert_true(fabs(cell.right[at + SP_SHEAR * cell.quantity] - 0.02) > 1e-3);
    sp_waves_leave(&cell);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        assert_true(fabs(cell.state[at + m * cell.quantity] - expected[m]) < 1e-13);
    adi_cell_free(&cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_symmetric_and_damp_no_cube),
        cmocka_unit_test(exact_solution_stays),
        cmocka_unit_test(right_side_does_not_depend_on_the_cells),
        cmocka_unit_test(a_change_passes_through_the_waves),
    };
    return cmocka_run_group_tests(tests, make_axes, NULL);
}
