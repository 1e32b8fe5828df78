#include "bench/npb/lu/sweep.h"

struct lu_sweep lu_sweep_of(const struct lu_box *box, double time_step, double relaxation)
{
    struct lu_sweep sweep = {.time_step = time_step, .unit = 1};
    double coupling = time_step * relaxation;
    double second[CFD_DIRECTIONS], all = 0;
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        struct cfd_axis axis = cfd_axis_of(d, box->points[d]);
        sweep.convection[d] = coupling * axis.first;
        sweep.viscosity[d] = coupling * axis.second;
        sweep.diffusion[d] = coupling * axis.second * axis.diffusion;
        second[d] = 2 * time_step * axis.second;
        sweep.unit += second[d] * axis.diffusion;
        all += second[d];
    }
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        sweep.friction[d] = CFD_VISCOSITY * (all + second[d] / 3);
        sweep.heating[d] = sweep.friction[d] - CFD_HEAT_VISCOSITY * all;
    }
    sweep.heat = CFD_HEAT_VISCOSITY * all;
    return sweep;
}

enum side { AFTER = -1, BEFORE = 1 };

// Adds what the neighbour on one side along one direction contributes to a point, given the
// neighbour's flow and its change `v` of the five quantities. All follows from `g`, density times
// the change of velocity, which is the change of momentum without what the change of density makes.
static inline void add_neighbour(const struct lu_sweep *sweep, int direction, enum side side,
                                 const struct lu_flow *flow, const double v[CFD_QUANTITIES],
                                 double sum[CFD_QUANTITIES])
{
    const double *velocity = flow->velocity, *momentum = v + CFD_MOMENTUM_X;
    double density = v[CFD_DENSITY], energy = v[CFD_ENERGY];
    double g[CFD_DIRECTIONS], along = momentum[direction], speed = velocity[direction];
    for (int c = 0; c < CFD_DIRECTIONS; c++)
        g[c] = momentum[c] - velocity[c] * density;
    double work =
        velocity[CFD_X] * g[CFD_X] + velocity[CFD_Y] * g[CFD_Y] + velocity[CFD_Z] * g[CFD_Z];
    double pressure = CFD_GAMMA_1 * (energy - work - flow->kinetic * density);
    double enthalpy = CFD_GAMMA * flow->energy - CFD_GAMMA_1 * flow->kinetic;

    double convection = side * sweep->convection[direction];
    double viscosity = sweep->viscosity[direction] * flow->volume;
    double diffusion = sweep->diffusion[direction];
    sum[CFD_DENSITY] += convection * along + diffusion * density;
    for (int c = 0; c < CFD_DIRECTIONS; c++) {
        double flux = velocity[c] * along + speed * g[c] + (c == direction ? pressure : 0);
        double friction = CFD_VISCOSITY * (c == direction ? 4.0 / 3.0 : 1) * g[c];
        sum[CFD_MOMENTUM_X + c] +=
            convection * flux + viscosity * friction + diffusion * momentum[c];
    }
    double flux = speed * (energy + pressure) + enthalpy * g[direction];
    double heating = (CFD_VISCOSITY - CFD_HEAT_VISCOSITY) * work +
                     CFD_VISCOSITY / 3 * speed * g[direction] +
                     CFD_HEAT_VISCOSITY * (energy - flow->energy * density);
    sum[CFD_ENERGY] += convection * flux + viscosity * heating + diffusion * energy;
}

// v = D^-1 v. D couples density to nothing else, momentum to density, energy to all.
static inline void solve_diagonal(const struct lu_sweep *sweep, const struct lu_flow *flow,
                                  double v[CFD_QUANTITIES])
{
    double density = v[CFD_DENSITY] / sweep->unit, work = 0;
    for (int c = 0; c < CFD_DIRECTIONS; c++) {
        double friction = sweep->friction[c] * flow->volume, velocity = flow->velocity[c];
        double *momentum = &v[CFD_MOMENTUM_X + c];
        *momentum = (*momentum + friction * velocity * density) * (1 / (sweep->unit + friction));
        work += sweep->heating[c] * velocity * (*momentum - velocity * density);
    }
    double heat = sweep->heat * flow->volume;
    v[CFD_DENSITY] = density;
    v[CFD_ENERGY] = (v[CFD_ENERGY] - flow->volume * work + heat * flow->energy * density) *
                    (1 / (sweep->unit + heat));
}

static inline void add_neighbours(const struct lu_sweep *sweep, enum side side,
                                  const struct lu_box *box, ptrdiff_t at,
                                  const struct lu_flow *flow, const double (*v)[CFD_QUANTITIES],
                                  double sum[CFD_QUANTITIES])
{
    ptrdiff_t z = at - side * box->stride[CFD_Z], y = at - side * box->stride[CFD_Y], x = at - side;
    add_neighbour(sweep, CFD_Z, side, &flow[z], v[z], sum);
    add_neighbour(sweep, CFD_Y, side, &flow[y], v[y], sum);
    add_neighbour(sweep, CFD_X, side, &flow[x], v[x], sum);
}

void lu_sweep_lower(const struct lu_sweep *sweep, const struct lu_box *box,
                    const struct lu_flow *flow, int z, double (*v)[CFD_QUANTITIES])
{
    for (int y = box->inner_first[CFD_Y]; y < box->inner_end[CFD_Y]; y++) {
        for (int x = box->inner_first[CFD_X]; x < box->inner_end[CFD_X]; x++) {
            ptrdiff_t at = lu_box_at(box, x, y, z);
            double sum[CFD_QUANTITIES];
            for (int m = 0; m < CFD_QUANTITIES; m++)
                sum[m] = sweep->time_step * v[at][m];
            add_neighbours(sweep, BEFORE, box, at, flow, v, sum);
            solve_diagonal(sweep, &flow[at], sum);
            for (int m = 0; m < CFD_QUANTITIES; m++)
                v[at][m] = sum[m];
        }
    }
}

void lu_sweep_upper(const struct lu_sweep *sweep, const struct lu_box *box,
                    const struct lu_flow *flow, int z, double (*v)[CFD_QUANTITIES])
{
    for (int y = box->inner_end[CFD_Y] - 1; y >= box->inner_first[CFD_Y]; y--) {
        for (int x = box->inner_end[CFD_X] - 1; x >= box->inner_first[CFD_X]; x--) {
            ptrdiff_t at = lu_box_at(box, x, y, z);
            double sum[CFD_QUANTITIES] = {0};
            add_neighbours(sweep, AFTER, box, at, flow, v, sum);
            solve_diagonal(sweep, &flow[at], sum);
            for (int m = 0; m < CFD_QUANTITIES; m++)
                v[at][m] += sum[m];
        }
    }
}
