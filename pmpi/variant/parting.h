// How the ranks of a job leave MPI: together. MPICH 4.0 over UCX's TCP transport closes a
// connection that it has sent on with a question, which is answered while the peer makes progress;
// whoever has his answers waits in the launcher's barrier and makes none. A rank that asks later
// than that waits for ever, and burns its CPU. So a rank that has been answered must not have been
// the first to ask by more than a moment: all make an end of their progress before anybody asks.
#ifndef COSCHED_PMPI_VARIANT_PARTING_H
#define COSCHED_PMPI_VARIANT_PARTING_H

#include "pmpi/variant/core.h"

#include <stdbool.h>
#include <stdint.h>

// What of this process's place in its node's turns matters here.
struct parting_place {
    bool contended;
    bool scheduled;
    uint64_t slice_ns;      // the time-slice, 0: not known
    uint64_t slice_left_ns; // up to its end; UINT64_MAX: not known
    uint32_t degree;        // jobs that take turns on the node
};

// Where this process is now, by the page of its job.
struct parting_place parting_place_now(void);

// True when a rank that is there can be expected to run on for long enough to leave.
bool parting_runs(const struct parting_place *place);

// All ranks meet before the real MPI_Finalize, which is collective anyway. With an MPI that hangs
// as above (`answers`) a rank whose node is contended waits for its turn first, for two rounds of
// the turns at most, and the ranks go on when all run at once. Returns true when they took turns
// with other jobs, on any node.
bool parting_meet(MPI_Comm comm, bool answers);

// All ranks rest until the others have left parting_meet(), too, which takes longer where ranks of
// the job share CPUs (`crowded`).
void parting_rest(bool crowded);

#endif
