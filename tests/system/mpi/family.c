// A process spawns as many as there are in its MPI_COMM_WORLD, and each parent and its child count
// together, in turn, for so many seconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long count_with(MPI_Comm inter, int peer, double until)
{
    long sum = 0, sent;
    do {
        sent = MPI_Wtime() < until ? sum + 1 : -1;
        MPI_Send(&sent, 1, MPI_LONG, peer, 0, inter);
        if (sent >= 0)
            MPI_Recv(&sum, 1, MPI_LONG, peer, 0, inter, MPI_STATUS_IGNORE);
        if (sent >= 0 && sum != sent + 1)
            return -1;
    } while (sent >= 0);
    return sum;
}

static void count_on(MPI_Comm inter, int peer)
{
    long sum;
    do {
        MPI_Recv(&sum, 1, MPI_LONG, peer, 0, inter, MPI_STATUS_IGNORE);
        if (sum++ >= 0)
            MPI_Send(&sum, 1, MPI_LONG, peer, 0, inter);
    } while (sum > 0);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    int rank, size, right = 1, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&inter);
    if (inter != MPI_COMM_NULL) {
        count_on(inter, rank);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        right = count_with(inter, rank, MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1)) > 0;
        MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("verified=%s\n", all ? "yes" : "no");
    }
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}
