// The right-hand side of MG: +1 at the ten points to which the random sequence gives the largest
// numbers, -1 at the ten smallest, 0 elsewhere (RNR-94-007). Pure: no MPI call.
#ifndef COSCHED_BENCH_MG_CHARGES_H
#define COSCHED_BENCH_MG_CHARGES_H

#include "bench/npb/mg/grid.h"

enum { MG_CHARGES = 10 };

// The largest numbers seen and the points they belong to, largest first; -HUGE_VAL where fewer have
// been seen. Nothing but doubles, so that it is one MPI message.
struct mg_peaks {
    double height[MG_CHARGES];
    double point[MG_CHARGES]; // (z * points + y) * points + x, from 0
};

// Of the numbers and, at index 1, of their negatives.
struct mg_charges {
    struct mg_peaks peaks[2];
};

// Those of the level's part that is here.
struct mg_charges mg_charges_find(const struct mg_level *level);

// Adds those of another part.
void mg_charges_merge(struct mg_charges *charges, const struct mg_charges *others);

// Writes the charges that are here into a zeroed field with halo.
void mg_charges_place(const struct mg_charges *charges, const struct mg_level *level,
                      double *field);

#endif
