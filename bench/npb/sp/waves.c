#include "bench/npb/sp/waves.h"

#include <stddef.h>

static const double root_half = 0.70710678118654752440;

// What is known at a row of points.
struct row {
    int count;
    double *restrict state[CFD_QUANTITIES];
    double *restrict change[CFD_QUANTITIES];
    const double *restrict velocity[CFD_DIRECTIONS];
    const double *restrict inverse_density;
    const double *restrict kinetic;
    const double *restrict sound;
};

static struct row row_at(const struct adi_cell *cell, int y, int z)
{
    const ptrdiff_t at = adi_cell_at(cell, cell->inner[CFD_X].start, y, z);
    struct row row = {
        .count = cell->inner[CFD_X].count,
        .inverse_density = cell->inverse_density + at,
        .kinetic = cell->kinetic + at,
        .sound = cell->sound + at,
    };
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        row.state[m] = cell->state + at + m * cell->quantity;
        row.change[m] = cell->right + at + m * cell->quantity;
    }
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        row.velocity[d] = cell->velocity + at + d * cell->quantity;
    return row;
}

static void enter_row(const struct row *row)
{
    double *restrict density = row->change[CFD_DENSITY], *restrict x = row->change[CFD_MOMENTUM_X];
    double *restrict y = row->change[CFD_MOMENTUM_Y], *restrict z = row->change[CFD_MOMENTUM_Z];
    double *restrict energy = row->change[CFD_ENERGY];
    const double *restrict u = row->velocity[CFD_X], *restrict v = row->velocity[CFD_Y];
    const double *restrict w = row->velocity[CFD_Z], *restrict inverse = row->inverse_density;
    const double *restrict kinetic = row->kinetic, *restrict sound = row->sound;
    for (int i = 0; i < row->count; i++) {
        double pressure = CFD_GAMMA_1 * (kinetic[i] * density[i] - u[i] * x[i] - v[i] * y[i] -
                                         w[i] * z[i] + energy[i]);
        double du = inverse[i] * (x[i] - u[i] * density[i]);
        double dv = inverse[i] * (y[i] - v[i] * density[i]);
        double dw = inverse[i] * (z[i] - w[i] * density[i]);
        double by_sound = 1 / sound[i];
        double compression = root_half * inverse[i] * by_sound * pressure;
        density[i] -= pressure * by_sound * by_sound;
        x[i] = dv;
        y[i] = dw;
        z[i] = compression + root_half * du;
        energy[i] = compression - root_half * du;
    }
}

static void leave_row(const struct row *row)
{
    const double *restrict entropy = row->change[SP_ENTROPY];
    const double *restrict dv = row->change[SP_SHEAR], *restrict dw = row->change[SP_OTHER_SHEAR];
    const double *restrict up = row->change[SP_SOUND_UP], *restrict down =
                                                              row->change[SP_SOUND_DOWN];
    const double *restrict u = row->velocity[CFD_X], *restrict v = row->velocity[CFD_Y];
    const double *restrict w = row->velocity[CFD_Z], *restrict kinetic = row->kinetic;
    const double *restrict sound = row->sound;
    double *restrict density = row->state[CFD_DENSITY], *restrict x = row->state[CFD_MOMENTUM_X];
    double *restrict y = row->state[CFD_MOMENTUM_Y], *restrict z = row->state[CFD_MOMENTUM_Z];
    double *restrict energy = row->state[CFD_ENERGY];
    for (int i = 0; i < row->count; i++) {
        double mass = density[i];
        double du = root_half * (up[i] - down[i]);
        double pressure = root_half * (up[i] + down[i]) * mass * sound[i];
        double change = entropy[i] + pressure / (sound[i] * sound[i]);
        density[i] += change;
        x[i] += change * u[i] + mass * du;
        y[i] += change * v[i] + mass * dv[i];
        z[i] += change * w[i] + mass * dw[i];
        energy[i] += change * kinetic[i] + mass * (u[i] * du + v[i] * dv[i] + w[i] * dw[i]) +
                     pressure / CFD_GAMMA_1;
    }
}

static void each_row(const struct adi_cell *cell, void (*change)(const struct row *row))
{
    const struct npb_span *inner = cell->inner;
    for (int z = inner[CFD_Z].start; z < inner[CFD_Z].start + inner[CFD_Z].count; z++) {
        for (int y = inner[CFD_Y].start; y < inner[CFD_Y].start + inner[CFD_Y].count; y++) {
            struct row row = row_at(cell, y, z);
            change(&row);
        }
    }
}

void sp_waves_enter(struct adi_cell *cell)
{
    each_row(cell, enter_row);
}

void sp_waves_leave(struct adi_cell *cell)
{
    each_row(cell, leave_row);
}

void sp_waves_turn(const adi_lanes waves[SP_WAVES], adi_lanes turned[SP_WAVES])
{
    for (int i = 0; i < ADI_LANES; i++) {
        double compression = 0.5 * (waves[SP_SOUND_UP][i] + waves[SP_SOUND_DOWN][i]);
        double ahead = root_half * waves[SP_SHEAR][i];
        turned[SP_ENTROPY][i] = waves[SP_ENTROPY][i];
        turned[SP_SHEAR][i] = waves[SP_OTHER_SHEAR][i];
        turned[SP_OTHER_SHEAR][i] = root_half * (waves[SP_SOUND_UP][i] - waves[SP_SOUND_DOWN][i]);
        turned[SP_SOUND_UP][i] = compression + ahead;
        turned[SP_SOUND_DOWN][i] = compression - ahead;
    }
}
