#include "bench/npb/adi/multipartition.h"

#include <stddef.h>

// The dissipation reaches two points far, and a cell on the surface has a point that is not solved.
enum { THINNEST_CELL = 3 };

static int wrap(int value, int side)
{
    return ((value % side) + side) % side;
}

// Rank a * p + b owns, in slab k of the third direction, the cell (a + k, b - k, k), modulo p. One
// step along the first direction is one step of a, along the second of b, and along the third one
// step of a back and of b on, wherever on the diagonal one starts.
static int rank_at(int side, int a, int b)
{
    return wrap(a, side) * side + wrap(b, side);
}

int multipartition_owner(int side, const int slab[MULTIPARTITION_DIRECTIONS])
{
    return rank_at(side, slab[0] - slab[2], slab[1] + slab[2]);
}

const char *multipartition_init(struct multipartition *partition, int rank, int ranks, int points)
{
    int side = 1;
    while (side * side < ranks)
        side++;
    if (ranks < 1 || side * side != ranks)
        return "the number of processes must be a square";
    if (points / side < THINNEST_CELL)
        return "too many processes: a cell would be thinner than three points";
    int a = rank / side, b = rank % side;
    *partition = (struct multipartition){
        .points = points,
        .side = side,
        .rank = rank,
        .above = {rank_at(side, a + 1, b), rank_at(side, a, b + 1), rank_at(side, a - 1, b + 1)},
        .below = {rank_at(side, a - 1, b), rank_at(side, a, b - 1), rank_at(side, a + 1, b - 1)},
    };
    return NULL;
}

struct multipartition_cell multipartition_cell(const struct multipartition *partition, int index)
{
    int side = partition->side;
    int a = partition->rank / side, b = partition->rank % side;
    struct multipartition_cell cell = {
        .slab = {wrap(a + index, side), wrap(b - index, side), index},
    };
    for (int direction = 0; direction < MULTIPARTITION_DIRECTIONS; direction++)
        cell.span[direction] = npb_grid_part(partition->points, side, cell.slab[direction]);
    return cell;
}

int multipartition_cell_in(const struct multipartition *partition, int direction, int slab)
{
    int a = partition->rank / partition->side, b = partition->rank % partition->side;
    const int index[MULTIPARTITION_DIRECTIONS] = {slab - a, b - slab, slab};
    return wrap(index[direction], partition->side);
}
