// From a rank in a communicator to the rank in MPI_COMM_WORLD, under which peers are known.
#ifndef COSCHED_PMPI_VARIANT_PEERS_H
#define COSCHED_PMPI_VARIANT_PEERS_H

#include "pmpi/variant/core.h"

#define PEERS_UNKNOWN (-1) // not in MPI_COMM_WORLD, a wildcard, or MPI_PROC_NULL

// Must be called once before the others. Returns 0 or -1 (memory).
int peers_start(void);
void peers_stop(void);

// The look-up for communicators other than MPI_COMM_WORLD. No lock and no allocation but on the
// first use of a communicator.
int peers_find(MPI_Comm comm, int rank);

static inline int peers_world_rank(MPI_Comm comm, int rank)
{
    if (rank < 0)
        return PEERS_UNKNOWN;
    return comm == MPI_COMM_WORLD ? rank : peers_find(comm, rank);
}

// Calls `each` with the world rank of every hypercube neighbour that this process has in the
// communicator (of up to log2(size) members of an intercommunicator's remote group); on later calls
// for the same communicator does nothing.
void peers_neighbours_once(MPI_Comm comm, void (*each)(int world_rank));

// The communicator is about to be freed: its handle may come back for another one.
void peers_forget(MPI_Comm comm);

#endif
