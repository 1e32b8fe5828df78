// LU's messages: two layers of ghosts at once for the operator, and the pipeline of the sweeps, one
// line of points at a time.
#ifndef COSCHED_BENCH_LU_EXCHANGE_H
#define COSCHED_BENCH_LU_EXCHANGE_H

#include "bench/npb/cfd/cfd.h"
#include "bench/npb/lu/box.h"

struct lu_exchange {
    const struct lu_box *box;
    double (*sent)[CFD_QUANTITIES];
    double (*received)[CFD_QUANTITIES];
};

// Keeps `box`, which must outlive it. To be released with lu_exchange_free().
struct lu_exchange lu_exchange_make(const struct lu_box *box);
void lu_exchange_free(struct lu_exchange *exchange);

// Fills both layers of ghosts along x and y, edges excepted, with the neighbours' points.
void lu_exchange_ghosts(struct lu_exchange *exchange, double (*u)[CFD_QUANTITIES]);

// Before and after a sweep has passed plane z: waits for the neighbours' last points in the first
// layer of ghosts, and hands this box's last points on. Upward is towards larger indices.
void lu_exchange_receive(struct lu_exchange *exchange, bool upward, int z,
                         double (*v)[CFD_QUANTITIES]);
void lu_exchange_send(struct lu_exchange *exchange, bool upward, int z,
                      double (*v)[CFD_QUANTITIES]);

#endif
