// Whether the nodes of a job have the same time of day, which the slots of policy gang are counted
// by (doc/design/gang.md, section 6). What is found out is told to the classd of each node whose
// clock is off, and goes no further: the job starts as it would have.
//
// Each rank reads its clock, meets all others in a reduction, and reads its clock again: at the
// moment when the last of them came, every clock was between its two readings. That is done a few
// times, and the closest of these counts. It goes in steps with a collective between them, none of
// which waits, but for the last, an exchange.
#ifndef COSCHED_PMPI_VARIANT_CLOCK_CHECK_H
#define COSCHED_PMPI_VARIANT_CLOCK_CHECK_H

#include "pmpi/variant/core.h"

struct clock_check_job {
    MPI_Comm comm; // the job's
    int rank, size;
    const int *nodes;       // by rank: the first rank on the same node
    uint64_t time_slice_ns; // of this node
};

// Begins, on all ranks of the communicator. `job->nodes` must stay until the last step.
void clock_check_start(const struct clock_check_job *job);

// The collective that is under way.
MPI_Request *clock_check_request(void);

// When it has completed: the next step. True when that was the last.
bool clock_check_go_on(void);

#endif
