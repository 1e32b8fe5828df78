#include "bench/npb/adi_right.h"

#include "bench/npb/adi_field.h"

#include <math.h>
#include <string.h>

const double *adi_damping(int index, int points)
{
    static const double first[] = {0, 0, 5, -4, 1}, second[] = {0, -4, 6, -4, 1};
    static const double middle[] = {1, -4, 6, -4, 1};
    static const double last_but_one[] = {1, -4, 6, -4, 0}, last[] = {1, -4, 5, 0, 0};
    if (index == 1)
        return first;
    if (index == 2)
        return second;
    if (index == points - 3)
        return last_but_one;
    return index == points - 2 ? last : middle;
}

static void primitives_of_row(struct adi_cell *cell, ptrdiff_t row, int count)
{
    const ptrdiff_t q = cell->quantity;
    const double *restrict density = cell->state + row;
    const double *restrict x = density + CFD_MOMENTUM_X * q;
    const double *restrict y = density + CFD_MOMENTUM_Y * q;
    const double *restrict z = density + CFD_MOMENTUM_Z * q;
    const double *restrict energy = density + CFD_ENERGY * q;
    double *restrict inverse = cell->inverse_density + row;
    double *restrict u = cell->velocity + row, *restrict v = u + q, *restrict w = v + q;
    double *restrict kinetic = cell->kinetic + row, *restrict pressure = cell->pressure + row;
    for (int i = 0; i < count; i++) {
        double by_density = 1 / density[i];
        double ui = x[i] * by_density, vi = y[i] * by_density, wi = z[i] * by_density;
        double half_square = 0.5 * (ui * ui + vi * vi + wi * wi);
        inverse[i] = by_density;
        u[i] = ui;
        v[i] = vi;
        w[i] = wi;
        kinetic[i] = half_square;
        pressure[i] = CFD_GAMMA_1 * (energy[i] - density[i] * half_square);
    }
    if (cell->sound == NULL)
        return;
    double *restrict sound = cell->sound + row;
    for (int i = 0; i < count; i++)
        sound[i] = sqrt(CFD_GAMMA * pressure[i] * inverse[i]);
}

void adi_primitives(struct adi_cell *cell, const struct multipartition *partition)
{
    struct adi_box own = adi_cell_box(cell, partition, 0);
    struct adi_box wide = adi_cell_box(cell, partition, 1);
    for (int z = wide.from[CFD_Z]; z < wide.from[CFD_Z] + wide.count[CFD_Z]; z++) {
        for (int y = wide.from[CFD_Y]; y < wide.from[CFD_Y] + wide.count[CFD_Y]; y++) {
            bool z_own = z >= 0 && z < cell->size[CFD_Z], y_own = y >= 0 && y < cell->size[CFD_Y];
            const struct adi_box *box = z_own && y_own ? &wide : &own;
            if (z_own || y_own)
                primitives_of_row(cell, adi_cell_at(cell, box->from[CFD_X], y, z),
                                  box->count[CFD_X]);
        }
    }
}

static inline double first_difference(const double *values, ptrdiff_t step)
{
    return values[step] - values[-step];
}

static inline double second_difference(const double *values, ptrdiff_t step)
{
    return values[step] - 2 * values[0] + values[-step];
}

// Convection, pressure, viscosity, heat conduction and the added diffusion along one direction. The
// momentum along it is the normal one, the others run across it.
static void add_fluxes(struct adi_cell *cell, const struct cfd_axis *axis, int direction,
                       ptrdiff_t row, int count)
{
    const ptrdiff_t q = cell->quantity, step = cell->stride[direction];
    const int normal = direction, left = (direction + 1) % CFD_DIRECTIONS,
              other = (direction + 2) % CFD_DIRECTIONS;
    const double *restrict density = cell->state + row;
    const double *restrict normal_momentum = density + (CFD_MOMENTUM_X + normal) * q;
    const double *restrict left_momentum = density + (CFD_MOMENTUM_X + left) * q;
    const double *restrict other_momentum = density + (CFD_MOMENTUM_X + other) * q;
    const double *restrict energy = density + CFD_ENERGY * q;
    const double *restrict u = cell->velocity + row + normal * q;
    const double *restrict v = cell->velocity + row + left * q;
    const double *restrict w = cell->velocity + row + other * q;
    const double *restrict inverse = cell->inverse_density + row;
    const double *restrict kinetic = cell->kinetic + row;
    const double *restrict pressure = cell->pressure + row;
    double *restrict right_density = cell->right + row;
    double *restrict right_normal = right_density + (CFD_MOMENTUM_X + normal) * q;
    double *restrict right_left = right_density + (CFD_MOMENTUM_X + left) * q;
    double *restrict right_other = right_density + (CFD_MOMENTUM_X + other) * q;
    double *restrict right_energy = right_density + CFD_ENERGY * q;

    const double first = axis->first, diffusion = axis->diffusion * axis->second;
    const double viscosity = CFD_VISCOSITY * axis->second;
    const double stretching = viscosity * 4 / 3, heating = viscosity * (1 - CFD_CONDUCTION);
    const double work = viscosity / 6, conduction = viscosity * CFD_CONDUCTION;
    for (int i = 0; i < count; i++) {
        const ptrdiff_t up = i + step, down = i - step;
        double u_up = u[up], u_down = u[down];
        right_density[i] += diffusion * second_difference(density + i, step) -
                            first * first_difference(normal_momentum + i, step);
        right_normal[i] += diffusion * second_difference(normal_momentum + i, step) +
                           stretching * second_difference(u + i, step) -
                           first * (normal_momentum[up] * u_up - normal_momentum[down] * u_down +
                                    first_difference(pressure + i, step));
        right_left[i] += diffusion * second_difference(left_momentum + i, step) +
                         viscosity * second_difference(v + i, step) -
                         first * (left_momentum[up] * u_up - left_momentum[down] * u_down);
        right_other[i] += diffusion * second_difference(other_momentum + i, step) +
                          viscosity * second_difference(w + i, step) -
                          first * (other_momentum[up] * u_up - other_momentum[down] * u_down);
        right_energy[i] +=
            diffusion * second_difference(energy + i, step) +
            heating * second_difference(kinetic + i, step) +
            work * (u_up * u_up - 2 * u[i] * u[i] + u_down * u_down) +
            conduction * (energy[up] * inverse[up] - 2 * energy[i] * inverse[i] +
                          energy[down] * inverse[down]) -
            first * ((energy[up] + pressure[up]) * u_up - (energy[down] + pressure[down]) * u_down);
    }
}

static void damp(struct adi_cell *cell, const double *weights, ptrdiff_t step, ptrdiff_t row,
                 int count)
{
    const double w0 = CFD_DISSIPATION * weights[0], w1 = CFD_DISSIPATION * weights[1],
                 w2 = CFD_DISSIPATION * weights[2], w3 = CFD_DISSIPATION * weights[3],
                 w4 = CFD_DISSIPATION * weights[4];
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        const double *restrict state = cell->state + row + m * cell->quantity;
        double *restrict right = cell->right + row + m * cell->quantity;
        for (int i = 0; i < count; i++)
            right[i] -= w0 * state[i - 2 * step] + w1 * state[i - step] + w2 * state[i] +
                        w3 * state[i + step] + w4 * state[i + 2 * step];
    }
}

// Along x the weights change within the row: it is cut where they do.
static void damp_along_row(struct adi_cell *cell, int points, ptrdiff_t row, int first, int count)
{
    for (int i = 0, end; i < count; i = end) {
        const double *weights = adi_damping(first + i, points);
        for (end = i + 1; end < count && adi_damping(first + end, points) == weights; end++)
            ;
        damp(cell, weights, cell->stride[CFD_X], row + i, end - i);
    }
}

static void scale_row(struct adi_cell *cell, double factor, ptrdiff_t row, int count)
{
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        double *restrict right = cell->right + row + m * cell->quantity;
        for (int i = 0; i < count; i++)
            right[i] *= factor;
    }
}

// All of a row at once, while it is in the cache.
void adi_right_side(struct adi_cell *cell, const struct cfd_axis axes[CFD_DIRECTIONS],
                    double factor)
{
    const struct npb_span *inner = cell->inner;
    const int x = inner[CFD_X].start, count = inner[CFD_X].count;
    for (int z = inner[CFD_Z].start; z < inner[CFD_Z].start + inner[CFD_Z].count; z++) {
        for (int y = inner[CFD_Y].start; y < inner[CFD_Y].start + inner[CFD_Y].count; y++) {
            const ptrdiff_t row = adi_cell_at(cell, x, y, z);
            for (int m = 0; m < CFD_QUANTITIES; m++) {
                const ptrdiff_t at = row + m * cell->quantity;
                memcpy(cell->right + at, cell->forcing + at, (size_t)count * sizeof(double));
            }
            for (int d = 0; d < CFD_DIRECTIONS; d++)
                add_fluxes(cell, &axes[d], d, row, count);
            damp_along_row(cell, axes[CFD_X].points, row, cell->first[CFD_X] + x, count);
            damp(cell, adi_damping(cell->first[CFD_Y] + y, axes[CFD_Y].points), cell->stride[CFD_Y],
                 row, count);
            damp(cell, adi_damping(cell->first[CFD_Z] + z, axes[CFD_Z].points), cell->stride[CFD_Z],
                 row, count);
            scale_row(cell, factor, row, count);
        }
    }
}

void adi_forcing(struct adi_cell *cell, const struct multipartition *partition,
                 const struct cfd_axis axes[CFD_DIRECTIONS])
{
    struct adi_box box = adi_cell_box(cell, partition, ADI_HALO);
    size_t bytes = (size_t)(CFD_QUANTITIES * cell->quantity) * sizeof(double);
    double *forcing = cell->forcing - adi_cell_at(cell, ADI_HALO, ADI_HALO, ADI_HALO);
    double *right = cell->right - adi_cell_at(cell, ADI_HALO, ADI_HALO, ADI_HALO);
    memset(forcing, 0, bytes);
    adi_field_set(cell, &box, partition->points, cfd_exact);
    adi_primitives(cell, partition);
    adi_right_side(cell, axes, -1);
    memcpy(forcing, right, bytes);
}
