#include "bench/npb/common/grid.h"

struct npb_span npb_grid_part(long long size, int parts, int index)
{
    int start = (int)(size * index / parts);
    int end = (int)(size * (index + 1) / parts);
    return (struct npb_span){.start = start, .count = end - start};
}

bool npb_grid_init(struct npb_grid *grid, int rank, int ranks, int order)
{
    if (ranks < 1 || (ranks & (ranks - 1)) != 0)
        return false;
    int rows = 1;
    while (rows * rows * 4 <= ranks)
        rows *= 2;
    int columns = ranks / rows;
    int row = rank / columns, column = rank % columns;
    int split = columns / rows; // parts a row span is kept in: 1 or 2
    int half = column % split;

    *grid = (struct npb_grid){
        .rank = rank,
        .rows = rows,
        .columns = columns,
        .row = row,
        .column = column,
        .row_span = npb_grid_part(order, rows, row),
        .column_span = npb_grid_part(order, columns, column),
        .kept = npb_grid_part(order, columns, row * split + half),
        .transpose_rank = column / split * columns + row * split + half,
    };
    if (split == 2)
        grid->given = npb_grid_part(order, columns, row * split + 1 - half);
    return true;
}

int npb_grid_partner(const struct npb_grid *grid, int distance)
{
    return grid->row * grid->columns + (grid->column ^ distance);
}
