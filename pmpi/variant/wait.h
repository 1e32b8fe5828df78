// How a rank waits inside a blocking call: as its MPI does, or by polls between which it looks
// after the job's scheduling (while the node is contended) or gives the CPU away (wait = yield).
#ifndef COSCHED_PMPI_VARIANT_WAIT_H
#define COSCHED_PMPI_VARIANT_WAIT_H

#include "pmpi/variant/carrier.h"

#include <stdbool.h>
#include <stdint.h>

struct wait {
    uint32_t polls;
    uint64_t
        last_word_ns; // when this wait began, or peers were last told that it goes on; 0: unset
};

// Set at MPI_Init, the same on all ranks.
extern bool wait_yields HIDDEN;

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
// match a blocking one: so this never depends on the state of one node.
static inline bool wait_polls_collectives(void)
{
    return wait_yields;
}

// After a poll that found nothing.
void wait_pause(struct wait *wait);

// Returns when all requests are complete, or one of them cannot be asked; completes none.
void wait_for_all(const struct mpi_next *next, int count, MPI_Request *requests);

// Polls a request until it is complete; the same result as MPI_Wait.
int wait_request(const struct mpi_next *next, MPI_Request *request, MPI_Status *status);

// The same for the two halves of an MPI_Sendrecv; `rc` says whether they could be begun. When the
// send could not, the receive is taken back.
int wait_both(const struct mpi_next *next, int rc, MPI_Request *send, MPI_Request *receive,
              MPI_Status *status);

#endif
