// Protects how kernel MG lays its levels over the ranks, for more ranks than a test machine can
// run: above all the coarse levels, on which most ranks have no point.
#include "bench/npb/mg/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST_RANKS = 512, MOST_POINTS = 32 };

static struct mg_level look(int rank, int ranks, int points)
{
    struct mg_grid grid;
    assert_true(mg_grid_init(&grid, rank, ranks));
    return mg_grid_level(&grid, points);
}

static void only_powers_of_two_are_laid_out(void **unused)
{
    (void)unused;
    struct mg_grid grid;
    const int refused[] = {-4, 0, 3, 6, 24, 100};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(mg_grid_init(&grid, 0, refused[i]));
}

static void grid_is_nearly_cubic(void **unused)
{
    (void)unused;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        struct mg_grid grid;
        assert_true(mg_grid_init(&grid, ranks - 1, ranks));
        assert_int_equal(grid.shape[0] * grid.shape[1] * grid.shape[2], ranks);
        assert_true(grid.shape[0] <= grid.shape[1] && grid.shape[1] <= grid.shape[2]);
        assert_true(grid.shape[2] <= 2 * grid.shape[0]);
        for (int axis = 0; axis < MG_AXES; axis++)
            assert_int_equal(grid.place[axis], grid.shape[axis] - 1);
    }
}

static void every_point_has_one_owner(void **unused)
{
    (void)unused;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        for (int points = 2; points <= MOST_POINTS; points *= 2) {
            long owned = 0;
            for (int rank = 0; rank < ranks; rank++) {
                struct mg_level level = look(rank, ranks, points);
                long here = 1;
                for (int axis = 0; axis < MG_AXES; axis++)
                    here *= level.part[axis].count;
                assert_int_equal(level.idle, here == 0);
                owned += here;
            }
            assert_int_equal(owned, (long)points * points * points);
        }
    }
}

static void check_neighbours(int rank, int ranks, int points)
{
    struct mg_level level = look(rank, ranks, points);
    if (level.idle)
        return;
    for (int axis = 0; axis < MG_AXES; axis++) {
        struct mg_level upper = look(level.upper[axis], ranks, points);
        assert_false(upper.idle);
        assert_int_equal(upper.lower[axis], rank);
        int end = level.part[axis].start + level.part[axis].count;
        assert_int_equal(upper.part[axis].start, end % points);
        for (int other = 0; other < MG_AXES; other++) {
            if (other != axis)
                assert_memory_equal(&upper.part[other], &level.part[other],
                                    sizeof upper.part[other]);
        }
    }
}

static void neighbours_own_the_adjacent_points(void **unused)
{
    (void)unused;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        for (int points = 2; points <= MOST_POINTS; points *= 2) {
            for (int rank = 0; rank < ranks; rank++)
                check_neighbours(rank, ranks, points);
        }
    }
}

// A coarse point is the second of its two fine points, and its owner has that one too.
static void owners_of_coarse_points_own_them_on_the_finer_level(void **unused)
{
    (void)unused;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        for (int points = 2; points <= MOST_POINTS / 2; points *= 2) {
            for (int rank = 0; rank < ranks; rank++) {
                struct mg_level coarse = look(rank, ranks, points);
                struct mg_level fine = look(rank, ranks, 2 * points);
                for (int axis = 0; axis < MG_AXES; axis++) {
                    const struct npb_span *part = &coarse.part[axis], *over = &fine.part[axis];
                    for (int c = part->start; c < part->start + part->count; c++)
                        assert_in_range(2 * c + 1, over->start, over->start + over->count - 1);
                }
            }
        }
    }
}

// Whether the rank knows coarse values along the axes before `axis` because it has or borrowed
// them, and along the later ones because it has points.
static bool can_lend(const struct mg_level *coarse, const struct mg_level *fine, int axis)
{
    for (int a = axis; a < MG_AXES; a++) {
        if (coarse->part[a].count == 0)
            return false;
    }
    return !fine->idle;
}

static void check_lending(int rank, int ranks, int points)
{
    struct mg_level coarse = look(rank, ranks, points), fine = look(rank, ranks, 2 * points);
    for (int axis = 0; axis < MG_AXES; axis++) {
        enum mg_duty duty = mg_grid_duty(&coarse, &fine, axis);
        if (duty == MG_LEND)
            assert_true(can_lend(&coarse, &fine, axis));
        if (duty == MG_KEEP)
            continue;
        const int partners[] = {fine.lower[axis], fine.upper[axis]};
        int start[2];
        for (int i = 0; i < 2; i++) {
            struct mg_level partner_coarse = look(partners[i], ranks, points);
            struct mg_level partner_fine = look(partners[i], ranks, 2 * points);
            enum mg_duty other = mg_grid_duty(&partner_coarse, &partner_fine, axis);
            assert_int_equal(other, duty == MG_LEND ? MG_BORROW : MG_LEND);
            start[i] = partner_coarse.part[axis].start;
        }
        if (duty == MG_BORROW)
            assert_int_equal((start[0] + 1) % points, start[1]);
    }
}

static void lenders_and_borrowers_agree(void **unused)
{
    (void)unused;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        for (int points = 2; points <= MOST_POINTS / 2; points *= 2) {
            for (int rank = 0; rank < ranks; rank++)
                check_lending(rank, ranks, points);
        }
    }
}

static void who_lacks_coarse_points_borrows_along_each_such_axis(void **unused)
{
    (void)unused;
    long borrowed = 0;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks *= 2) {
        for (int points = 2; points <= MOST_POINTS / 2; points *= 2) {
            for (int rank = 0; rank < ranks; rank++) {
                struct mg_level coarse = look(rank, ranks, points);
                struct mg_level fine = look(rank, ranks, 2 * points);
                // After its last empty axis a rank has all; before it, nobody around had any.
                int last = MG_AXES - 1;
                while (last >= 0 && coarse.part[last].count > 0)
                    last--;
                if (fine.idle || last < 0)
                    continue;
                assert_int_equal(mg_grid_duty(&coarse, &fine, last), MG_BORROW);
                borrowed++;
            }
        }
    }
    assert_true(borrowed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_powers_of_two_are_laid_out),
        cmocka_unit_test(grid_is_nearly_cubic),
        cmocka_unit_test(every_point_has_one_owner),
        cmocka_unit_test(neighbours_own_the_adjacent_points),
        cmocka_unit_test(owners_of_coarse_points_own_them_on_the_finer_level),
        cmocka_unit_test(lenders_and_borrowers_agree),
        cmocka_unit_test(who_lacks_coarse_points_borrows_along_each_such_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
