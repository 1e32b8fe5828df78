// How a job comes by its slots under policy gang (doc/design/gang.md, section 3): one rank of each
// node asks its classd what the job could have there, a reduction over all ranks says what all
// nodes offer, all choose the same of it, have it reserved, and take what all nodes have reserved.
//
// It goes in steps with a reduction between them, none of which waits. A node that does not answer
// offers nothing: then the job has no slots, and its turns as under yoo-jette. Where a node has
// less at last than all had reserved, or nothing could be had, the steps are done again, a few
// times.
#ifndef COSCHED_PMPI_VARIANT_AGREEMENT_H
#define COSCHED_PMPI_VARIANT_AGREEMENT_H

#include "pmpi/variant/core.h"

// What a job chooses by, so that two that start at once choose differently.
uint64_t agreement_seed(const char *job_id);

// Begins, on all ranks of the communicator, which is the library's own; `asks` on one of each node.
void agreement_start(MPI_Comm comm, bool asks, const char *job_id);

// The reduction that is under way.
MPI_Request *agreement_request(void);

// When it has completed: the next step. True when that was the last.
bool agreement_go_on(void);

// When that is done: what all nodes have agreed about, on all ranks, as slots_word().
uint64_t agreement_word(void);

#endif
