// The part of LU's grid that one rank has, and how it lies in memory. Pure arithmetic: no MPI call,
// so that it can be tested for process counts no test machine has.
#ifndef COSCHED_BENCH_LU_BOX_H
#define COSCHED_BENCH_LU_BOX_H

#include "bench/npb/cfd/cfd.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    LU_GHOSTS = 2,  // layers around the box: the widest difference reaches that far
    LU_FEWEST = 3,  // points a rank has at least in each direction, as in the reference
    LU_NOBODY = -1, // as a neighbour: here the cube ends
};

// Cut along x and y only, so that each rank has pencils along z. Indices of points are local, from
// 0 for the first point of the box along each direction.
struct lu_box {
    int parts[CFD_DIRECTIONS];       // ranks along each direction; 1 along z
    int points[CFD_DIRECTIONS];      // of the whole grid
    int start[CFD_DIRECTIONS];       // the whole grid's index of local index 0
    int count[CFD_DIRECTIONS];       // points of the box
    int inner_first[CFD_DIRECTIONS]; // the box without the surface of the cube:
    int inner_end[CFD_DIRECTIONS];   // inner_first <= index < inner_end
    int before[CFD_DIRECTIONS];      // rank of the box with the smaller indices, or LU_NOBODY
    int after[CFD_DIRECTIONS];
    ptrdiff_t stride[CFD_DIRECTIONS]; // distance in memory of neighbours along each direction
    ptrdiff_t origin;                 // where point 0, 0, 0 is
    size_t storage;                   // points in memory, ghosts included
};

// A cube of points^3, cut for `ranks` ranks, as seen from `rank`. Returns null, or why it cannot be
// cut so, the same on all ranks.
const char *lu_box_init(struct lu_box *box, int rank, int ranks, int points);

static inline ptrdiff_t lu_box_at(const struct lu_box *box, int x, int y, int z)
{
    return box->origin + x * box->stride[CFD_X] + y * box->stride[CFD_Y] + z * box->stride[CFD_Z];
}

// Where in the unit cube a point lies.
void lu_box_position(const struct lu_box *box, int x, int y, int z,
                     double position[CFD_DIRECTIONS]);

#endif
