// For kernels that begin with random numbers: linked with --wrap=npb_random_skip, they begin with
// others.
#include "bench/npb/common/random.h"

uint64_t __real_npb_random_skip(uint64_t state, uint64_t steps);
uint64_t __wrap_npb_random_skip(uint64_t state, uint64_t steps);

uint64_t __wrap_npb_random_skip(uint64_t state, uint64_t steps)
{
    return __real_npb_random_skip(state ^ 2, steps); // still odd
}
