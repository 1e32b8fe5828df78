// A process is spawned, and those who have spawned it count together with it, in turn, for so many
// seconds: all, or the rank that is named. One only: Debian's Open MPI cannot spawn on several
// nodes at once.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// How far it came; -1: something was lost.
static long count_with(MPI_Comm inter, double until)
{
    long sum = 0, sent;
    do {
        sent = MPI_Wtime() < until ? sum + 1 : -1;
        MPI_Send(&sent, 1, MPI_LONG, 0, 0, inter);
        if (sent >= 0)
            MPI_Recv(&sum, 1, MPI_LONG, 0, 0, inter, MPI_STATUS_IGNORE);
        if (sent >= 0 && sum != sent + 1)
            return -1;
    } while (sent >= 0);
    return sum;
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
    int rank;
    long counted, all[2] = {0, 0}, mine[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&inter);
    if (inter != MPI_COMM_NULL) {
        count_with_each(inter);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        double seconds = argc > 1 ? atof(argv[1]) : 1;
        counted =
            count_with(inter, MPI_Wtime() + (argc > 2 && atoi(argv[2]) != rank ? 0 : seconds));
        mine[0] = counted < 0;
        mine[1] = counted;
        MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("counted=%ld verified=%s\n", all[1], all[0] == 0 ? "yes" : "no");
    }
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}
