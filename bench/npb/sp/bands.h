// The equations that SP solves along a line (RNR-94-007, section 3): five diagonals, one system for
// each of the waves, of which those that the flow carries have the same matrix. All functions work
// on ADI_LANES lines at once. Pure arithmetic: no MPI call.
#ifndef COSCHED_BENCH_SP_BANDS_H
#define COSCHED_BENCH_SP_BANDS_H

#include "bench/npb/sp/waves.h"

// The matrices: of the waves carried by the flow, of sound going up and of sound going down.
enum { SP_CARRIED, SP_UP, SP_DOWN, SP_MATRICES };

// A solved row: the wave here is `right` less `next` times the wave at the next point less `after`
// times that at the one after it.
struct sp_row {
    adi_lanes next[SP_MATRICES];
    adi_lanes after[SP_MATRICES];
    adi_lanes right[SP_WAVES];
};

// What a row depends on at a point of the line.
struct sp_point {
    adi_lanes convection; // time step * first difference factor * velocity along the line
    adi_lanes sound;      // the same of the speed of sound
    adi_lanes diffusion;  // time step * second difference factor * what diffuses
};

// Solves a row: with the points below, here and above, the weights of the fourth difference there,
// the two solved rows below it, the lower one first, and, in row->right, its right side.
void sp_bands_solve(const struct sp_point *below, const struct sp_point *here,
                    const struct sp_point *above, const double damping[5],
                    const struct sp_row *before, const struct sp_row *last, struct sp_row *row);

// The waves of a solved row, from those at the two points above it.
void sp_bands_substitute(const struct sp_row *row, const adi_lanes next[SP_WAVES],
                         const adi_lanes after[SP_WAVES], adi_lanes waves[SP_WAVES]);

#endif
