// The two-dimensional process grid of kernels that distribute a square matrix. Pure arithmetic:
// no MPI call, so that it can be tested for process counts no test machine has.
#ifndef COSCHED_BENCH_NPB_GRID_H
#define COSCHED_BENCH_NPB_GRID_H

#include <stdbool.h>

// Indices start .. start + count - 1.
struct npb_span {
    int start;
    int count;
};

// rows * columns ranks, rank = row * columns + column, columns being rows or 2 * rows. A rank owns
// the block of the matrix in which its `row_span` and `column_span` cross, and, of each vector, the
// part that `column_span` says; so every row of the grid holds each vector once.
struct npb_grid {
    int rank;
    int rows, columns;
    int row, column;
    struct npb_span row_span;
    struct npb_span column_span;
    // After a product summed over the grid row: the part of `row_span` this rank answers for, all
    // of it on a square grid, one half (by the parity of `column`) on the other; and the rest of
    // it.
    struct npb_span kept;
    struct npb_span given;
    // The rank whose `column_span` is this rank's `kept`, and the other way round; may be itself.
    int transpose_rank;
};

// Lays a matrix of the given order over `ranks` ranks, as seen from `rank`. False, and nothing
// written, where `ranks` is not a power of two.
bool npb_grid_init(struct npb_grid *grid, int rank, int ranks, int order);

// Part `index` of `parts` nearly equal parts of 0 .. size - 1. Halving the parts of a split gives
// exactly the split into twice as many.
struct npb_span npb_grid_part(long long size, int parts, int index);

// The rank in the same grid row at `distance` (a power of two below `columns`) in the hypercube.
int npb_grid_partner(const struct npb_grid *grid, int distance);

#endif
