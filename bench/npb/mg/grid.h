// How MG lays its cubes of points over the ranks. Pure arithmetic: no MPI call, so that it can be
// tested for process counts no test machine has.
//
// Axes are numbered 0 (x, contiguous in memory), 1 (y), 2 (z). Both the points of a level and the
// ranks of an axis are powers of two. A level may have fewer points than there are ranks: then some
// ranks are idle on it, and the neighbours of the others are not next to them.
#ifndef COSCHED_BENCH_MG_GRID_H
#define COSCHED_BENCH_MG_GRID_H

#include "bench/npb/common/grid.h"

#include <stdbool.h>

enum { MG_AXES = 3 };

// shape[0] * shape[1] * shape[2] ranks, of which this one is at `place`; place[0] counts fastest.
struct mg_grid {
    int ranks;
    int shape[MG_AXES];
    int place[MG_AXES];
};

// One level as one rank sees it.
struct mg_level {
    int points; // of the whole level along each axis
    struct npb_span part[MG_AXES];
    bool idle;            // no points here
    bool sparse[MG_AXES]; // more ranks than points along the axis
    // The ranks that own the points before and behind this rank's part. The level is periodic, so
    // they always exist; without meaning where the part is empty.
    int lower[MG_AXES], upper[MG_AXES];
};

// What a rank does along an axis when a level is prolonged to the next finer one: see mg_grid_duty.
enum mg_duty { MG_KEEP, MG_LEND, MG_BORROW };

// As cubic a grid as `ranks` allows, seen from `rank`. False, and nothing written, where `ranks` is
// not a power of two.
bool mg_grid_init(struct mg_grid *grid, int rank, int ranks);

struct mg_level mg_grid_level(const struct mg_grid *grid, int points);

// A rank with points on the finer level but none on the coarser must borrow what it interpolates
// between. It does so axis by axis, from `lower` and `upper` of the *finer* level, which lend their
// only plane; a rank that has borrowed along one axis can lend it along the next.
enum mg_duty mg_grid_duty(const struct mg_level *coarse, const struct mg_level *fine, int axis);

#endif
