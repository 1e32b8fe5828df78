// Uses functions of MPI-4 if they are there, by weak references, as wheels of mpi4py do; else those
// of MPI-3. Each rank sends one message to the next and takes part in one exchange of all.
#include <mpi.h>

#include <stdio.h>

#pragma weak MPI_Send_c
#pragma weak MPI_Alltoallv_c
#pragma weak MPI_Pready
extern int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm);
extern int MPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
                           const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                           const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                           MPI_Datatype recvtype, MPI_Comm comm);
extern int MPI_Pready(int partition, MPI_Request request);

static int send(const int *value, MPI_Count count, int dest)
{
    if (MPI_Send_c)
        return MPI_Send_c(value, count, MPI_INT, dest, 0, MPI_COMM_WORLD);
    return MPI_Send(value, (int)count, MPI_INT, dest, 0, MPI_COMM_WORLD);
}

static int exchange(const int *from, int *to, int size)
{
    MPI_Count counts[size];
    MPI_Aint places[size];
    int narrow_counts[size], narrow_places[size];
    for (int i = 0; i < size; i++) {
        counts[i] = narrow_counts[i] = 1;
        places[i] = narrow_places[i] = size - 1 - i;
    }
    if (MPI_Alltoallv_c)
        return MPI_Alltoallv_c(from, counts, places, MPI_INT, to, counts, places, MPI_INT,
                               MPI_COMM_WORLD);
    return MPI_Alltoallv(from, narrow_counts, narrow_places, MPI_INT, to, narrow_counts,
                         narrow_places, MPI_INT, MPI_COMM_WORLD);
}

#ifdef PLUGIN
#define main run
int run(int argc, char **argv);
#endif

int main(int argc, char **argv)
{
    int rank, size, got = -1, class = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Request receive;
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &receive);
    int sent = send(&rank, 1, (rank + 1) % size);
    if (sent != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, sent);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    int from[size], to[size];
    for (int i = 0; i < size; i++)
        from[i] = rank;
    int exchanged = exchange(from, to, size);
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5 // this one has nothing of the kind
    if (MPI_Pready)
        MPI_Error_class(MPI_Pready(0, MPI_REQUEST_NULL), &class);
#else
    class = MPI_ERR_UNSUPPORTED_OPERATION; // nothing that is not there
#endif
    if (rank == 0)
        printf("got %d exchanged %d %d unsupported %d\n", got, exchanged, to[0],
               class == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Finalize();
    return 0;
}
