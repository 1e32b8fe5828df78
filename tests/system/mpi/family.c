// A process is spawned, and each of those who have spawned it counts together with it, in turn, for
// so many seconds. One only: Debian's Open MPI cannot spawn on several nodes at once.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int count_with(MPI_Comm inter, double until)
{
    long sum = 0, sent;
    do {
        sent = MPI_Wtime() < until ? sum + 1 : -1;
        MPI_Send(&sent, 1, MPI_LONG, 0, 0, inter);
        if (sent >= 0)
            MPI_Recv(&sum, 1, MPI_LONG, 0, 0, inter, MPI_STATUS_IGNORE);
        if (sent >= 0 && sum != sent + 1)
            return 0;
    } while (sent >= 0);
    return sum > 0;
}

static void count_with_each(MPI_Comm inter)
{
    MPI_Status status;
    int left;
    MPI_Comm_remote_size(inter, &left);
    while (left > 0) {
        long sum;
        MPI_Recv(&sum, 1, MPI_LONG, MPI_ANY_SOURCE, 0, inter, &status);
        if (sum++ < 0)
            left--;
        else
            MPI_Send(&sum, 1, MPI_LONG, status.MPI_SOURCE, 0, inter);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    int rank, right, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&inter);
    if (inter != MPI_COMM_NULL) {
        count_with_each(inter);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        right = count_with(inter, MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1));
        MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("verified=%s\n", all ? "yes" : "no");
    }
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}
