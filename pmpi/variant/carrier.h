// The carrier of status: how the sender's status reaches the receiver with its messages, and what
// an idle receiver does about it (Yoo & Jette, sections 2.1 and 2.2.1).
//
// This is the `notice` carrier: the paper's status byte, run-length coded. A status changes only at
// context switches, so it is told only once after a change: before the first message to a peer, by
// a small message of its own on a private communicator; what a rank was last told by a peer is the
// status of every message that follows. User messages are not touched. Under the `header` carrier
// (header.h) point-to-point messages carry the status themselves, and notices only collectives'.
//
// Departures from the paper, both to the same end, that no rank waits in silence:
//  - A rank tells the peers it is in contact with as soon as it sees its own status change, and not
//    only when it next sends: a rank that becomes scheduled while it waits for an idle peer would
//    otherwise say nothing until that peer gets on by itself.
//  - A scheduled rank that keeps waiting says so again from time to time, for a while also to peers
//    that are not known to be idle; an idle rank that has heard so lately asks for the CPU again
//    (the paper's requests within GMET are simply lost).
//
// Ranks of one job on one node have the same status, so only peers on other nodes are told.
//
// What was said in one slice is no reason to ask for the CPU in another (freshness.h), so who holds
// its node for a slice more says so anew.
//
// Under policy gang what is left of the job's slots is news like the status, and travels with it.
#ifndef COSCHED_PMPI_VARIANT_CARRIER_H
#define COSCHED_PMPI_VARIANT_CARRIER_H

#include "pmpi/variant/core.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/orphans.h"
#include "pmpi/variant/peers.h"
#include "pmpi/variant/session.h"

#include <stddef.h>

// What is told, on the library's own communicator.
struct carrier_notice {
    uint8_t scheduled;
    uint8_t reserved;
    uint16_t turn; // in which slice, as status_turn(); 0: not known
    uint32_t unused;
    uint64_t slots; // policy gang: what is left of the job's on the sender's node, as slots_word()
};

#define CARRIER_NOTICE_TAG 1

// Without slots it is as short as that of a library that knows of none.
#define CARRIER_NOTICE_BYTES offsetof(struct carrier_notice, slots)

// What is known of a peer, by its rank in MPI_COMM_WORLD. Told and heard start as "scheduled",
// which is what a job that has its nodes to itself is.
struct carrier_peer {
    _Atomic uint32_t told_epoch; // of this process's status word, when the peer was last up to date
    _Atomic bool told_scheduled;
    _Atomic bool heard_scheduled;
    _Atomic bool contact; // is among those that are told at once
    bool remote;
    uint8_t repeats;             // told since it was last heard; whoever holds the flag
    uint16_t news;               // likewise; counts for something while it says "scheduled"
    uint16_t told_turn;          // in which slice; 0: none, as this node was not contended
    _Atomic uint16_t heard_turn; // likewise
    uint64_t told_slots; // what it was told is left of the job's here; whoever holds the flag
};

struct carrier {
    bool on;
    bool headers; // messages on communicators that span nodes need no notice before them
    struct carrier_peer *peers;
    int size;
    _Atomic uintptr_t
        collective; // the communicator of the last collective, whose contacts are known
    _Atomic uint32_t seen_epoch; // of the status word, when it was last acted on
    // The status word of which all peers on other nodes know; 0: not all. Of a job without a
    // carrier: outsiders.h.
    _Atomic uint64_t settled;
};

extern struct carrier carrier HIDDEN;

// Notices carry the job's slots, too (policy gang): all ranks have agreed about some. Set before
// carrier_start().
extern bool carrier_slots HIDDEN;

// Slices of all nodes are as long, so their numbers tell something. Set before carrier_start().
extern bool carrier_turns HIDDEN;

// Takes what carrier_start() needs for that many ranks, which then cannot fail, or gives it back.
// Returns 0, or -1 when memory is short.
int carrier_reserve(int size);
void carrier_release(void);

// Turns the carrier on: `comm` is a private duplicate of MPI_COMM_WORLD, remote[r] says whether
// world rank r is on another node. Returns 0, or -1 when memory is short and was not reserved.
int carrier_start(MPI_Comm comm, int size, const bool *remote, bool headers);

// All nodes have agreed about these slots, as slots_word(): only what is lost of them is news.
void carrier_agreed(uint64_t word);

// Notices and messages as below sent to each world rank so far (null while off), which the caller
// may make their sums over all ranks at the end, and the number received.
int *carrier_sent(void);
int carrier_received(void);

// Messages of the library's own beside notices, on the same communicator; counted for the end, too.
// The caller holds the carrier's flag, see leaders.h. `bytes` stays as it is until the request is
// complete. Returns false when nothing was sent.
bool carrier_isend(const void *bytes, int count, int peer, int tag, MPI_Request *request);

// The next message with this tag that is there already: its sender, or -1. Longer ones than `room`
// are cut, shorter ones leave the rest of `bytes` as it was.
int carrier_receive(void *bytes, int room, int tag);

// At the end, when all ranks have counted what they sent: nothing is told any more. Receives
// notices, and messages as above without acting on them, that are there.
void carrier_drain(void);

// Completes what was sent, and turns the carrier off.
void carrier_stop(void);

// The slow paths; called by the functions below and by wait.
void carrier_changed(uint64_t word);
void carrier_tell(int peer, uint64_t word);
bool carrier_add_contact(int peer); // false: another thread was at it, and it is to be tried again
void carrier_idle_arrival(int peer);
void carrier_idle_look(void);
void carrier_still_waiting(void);
bool carrier_collective_contacts(MPI_Comm comm); // likewise

// The number of the slice that a status told now is to carry; 0: none.
static inline uint16_t carrier_turn(uint64_t word)
{
    return carrier_turns && session_word_contended(word) ? session_turn() : 0;
}

// A header said that its sender was scheduled in that slice.
void carrier_heard_scheduled(uint16_t turn);

// One load and one compare while nothing changes: acts on a change of this process's status.
static inline void carrier_look(void)
{
    if (!carrier.on)
        return;
    uint64_t word = session_word();
    if (status_word_epoch(word) != atomic_load_explicit(&carrier.seen_epoch, memory_order_relaxed))
        carrier_changed(word);
}

// Before a message to `dest`: the peer learns a new status first.
static inline void carrier_sending(MPI_Comm comm, int dest)
{
    if (!carrier.on)
        return;
    int peer = peers_world_rank(comm, dest);
    if (peer < 0)
        return;
    if (carrier.headers && peers_spans(comm)) {
        if (!atomic_load_explicit(&carrier.peers[peer].contact, memory_order_relaxed))
            carrier_add_contact(peer);
        carrier_look();
        return;
    }
    uint64_t word = session_word();
    if (atomic_load_explicit(&carrier.peers[peer].told_epoch, memory_order_relaxed) !=
        status_word_epoch(word))
        carrier_tell(peer, word);
}

// This process exchanges messages with `rank` of the communicator (which may be a wildcard).
static inline void carrier_contact(MPI_Comm comm, int rank)
{
    if (!carrier.on)
        return;
    int peer = peers_world_rank(comm, rank);
    if (peer >= 0 && !atomic_load_explicit(&carrier.peers[peer].contact, memory_order_relaxed))
        carrier_add_contact(peer);
}

// Before a collective operation: its hypercube neighbours carry the news on.
static inline void carrier_collective(MPI_Comm comm)
{
    if (!carrier.on)
        return;
    if (carrier_collective_contacts(comm))
        atomic_store_explicit(&carrier.collective, (uintptr_t)comm, memory_order_relaxed);
    carrier_look();
}

static inline void carrier_finish_freed(void)
{
    if (atomic_load_explicit(&orphans_exist, memory_order_relaxed))
        orphans_look();
}

// A communicator is about to be freed. True: it was known.
static inline bool carrier_forget(MPI_Comm comm)
{
    atomic_store_explicit(&carrier.collective, 0, memory_order_relaxed);
    return peers_forget(comm);
}

// Frees one by this function within a call that the program has made, as its callbacks may.
int carrier_free_nested(int (*free_it)(MPI_Comm *), MPI_Comm *comm);

// A message of the given rank, or of somebody, has been received. An idle receiver whose sender is
// scheduled asks for the CPU.
static inline void carrier_arrived_from(MPI_Comm comm, int source)
{
    if (!carrier.on)
        return;
    carrier_look();
    if (session_word_idle(session_word()))
        carrier_idle_arrival(peers_world_rank(comm, source));
    carrier_finish_freed();
}

static inline void carrier_arrived(void)
{
    if (!carrier.on)
        return;
    carrier_look();
    if (session_word_idle(session_word()))
        carrier_idle_arrival(PEERS_UNKNOWN);
    carrier_finish_freed();
}

// The program looked for messages and may have found none.
static inline void carrier_looked(void)
{
    if (!carrier.on)
        return;
    carrier_look();
    if (session_word_idle(session_word()))
        carrier_idle_look();
    carrier_finish_freed();
}

#endif
