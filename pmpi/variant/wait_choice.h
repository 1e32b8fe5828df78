// How the ranks of a job wait, by what all of them have said at MPI_Init; and what that takes.
#ifndef COSCHED_PMPI_VARIANT_WAIT_CHOICE_H
#define COSCHED_PMPI_VARIANT_WAIT_CHOICE_H

#include "pmpi/variant/ballots.h"

// Each rank by itself: chooses the way, the same on all ranks that share their CPUs. `places` is
// room for all `job.size` ranks' places, and what is in it afterwards means nothing.
void wait_choice_make(const struct ballot *ballots, struct crowding_place *places);

// Collective, once the job is registered or is known not to be: starts what waiting in that way
// needs, such as a doorbell.
void wait_choice_start(const struct ballot *ballots);

// The status page may say that processes have joined the job here, or left it: spawned ones, with
// which its ranks have to share CPUs. A rank that yields by no agreement with others does so
// meanwhile, under `auto`. One thread at a time.
void wait_choice_follow(void);

#endif
