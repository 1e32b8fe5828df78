// The waves of which SP composes a small change of the flow (RNR-94-007, section 3): along a
// direction d, five that each obey an equation of their own.
#ifndef COSCHED_BENCH_SP_WAVES_H
#define COSCHED_BENCH_SP_WAVES_H

#include "bench/npb/adi/lines.h"

// With dr, dv, dp the changes of density, velocity and pressure, r the density and c the speed of
// sound:
enum {
    SP_ENTROPY,     // dr - dp / c^2, carried by the flow
    SP_SHEAR,       // dv along d + 1, cyclically; carried by the flow
    SP_OTHER_SHEAR, // dv along d + 2; carried by the flow
    SP_SOUND_UP,    // (dp / (r c) + dv along d) / sqrt(2)
    SP_SOUND_DOWN,  // (dp / (r c) - dv along d) / sqrt(2)
    SP_WAVES = CFD_QUANTITIES,
};

// Replaces, at the inner points of the cell, changes of the conserved quantities in `right` by
// waves along x.
void sp_waves_enter(struct adi_cell *cell);

// Adds to the state the changes that the waves along x in `right` are.
void sp_waves_leave(struct adi_cell *cell);

// Waves along d to those along d + 1, cyclically. This does not depend on the flow: three turns
// change nothing.
void sp_waves_turn(const adi_lanes waves[SP_WAVES], adi_lanes turned[SP_WAVES]);

#endif
