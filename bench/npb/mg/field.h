// The arithmetic of MG on one rank: fields on a box of points, and the operators that a V-cycle is
// made of. Pure: no MPI call.
//
// A field is an array of (nx + 2)(ny + 2)(nz + 2) numbers, x fastest: the box with a halo one point
// thick, which holds what the neighbours have. Operators read the halo and, unless they say so,
// write the box only.
#ifndef COSCHED_BENCH_MG_FIELD_H
#define COSCHED_BENCH_MG_FIELD_H

#include <stddef.h>

// Along x, of the largest box that a rank can have.
enum { MG_MOST_POINTS = 512 };

struct mg_box {
    int nx, ny, nz; // without the halo; 0 leaves the halo alone
};

// Weights of a symmetric 27-point operator: of the point itself, and of each of its 6 neighbours
// across faces, 12 across edges, 8 across corners.
struct mg_weights {
    double centre, face, edge, corner;
};

size_t mg_field_size(const struct mg_box *box);

// Where row (y, z) begins, at its halo point x = 0; the box begins at 1.
static inline size_t mg_field_row(const struct mg_box *box, int y, int z)
{
    return ((size_t)z * ((size_t)box->ny + 2) + (size_t)y) * ((size_t)box->nx + 2);
}

// residual = right - A u with the Laplacian A of the benchmark. `right` may be `residual` itself.
void mg_field_residual(const struct mg_box *box, const double *u, const double *right,
                       double *residual);

// u += S residual, S being the smoother that `weights` says; its corner weight must be 0.
void mg_field_smooth(const struct mg_box *box, const struct mg_weights *weights,
                     const double *residual, double *u);

// How the points of two levels lie over each other on a rank: point c of the coarse box, counted
// from its halo, is point 2 c - shift of the fine box along each axis. `shift` is 0, or 1 on a rank
// whose single fine point is a coarse point too.
struct mg_pair {
    struct mg_box fine, coarse;
    int shift[3]; // x, y, z
};

// coarse = P fine, the full weighting of 27 points.
void mg_field_restrict(const struct mg_pair *pair, const double *fine, double *coarse);

// fine += Q coarse, the trilinear interpolation, in the halo of the fine box too.
void mg_field_prolong(const struct mg_pair *pair, const double *coarse, double *fine);

struct mg_size {
    double square_sum;
    double largest; // magnitude
};

struct mg_size mg_field_measure(const struct mg_box *box, const double *field);

#endif
