// Active requests under the header carrier that the program has freed. Nobody will wait for them,
// and until they are complete their memory is in use, and what comes in has to be unpacked.
#ifndef COSCHED_PMPI_VARIANT_ORPHANS_H
#define COSCHED_PMPI_VARIANT_ORPHANS_H

#include "pmpi/variant/core.h"

#include <stdatomic.h>

struct wire;

// There are some.
extern _Atomic bool orphans_exist HIDDEN;

// Takes both; *request is null then. Looks after some now and then: the program need make no other
// call that does.
void orphans_add(struct wire *wire, MPI_Request *request);

// Completes those that can be, as MPI itself would: the program may learn in other ways that they
// are. An error handler of the program's may be called, make calls itself, and leave by a jump.
void orphans_look(void);

// Completes those of the communicator, for as long as it takes: MPICH's MPI_Comm_disconnect does
// not end before they are, and makes none of the calls that look. Those whose communicator is not
// known, too: what was matched is on its way. Not with the built-in communicators, nor with null,
// which MPI refuses.
void orphans_settle(const MPI_Comm *comm);

// Completes what is left of them, or gives it up. At MPI_Finalize.
void orphans_wait(void);

#endif
