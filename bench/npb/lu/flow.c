#include "bench/npb/lu/flow.h"

static struct lu_flow flow_of(const double u[CFD_QUANTITIES])
{
    double volume = 1 / u[CFD_DENSITY];
    double x = u[CFD_MOMENTUM_X] * volume;
    double y = u[CFD_MOMENTUM_Y] * volume;
    double z = u[CFD_MOMENTUM_Z] * volume;
    return (struct lu_flow){
        .velocity = {x, y, z},
        .volume = volume,
        .energy = u[CFD_ENERGY] * volume,
        .kinetic = 0.5 * (x * x + y * y + z * z),
    };
}

void lu_flow_derive(const struct lu_box *box, const double (*u)[CFD_QUANTITIES],
                    struct lu_flow *flow)
{
    const int *first = box->inner_first, *end = box->inner_end;
    for (int z = first[CFD_Z] - 1; z <= end[CFD_Z]; z++) {
        for (int y = first[CFD_Y] - 1; y <= end[CFD_Y]; y++) {
            // Nobody fills the ghosts at the edges of the box.
            bool edge = y < first[CFD_Y] || y == end[CFD_Y];
            int x_first = first[CFD_X] - !edge, x_end = end[CFD_X] + !edge;
            ptrdiff_t row = lu_box_at(box, 0, y, z);
            for (int x = x_first; x < x_end; x++)
                flow[row + x] = flow_of(u[row + x]);
        }
    }
}

// Weights of the points -2 .. 2 in the fourth difference at a point; near the surface of the cube
// it is one-sided.
struct stencil {
    double weight[2 * LU_GHOSTS + 1];
};

static const struct stencil *stencil_at(int index, int points)
{
    static const struct stencil next_to_low = {{0, 0, 5, -4, 1}}, second_low = {{0, -4, 6, -4, 1}},
                                middle = {{1, -4, 6, -4, 1}}, second_high = {{1, -4, 6, -4, 0}},
                                next_to_high = {{1, -4, 5, 0, 0}};
    if (index == 1)
        return &next_to_low;
    if (index == points - 2)
        return &next_to_high;
    if (index == 2)
        return &second_low;
    if (index == points - 3)
        return &second_high;
    return &middle;
}

static inline void convective_flux(int direction, const double u[CFD_QUANTITIES],
                                   const struct lu_flow *flow, double flux[CFD_QUANTITIES])
{
    double pressure = lu_flow_pressure(u, flow);
    double speed = flow->velocity[direction];
    for (int m = 0; m < CFD_QUANTITIES; m++)
        flux[m] = u[m] * speed;
    flux[CFD_MOMENTUM_X + direction] += pressure;
    flux[CFD_ENERGY] += pressure * speed;
}

static inline double second_difference(double before, double here, double after)
{
    return before - 2 * here + after;
}

// What viscosity and heat conduction along one direction do, for h = 1.
static inline void add_viscous(int direction, double factor, const struct lu_flow *before,
                               const struct lu_flow *here, const struct lu_flow *after,
                               double rate[CFD_QUANTITIES])
{
    for (int c = 0; c < CFD_DIRECTIONS; c++) {
        double stretch = c == direction ? 4.0 / 3.0 : 1;
        rate[CFD_MOMENTUM_X + c] +=
            factor * stretch *
            second_difference(before->velocity[c], here->velocity[c], after->velocity[c]);
    }
    double low = before->velocity[direction], mid = here->velocity[direction],
           high = after->velocity[direction];
    rate[CFD_ENERGY] +=
        factor *
        ((1 - CFD_CONDUCTION) * second_difference(before->kinetic, here->kinetic, after->kinetic) +
         1.0 / 6.0 * second_difference(low * low, mid * mid, high * high) +
         CFD_CONDUCTION * second_difference(before->energy, here->energy, after->energy));
}

// Adds what neighbours along one direction do to a point at `u[0]`, `flow[0]`.
static inline void add_direction(int direction, const struct cfd_axis *axis,
                                 const struct stencil *stencil, ptrdiff_t stride,
                                 const double (*u)[CFD_QUANTITIES], const struct lu_flow *flow,
                                 double rate[CFD_QUANTITIES])
{
    double flux_before[CFD_QUANTITIES], flux_after[CFD_QUANTITIES];
    convective_flux(direction, u[-stride], &flow[-stride], flux_before);
    convective_flux(direction, u[stride], &flow[stride], flux_after);
    double diffusion = axis->second * axis->diffusion;
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        double fourth = stencil->weight[0] * u[-2 * stride][m] +
                        stencil->weight[1] * u[-stride][m] + stencil->weight[2] * u[0][m] +
                        stencil->weight[3] * u[stride][m] + stencil->weight[4] * u[2 * stride][m];
        rate[m] += diffusion * second_difference(u[-stride][m], u[0][m], u[stride][m]) -
                   axis->first * (flux_after[m] - flux_before[m]) - CFD_DISSIPATION * fourth;
    }
    add_viscous(direction, axis->second * CFD_VISCOSITY, &flow[-stride], &flow[0], &flow[stride],
                rate);
}

static void rate_of_row(const struct lu_box *box, const struct cfd_axis axes[CFD_DIRECTIONS], int y,
                        int z, const double (*u)[CFD_QUANTITIES], const struct lu_flow *flow,
                        const double (*forcing)[CFD_QUANTITIES], double (*rate)[CFD_QUANTITIES])
{
    const struct stencil *along_y = stencil_at(box->start[CFD_Y] + y, box->points[CFD_Y]);
    const struct stencil *along_z = stencil_at(box->start[CFD_Z] + z, box->points[CFD_Z]);
    for (int x = box->inner_first[CFD_X]; x < box->inner_end[CFD_X]; x++) {
        const struct stencil *along_x = stencil_at(box->start[CFD_X] + x, box->points[CFD_X]);
        ptrdiff_t at = lu_box_at(box, x, y, z);
        double sum[CFD_QUANTITIES];
        for (int m = 0; m < CFD_QUANTITIES; m++)
            sum[m] = -forcing[at][m];
        add_direction(CFD_X, &axes[CFD_X], along_x, box->stride[CFD_X], u + at, flow + at, sum);
        add_direction(CFD_Y, &axes[CFD_Y], along_y, box->stride[CFD_Y], u + at, flow + at, sum);
        add_direction(CFD_Z, &axes[CFD_Z], along_z, box->stride[CFD_Z], u + at, flow + at, sum);
        for (int m = 0; m < CFD_QUANTITIES; m++)
            rate[at][m] = sum[m];
    }
}

void lu_flow_rate(const struct lu_box *box, const double (*u)[CFD_QUANTITIES],
                  const struct lu_flow *flow, const double (*forcing)[CFD_QUANTITIES],
                  double (*rate)[CFD_QUANTITIES])
{
    struct cfd_axis axes[CFD_DIRECTIONS];
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
        axes[direction] = cfd_axis_of(direction, box->points[direction]);
    for (int z = box->inner_first[CFD_Z]; z < box->inner_end[CFD_Z]; z++) {
        for (int y = box->inner_first[CFD_Y]; y < box->inner_end[CFD_Y]; y++)
            rate_of_row(box, axes, y, z, u, flow, forcing, rate);
    }
}
