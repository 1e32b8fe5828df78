// The implicit half of a time step of BT and SP: independent systems of equations, banded, one for
// each line of grid points along a direction. They are solved by elimination up the line and
// substitution down it, from cell to cell: at each stage a rank works on its cell in one slab and
// hands what the next cell needs, for all lines in one message, to the one rank that owns it.
#ifndef COSCHED_BENCH_ADI_LINES_H
#define COSCHED_BENCH_ADI_LINES_H

#include "bench/npb/adi/cell.h"

// Lines that are worked on together, so that the innermost loops run over independent numbers side
// by side whatever the direction.
enum { ADI_LANES = 8 };

// One number of each of these lines.
typedef double adi_lanes[ADI_LANES];

// The part of some lines in one cell. Where there are fewer lines left than lanes, the last one is
// repeated.
struct adi_batch {
    const struct adi_cell *cell;
    const struct cfd_axis *axis;
    int direction;
    double time_step;
    int points;                  // not on the surface of the cube; solved for
    int first_index;             // the grid's index of the first of them
    ptrdiff_t step;              // from a point of a line to the next
    ptrdiff_t origin[ADI_LANES]; // where the first of these points is
};

struct adi_method {
    int up;   // numbers a line hands to the next cell in elimination
    int down; // and back in substitution
    int kept; // numbers a point keeps from elimination for substitution

    // Eliminates the batch's points in ascending order. `handed` has what the cell below handed up,
    // zeros at the surface, and is left with what goes to the one above; `kept` has room for
    // `points` times the numbers kept.
    void (*eliminate)(const struct adi_batch *batch, adi_lanes *handed, adi_lanes *kept);

    // The same in descending order, from the cell above to the one below; leaves the solution in
    // `right` of the batch's cell.
    void (*substitute)(const struct adi_batch *batch, adi_lanes *handed, const adi_lanes *kept);
};

struct adi_lines {
    const struct adi_method *method;
    const struct multipartition *partition;
    struct adi_cell *cells;
    const struct cfd_axis *axes;
    double time_step;
    adi_lanes *kept;      // of a batch that is eliminated and substituted in one go
    adi_lanes *kept_long; // of all batches of all cells but those in the last slab
    size_t kept_cell;     // from one cell to the next
    size_t kept_batch;    // and from one batch to the next
    adi_lanes *handed;
    double *outgoing;
    double *incoming[2]; // the message to come is waited for while the one here is used
};

// For this rank's cells, which stay the caller's, as do method, partition and axes. Does not come
// back without memory.
struct adi_lines adi_lines_make(const struct adi_method *method,
                                const struct multipartition *partition, struct adi_cell *cells,
                                const struct cfd_axis axes[CFD_DIRECTIONS], double time_step);

void adi_lines_free(struct adi_lines *lines);

// Replaces `right` at all inner points of all cells by the solution of the systems along a
// direction. Collective.
void adi_lines_solve(struct adi_lines *lines, int direction);

// Numbers of `quantity` at the points `distance` points up the batch's lines.
static inline void adi_batch_gather(const struct adi_batch *batch, const double *quantity,
                                    ptrdiff_t distance, double *restrict values)
{
    const double *from = quantity + distance * batch->step;
    for (int lane = 0; lane < ADI_LANES; lane++)
        values[lane] = from[batch->origin[lane]];
}

static inline void adi_batch_scatter(const struct adi_batch *batch, double *quantity,
                                     ptrdiff_t distance, const double *restrict values)
{
    double *to = quantity + distance * batch->step;
    for (int lane = 0; lane < ADI_LANES; lane++)
        to[batch->origin[lane]] = values[lane];
}

#endif
