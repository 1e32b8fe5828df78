#include "bench/npb/bt_block.h"

// Viscous terms of the momentum along the line and of the energy, relative to those of the momentum
// across.
static const double along = 4.0 / 3, heat = CFD_CONDUCTION;

void bt_block_assemble(const struct bt_point *point, double flux, double diffusion, double added,
                       int columns, adi_lanes *block)
{
    adi_lanes *restrict density_row = block, *restrict normal_row = block + columns;
    adi_lanes *restrict left_row = block + 2 * columns, *restrict other_row = block + 3 * columns;
    adi_lanes *restrict energy_row = block + 4 * columns;
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

// target -= a b
static inline void subtract_1(adi_lanes *restrict target, const adi_lanes *a0, const adi_lanes *b0)
{
    for (int i = 0; i < ADI_LANES; i++)
        (*target)[i] -= (*a0)[i] * (*b0)[i];
}

// Takes one row of `below`, with the elements at `used`, times `before` out of a row.
static inline void eliminate_from(const adi_lanes *restrict below, const int *used, int uses,
                                  const bt_row before, adi_lanes *restrict diagonal,
                                  adi_lanes *restrict right)
{
    for (int column = 0; column < CFD_QUANTITIES; column++) {
        for (int k = 0; k < uses; k++)
            subtract_1(&diagonal[column], &below[used[k]], &before[used[k]][column]);
    }
    for (int k = 0; k < uses; k++)
        subtract_1(right, &below[used[k]], &before[used[k]][BT_RIGHT]);
}

void bt_block_eliminate(const bt_block below, const bt_row before, bt_block diagonal, bt_row row)
{
    static const int density[] = {0, 1}, left[] = {0, 1, 2}, other[] = {0, 1, 3};
    static const int all[] = {0, 1, 2, 3, 4};
    eliminate_from(below[0], density, 2, before, diagonal[0], &row[0][BT_RIGHT]);
    eliminate_from(below[1], all, 5, before, diagonal[1], &row[1][BT_RIGHT]);
    eliminate_from(below[2], left, 3, before, diagonal[2], &row[2][BT_RIGHT]);
    eliminate_from(below[3], other, 3, before, diagonal[3], &row[3][BT_RIGHT]);
    eliminate_from(below[4], all, 5, before, diagonal[4], &row[4][BT_RIGHT]);
}

static inline void scale(adi_lanes *restrict target, const adi_lanes *factor)
{
    for (int i = 0; i < ADI_LANES; i++)
        (*target)[i] *= (*factor)[i];
}

void bt_block_solve(bt_block diagonal, bt_row row)
{
    for (int pivot = 0; pivot < CFD_QUANTITIES; pivot++) {
        adi_lanes inverse;
        for (int i = 0; i < ADI_LANES; i++)
            inverse[i] = 1 / diagonal[pivot][pivot][i];
        for (int column = pivot + 1; column < CFD_QUANTITIES; column++)
            scale(&diagonal[pivot][column], &inverse);
        for (int column = 0; column < BT_ROW; column++)
            scale(&row[pivot][column], &inverse);
        for (int lower = pivot + 1; lower < CFD_QUANTITIES; lower++) {
            for (int column = pivot + 1; column < CFD_QUANTITIES; column++)
                subtract_1(&diagonal[lower][column], &diagonal[lower][pivot],
                           &diagonal[pivot][column]);
            for (int column = 0; column < BT_ROW; column++)
                subtract_1(&row[lower][column], &diagonal[lower][pivot], &row[pivot][column]);
        }
    }
    for (int upper = CFD_QUANTITIES - 2; upper >= 0; upper--) {
        for (int column = upper + 1; column < CFD_QUANTITIES; column++) {
            for (int k = 0; k < BT_ROW; k++)
                subtract_1(&row[upper][k], &diagonal[upper][column], &row[column][k]);
        }
    }
}
