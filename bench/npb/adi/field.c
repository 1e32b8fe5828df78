#include "bench/npb/adi/field.h"

// What is done at each point of a box; `at` is where its numbers are.
typedef void visit_fn(const struct adi_cell *cell, ptrdiff_t at, const double field[CFD_QUANTITIES],
                      double sums[CFD_QUANTITIES]);

static void visit_box(const struct adi_cell *cell, const struct adi_box *box, int points,
                      adi_field_fn *field, visit_fn *visit, double sums[CFD_QUANTITIES])
{
    int end[CFD_DIRECTIONS];
    for (int d = 0; d < CFD_DIRECTIONS; d++)
        end[d] = box->from[d] + box->count[d];
    for (int z = box->from[CFD_Z]; z < end[CFD_Z]; z++) {
        for (int y = box->from[CFD_Y]; y < end[CFD_Y]; y++) {
            for (int x = box->from[CFD_X]; x < end[CFD_X]; x++) {
                const double position[CFD_DIRECTIONS] = {
                    cfd_coordinate(cell->first[CFD_X] + x, points),
                    cfd_coordinate(cell->first[CFD_Y] + y, points),
                    cfd_coordinate(cell->first[CFD_Z] + z, points),
                };
                double values[CFD_QUANTITIES];
                field(position, values);
                visit(cell, adi_cell_at(cell, x, y, z), values, sums);
            }
        }
    }
}

static void set_state(const struct adi_cell *cell, ptrdiff_t at, const double field[CFD_QUANTITIES],
                      double sums[CFD_QUANTITIES])
{
    (void)sums;
    for (int m = 0; m < CFD_QUANTITIES; m++)
        cell->state[at + m * cell->quantity] = field[m];
}

static void add_distance(const struct adi_cell *cell, ptrdiff_t at,
                         const double field[CFD_QUANTITIES], double sums[CFD_QUANTITIES])
{
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        double distance = cell->state[at + m * cell->quantity] - field[m];
        sums[m] += distance * distance;
    }
}

void adi_field_set(struct adi_cell *cell, const struct adi_box *box, int points,
                   adi_field_fn *field)
{
    visit_box(cell, box, points, field, set_state, NULL);
}

void adi_field_distance(const struct adi_cell *cell, const struct adi_box *box, int points,
                        adi_field_fn *field, double sums[CFD_QUANTITIES])
{
    visit_box(cell, box, points, field, add_distance, sums);
}

void adi_field_right(const struct adi_cell *cell, double sums[CFD_QUANTITIES])
{
    const struct npb_span *inner = cell->inner;
    for (int z = inner[CFD_Z].start; z < inner[CFD_Z].start + inner[CFD_Z].count; z++) {
        for (int y = inner[CFD_Y].start; y < inner[CFD_Y].start + inner[CFD_Y].count; y++) {
            const double *row = cell->right + adi_cell_at(cell, inner[CFD_X].start, y, z);
            for (int m = 0; m < CFD_QUANTITIES; m++) {
                const double *values = row + m * cell->quantity;
                for (int i = 0; i < inner[CFD_X].count; i++)
                    sums[m] += values[i] * values[i];
            }
        }
    }
}
