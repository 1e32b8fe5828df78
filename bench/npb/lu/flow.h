// The differential operator of LU: what convection, viscosity, heat conduction and added
// dissipation do to each point (RNR-94-007, section 3; central differences of second order,
// dissipation of fourth differences). No MPI call.
#ifndef COSCHED_BENCH_LU_FLOW_H
#define COSCHED_BENCH_LU_FLOW_H

#include "bench/npb/cfd/cfd.h"
#include "bench/npb/lu/box.h"

// What follows from the state of a point, made once for all who need it.
struct lu_flow {
    double velocity[CFD_DIRECTIONS];
    double volume;  // of a unit of mass: 1 / density
    double energy;  // of a unit of mass
    double kinetic; // of that, |velocity|^2 / 2
};

// Makes `flow` of `u` for the inner points and all that are next to one, ghosts included.
void lu_flow_derive(const struct lu_box *box, const double (*u)[CFD_QUANTITIES],
                    struct lu_flow *flow);

// For all inner points: rate = the operator applied to `u`, whose flow must be derived and whose
// ghosts must be there, minus `forcing`. Other points of `rate` stay as they are.
void lu_flow_rate(const struct lu_box *box, const double (*u)[CFD_QUANTITIES],
                  const struct lu_flow *flow, const double (*forcing)[CFD_QUANTITIES],
                  double (*rate)[CFD_QUANTITIES]);

static inline double lu_flow_pressure(const double u[CFD_QUANTITIES], const struct lu_flow *flow)
{
    return CFD_GAMMA_1 * (u[CFD_ENERGY] - u[CFD_DENSITY] * flow->kinetic);
}

#endif
