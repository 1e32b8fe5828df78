// This process's job: what the parts that start and end it share. Written while MPI_Init lasts.
#ifndef COSCHED_PMPI_VARIANT_JOB_H
#define COSCHED_PMPI_VARIANT_JOB_H

#include "common/error.h"
#include "pmpi/variant/core.h"
#include "pmpi/variant/crowding.h"
#include "pmpi/variant/session.h"
#include "pmpi/variant/settings.h"

#include <stdbool.h>

extern struct job {
    const struct mpi_next *mpi; // null: the job has not started
    MPI_Comm comm;              // private duplicate of MPI_COMM_WORLD
    int rank;
    int size;
    struct settings settings;
    struct session_identity identity;
    bool joins; // its ranks here are part of the job of those who have spawned them
    struct crowding_place place; // before the scheduler has moved this process
    const int *nodes;            // while the job starts, by rank: the first rank on the same node
    bool *remote;                // likewise: is it another than this one's?
    struct error error;          // why this rank has no scheduler
    bool registered;
    bool crowded;         // somewhere ranks share their CPUs with each other
    bool meets_at_last;   // its ranks part when what is attached to MPI_COMM_SELF is deleted
    bool survives_faults; // a peer may be dead, and be waited for in vain
} job;

// Collective, on all ranks of the job, and what they tell each other first, in the same form in
// every version of the library: whether all of them are able to go on, and by the same exchanges.
// JOB_EXCHANGES is the number of these, and is another one whenever what ranks tell each other, or
// the order in which they do, becomes another. False, too, when they cannot tell each other. Where
// versions differ rank 0 says so, and the job runs on as without the library.
bool job_meet(bool able);

// Collective, on all ranks of the job: does it hold on every one of them? False, too, when they
// cannot tell each other.
bool job_agree(int holds);

#endif
