// The equations that BT solves along a line (RNR-94-007, section 3): 5 x 5 blocks on three
// diagonals. All functions work on ADI_LANES lines at once. Pure arithmetic: no MPI call.
#ifndef COSCHED_BENCH_BT_BLOCK_H
#define COSCHED_BENCH_BT_BLOCK_H

#include "bench/npb/adi/lines.h"

// What a block depends on at a point, as seen along the line: the velocity along it, then the two
// across.
struct bt_point {
    adi_lanes inverse_density;
    adi_lanes velocity[CFD_DIRECTIONS];
    adi_lanes kinetic; // half the velocity squared
    adi_lanes energy;  // total, of a unit of mass
};

// A block and, where it stands for a row of blocks, the right side of that row in the last column.
enum { BT_RIGHT = CFD_QUANTITIES, BT_COLUMNS };
struct bt_block {
    adi_lanes at[CFD_QUANTITIES][BT_COLUMNS];
};

// Sets all but the last column to flux * A + diffusion * (N + added). A is the Jacobian of the
// convective flux along the line, N that of what viscosity and heat conduction difference twice,
// and `added` the added diffusion, of any diagonal.
void bt_block_assemble(const struct bt_point *restrict point, double flux, double diffusion,
                       double added, struct bt_block *restrict block);

// Solves a row of blocks for its unknowns: `row` has the block beyond the diagonal one and the
// right side. `before` is the row of the point before, which is solved, and takes the block `below`
// with it: of that only those elements are read that bt_block_assemble() does not always leave 0.
// Then row = inverse of (diagonal - below * before) * what is left of row. There is no search for
// pivots: the diagonal dominates.
void bt_block_solve(const struct bt_block *below, const struct bt_block *before,
                    const struct bt_block *diagonal, struct bt_block *row);

#endif
