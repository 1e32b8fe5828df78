// A sequential competitor on each node, as one job: every rank computes by itself and for ever, and
// never sends a message.
#include "bench/dcs/delay.h"

#include <mpi.h>

enum { STEPS = 1000000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    volatile uint64_t chain = 1;
    for (;;)
        chain = delay_steps(chain, STEPS);
}
