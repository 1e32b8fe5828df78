// The right side of BT and SP (RNR-94-007, section 3): what the equations of the flow, by centred
// differences and with fourth-order dissipation, say about the change of a cell's state.
#ifndef COSCHED_BENCH_ADI_RIGHT_H
#define COSCHED_BENCH_ADI_RIGHT_H

#include "bench/npb/adi/cell.h"

enum { ADI_DAMPING_POINTS = 5 };

// The weights of the points index - 2 .. index + 2 of a line in the fourth difference at `index`,
// one-sided at the two points next to either end of the line. Lives forever. `index` is an inner
// one, 1 .. points - 2.
const double *adi_damping(int index, int points);

// Derives velocities, pressure and so on from the state, wherever the right side needs them: in the
// cell and in the first layer of its halo, without edges and corners.
void adi_primitives(struct adi_cell *cell, const struct multipartition *partition);

// Sets `right` at all inner points to `factor` times the right side. Needs primitives, and a halo
// of the state.
void adi_right_side(struct adi_cell *cell, const struct cfd_axis axes[CFD_DIRECTIONS],
                    double factor);

// Sets `forcing` so that the right side of the exact solution is 0. Leaves that solution as state.
void adi_forcing(struct adi_cell *cell, const struct multipartition *partition,
                 const struct cfd_axis axes[CFD_DIRECTIONS]);

#endif
