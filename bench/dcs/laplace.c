#include "bench/dcs/laplace.h"

#include "bench/npb/common/grid.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

static double solution(const struct laplace *part, int row, int column)
{
    double x = (double)column / (part->size + 1);
    double y = (double)row / (part->size + 1);
    return x * x - y * y;
}

bool laplace_init(struct laplace *part, int size, int ranks, int rank)
{
    struct npb_span span = npb_grid_part(size, ranks, rank);
    *part = (struct laplace){.size = size, .first_row = span.start + 1, .rows = span.count};
    part->omega = 2 / (1 + sin(pi / (size + 1)));
    part->cells = calloc((size_t)(part->rows + 2) * (size_t)(size + 2), sizeof *part->cells);
    return part->cells != NULL;
}

void laplace_free(struct laplace *part)
{
    free(part->cells);
    part->cells = NULL;
}

double *laplace_row(const struct laplace *part, int row)
{
    return part->cells + (ptrdiff_t)row * (part->size + 2);
}

void laplace_reset(struct laplace *part)
{
    for (int row = 0; row < part->rows + 2; row++) {
        int whole_row = part->first_row - 1 + row;
        bool inside = whole_row >= 1 && whole_row <= part->size;
        double *cells = laplace_row(part, row);
        for (int column = 0; column < part->size + 2; column++) {
            bool free_point = inside && column >= 1 && column <= part->size;
            cells[column] = free_point ? 0 : solution(part, whole_row, column);
        }
    }
}

double laplace_relax(struct laplace *part, enum laplace_colour colour)
{
    double largest = 0;
    for (int row = 1; row <= part->rows; row++) {
        const double *above = laplace_row(part, row - 1), *below = laplace_row(part, row + 1);
        double *cells = laplace_row(part, row);
        for (int column = 1 + (part->first_row + row + (int)colour) % 2; column <= part->size;
             column += 2) {
            double mean =
                (above[column] + below[column] + cells[column - 1] + cells[column + 1]) / 4;
            double change = part->omega * (mean - cells[column]);
            cells[column] += change;
            largest = fmax(largest, fabs(change));
        }
    }
    return largest;
}

double laplace_error(const struct laplace *part)
{
    double largest = 0;
    for (int row = 1; row <= part->rows; row++) {
        for (int column = 1; column <= part->size; column++) {
            double wanted = solution(part, part->first_row - 1 + row, column);
            largest = fmax(largest, fabs(laplace_row(part, row)[column] - wanted));
        }
    }
    return largest;
}
