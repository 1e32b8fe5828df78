// The solver of bench/dcs/sor: that it finds the solution, and finds the same in any number of
// parts.
#include "bench/dcs/laplace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 24, PARTS_MAX = 5 };

static struct laplace parts[PARTS_MAX];
static int part_count;

static void split(int count)
{
    part_count = count;
    for (int i = 0; i < count; i++) {
        assert_true(laplace_init(&parts[i], SIZE, count, i));
        laplace_reset(&parts[i]);
    }
}

static void release(void)
{
    for (int i = 0; i < part_count; i++)
        laplace_free(&parts[i]);
}

static void exchange(void)
{
    const size_t bytes = (SIZE + 2) * sizeof(double);
    for (int i = 0; i + 1 < part_count; i++) {
        struct laplace *above = &parts[i], *below = &parts[i + 1];
        memcpy(laplace_row(above, above->rows + 1), laplace_row(below, 1), bytes);
        memcpy(laplace_row(below, 0), laplace_row(above, above->rows), bytes);
    }
}

// Returns the largest change.
static double sweep(void)
{
    double largest = 0;
    for (int colour = LAPLACE_RED; colour <= LAPLACE_BLACK; colour++) {
        for (int i = 0; i < part_count; i++) {
            double change = laplace_relax(&parts[i], (enum laplace_colour)colour);
            largest = change > largest ? change : largest;
        }
        exchange();
    }
    return largest;
}

static void it_converges_to_the_solution(void **state)
{
    (void)state;
    split(1);
    assert_true(laplace_error(&parts[0]) > 0.1);
    int sweeps = 0;
    while (sweep() > 1e-12 && sweeps < 10 * SIZE)
        sweeps++;
    assert_in_range(sweeps, 1, 10 * SIZE - 1);
    assert_true(laplace_error(&parts[0]) < 1e-9);
    release();
}

static void without_exchange_it_does_not(void **state)
{
    (void)state;
    split(2);
    for (int i = 0; i < 10 * SIZE; i++) {
        laplace_relax(&parts[0], LAPLACE_RED);
        laplace_relax(&parts[0], LAPLACE_BLACK);
    }
    assert_true(laplace_error(&parts[0]) > 1e-3);
    release();
}

static void any_number_of_parts_computes_the_same(void **state)
{
    (void)state;
    static double whole[SIZE + 2][SIZE + 2];
    split(1);
    for (int i = 0; i < 7; i++)
        sweep();
    memcpy(whole, laplace_row(&parts[0], 0), sizeof whole);
    release();
    for (int count = 2; count <= PARTS_MAX; count++) {
        split(count);
        for (int i = 0; i < 7; i++)
            sweep();
        int rows = 0;
        for (int i = 0; i < count; i++) {
            rows += parts[i].rows;
            assert_memory_equal(laplace_row(&parts[i], 1), whole[parts[i].first_row],
                                (size_t)parts[i].rows * sizeof whole[0]);
        }
        assert_int_equal(rows, SIZE);
        release();
    }
}

static void a_reset_forgets_everything(void **state)
{
    (void)state;
    split(1);
    double fresh = laplace_error(&parts[0]);
    sweep();
    assert_true(laplace_error(&parts[0]) < fresh);
    laplace_reset(&parts[0]);
    assert_true(laplace_error(&parts[0]) == fresh);
    release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_converges_to_the_solution),
        cmocka_unit_test(without_exchange_it_does_not),
        cmocka_unit_test(any_number_of_parts_computes_the_same),
        cmocka_unit_test(a_reset_forgets_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
