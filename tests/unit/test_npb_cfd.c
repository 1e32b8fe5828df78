// Protects the exact solution and the initial state of LU, SP and BT, on which all their official
// values rest.
#include "bench/npb/cfd/cfd.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_states_near(const double *a, const double *b)
{
    for (int m = 0; m < CFD_QUANTITIES; m++)
        assert_true(fabs(a[m] - b[m]) <= 1e-13 * fabs(b[m]));
}

static void corners_hold_the_sums_of_coefficients(void **unused)
{
    (void)unused;
    static const double at_origin[] = {2, 1, 2, 2, 5};
    static const double opposite[] = {15.76, 8.26, 10.32, 9.72, 15.52};
    double state[CFD_QUANTITIES];
    cfd_exact((const double[]){0, 0, 0}, state);
    assert_states_near(state, at_origin);
    cfd_exact((const double[]){1, 1, 1}, state);
    assert_states_near(state, opposite);
}

// Where one coordinate is 1/2 and the others are 0, each power counts half as much as the one
// below.
static void powers_are_those_of_the_coordinate(void **unused)
{
    (void)unused;
    static const double half_x[] = {2 + 1.25 + 0.0025 + 0.03125, 1 + 0.25 + 0.00125 + 0.025,
                                    2 + 1 + 0.005 + 0.01875, 2 + 1 + 0.00375 + 0.0125,
                                    5 + 2 + 0.025 + 0.00625 + 0.00625};
    double state[CFD_QUANTITIES];
    cfd_exact((const double[]){0.5, 0, 0}, state);
    assert_states_near(state, half_x);
}

static void ends_of_an_edge_are_exact(void **unused)
{
    (void)unused;
    for (int points = 2; points < 500; points++) {
        assert_true(cfd_coordinate(0, points) == 0);
        assert_true(cfd_coordinate(points - 1, points) == 1);
    }
}

static void surface_starts_exact(void **unused)
{
    (void)unused;
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        for (int end = 0; end <= 1; end++) {
            double position[] = {0.3, 0.6, 0.2}, start[CFD_QUANTITIES], exact[CFD_QUANTITIES];
            position[d] = end;
            cfd_initial(position, start);
            cfd_exact(position, exact);
            assert_memory_equal(start, exact, sizeof start);
        }
    }
}

// P of one direction: linear between the exact values at both ends.
static double between_ends(const double position[], int direction, int quantity)
{
    double low[CFD_QUANTITIES], high[CFD_QUANTITIES], end[CFD_DIRECTIONS];
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        end[d] = position[d];
    end[direction] = 0;
    cfd_exact(end, low);
    end[direction] = 1;
    cfd_exact(end, high);
    return (1 - position[direction]) * low[quantity] + position[direction] * high[quantity];
}

static void inside_starts_blended(void **unused)
{
    (void)unused;
    const double position[] = {0.25, 0.5, 0.625};
    double start[CFD_QUANTITIES], blend[CFD_QUANTITIES];
    cfd_initial(position, start);
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        double x = between_ends(position, CFD_X, m), y = between_ends(position, CFD_Y, m),
               z = between_ends(position, CFD_Z, m);
        blend[m] = x + y + z - x * y - y * z - z * x + x * y * z;
    }
    assert_states_near(start, blend);
}

static void norms_are_over_inner_points(void **unused)
{
    (void)unused;
    double sums[CFD_QUANTITIES] = {0, 24, 96, 216, 384};
    const double norms[CFD_QUANTITIES] = {0, 1, 2, 3, 4};
    cfd_norms(sums, (const int[]){4, 5, 6});
    assert_states_near(sums, norms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corners_hold_the_sums_of_coefficients),
        cmocka_unit_test(powers_are_those_of_the_coordinate),
        cmocka_unit_test(ends_of_an_edge_are_exact),
        cmocka_unit_test(surface_starts_exact),
        cmocka_unit_test(inside_starts_blended),
        cmocka_unit_test(norms_are_over_inner_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
