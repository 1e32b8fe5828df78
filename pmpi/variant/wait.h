// How a rank waits inside a blocking call: as its MPI does, or by polls between which it looks
// after the job's scheduling (while the node is contended) or gives the CPU away (wait = yield).
#ifndef COSCHED_PMPI_VARIANT_WAIT_H
#define COSCHED_PMPI_VARIANT_WAIT_H

#include "pmpi/variant/carrier.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wait {
    uint32_t polls;
    uint64_t
        last_word_ns; // when this wait began, or peers were last told that it goes on; 0: unset
};

// Set at MPI_Init. The first holds for this rank, the second on all ranks alike.
extern bool wait_yields HIDDEN;
extern bool wait_collectives_polled HIDDEN;

static inline struct wait wait_new(void)
{
    return (struct wait){0};
}

// Should a blocking call be made of polls now? While a node is not contended and nobody yields, the
// MPI's own blocking call is the fastest.
static inline bool wait_polls(void)
{
    return wait_yields || (carrier.on && session_word_contended(session_word()));
}

// The same for collectives. All ranks must decide alike, since a nonblocking collective does not
// match a blocking one: so this never depends on the state of one node. Not on intercommunicators,
// whose nonblocking collectives MPICH 4.0 gets wrong.
bool wait_polls_on(MPI_Comm comm);

static inline bool wait_polls_collectives(MPI_Comm comm)
{
    return wait_collectives_polled && (comm == MPI_COMM_WORLD || wait_polls_on(comm));
}

// After a poll that found nothing.
void wait_pause(struct wait *wait);

// Set by the first persistent collective. With those MPICH 4.0's MPI_Testall fails, so they are
// waited for one by one before it is called.
extern _Atomic bool wait_persistent_collectives;
void wait_for_collectives(const struct mpi_next *next, int count, const MPI_Request *requests);

// Polls a request of the library's own making until it is complete.
int wait_request(const struct mpi_next *next, MPI_Request *request);

// Frees the request `trial`, then waits until there is a message to receive.
int wait_for_message(const struct mpi_next *next, MPI_Request *trial, int source, int tag,
                     MPI_Comm comm);

// The end of an MPI_Sendrecv that has come to `rc`; either request may be null.
int wait_sent(const struct mpi_next *next, int rc, MPI_Request *trial, MPI_Request *send);

#endif
