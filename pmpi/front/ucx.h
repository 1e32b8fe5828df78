// UCX, the transport of many an MPICH. Over TCP it closes a connection that has been sent on with a
// question, which is answered by the peer's progress. MPICH 4.0 closes all connections in
// MPI_Finalize, makes progress until it has its own answers, and then waits for the launcher,
// without progress: who asks it later waits for ever. So this library stands before the function
// that closes a connection, and has a rank that has asked the last of its peers answer the others
// for a while. It finds what has to make progress, UCX's workers, by standing before the functions
// that make and end those. All three are called at the start and at the end of MPI only.
//
// MPICH has no switch by which ranks that share a CPU give it away in its blocking calls. It polls
// UCX in every round of those, so that is one more function to stand before: one jump, unless
// somebody asked.
#ifndef COSCHED_PMPI_FRONT_UCX_H
#define COSCHED_PMPI_FRONT_UCX_H

#include <stdint.h>

// After so many connections more have been closed, answers for so long, by the workers of who closed
// the last.
void ucx_linger(uint32_t connections, uint64_t linger_ns);

// From now on `look` is called whenever a worker was polled and had nothing. It must not call the
// MPI.
void ucx_when_nothing_moved(void (*look)(void));

#endif
