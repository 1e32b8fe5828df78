// The memory of one cell of BT and SP, the two applications that solve by alternating directions
// (RNR-94-007, section 3): what is known at each of its points, and at those around it.
#ifndef COSCHED_BENCH_ADI_CELL_H
#define COSCHED_BENCH_ADI_CELL_H

#include "bench/npb/adi/multipartition.h"
#include "bench/npb/cfd/cfd.h"

#include <stdbool.h>
#include <stddef.h>

// Layers of the neighbours' points around a cell, as far as the dissipation reaches.
enum { ADI_HALO = 2 };

// Every array has one number a point, x running fastest, and is addressed from the cell's own first
// point: a point is the sum of coordinate * stride, its neighbour in the halo has coordinate -1.
// Quantities of one kind are `quantity` numbers apart.
struct adi_cell {
    int first[CFD_DIRECTIONS];             // the grid's index of the cell's first point
    int size[CFD_DIRECTIONS];              // points, without halo
    int slab[CFD_DIRECTIONS];              // place among the cells
    struct npb_span inner[CFD_DIRECTIONS]; // points of the cell that are not on the cube's surface
    ptrdiff_t stride[CFD_DIRECTIONS];
    ptrdiff_t quantity;
    double *state;   // the five conserved quantities; the only one whose halo is exchanged
    double *right;   // first the right side, then the change of the state; 0 on the surface
    double *forcing; // the part of the right side that does not change
    // What adi_primitives() derives from the state:
    double *inverse_density;
    double *velocity; // three
    double *kinetic;  // half the velocity squared
    double *pressure;
    double *sound; // its speed; null if the cell was made without
    double *memory;
};

// Allocates a cell, everything 0. Does not come back without memory.
struct adi_cell adi_cell_make(const struct multipartition_cell *part, int points, bool with_sound);

void adi_cell_free(struct adi_cell *cell);

// A box of points of a cell, which may reach into its halo.
struct adi_box {
    int from[CFD_DIRECTIONS];
    int count[CFD_DIRECTIONS];
};

// The cell's own points, widened by `halo` layers on those sides that have a neighbour.
struct adi_box adi_cell_box(const struct adi_cell *cell, const struct multipartition *partition,
                            int halo);

// Where a row of points, and with it a point, begins.
static inline ptrdiff_t adi_cell_at(const struct adi_cell *cell, int x, int y, int z)
{
    return x + y * cell->stride[CFD_Y] + z * cell->stride[CFD_Z];
}

#endif
