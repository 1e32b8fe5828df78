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

// Completes what is left of them, or gives it up. At MPI_Finalize.
void orphans_wait(void);

#endif
