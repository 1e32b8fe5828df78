// The equations that BT solves along a line (RNR-94-007, section 3): 5 x 5 blocks on three
// diagonals. All functions work on ADI_LANES lines at once. Pure arithmetic: no MPI call.
#ifndef COSCHED_BENCH_BT_BLOCK_H
#define COSCHED_BENCH_BT_BLOCK_H

#include "bench/npb/adi_lines.h"

// What a block depends on at a point, as seen along the line: the velocity along it, then the two
// across.
struct bt_point {
    adi_lanes inverse_density;
    adi_lanes velocity[CFD_DIRECTIONS];
    adi_lanes kinetic; // half the velocity squared
    adi_lanes energy;  // total, of a unit of mass
};

typedef adi_lanes bt_block[CFD_QUANTITIES][CFD_QUANTITIES];

// A block row to be solved: the block beyond the diagonal one and, in the last column, the right
// side.
enum { BT_RIGHT = CFD_QUANTITIES, BT_ROW };
typedef adi_lanes bt_row[CFD_QUANTITIES][BT_ROW];

// Writes flux * A + diffusion * (N + added) to the first five columns of `block`, whose rows have
// `columns` lanes each. A is the Jacobian of the convective flux along the line, N that of what
// viscosity and heat conduction difference twice, and `added` the added diffusion, of any diagonal.
void bt_block_assemble(const struct bt_point *point, double flux, double diffusion, double added,
                       int columns, adi_lanes *block);

// Solves a block row for its unknowns. `before` is the row of the point before, which is solved,
// and takes the block `below` with it: of that only those elements are read that
// bt_block_assemble() does not always leave 0. Then row = inverse of (diagonal - below * before) *
// what is left of row. There is no search for pivots: the diagonal dominates.
void bt_block_solve(const bt_block below, const bt_row before, const bt_block diagonal, bt_row row);

#endif
