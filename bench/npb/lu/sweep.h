// The two sweeps of LU's symmetric successive over-relaxation (RNR-94-007, section 3). The system
// (I - dt J) v = dt rate, J being the Jacobian of the operator without its fourth differences, is
// split into a block diagonal D, and a lower part L and an upper part U of blocks of 5 x 5 that
// couple a point to the neighbours before and after it. No MPI call.
//
// No block is ever formed: each is made of few different factors, so that applying it directly
// takes fewer operations than forming it.
#ifndef COSCHED_BENCH_LU_SWEEP_H
#define COSCHED_BENCH_LU_SWEEP_H

#include "bench/npb/cfd/cfd.h"
#include "bench/npb/lu/box.h"
#include "bench/npb/lu/flow.h"

struct lu_sweep {
    double time_step;
    // Of the blocks that couple, both times time step and relaxation.
    double convection[CFD_DIRECTIONS]; // of the convective flux's Jacobian
    double viscosity[CFD_DIRECTIONS];  // of the viscous flux's Jacobian
    double diffusion[CFD_DIRECTIONS];  // of the unit matrix
    // Of the blocks on the diagonal.
    double unit;                     // of the unit matrix
    double friction[CFD_DIRECTIONS]; // of momentum over density, by component
    double heating[CFD_DIRECTIONS];  // of the kinetic energy that a component loses by friction
    double heat;                     // of energy over density
};

struct lu_sweep lu_sweep_of(const struct lu_box *box, double time_step, double relaxation);

// The inner points of plane z of v, in place: (D + relaxation L) v = dt v. Needs the same of plane
// z - 1, and in the ghosts before this plane along x and y the neighbours' result.
void lu_sweep_lower(const struct lu_sweep *sweep, const struct lu_box *box,
                    const struct lu_flow *flow, int z, double (*v)[CFD_QUANTITIES]);

// Likewise from the other end: (I + relaxation D^-1 U) v = v.
void lu_sweep_upper(const struct lu_sweep *sweep, const struct lu_box *box,
                    const struct lu_flow *flow, int z, double (*v)[CFD_QUANTITIES]);

#endif
