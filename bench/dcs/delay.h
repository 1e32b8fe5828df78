// Work that takes the same number of instructions each time, whoever else runs.
#ifndef COSCHED_BENCH_DCS_DELAY_H
#define COSCHED_BENCH_DCS_DELAY_H

#include <stdint.h>

// Takes `steps` steps of a chain in which each waits for the one before. Returns its end, which the
// caller must use, or there is no work.
static inline uint64_t delay_steps(uint64_t chain, long steps)
{
    for (long i = 0; i < steps; i++)
        chain = chain * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return chain;
}

// Draws from steps - spread .. steps + spread, `spread` being `spread_pct` per cent of `steps`, all
// equally likely.
static inline long delay_draw(uint64_t *state, long steps, int spread_pct)
{
    long spread = steps * spread_pct / 100;
    *state = delay_steps(*state, 1);
    return steps - spread + (long)((*state >> 33) % (uint64_t)(2 * spread + 1));
}

#endif
