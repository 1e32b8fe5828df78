// Fortran bindings whose integers have 64 bits: an MPI's (-DLEADS_TO_MPI), or what a sequential
// library has in their place.
#include "tests/unit/mock_bindings.h"

#include <stddef.h>

enum { STATUS_SIZE = 5 }; // of MPICH

MOCK_BINDINGS_EXPORTED void mpi_send_(void *buf, int64_t *count, int64_t *type, int64_t *dest,
                                      int64_t *tag, int64_t *comm, int64_t *error);
MOCK_BINDINGS_EXPORTED void mpi_recv_(void *buf, int64_t *count, int64_t *type, int64_t *source,
                                      int64_t *tag, int64_t *comm, int64_t *status, int64_t *error);

void mpi_send_(void *buf, int64_t *count, int64_t *type, int64_t *dest, int64_t *tag, int64_t *comm,
               int64_t *error)
{
    (void)buf;
    mock_bindings_send((int64_t[]){*count, *type, *dest, *tag, *comm});
    *error = 0;
}

void mpi_recv_(void *buf, int64_t *count, int64_t *type, int64_t *source, int64_t *tag,
               int64_t *comm, int64_t *status, int64_t *error)
{
    (void)buf;
    mock_bindings_recv((int64_t[]){*count, *type, *source, *tag, *comm});
    for (int i = 0; i < STATUS_SIZE; i++)
        status[i] = -1;
    *error = 0;
}

#ifdef LEADS_TO_MPI
MOCK_BINDINGS_EXPORTED int PMPI_Send(void);

int PMPI_Send(void)
{
    return 0;
}
#endif
