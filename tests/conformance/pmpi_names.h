// Included before everything else, this makes a program call the profiling names, as Fortran
// bindings and some libraries do.
#ifndef COSCHED_TESTS_CONFORMANCE_PMPI_NAMES_H
#define COSCHED_TESTS_CONFORMANCE_PMPI_NAMES_H

#include <mpi.h>

#define MPI_Init             PMPI_Init
#define MPI_Finalize         PMPI_Finalize
#define MPI_Comm_dup         PMPI_Comm_dup
#define MPI_Comm_free        PMPI_Comm_free
#define MPI_Barrier          PMPI_Barrier
#define MPI_Send             PMPI_Send
#define MPI_Ssend            PMPI_Ssend
#define MPI_Rsend            PMPI_Rsend
#define MPI_Bsend            PMPI_Bsend
#define MPI_Isend            PMPI_Isend
#define MPI_Issend           PMPI_Issend
#define MPI_Irsend           PMPI_Irsend
#define MPI_Ibsend           PMPI_Ibsend
#define MPI_Recv             PMPI_Recv
#define MPI_Irecv            PMPI_Irecv
#define MPI_Sendrecv         PMPI_Sendrecv
#define MPI_Sendrecv_replace PMPI_Sendrecv_replace
#define MPI_Wait             PMPI_Wait
#define MPI_Waitall          PMPI_Waitall
#define MPI_Waitany          PMPI_Waitany
#define MPI_Test             PMPI_Test
#define MPI_Probe            PMPI_Probe
#define MPI_Iprobe           PMPI_Iprobe
#define MPI_Get_count        PMPI_Get_count
#define MPI_Test_cancelled   PMPI_Test_cancelled
#define MPI_Buffer_attach    PMPI_Buffer_attach
#define MPI_Buffer_detach    PMPI_Buffer_detach

#endif
