#include "bench/npb/bt/block.h"

#include <stdbool.h>
#include <string.h>

// Viscous terms of the momentum along the line and of the energy, relative to those of the momentum
// across.
static const double along = 4.0 / 3, heat = CFD_CONDUCTION;

void bt_block_assemble(const struct bt_point *restrict point, double flux, double diffusion,
                       double added, struct bt_block *restrict block)
{
    adi_lanes *density_row = block->at[0], *normal_row = block->at[1];
    adi_lanes *left_row = block->at[2], *other_row = block->at[3], *energy_row = block->at[4];
    const double constant = diffusion * added, viscosity = diffusion * CFD_VISCOSITY;
    for (int i = 0; i < ADI_LANES; i++) {
        const double u = point->velocity[0][i], v = point->velocity[1][i],
                     w = point->velocity[2][i];
        const double pressure = CFD_GAMMA_1 * point->kinetic[i];
        const double enthalpy = CFD_GAMMA * point->energy[i];
        const double thickness = viscosity * point->inverse_density[i];
        const double carried = flux * u;

        density_row[0][i] = constant;
        density_row[1][i] = flux;
        density_row[2][i] = density_row[3][i] = density_row[4][i] = 0;

        normal_row[0][i] = flux * (pressure - u * u) - along * thickness * u;
        normal_row[1][i] = (2 - CFD_GAMMA_1) * carried + along * thickness + constant;
        normal_row[2][i] = -CFD_GAMMA_1 * flux * v;
        normal_row[3][i] = -CFD_GAMMA_1 * flux * w;
        normal_row[4][i] = CFD_GAMMA_1 * flux;

        left_row[0][i] = -carried * v - thickness * v;
        left_row[1][i] = flux * v;
        left_row[2][i] = carried + thickness + constant;
        left_row[3][i] = left_row[4][i] = 0;

        other_row[0][i] = -carried * w - thickness * w;
        other_row[1][i] = flux * w;
        other_row[2][i] = other_row[4][i] = 0;
        other_row[3][i] = carried + thickness + constant;

        energy_row[0][i] = carried * (2 * pressure - enthalpy) -
                           thickness * ((along - 1) * u * u + 2 * (1 - heat) * point->kinetic[i] +
                                        heat * point->energy[i]);
        energy_row[1][i] =
            flux * (enthalpy - pressure - CFD_GAMMA_1 * u * u) + thickness * (along - heat) * u;
        energy_row[2][i] = -CFD_GAMMA_1 * carried * v + thickness * (1 - heat) * v;
        energy_row[3][i] = -CFD_GAMMA_1 * carried * w + thickness * (1 - heat) * w;
        energy_row[4][i] = CFD_GAMMA * carried + thickness * heat + constant;
    }
}

// Two lanes: what a vector register of every 64-bit machine holds.
typedef double pair __attribute__((vector_size(2 * sizeof(double))));

static inline pair load(const double *from)
{
    pair values;
    memcpy(&values, from, sizeof values);
    return values;
}

static inline void store(double *to, pair values)
{
    memcpy(to, &values, sizeof values);
}

// A row of numbers: of the diagonal block, of the one beyond it, and the right side.
enum { BEYOND = CFD_QUANTITIES, COLUMNS = CFD_QUANTITIES + BT_COLUMNS, RIGHT = COLUMNS - 1 };

// What bt_block_assemble() does not always leave 0.
static const bool occupied[CFD_QUANTITIES][CFD_QUANTITIES] = {
    {1, 1, 0, 0, 0}, {1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}, {1, 1, 0, 1, 0}, {1, 1, 1, 1, 1},
};

// All loops have few steps and are to vanish, so that a row of numbers stays in registers.
static inline void solve_pair(const struct bt_block *below, const struct bt_block *before,
                              const struct bt_block *diagonal, struct bt_block *row, int lane)
{
    pair solved[CFD_QUANTITIES][COLUMNS];
#pragma GCC unroll 5
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        pair line[COLUMNS];
#pragma GCC unroll 5
        for (int column = 0; column < CFD_QUANTITIES; column++)
            line[column] = load(&diagonal->at[m][column][lane]);
#pragma GCC unroll 6
        for (int column = 0; column < BT_COLUMNS; column++)
            line[BEYOND + column] = load(&row->at[m][column][lane]);
#pragma GCC unroll 5
        for (int k = 0; k < CFD_QUANTITIES; k++) {
            if (!occupied[m][k])
                continue;
            pair factor = load(&below->at[m][k][lane]);
#pragma GCC unroll 5
            for (int column = 0; column < CFD_QUANTITIES; column++)
                line[column] -= factor * load(&before->at[k][column][lane]);
            line[RIGHT] -= factor * load(&before->at[k][BT_RIGHT][lane]);
        }
#pragma GCC unroll 5
        for (int k = 0; k < m; k++) {
#pragma GCC unroll 11
            for (int column = k + 1; column < COLUMNS; column++)
                line[column] -= line[k] * solved[k][column];
        }
        pair inverse = 1 / line[m];
#pragma GCC unroll 11
        for (int column = m + 1; column < COLUMNS; column++)
            solved[m][column] = line[column] * inverse;
    }
#pragma GCC unroll 5
    for (int m = CFD_QUANTITIES - 1; m >= 0; m--) {
#pragma GCC unroll 6
        for (int column = BEYOND; column < COLUMNS; column++) {
            pair sum = solved[m][column];
#pragma GCC unroll 5
            for (int k = m + 1; k < CFD_QUANTITIES; k++)
                sum -= solved[m][k] * solved[k][column];
            solved[m][column] = sum;
            store(&row->at[m][column - BEYOND][lane], sum);
        }
    }
}

void bt_block_solve(const struct bt_block *below, const struct bt_block *before,
                    const struct bt_block *diagonal, struct bt_block *row)
{
    for (int lane = 0; lane < ADI_LANES; lane += 2)
        solve_pair(below, before, diagonal, row, lane);
}
