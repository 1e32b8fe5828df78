// What the ranks of a job tell each other at MPI_Init, so that each of them comes to the same
// decisions.
#ifndef COSCHED_PMPI_VARIANT_BALLOTS_H
#define COSCHED_PMPI_VARIANT_BALLOTS_H

#include "pmpi/variant/contention.h"
#include "pmpi/variant/crowding.h"
#include "pmpi/variant/wait.h"

#include <stdbool.h>
#include <stdint.h>

// What this library can do, and an older one could not. What all have to do alike is done only
// where all can.
enum ability {
    CAN_GROW = 1 << 0,      // look for more slots later
    CAN_WATCH_OUT = 1 << 1, // for outsiders
};

// What each rank tells all others at MPI_Init.
struct ballot {
    uint64_t node_id;
    uint64_t doorbell_place;
    struct crowding_place place;
    struct contention_process process;
    uint8_t registered;
    uint8_t wait;    // enum wait_mode
    uint8_t carries; // enum piggyback
    uint8_t stats;
    uint8_t bypassed;   // Fortran calls of this program do not come by here
    uint8_t gang;       // the node gives slots, and this rank asks for them
    uint8_t can;        // enum ability
    uint8_t roll_calls; // see half_wrapped.h
    uint64_t time_slice_ns;
};

// Collective: fills in the ballots of all `job.size` ranks. Reserves the memory of a carrier where
// this rank is for one. False: they could not be exchanged.
bool ballots_exchange(struct ballot *ballots);

// Gives back what a carrier would have needed; nothing where none was reserved.
void ballots_release_carrier(void);

// How the rank wants to wait. What this library does not know spins.
enum wait_mode ballot_wait(const struct ballot *ballot);

// Whether the slices of all nodes are as long, so that they have the same numbers. Where they are
// not, rank 0 says so.
bool ballots_slices_are_as_long(const struct ballot *ballots);

// Collective. Whether all nodes give slots, and these are the same times on all of them. Where some
// do not, for their policy, or slots are not as long, the job has none, and rank 0 says so.
bool ballots_give_slots(const struct ballot *ballots);

bool ballots_all_can(const struct ballot *ballots, enum ability ability);

#endif
