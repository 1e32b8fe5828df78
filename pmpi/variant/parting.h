// How the ranks of a job leave MPI: together. MPICH 4.0 over UCX's TCP transport hangs in
// MPI_Finalize when a rank asks something of another one that is done already (pmpi/front/ucx.h).
// So ranks that take turns with other jobs enter it while all of them run, and each answers for
// longer than it needs for itself.
#ifndef COSCHED_PMPI_VARIANT_PARTING_H
#define COSCHED_PMPI_VARIANT_PARTING_H

#include "pmpi/variant/core.h"

#include <stdbool.h>
#include <stdint.h>

// Does this MPI hang so?
#ifdef MPICH_NUMVERSION
#define PARTING_ANSWERS true
#else
#define PARTING_ANSWERS false
#endif

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

// How ranks are when they go on; all go by the greatest.
enum parting_state {
    PARTING_ALONE,    // nobody takes turns with other jobs
    PARTING_TOGETHER, // all run
    PARTING_LATE,     // somebody does not, and has waited for long enough
    PARTING_APART,    // somebody does not: they wait on, and are never left so but when MPI fails
};

// All ranks meet before the real MPI_Finalize, which is collective anyway. With an MPI that hangs
// as above (`answers`) a rank whose node is contended waits for its turn first, for two rounds of
// the turns or two seconds at most, and the ranks go on when all run at once.
enum parting_state parting_meet(MPI_Comm comm, bool answers);

// After that: takes what the program has left unreceived on MPI_COMM_WORLD. MPICH 4.2 ends a
// program whose messages have come and were not taken, and they would not have come before
// MPI_Finalize if the ranks had not met. Nobody can receive them any more.
void parting_take_unreceived(void);

// And then: has each of the `size` ranks answer for as long as others need by `state`, or since
// ranks share CPUs with each other (`crowded`), or with the job that has had its turn from this one
// (`parted`).
void parting_linger(int size, enum parting_state state, bool crowded, bool parted);

#endif
