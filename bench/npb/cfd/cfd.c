#include "bench/npb/cfd/cfd.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { DEGREE = 4 };

// One polynomial a quantity: a constant, then by direction the coefficients of the powers 1 to 4.
static const struct polynomial {
    double constant;
    double powers[CFD_DIRECTIONS][DEGREE];
} exact[CFD_QUANTITIES] = {
    {2, {{0, 5, 0.02, 0.5}, {0, 3, 0.01, 0.4}, {4, 0.5, 0.03, 0.3}}},
    {1, {{0, 1, 0.01, 0.4}, {0, 2, 0.03, 0.3}, {0, 3, 0.02, 0.5}}},
    {2, {{2, 0, 0.04, 0.3}, {0, 2, 0.03, 0.5}, {0, 3, 0.05, 0.4}}},
    {2, {{2, 0, 0.03, 0.2}, {0, 2, 0.05, 0.1}, {0, 3, 0.04, 0.3}}},
    {5, {{4, 0.1, 0.05, 0.1}, {3, 0.4, 0.04, 0.3}, {2, 0.3, 0.03, 0.2}}},
};

struct cfd_axis cfd_axis_of(int direction, int points)
{
    static const double diffusion[CFD_DIRECTIONS] = {0.75, 0.75, 1.0};
    double intervals = points - 1;
    return (struct cfd_axis){
        .points = points,
        .first = intervals / 2,
        .second = intervals * intervals,
        .diffusion = diffusion[direction],
    };
}

double cfd_coordinate(int index, int points)
{
    return (double)index / (points - 1);
}

void cfd_exact(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES])
{
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        state[m] = exact[m].constant;
        for (int direction = 0; direction < CFD_DIRECTIONS; direction++) {
            double sum = 0;
            for (int power = DEGREE; power > 0; power--)
                sum = (sum + exact[m].powers[direction][power - 1]) * position[direction];
            state[m] += sum;
        }
    }
}

static bool on_surface(const double position[CFD_DIRECTIONS])
{
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++) {
        if (position[direction] == 0 || position[direction] == 1)
            return true;
    }
    return false;
}

// Multiplies `remainder` by 1 - P, P being what the exact values at both ends of the line along
// `direction` through `position` give there by linear interpolation.
static void blend_line(const double position[CFD_DIRECTIONS], int direction,
                       double remainder[CFD_QUANTITIES])
{
    double end[CFD_DIRECTIONS], low[CFD_QUANTITIES], high[CFD_QUANTITIES];
    memcpy(end, position, sizeof end);
    end[direction] = 0;
    cfd_exact(end, low);
    end[direction] = 1;
    cfd_exact(end, high);
    double weight = position[direction];
    for (int m = 0; m < CFD_QUANTITIES; m++)
        remainder[m] *= 1 - ((1 - weight) * low[m] + weight * high[m]);
}

// The report's Px + Py + Pz - Px Py - Py Pz - Pz Px + Px Py Pz is 1 - (1 - Px) (1 - Py) (1 - Pz).
void cfd_initial(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES])
{
    if (on_surface(position)) {
        cfd_exact(position, state);
        return;
    }
    double remainder[CFD_QUANTITIES] = {1, 1, 1, 1, 1};
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
        blend_line(position, direction, remainder);
    for (int m = 0; m < CFD_QUANTITIES; m++)
        state[m] = 1 - remainder[m];
}

void cfd_norms(double sums[CFD_QUANTITIES], const int points[CFD_DIRECTIONS])
{
    double inner = 1;
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
        inner *= points[direction] - 2;
    for (int m = 0; m < CFD_QUANTITIES; m++)
        sums[m] = sqrt(sums[m] / inner);
}
