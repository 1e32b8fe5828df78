// How FT's grid lies on the ranks: each axis is transformed where a rank holds whole lines of it,
// and in between ranks exchange equal blocks. Pure arithmetic: no MPI call, so that it can be
// tested for process counts no test machine has.
#ifndef COSCHED_BENCH_FT_LAYOUT_H
#define COSCHED_BENCH_FT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

// The planes of z are dealt to `slabs` slabs, as many as there are ranks or planes, so that x and y
// need no message; ranks beyond share slabs as `members`. rank = slab * members + member.
//
//   transformed  held of x    held of y    held of z
//   x            all          by member    by slab
//   y            by member    all          by slab
//   z            by member    by slab      all
struct ft_layout {
    int nx, ny, nz;
    int slabs, slab;
    int members, member;
    int x_held;           // of y's and z's lines
    int y_held_by_member; // of x's lines
    int y_held_by_slab;   // of z's lines
    int z_held;           // of x's and y's lines
};

// Lays the grid over `ranks` ranks, as seen from `rank`. False, and nothing written, where `ranks`
// is not a power of two or so large that a rank would not have FT_LANES lines to transform.
bool ft_layout_init(struct ft_layout *layout, int nx, int ny, int nz, int rank, int ranks);

// Points a rank holds: the same for every rank and axis.
size_t ft_layout_points(const struct ft_layout *layout);

#endif
