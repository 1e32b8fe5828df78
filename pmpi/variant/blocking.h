// Blocking calls that are made of more than one nonblocking call while they are polled.
#ifndef COSCHED_PMPI_VARIANT_BLOCKING_H
#define COSCHED_PMPI_VARIANT_BLOCKING_H

#include "pmpi/variant/core.h"

int blocking_Sendrecv(const struct mpi_next *next, const void *sendbuf, int sendcount,
                      MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                      MPI_Status *status);

int blocking_Sendrecv_replace(const struct mpi_next *next, void *buf, int count,
                              MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                              MPI_Comm comm, MPI_Status *status);

#endif
