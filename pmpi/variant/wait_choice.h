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

// Is there a short way through calls, by how this rank waits now?
bool wait_choice_quick(void);

// From now on it does not change any more. Meanwhile core_follow() has a rank yield, under `auto`,
// while its job's page says that others have joined the job here, spawned processes, and that it
// has come to need more CPUs than the node has.
void wait_choice_stop(void);

#endif
