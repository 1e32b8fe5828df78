// Laplace's equation on the unit square by red-black successive over-relaxation, the rows of the
// square spread over ranks. Pure arithmetic: who exchanges the rows between two parts is the
// caller.
//
// The boundary is that of x^2 - y^2, which satisfies the five-point difference equation exactly: so
// the solution is known at every point.
#ifndef COSCHED_BENCH_DCS_LAPLACE_H
#define COSCHED_BENCH_DCS_LAPLACE_H

#include <stdbool.h>

enum laplace_colour { LAPLACE_RED, LAPLACE_BLACK };

// Rows first_row .. first_row + rows - 1 of those inside, 1 .. size, and one more on either side,
// which belongs to the neighbour or the boundary; each of size + 2 numbers.
struct laplace {
    int size;
    int first_row;
    int rows;
    double omega;
    double *cells; // from laplace_init() to laplace_free()
};

// Part `rank` of `ranks` of the square with `size` times `size` points inside; there are at least
// as many rows as ranks. False without memory.
bool laplace_init(struct laplace *part, int size, int ranks, int rank);
void laplace_free(struct laplace *part);

// The boundary, and 0 inside.
void laplace_reset(struct laplace *part);

// Row 0 .. rows + 1 of this part, the neighbours' rows included.
double *laplace_row(const struct laplace *part, int row);

// Relaxes the points of one colour. Returns the largest change.
double laplace_relax(struct laplace *part, enum laplace_colour colour);

// The largest distance of this part from the solution.
double laplace_error(const struct laplace *part);

#endif
