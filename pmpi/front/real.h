// What the front's own modules may know of it.
#ifndef COSCHED_PMPI_FRONT_REAL_H
#define COSCHED_PMPI_FRONT_REAL_H

#include "pmpi/front/family.h"
#include "pmpi/front/front.h"

#include <stdatomic.h>

// Where the exported names jump to, two for each function: MPI_X, PMPI_X. A slot is written whole,
// and any value that it ever has is a right one, so it may be called whenever that name may.
extern _Atomic(void *) front_slots[];

// As front_api.real.
void *front_real(enum front_entry entry, const char *name);

// The family of the program's MPI; null: not one that is known.
const struct family *front_family(void);

// What a call returns that the program's MPI cannot carry out: an error class.
int front_unsupported(void);

#endif
