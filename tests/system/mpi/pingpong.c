// Two ranks send each other messages for so many seconds, and compute a little in between.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, goes_on = 1;
    volatile unsigned work = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double until = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    while (goes_on) {
        for (int i = 0; i < 20000; i++)
            work += (unsigned)i;
        goes_on = MPI_Wtime() < until;
        if (rank == 0)
            MPI_Send(&goes_on, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 1) {
            int also;
            MPI_Recv(&also, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
