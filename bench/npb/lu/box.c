#include "bench/npb/lu/box.h"

#include "bench/npb/common/grid.h"

static void set_span(struct lu_box *box, int direction, int parts, struct npb_span span)
{
    bool lowest = span.start == 0;
    bool highest = span.start + span.count == box->points[direction];
    box->parts[direction] = parts;
    box->start[direction] = span.start;
    box->count[direction] = span.count;
    box->inner_first[direction] = lowest ? 1 : 0;
    box->inner_end[direction] = highest ? span.count - 1 : span.count;
}

static void set_neighbours(struct lu_box *box, int direction, int rank, int distance)
{
    int part_end = box->start[direction] + box->count[direction];
    box->before[direction] = box->start[direction] == 0 ? LU_NOBODY : rank - distance;
    box->after[direction] = part_end == box->points[direction] ? LU_NOBODY : rank + distance;
}

static void set_layout(struct lu_box *box)
{
    ptrdiff_t stride = 1;
    box->origin = 0;
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++) {
        box->stride[direction] = stride;
        box->origin += LU_GHOSTS * stride;
        stride *= box->count[direction] + 2 * LU_GHOSTS;
    }
    box->storage = (size_t)stride;
}

const char *lu_box_init(struct lu_box *box, int rank, int ranks, int points)
{
    struct npb_grid grid;
    if (!npb_grid_init(&grid, rank, ranks, points))
        return "the number of processes must be a power of two";
    if (points / grid.columns < LU_FEWEST)
        return "too many processes: each must have 3 planes of the grid in each direction";
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
        box->points[direction] = points;
    set_span(box, CFD_X, grid.columns, grid.column_span);
    set_span(box, CFD_Y, grid.rows, grid.row_span);
    set_span(box, CFD_Z, 1, (struct npb_span){.start = 0, .count = points});
    set_neighbours(box, CFD_X, rank, 1);
    set_neighbours(box, CFD_Y, rank, grid.columns);
    set_neighbours(box, CFD_Z, rank, 0);
    set_layout(box);
    return NULL;
}

void lu_box_position(const struct lu_box *box, int x, int y, int z, double position[CFD_DIRECTIONS])
{
    const int index[CFD_DIRECTIONS] = {x, y, z};
    for (int direction = 0; direction < CFD_DIRECTIONS; direction++)
        position[direction] =
            cfd_coordinate(box->start[direction] + index[direction], box->points[direction]);
}
