// What LU is verified by: norms of the last residual and of the error of the solution, and an
// integral over a surface inside the cube (RNR-94-007, section 3). No MPI call: each function gives
// one rank's share.
#ifndef COSCHED_BENCH_LU_RESULT_H
#define COSCHED_BENCH_LU_RESULT_H

#include "bench/npb/cfd/cfd.h"
#include "bench/npb/lu/box.h"
#include "bench/npb/lu/flow.h"

// Nothing but doubles, so that it is one MPI message.
struct lu_result {
    double residual[CFD_QUANTITIES]; // sums of squares, then norms
    double error[CFD_QUANTITIES];
    double integral;
};

enum { LU_RESULT_DOUBLES = sizeof(struct lu_result) / sizeof(double) };

// This box's share: its sums of squares and its part of the integral.
struct lu_result lu_result_of(const struct lu_box *box, const double (*u)[CFD_QUANTITIES],
                              const struct lu_flow *flow, const double (*rate)[CFD_QUANTITIES]);

#endif
