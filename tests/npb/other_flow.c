// For LU, BT and SP: linked with --wrap=cfd_initial, their flow begins a little warmer.
#include "bench/npb/cfd/cfd.h"

void __real_cfd_initial(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES]);
void __wrap_cfd_initial(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES]);

void __wrap_cfd_initial(const double position[CFD_DIRECTIONS], double state[CFD_QUANTITIES])
{
    __real_cfd_initial(position, state);
    state[CFD_ENERGY] *= 1 + 1e-5;
}
