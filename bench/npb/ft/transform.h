// Fourier transforms of one dimension, several side by side: the inner loops run over the
// transforms, so they are contiguous for every axis of the grid. Pure arithmetic: no MPI call.
#ifndef COSCHED_BENCH_FT_TRANSFORM_H
#define COSCHED_BENCH_FT_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>

enum { FT_LANES = 4, FT_PAIRS = FT_LANES / 2 };

// As wide as every x86-64 has registers: compilers spill vectors that are wider, and do not find
// the vectors in plain loops over lanes.
typedef double ft_pair __attribute__((vector_size(2 * sizeof(double))));

// One point of FT_LANES transforms, one cache line. All arrays of the kernel are made of such rows.
union ft_row {
    _Alignas(64) struct {
        double re[FT_LANES];
        double im[FT_LANES];
    };
    struct {
        ft_pair re_pair[FT_PAIRS];
        ft_pair im_pair[FT_PAIRS];
    };
};

_Static_assert(sizeof(union ft_row) == 64, "a row is one cache line");

// What the transforms of one length need; holds scratch memory, so one user at a time.
struct ft_plan;

// `length` is a power of two from 16, else null is returned. To be freed with ft_plan_free(). Does
// not come back without memory.
struct ft_plan *ft_plan_make(int length);

void ft_plan_free(struct ft_plan *plan);

// The unnormalized forward transform (exponent -2 pi i j k / length) of the points that `in` names,
// in natural order, into the rows that `out` names, in natural order. Both name as many rows as the
// plan is long. They may name the same rows, as all of `in` is read before anything is
// written. With reals and imaginaries exchanged on both ends it is the inverse transform.
void ft_transform(struct ft_plan *plan, union ft_row *const *in, union ft_row *const *out);

// Zeroed rows, aligned to cache lines, to be freed with free(). Does not come back without memory.
union ft_row *ft_rows_allocate(size_t count);

#endif
