// States that are known as functions of the place, and norms of the difference from them.
#ifndef COSCHED_BENCH_ADI_FIELD_H
#define COSCHED_BENCH_ADI_FIELD_H

#include "bench/npb/adi/cell.h"

// A function of the place, such as cfd_exact() and cfd_initial().
typedef void adi_field_fn(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES]);

// Sets the state in `box` of the cell.
void adi_field_set(struct adi_cell *cell, const struct adi_box *box, int points,
                   adi_field_fn *field);

// Adds to `sums` the squares of the state's distance from a field at all points of the cell.
void adi_field_distance(const struct adi_cell *cell, const struct adi_box *box, int points,
                        adi_field_fn *field, double sums[CFD_QUANTITIES]);

// Adds to `sums` the squares of `right` at all inner points.
void adi_field_right(const struct adi_cell *cell, double sums[CFD_QUANTITIES]);

#endif
