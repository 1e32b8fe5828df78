// The pseudorandom numbers of the NAS Parallel Benchmarks (RNR-94-007): the linear
// congruential generator s' = 5^13 s mod 2^46, with u = s' / 2^46 in (0, 1). Every rank can reach
// any point of the one global sequence without computing what lies before it.
#ifndef COSCHED_BENCH_NPB_RANDOM_H
#define COSCHED_BENCH_NPB_RANDOM_H

#include <stddef.h>
#include <stdint.h>

// Advances `*state` (odd, below 2^46) by one step and returns the number drawn.
double npb_random_next(uint64_t *state);

// Draws `count` numbers into `values`: the same as `count` calls of npb_random_next().
void npb_random_fill(uint64_t *state, double *values, size_t count);

// The state that `steps` calls of npb_random_next() would leave, in O(log steps).
uint64_t npb_random_skip(uint64_t state, uint64_t steps);

#endif
