#include "bench/npb/lu/result.h"

static void add_squares(const struct lu_box *box, int x, int y, int z,
                        const double u[CFD_QUANTITIES], const double rate[CFD_QUANTITIES],
                        struct lu_result *result)
{
    double position[CFD_DIRECTIONS], exact[CFD_QUANTITIES];
    lu_box_position(box, x, y, z, position);
    cfd_exact(position, exact);
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        double error = exact[m] - u[m];
        result->residual[m] += rate[m] * rate[m];
        result->error[m] += error * error;
    }
}

// What the values at a point contribute to the integral of a function over the surface of a brick
// of grid cells, by the trapezoidal rule, times 4 / h^2: at each point of a face, 2 for each
// direction of the face in which it is not at the end.
static double surface_weight(const int index[CFD_DIRECTIONS], const int low[CFD_DIRECTIONS],
                             const int high[CFD_DIRECTIONS])
{
    double along[CFD_DIRECTIONS];
    int ends[CFD_DIRECTIONS];
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        if (index[d] < low[d] || index[d] > high[d])
            return 0;
        ends[d] = (index[d] == low[d]) + (index[d] == high[d]);
        along[d] = 2 - ends[d];
    }
    return ends[CFD_X] * along[CFD_Y] * along[CFD_Z] + ends[CFD_Y] * along[CFD_X] * along[CFD_Z] +
           ends[CFD_Z] * along[CFD_X] * along[CFD_Y];
}

// The pressure at a point of the surface, weighted; 0 elsewhere. The brick is the reference's.
static double integral_share(const struct lu_box *box, int x, int y, int z,
                             const double u[CFD_QUANTITIES], const struct lu_flow *flow)
{
    const int *points = box->points;
    const int low[CFD_DIRECTIONS] = {1, 1, 2};
    const int high[CFD_DIRECTIONS] = {points[CFD_X] - 2, points[CFD_Y] - 3, points[CFD_Z] - 2};
    const int index[CFD_DIRECTIONS] = {box->start[CFD_X] + x, box->start[CFD_Y] + y,
                                       box->start[CFD_Z] + z};
    double weight = surface_weight(index, low, high);
    double intervals = points[CFD_X] - 1;
    return weight == 0 ? 0 : weight / 4 * lu_flow_pressure(u, flow) / (intervals * intervals);
}

struct lu_result lu_result_of(const struct lu_box *box, const double (*u)[CFD_QUANTITIES],
                              const struct lu_flow *flow, const double (*rate)[CFD_QUANTITIES])
{
    struct lu_result result = {0};
    const int *first = box->inner_first, *end = box->inner_end;
    for (int z = first[CFD_Z]; z < end[CFD_Z]; z++) {
        for (int y = first[CFD_Y]; y < end[CFD_Y]; y++) {
            for (int x = first[CFD_X]; x < end[CFD_X]; x++) {
                ptrdiff_t at = lu_box_at(box, x, y, z);
                add_squares(box, x, y, z, u[at], rate[at], &result);
                result.integral += integral_share(box, x, y, z, u[at], &flow[at]);
            }
        }
    }
    return result;
}
