// Random histories: numbers that depend on a seed only, and the run of many seeds or of one.
#ifndef COSCHED_TESTS_UNIT_RANDOM_H
#define COSCHED_TESTS_UNIT_RANDOM_H

#include <stdint.h>
#include <stdlib.h>

// The next number below `below`; *state is the seed at first (SplitMix64).
static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

// Runs the history of the seed in COSCHED_TEST_SEED, or those of seeds 1 to `count`.
static inline void random_run_histories(void (*run)(uint64_t seed), uint64_t count)
{
    const char *seed = getenv("COSCHED_TEST_SEED");
    if (seed != NULL) {
        run(strtoull(seed, NULL, 0));
        return;
    }
    for (uint64_t i = 1; i <= count; i++)
        run(i);
}

#endif
