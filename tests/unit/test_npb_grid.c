// Protects the process grid of the NAS kernels, for more ranks than a test machine can run and for
// orders that the grid does not divide.
#include "bench/npb/common/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST_RANKS = 256 };

static const int orders[] = {1400, 7000, 75000, 1009, 256};

static void only_powers_of_two_are_laid_out(void **unused)
{
    (void)unused;
    struct npb_grid grid;
    for (int ranks = -1; ranks <= MOST_RANKS; ranks++) {
        bool power = ranks == 1 || ranks == 2 || ranks == 4 || ranks == 8 || ranks == 16 ||
                     ranks == 32 || ranks == 64 || ranks == 128 || ranks == 256;
        assert_int_equal(npb_grid_init(&grid, 0, ranks, 1400), power);
    }
}

static void grid_is_square_or_twice_as_wide(void **unused)
{
    (void)unused;
    struct npb_grid grid;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        assert_true(npb_grid_init(&grid, 0, ranks, 1400));
        assert_int_equal(grid.rows * grid.columns, ranks);
        assert_true(grid.columns == grid.rows || grid.columns == 2 * grid.rows);
    }
}

static void parts_join_without_gap(void **unused)
{
    (void)unused;
    for (int parts = 1; parts <= 17; parts++) {
        int end = 0;
        for (int i = 0; i < parts; i++) {
            struct npb_span span = npb_grid_part(1009, parts, i);
            assert_int_equal(span.start, end);
            assert_in_range(span.count, 1009 / parts, 1009 / parts + 1);
            end += span.count;
        }
        assert_int_equal(end, 1009);
    }
}

static void check_rank(int rank, int ranks, int order)
{
    struct npb_grid grid, other;
    assert_true(npb_grid_init(&grid, rank, ranks, order));
    assert_int_equal(grid.row * grid.columns + grid.column, rank);

    // What is kept and what is given make up the row span.
    assert_int_equal(grid.kept.count + grid.given.count, grid.row_span.count);
    assert_true(grid.kept.start == grid.row_span.start || grid.given.start == grid.row_span.start);

    // What this rank keeps is what its partner in the transposition owns, and the reverse.
    assert_true(npb_grid_init(&other, grid.transpose_rank, ranks, order));
    assert_int_equal(other.transpose_rank, rank);
    assert_int_equal(other.column_span.start, grid.kept.start);
    assert_int_equal(other.column_span.count, grid.kept.count);

    // Row partners know each other; neighbours that trade halves fit, all others keep the same.
    for (int distance = 1; distance < grid.columns; distance *= 2) {
        int partner = npb_grid_partner(&grid, distance);
        assert_true(npb_grid_init(&other, partner, ranks, order));
        assert_int_equal(npb_grid_partner(&other, distance), rank);
        bool trade = grid.columns != grid.rows && distance == 1;
        struct npb_span wanted = trade ? other.given : other.kept;
        assert_int_equal(wanted.start, grid.kept.start);
        assert_int_equal(wanted.count, grid.kept.count);
    }
}

static void partners_agree_on_what_they_exchange(void **unused)
{
    (void)unused;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
            for (int rank = 0; rank < ranks; rank++)
                check_rank(rank, ranks, orders[o]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_powers_of_two_are_laid_out),
        cmocka_unit_test(grid_is_square_or_twice_as_wide),
        cmocka_unit_test(parts_join_without_gap),
        cmocka_unit_test(partners_agree_on_what_they_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
