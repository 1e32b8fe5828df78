// MPI_Init and MPI_Finalize: where a job's ranks agree, and where they part.
#ifndef COSCHED_PMPI_VARIANT_LIFECYCLE_H
#define COSCHED_PMPI_VARIANT_LIFECYCLE_H

#include "pmpi/variant/core.h"

int lifecycle_Init(const struct mpi_next *next, int *argc, char ***argv);
int lifecycle_Init_thread(const struct mpi_next *next, int *argc, char ***argv, int required,
                          int *provided);
int lifecycle_Finalize(const struct mpi_next *next);

#endif
