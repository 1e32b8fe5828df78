// Ranks add up for so many seconds, and compute a little in between: no call but reductions.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int goes_on = 1, all = 1;
    volatile unsigned work = 0;
    MPI_Init(&argc, &argv);
    double until = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    while (all) {
        for (int i = 0; i < 20000; i++)
            work += (unsigned)i;
        goes_on = MPI_Wtime() < until;
        MPI_Allreduce(&goes_on, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
