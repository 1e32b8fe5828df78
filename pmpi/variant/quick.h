// The shortest way through a call: is there anything to do at all? While a job has its nodes to
// itself, and between switches, there is not.
#ifndef COSCHED_PMPI_VARIANT_QUICK_H
#define COSCHED_PMPI_VARIANT_QUICK_H

#include "pmpi/variant/carrier.h"

// All of the following for every peer at once.
static inline bool quick_settled(uint64_t word)
{
    return word == atomic_load_explicit(&carrier.settled, memory_order_relaxed);
}

// This process's status is the one that was last acted on, and nobody else wants the node.
static inline bool quick_look(uint64_t word)
{
    return core_quick &&
           status_word_epoch(word) ==
               atomic_load_explicit(&carrier.seen_epoch, memory_order_relaxed) &&
           !session_word_contended(word);
}

// The peer knows this status.
static inline bool quick_peer(uint64_t word, MPI_Comm comm, int rank)
{
    if (!core_quick || session_word_contended(word))
        return false;
    int peer = peers_world_rank(comm, rank);
    return peer < 0 ||
           status_word_epoch(word) ==
               atomic_load_explicit(&carrier.peers[peer].told_epoch, memory_order_relaxed);
}

// The peer is known to be one.
static inline bool quick_contact(MPI_Comm comm, int rank)
{
    if (!core_quick)
        return false;
    int peer = peers_world_rank(comm, rank);
    return peer < 0 || atomic_load_explicit(&carrier.peers[peer].contact, memory_order_relaxed);
}

// And so are the communicator's.
static inline bool quick_collective(MPI_Comm comm)
{
    return (uintptr_t)comm == atomic_load_explicit(&carrier.collective, memory_order_relaxed);
}

// The status changed during a call that returned `rc`.
void quick_changed(int rc);

#endif
