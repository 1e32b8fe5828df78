#include "bench/npb/adi/cell.h"

#include "bench/npb/common/job.h"

#include <stdlib.h>

enum {
    LINE_NUMBERS = 8, // in a cache line
    SETS = 64,        // of a first-level cache, as lines
    SET_STEP = 13,    // odd, so that quantities of one point are spread over all sets
};

// Numbers from one quantity to the next: those of the points and the halo, padded so that the many
// quantities of a point never compete for one set of the cache, as they would where the volume is a
// power of two.
static ptrdiff_t quantity_distance(ptrdiff_t volume)
{
    ptrdiff_t lines = (volume + LINE_NUMBERS - 1) / LINE_NUMBERS;
    while (lines % SETS != SET_STEP)
        lines++;
    return lines * LINE_NUMBERS;
}

struct adi_cell adi_cell_make(const struct multipartition_cell *part, int points, bool with_sound)
{
    struct adi_cell cell = {0};
    ptrdiff_t volume = 1, origin = 0;
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        int low = part->span[d].start, high = low + part->span[d].count;
        int inner_low = low > 0 ? low : 1, inner_high = high < points ? high : points - 1;
        cell.first[d] = low;
        cell.size[d] = high - low;
        cell.slab[d] = part->slab[d];
        cell.inner[d] =
            (struct npb_span){.start = inner_low - low, .count = inner_high - inner_low};
        cell.stride[d] = volume;
        origin += ADI_HALO * volume;
        volume *= cell.size[d] + 2 * ADI_HALO;
    }
    cell.quantity = quantity_distance(volume);

    struct {
        double **array;
        int quantities;
    } arrays[] = {
        {&cell.state, CFD_QUANTITIES},
        {&cell.right, CFD_QUANTITIES},
        {&cell.forcing, CFD_QUANTITIES},
        {&cell.inverse_density, 1},
        {&cell.velocity, CFD_DIRECTIONS},
        {&cell.kinetic, 1},
        {&cell.pressure, 1},
        {&cell.sound, with_sound ? 1 : 0},
    };
    int quantities = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        quantities += arrays[i].quantities;
    cell.memory = npb_job_allocate((size_t)(quantities * cell.quantity), sizeof(double));
    double *next = cell.memory + origin;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i].array = arrays[i].quantities > 0 ? next : NULL;
        next += arrays[i].quantities * cell.quantity;
    }
    return cell;
}

void adi_cell_free(struct adi_cell *cell)
{
    free(cell->memory);
}

struct adi_box adi_cell_box(const struct adi_cell *cell, const struct multipartition *partition,
                            int halo)
{
    struct adi_box box;
    for (int d = 0; d < CFD_DIRECTIONS; d++) {
        int low = cell->slab[d] > 0 ? halo : 0;
        int high = cell->slab[d] < partition->side - 1 ? halo : 0;
        box.from[d] = -low;
        box.count[d] = low + cell->size[d] + high;
    }
    return box;
}
