#include "bench/npb/common/random.h"

#define STATE_MASK ((UINT64_C(1) << 46) - 1)
#define STATE_UNIT 0x1p-46

static const uint64_t multiplier = 1220703125; // 5^13

// The product may overflow 64 bits; only its low 46 are wanted, and unsigned overflow keeps those.
static inline uint64_t times(uint64_t a, uint64_t b)
{
    return (a * b) & STATE_MASK;
}

// Through int64_t, because the signed conversion is one instruction and the unsigned one is not.
static inline double uniform(uint64_t state)
{
    return (double)(int64_t)state * STATE_UNIT;
}

double npb_random_next(uint64_t *state)
{
    *state = times(*state, multiplier);
    return uniform(*state);
}

void npb_random_fill(uint64_t *state, double *values, size_t count)
{
    uint64_t s = *state;
    for (size_t i = 0; i < count; i++) {
        s = times(s, multiplier);
        values[i] = uniform(s);
    }
    *state = s;
}

uint64_t npb_random_skip(uint64_t state, uint64_t steps)
{
    for (uint64_t power = multiplier; steps != 0; steps >>= 1) {
        if (steps & 1)
            state = times(state, power);
        power = times(power, power);
    }
    return state;
}
