// The multipartition of a cubic grid (NAS-95-020): p * p ranks own p cells each, one in every slab
// of every direction, so that a sweep along any direction keeps all ranks busy from its first stage
// to its last. Pure arithmetic: no MPI call.
#ifndef COSCHED_BENCH_MULTIPARTITION_H
#define COSCHED_BENCH_MULTIPARTITION_H

#include "bench/npb/common/grid.h"

enum { MULTIPARTITION_DIRECTIONS = 3 };

struct multipartition {
    int points; // on an edge of the grid
    int side;   // p: cells on an edge, and cells of each rank
    int rank;
    // The one rank that owns all neighbours of this rank's cells along a direction: those one slab
    // higher and those one slab lower. The rank itself where p is 1.
    int above[MULTIPARTITION_DIRECTIONS];
    int below[MULTIPARTITION_DIRECTIONS];
};

struct multipartition_cell {
    int slab[MULTIPARTITION_DIRECTIONS];             // 0 .. side - 1
    struct npb_span span[MULTIPARTITION_DIRECTIONS]; // of grid points
};

// Lays the grid over `ranks` ranks, as seen from `rank`. Returns null, or why it cannot be: a
// phrase for standard error; then nothing is written.
const char *multipartition_init(struct multipartition *partition, int rank, int ranks, int points);

// The rank that owns the cell at the given slabs.
int multipartition_owner(int side, const int slab[MULTIPARTITION_DIRECTIONS]);

// This rank's cell number `index`, 0 .. side - 1.
struct multipartition_cell multipartition_cell(const struct multipartition *partition, int index);

// The number of this rank's cell in a slab of a direction.
int multipartition_cell_in(const struct multipartition *partition, int direction, int slab);

#endif
