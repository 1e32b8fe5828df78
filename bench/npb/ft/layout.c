#include "bench/npb/ft/layout.h"

#include "bench/npb/ft/transform.h"

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

bool ft_layout_init(struct ft_layout *layout, int nx, int ny, int nz, int rank, int ranks)
{
    if (ranks < 1 || (ranks & (ranks - 1)) != 0)
        return false;
    int slabs = smaller(ranks, smaller(ny, nz));
    int members = ranks / slabs;
    if (nx / members < FT_LANES || ny / members < FT_LANES)
        return false;
    *layout = (struct ft_layout){
        .nx = nx,
        .ny = ny,
        .nz = nz,
        .slabs = slabs,
        .slab = rank / members,
        .members = members,
        .member = rank % members,
        .x_held = nx / members,
        .y_held_by_member = ny / members,
        .y_held_by_slab = ny / slabs,
        .z_held = nz / slabs,
    };
    return true;
}

size_t ft_layout_points(const struct ft_layout *layout)
{
    return (size_t)layout->nx * (size_t)layout->y_held_by_member * (size_t)layout->z_held;
}
