#include "bench/npb/mg/grid.h"

bool mg_grid_init(struct mg_grid *grid, int rank, int ranks)
{
    if (ranks < 1 || (ranks & (ranks - 1)) != 0)
        return false;
    *grid = (struct mg_grid){.ranks = ranks, .shape = {1, 1, 1}};
    // The longest strides are cut first: faces in memory order need no packing.
    int axis = MG_AXES - 1;
    for (int left = ranks; left > 1; left /= 2) {
        grid->shape[axis] *= 2;
        axis = axis > 0 ? axis - 1 : MG_AXES - 1;
    }
    for (int a = 0; a < MG_AXES; a++) {
        grid->place[a] = rank % grid->shape[a];
        rank /= grid->shape[a];
    }
    return true;
}

static int rank_along(const struct mg_grid *grid, int axis, int place)
{
    int rank = 0;
    for (int a = MG_AXES - 1; a >= 0; a--)
        rank = rank * grid->shape[a] + (a == axis ? place : grid->place[a]);
    return rank;
}

struct mg_level mg_grid_level(const struct mg_grid *grid, int points)
{
    struct mg_level level = {.points = points};
    for (int axis = 0; axis < MG_AXES; axis++) {
        int ranks = grid->shape[axis], place = grid->place[axis];
        level.part[axis] = npb_grid_part(points, ranks, place);
        level.idle |= level.part[axis].count == 0;
        level.sparse[axis] = ranks > points;
        int stride = level.sparse[axis] ? ranks / points : 1; // between ranks with points
        level.lower[axis] = rank_along(grid, axis, (place + ranks - stride) % ranks);
        level.upper[axis] = rank_along(grid, axis, (place + stride) % ranks);
    }
    return level;
}

enum mg_duty mg_grid_duty(const struct mg_level *coarse, const struct mg_level *fine, int axis)
{
    if (fine->idle)
        return MG_KEEP;
    for (int later = axis + 1; later < MG_AXES; later++) {
        if (coarse->part[later].count == 0)
            return MG_KEEP;
    }
    if (!coarse->sparse[axis])
        return MG_KEEP;
    return coarse->part[axis].count == 0 ? MG_BORROW : MG_LEND;
}
