// Waiting by sleep (wait = block), after the spin-block of Sobalvarro et al., section 3.2.2: poll
// for as long as the answer of a peer that only has to be switched to takes, then sleep until
// something can have happened.
//
// An MPI moves data only while it is called. So a rank that has found nothing and goes to sleep
// rings first: its polls may have answered a peer (a rendezvous, a step of a collective operation)
// who sleeps too. It does so a few times in one wait, not for ever, or two ranks that wait for a
// third would keep waking each other; whenever a poll took so long that it must have copied
// something; and each time while something large may be on its way, which the MPI moves piece by
// piece, by polls on both sides.
#ifndef COSCHED_PMPI_VARIANT_BLOCK_H
#define COSCHED_PMPI_VARIANT_BLOCK_H

#include "pmpi/variant/doorbell.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// What tells a sleeping rank that something may have happened.
enum block_sign {
    BLOCK_BY_DOORBELL, // peers on this machine ring, and there are no others
    BLOCK_BY_SOCKETS,  // peers are elsewhere, and come over stream sockets
    BLOCK_BY_TIME,     // both, or what gives no sign: sockets, and short sleeps
};

struct block {
    uint64_t spin_limit_ns;
    uint64_t
        long_poll_ns;  // a poll that takes longer, and far longer than others, has moved something
    uint64_t least_ns; // how long a sleep may be at least
    uint64_t most_ns;  // and at most, with a sign
    uint64_t by_time_ns; // and without one
    _Atomic int sign;    // enum block_sign
    // Until when to wait in haste: to ring before each sleep, and sleep no longer than without a
    // sign.
    _Atomic uint64_t haste_until_ns;
};

extern struct block block __attribute__((visibility("hidden")));

// One wait; all zeros at its beginning.
struct block_wait {
    uint64_t began_ns;
    uint64_t polled_ns;   // when the current poll began; 0: a poll after a sleep, slow anyway
    uint64_t shortest_ns; // of its polls so far; 0: unset
    uint64_t spin_until_ns;
    uint32_t rings; // before going to sleep
    uint64_t paused_ns;
    uint64_t hurried_ns;     // how long it was in haste, since that was last renewed
    uint64_t rests_until_ns; // when that may be again
    bool looks_late;         // what a poll has found is looked at after the next pause only
    bool looked;             // there was one for the poll before "asleep" was said
};

// After a poll that found nothing. `seat` is the peer that is waited for, or DOORBELL_ALL.
void block_pause(struct block_wait *wait, int seat);

// What is smaller is no reason for haste.
enum { BLOCK_LARGE_BYTES = 16384 };

// A message, or a rank's part of a collective operation, of so many bytes is posted: the next waits
// are in haste for as long as that may take from now on.
void block_expect(uint64_t bytes);

// From now on things may happen to this process without any of the signs: a window is there, into
// which peers reach without a call of theirs, or processes of another job.
void block_without_sign(void);

#endif
