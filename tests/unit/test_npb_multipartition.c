// Protects the multipartition of BT and SP, for more ranks than a test machine can run: every cell
// has one owner, every rank one cell in each slab, and all neighbours of its cells one owner.
#include "bench/npb/adi/multipartition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST_SIDE = 16, POINTS = 102 };

static void only_squares_are_laid_out(void **unused)
{
    (void)unused;
    struct multipartition partition;
    for (int ranks = -1; ranks <= 40; ranks++) {
        bool square =
            ranks == 1 || ranks == 4 || ranks == 9 || ranks == 16 || ranks == 25 || ranks == 36;
        const char *refusal = multipartition_init(&partition, 0, ranks, POINTS);
        assert_int_equal(refusal == NULL, square);
    }
}

static void cells_have_three_points_at_least(void **unused)
{
    (void)unused;
    struct multipartition partition;
    assert_null(multipartition_init(&partition, 0, 16, 12));
    assert_non_null(multipartition_init(&partition, 0, 25, 12));
    assert_non_null(multipartition_init(&partition, 0, 16, 11));
}

static void every_cell_has_one_owner(void **unused)
{
    (void)unused;
    for (int side = 1; side <= MOST_SIDE; side++) {
        static int owned[MOST_SIDE][MOST_SIDE][MOST_SIDE];
        for (int rank = 0; rank < side * side; rank++) {
            struct multipartition partition;
            assert_null(multipartition_init(&partition, rank, side * side, POINTS));
            for (int i = 0; i < side; i++) {
                struct multipartition_cell cell = multipartition_cell(&partition, i);
                assert_int_equal(multipartition_owner(side, cell.slab), rank);
                owned[cell.slab[0]][cell.slab[1]][cell.slab[2]] += side;
            }
        }
        for (int x = 0; x < side; x++) {
            for (int y = 0; y < side; y++) {
                for (int z = 0; z < side; z++) {
                    assert_int_equal(owned[x][y][z], side);
                    owned[x][y][z] = 0;
                }
            }
        }
    }
}

static void every_slab_has_a_cell_of_every_rank(void **unused)
{
    (void)unused;
    for (int side = 1; side <= MOST_SIDE; side++) {
        for (int rank = 0; rank < side * side; rank++) {
            struct multipartition partition;
            assert_null(multipartition_init(&partition, rank, side * side, POINTS));
            for (int d = 0; d < MULTIPARTITION_DIRECTIONS; d++) {
                for (int slab = 0; slab < side; slab++) {
                    int index = multipartition_cell_in(&partition, d, slab);
                    assert_in_range(index, 0, side - 1);
                    assert_int_equal(multipartition_cell(&partition, index).slab[d], slab);
                }
            }
        }
    }
}

static void neighbours_of_all_cells_have_one_owner(void **unused)
{
    (void)unused;
    for (int side = 1; side <= MOST_SIDE; side++) {
        for (int rank = 0; rank < side * side; rank++) {
            struct multipartition partition;
            assert_null(multipartition_init(&partition, rank, side * side, POINTS));
            for (int i = 0; i < side; i++) {
                for (int d = 0; d < MULTIPARTITION_DIRECTIONS; d++) {
                    struct multipartition_cell cell = multipartition_cell(&partition, i);
                    cell.slab[d] = (cell.slab[d] + 1) % side;
                    assert_int_equal(multipartition_owner(side, cell.slab), partition.above[d]);
                    cell.slab[d] = (cell.slab[d] + 2 * side - 2) % side;
                    assert_int_equal(multipartition_owner(side, cell.slab), partition.below[d]);
                }
            }
        }
    }
}

static void spans_follow_the_slabs(void **unused)
{
    (void)unused;
    struct multipartition partition;
    for (int rank = 0; rank < 49; rank++) {
        assert_null(multipartition_init(&partition, rank, 49, POINTS));
        for (int i = 0; i < 7; i++) {
            struct multipartition_cell cell = multipartition_cell(&partition, i);
            for (int d = 0; d < MULTIPARTITION_DIRECTIONS; d++) {
                struct npb_span span = npb_grid_part(POINTS, 7, cell.slab[d]);
                assert_int_equal(cell.span[d].start, span.start);
                assert_int_equal(cell.span[d].count, span.count);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_squares_are_laid_out),
        cmocka_unit_test(cells_have_three_points_at_least),
        cmocka_unit_test(every_cell_has_one_owner),
        cmocka_unit_test(every_slab_has_a_cell_of_every_rank),
        cmocka_unit_test(neighbours_of_all_cells_have_one_owner),
        cmocka_unit_test(spans_follow_the_slabs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
