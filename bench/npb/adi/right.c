#include "bench/npb/adi/right.h"

#include "bench/npb/adi/field.h"

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

// The compiler believes that arrays do not overlap, and thus works on several points at once, only
// where they are arguments of a function that it leaves one.
#define ROW_LOOP static __attribute__((noinline)) void

// right += diffusion * second difference of `quantity` - first * first difference of `flux`
ROW_LOOP add_flux(double *restrict right, const double *restrict quantity,
                  const double *restrict flux, double diffusion, double first, ptrdiff_t step,
                  int count)
{
    for (int i = 0; i < count; i++)
        right[i] += diffusion * second_difference(quantity + i, step) -
                    first * first_difference(flux + i, step);
}

// The part of one momentum: `u` is the velocity along the direction, `velocity` that of the
// momentum.
ROW_LOOP add_momentum(double *restrict right, const double *restrict momentum,
                      const double *restrict velocity, const double *restrict u, double diffusion,
                      double viscosity, double first, ptrdiff_t step, int count)
{
    for (int i = 0; i < count; i++)
        right[i] += diffusion * second_difference(momentum + i, step) +
                    viscosity * second_difference(velocity + i, step) -
                    first * (momentum[i + step] * u[i + step] - momentum[i - step] * u[i - step]);
}

ROW_LOOP add_energy_flux(double *restrict right, const double *restrict energy,
                         const double *restrict pressure, const double *restrict u,
                         double diffusion, double first, ptrdiff_t step, int count)
{
    for (int i = 0; i < count; i++)
        right[i] += diffusion * second_difference(energy + i, step) -
                    first * ((energy[i + step] + pressure[i + step]) * u[i + step] -
                             (energy[i - step] + pressure[i - step]) * u[i - step]);
}

// What friction and conduction of heat do to the energy.
ROW_LOOP add_heat(double *restrict right, const double *restrict energy,
                  const double *restrict inverse, const double *restrict kinetic,
                  const double *restrict u, double viscosity, ptrdiff_t step, int count)
{
    const double heating = viscosity * (1 - CFD_CONDUCTION), work = viscosity / 6;
    const double conduction = viscosity * CFD_CONDUCTION;
    for (int i = 0; i < count; i++) {
        const ptrdiff_t up = i + step, down = i - step;
        right[i] += heating * second_difference(kinetic + i, step) +
                    work * (u[up] * u[up] - 2 * u[i] * u[i] + u[down] * u[down]) +
                    conduction * (energy[up] * inverse[up] - 2 * energy[i] * inverse[i] +
                                  energy[down] * inverse[down]);
    }
}

// Convection, pressure, viscosity, heat conduction and the added diffusion along one direction.
static void add_direction(struct adi_cell *cell, const struct cfd_axis *axis, int direction,
                          ptrdiff_t row, int count)
{
    const ptrdiff_t q = cell->quantity, step = cell->stride[direction];
    const double first = axis->first, diffusion = axis->diffusion * axis->second;
    const double viscosity = CFD_VISCOSITY * axis->second;
    const double *state = cell->state + row, *velocity = cell->velocity + row;
    const double *pressure = cell->pressure + row, *u = velocity + direction * q;
    const double *energy = state + CFD_ENERGY * q;
    const int normal = CFD_MOMENTUM_X + direction;
    double *right = cell->right + row, *right_energy = right + CFD_ENERGY * q;

    add_flux(right, state, state + normal * q, diffusion, first, step, count);
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        const ptrdiff_t m = (CFD_MOMENTUM_X + d) * q;
        add_momentum(right + m, state + m, velocity + d * q, u, diffusion,
                     d == direction ? viscosity * 4 / 3 : viscosity, first, step, count);
    }
    add_flux(right + normal * q, pressure, pressure, 0, first, step, count);
    add_energy_flux(right_energy, energy, pressure, u, diffusion, first, step, count);
    add_heat(right_energy, energy, cell->inverse_density + row, cell->kinetic + row, u, viscosity,
             step, count);
}

ROW_LOOP damp_quantity(double *restrict right, const double *restrict state, const double *weights,
                       ptrdiff_t step, int count)
{
    const double w0 = CFD_DISSIPATION * weights[0], w1 = CFD_DISSIPATION * weights[1],
                 w2 = CFD_DISSIPATION * weights[2], w3 = CFD_DISSIPATION * weights[3],
                 w4 = CFD_DISSIPATION * weights[4];
    for (int i = 0; i < count; i++)
        right[i] -= w0 * state[i - 2 * step] + w1 * state[i - step] + w2 * state[i] +
                    w3 * state[i + step] + w4 * state[i + 2 * step];
}

static void damp(struct adi_cell *cell, const double *weights, ptrdiff_t step, ptrdiff_t row,
                 int count)
{
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        const ptrdiff_t at = row + m * cell->quantity;
        damp_quantity(cell->right + at, cell->state + at, weights, step, count);
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
                add_direction(cell, &axes[d], d, row, count);
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
