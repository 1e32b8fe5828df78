// The same ring as ring.F90, in C, through every way to wait; `PMPI` calls PMPI_Send and PMPI_Recv.
#include <mpi.h>
#include <stdio.h>

#ifdef PMPI
#define MPI_Send PMPI_Send
#define MPI_Recv PMPI_Recv
#endif

static void wait_for_both(int way, MPI_Request requests[2])
{
    int index, done = 0, indices[2], finished, flag;
    switch (way % 6) {
    case 0:
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    case 2:
        for (int i = 0; i < 3; i++)
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 3:
        do {
            MPI_Waitsome(2, requests, &finished, indices, MPI_STATUSES_IGNORE);
            done += finished;
        } while (done < 2);
        break;
    case 4:
        do {
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        } while (!flag);
        break;
    default:
        for (int i = 0; i < 2; i++) {
            do {
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            } while (!flag);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, token, got = -1, total;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Comm odd_even;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    token = rank;
    for (int i = 0; i < 10; i++) {
        MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
        wait_for_both(i, requests);
        token = got;
        if (rank % 2 == 0)
            MPI_Send(&token, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, 2, MPI_COMM_WORLD, &status);
        if (rank % 2 != 0)
            MPI_Send(&token, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
        if (status.MPI_SOURCE != left || status.MPI_TAG != 2)
            MPI_Abort(MPI_COMM_WORLD, 3);
        token = got;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &odd_even);
    total = token;
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, odd_even);
    MPI_Comm_free(&odd_even);
    total = token;
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("token %d total %d\n", token, total);
    MPI_Finalize();
    return 0;
}
