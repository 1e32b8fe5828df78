// The transforms of FT along each axis of what a rank holds, between the exchanges. No MPI call: a
// test plays all ranks.
//
// An array of a rank is made of rows of FT_LANES points. Two forms can be sent as they are, since
// equal blocks for all receivers follow each other, and since what comes from all senders in the
// order of their ranks has the same form again:
//
//   exchange of x and y, among members:  [member][z of the slab][y of a member][x of a member]
//   exchange of y and z, among slabs:    [slab][z of a slab][y of a slab][x of the member]
//
// On the side of the lines of z, the first two indices of the second form are z itself. The
// spectrum is kept in the order of its use: [y][x / FT_LANES][z].
//
// The backward passes leave reals and imaginaries exchanged, which makes forward transforms
// inverse.
#ifndef COSCHED_BENCH_FT_PASSES_H
#define COSCHED_BENCH_FT_PASSES_H

#include "bench/npb/ft/layout.h"
#include "bench/npb/ft/transform.h"

struct ft_passes;

// Does not come back without memory. To be freed with ft_passes_free().
struct ft_passes *ft_passes_make(const struct ft_layout *layout);

void ft_passes_free(struct ft_passes *passes);

// Forward along x, of the random initial state, which is made on the way. For more than one member;
// `to` is to be exchanged among members.
void ft_forward_x(struct ft_passes *passes, union ft_row *to);

// Forward along y. `to` is to be exchanged among slabs.
void ft_forward_y(struct ft_passes *passes, union ft_row *from, union ft_row *to);

// Both for a single member, plane by plane, while a plane is in the cache.
void ft_forward_xy(struct ft_passes *passes, union ft_row *to);

// Forward along z: completes the spectrum.
void ft_forward_z(struct ft_passes *passes, union ft_row *from, union ft_row *spectrum);

// Backward along z, of the spectrum as it has decayed at time `t` (RNR-94-007). `to`
// is to be exchanged among slabs.
void ft_backward_z(struct ft_passes *passes, const union ft_row *spectrum, int t, union ft_row *to);

// Backward along y. `to` is to be exchanged among members.
void ft_backward_y(struct ft_passes *passes, union ft_row *from, union ft_row *to);

// Backward along x: completes the state, [z][y / FT_LANES][x] with lanes along y.
void ft_backward_x(struct ft_passes *passes, union ft_row *from, union ft_row *state);

// Both for a single member. `state` may be `from` where there is a single slab.
void ft_backward_yx(struct ft_passes *passes, union ft_row *from, union ft_row *state);

// The sum of 1024 points of the state (RNR-94-007), real and imaginary, as far as this rank holds
// them; not yet divided by the number of all points.
void ft_sum_state(const struct ft_passes *passes, const union ft_row *state, double sum[2]);

#endif
