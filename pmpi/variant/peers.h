// From a rank in a communicator to the rank in MPI_COMM_WORLD, under which peers are known.
#ifndef COSCHED_PMPI_VARIANT_PEERS_H
#define COSCHED_PMPI_VARIANT_PEERS_H

#include "pmpi/variant/core.h"

#define PEERS_UNKNOWN (-1) // not in MPI_COMM_WORLD, a wildcard, or MPI_PROC_NULL

// Takes what peers_start() needs for that many ranks, which then cannot fail: peers_stop() gives it
// back. Returns 0 or -1 (memory).
int peers_reserve(int size);

// Must be called once before the others: `nodes` says which node each world rank is on (any
// numbers). Returns 0 or -1 (memory, unless it was reserved for as many).
int peers_start(const int *nodes, int size);
void peers_stop(void);

// A communicator has been made: only such ones are known, since asking MPI about a handle that the
// program made up would raise an error that is not the program's. MPI_COMM_NULL is allowed.
void peers_learn(MPI_Comm comm);

// The same for one that may not be used yet (MPI_Comm_idup): it has the members of `like`.
void peers_learn_like(MPI_Comm comm, MPI_Comm like);

// The same for one that may: where `of` is known, without asking MPI about anybody again.
void peers_learn_duplicate(MPI_Comm comm, MPI_Comm of);

// The look-up for communicators other than MPI_COMM_WORLD. No lock and no allocation.
int peers_find(MPI_Comm comm, int rank);
bool peers_find_spans(MPI_Comm comm);

// Are there members on several nodes, all of them of MPI_COMM_WORLD? The same on all members.
static inline bool peers_spans(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD || peers_find_spans(comm);
}

// Is this a valid intracommunicator? MPI is asked only about one that is not known, since the
// program may have made it up, and its error handler hears of it then.
bool peers_intra(MPI_Comm comm);

// Are all members of this valid communicator, on both sides, in this job's MPI_COMM_WORLD? The same
// on all members, those of other jobs among them: whoever is a stranger to one is among strangers
// himself.
bool peers_ours(MPI_Comm comm);

extern int peers_world_size HIDDEN;

static inline int peers_world_rank(MPI_Comm comm, int rank)
{
    if (rank < 0 || rank >= peers_world_size)
        return PEERS_UNKNOWN;
    return comm == MPI_COMM_WORLD ? rank : peers_find(comm, rank);
}

// Calls `each` with the world rank of every hypercube neighbour that this process has in the
// communicator (of up to log2(size) members of an intercommunicator's remote group), until that has
// been true for all of them; on later calls for the same communicator does nothing. True: it need
// not be called again.
bool peers_neighbours_once(MPI_Comm comm, bool (*each)(int world_rank));

// The communicator is about to be freed: its handle may come back for another one. True: it was
// known.
bool peers_forget(MPI_Comm comm);

#endif
