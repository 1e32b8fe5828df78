// Protects the blocks of BT: that they are the derivatives of the fluxes, and that a row of blocks
// is solved.
#include "bench/npb/bt/block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A density, three momenta, the first along the line, and an energy, other for each lane.
static void some_state(int lane, double state[CFD_QUANTITIES])
{
    const double typical[CFD_QUANTITIES] = {1.3, 0.9, -0.4, 0.7, 5.1};
    for (int m = 0; m < CFD_QUANTITIES; m++)
        state[m] = typical[m] * (1 + 0.03 * lane * (m + 1));
}

static struct bt_point point_of_states(void)
{
    struct bt_point point;
    for (int lane = 0; lane < ADI_LANES; lane++) {
        double state[CFD_QUANTITIES], square = 0;
        some_state(lane, state);
        point.inverse_density[lane] = 1 / state[0];
        for (int d = 0; d < CFD_DIRECTIONS; d++) {
            point.velocity[d][lane] = state[1 + d] / state[0];
            square += point.velocity[d][lane] * point.velocity[d][lane];
        }
        point.kinetic[lane] = square / 2;
        point.energy[lane] = state[4] / state[0];
    }
    return point;
}

typedef void flux_fn(const double state[CFD_QUANTITIES], double flux[CFD_QUANTITIES]);

static double kinetic_of(const double *state)
{
    return (state[1] * state[1] + state[2] * state[2] + state[3] * state[3]) /
           (2 * state[0] * state[0]);
}

static void convective(const double state[CFD_QUANTITIES], double flux[CFD_QUANTITIES])
{
    double u = state[1] / state[0];
    double pressure = CFD_GAMMA_1 * (state[4] - state[0] * kinetic_of(state));
    for (int m = 0; m < CFD_QUANTITIES; m++)
        flux[m] = state[m] * u;
    flux[1] += pressure;
    flux[4] += pressure * u;
}

// What viscosity and heat conduction difference twice.
static void viscous(const double state[CFD_QUANTITIES], double flux[CFD_QUANTITIES])
{
    double u = state[1] / state[0];
    flux[0] = 0;
    for (int m = 1; m < 4; m++)
        flux[m] = CFD_VISCOSITY * state[m] / state[0];
    flux[1] *= 4.0 / 3;
    flux[4] = CFD_VISCOSITY * ((1 - CFD_CONDUCTION) * kinetic_of(state) + u * u / 6 +
                               CFD_CONDUCTION * state[4] / state[0]);
}

static double slope(flux_fn *flux, const double state[CFD_QUANTITIES], int of, int with)
{
    const double step = 1e-5;
    double low[CFD_QUANTITIES], high[CFD_QUANTITIES], varied[CFD_QUANTITIES];
    memcpy(varied, state, sizeof varied);
    varied[with] = state[with] - step;
    flux(varied, low);
    varied[with] = state[with] + step;
    flux(varied, high);
    return (high[of] - low[of]) / (2 * step);
}

static void check_derivatives(flux_fn *flux, double convection, double diffusion, double added)
{
    struct bt_point point = point_of_states();
    struct bt_block block;
    bt_block_assemble(&point, convection, diffusion, added, &block);
    for (int lane = 0; lane < ADI_LANES; lane++) {
        double state[CFD_QUANTITIES];
        some_state(lane, state);
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            for (int k = 0; k < CFD_QUANTITIES; k++) {
                double expected = slope(flux, state, m, k) * (convection + diffusion);
                if (m == k)
                    expected += diffusion * added;
                assert_true(fabs(block.at[m][k][lane] - expected) < 1e-7);
            }
        }
    }
}

static void blocks_are_derivatives_of_the_fluxes(void **unused)
{
    (void)unused;
    check_derivatives(convective, 1, 0, 0.75);
    check_derivatives(convective, -0.5, 0, 0.75);
    check_derivatives(viscous, 0, 1, 0.75);
    check_derivatives(viscous, 0, -2, 1);
}

static void randomize(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)rand() / RAND_MAX - 0.5;
}

// Whether diagonal * solved + below * (the unknowns of the row before in terms of this row's) is
// what the row was.
static void solved_rows_fulfil_their_equations(void **unused)
{
    (void)unused;
    srand(11);
    struct bt_block below, before, diagonal, row, solved;
    struct bt_point point = point_of_states();
    bt_block_assemble(&point, 0.3, -0.2, 0.75, &below);
    randomize(before.at[0][0], sizeof before / sizeof(double));
    randomize(diagonal.at[0][0], sizeof diagonal / sizeof(double));
    randomize(row.at[0][0], sizeof row / sizeof(double));
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        for (int lane = 0; lane < ADI_LANES; lane++)
            diagonal.at[m][m][lane] += 9;
    }
    solved = row;
    bt_block_solve(&below, &before, &diagonal, &solved);

    for (int lane = 0; lane < ADI_LANES; lane++) {
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            for (int column = 0; column < BT_COLUMNS; column++) {
                double sum = 0;
                for (int k = 0; k < CFD_QUANTITIES; k++) {
                    double matrix = diagonal.at[m][k][lane];
                    for (int n = 0; n < CFD_QUANTITIES; n++)
                        matrix -= below.at[m][n][lane] * before.at[n][k][lane];
                    sum += matrix * solved.at[k][column][lane];
                    if (column == BT_RIGHT)
                        sum += below.at[m][k][lane] * before.at[k][BT_RIGHT][lane];
                }
                assert_true(fabs(sum - row.at[m][column][lane]) < 1e-12);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_derivatives_of_the_fluxes),
        cmocka_unit_test(solved_rows_fulfil_their_equations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
