// How the library waits for its own exchanges, at the job's start and end. Ranks come there when
// they like, so such a wait may be short, and is polled, or last as long as the job.
#ifndef COSCHED_PMPI_VARIANT_PATIENCE_H
#define COSCHED_PMPI_VARIANT_PATIENCE_H

#include "pmpi/variant/core.h"

#define PATIENCE_FOR_EVER UINT64_MAX

// One wait; all zeros at its beginning.
struct patience {
    uint32_t polls;
    uint32_t pauses;
    uint64_t looked_ns; // when the clock was read last; 0: not yet
    uint64_t waited_ns;
    uint64_t nap_ns; // the last one
};

// After a poll that found nothing: polls on, then gives the CPU away, then sleeps longer and
// longer, up to a millisecond. Now and then wakes ranks that sleep. False when that has been
// `timeout_ns`, of which time does not count in which this process could not run: a suspended job
// is not late.
bool patience_pause(struct patience *patience, uint64_t timeout_ns);

// Polls a request until it is complete. False on timeout, or when MPI fails.
bool patience_wait(MPI_Request *request, uint64_t timeout_ns);

#endif
