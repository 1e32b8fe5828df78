// Processes of another MPI_COMM_WORLD: spawned, connected, or who has spawned this one. They ring
// no doorbell of this job's, and MPI_Finalize waits for them, however long they go on.
#ifndef COSCHED_PMPI_VARIANT_STRANGERS_H
#define COSCHED_PMPI_VARIANT_STRANGERS_H

#include "pmpi/variant/core.h"

#include <stdbool.h>

// They come, or may come: to be called before the call that brings them. There is no short way
// through a call from then on: in the one that brings them a rank sleeps, and should its error
// handler leave it, the next call is to end that.
void strangers_come(void);

// Have they come by this communicator, which has been made? With an intercommunicator one rank's
// strangers become those of others, who have made no such call.
void strangers_look_for(MPI_Comm comm);

// Have they ever?
bool strangers_came(void);

#endif
