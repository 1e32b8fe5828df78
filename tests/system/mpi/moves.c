// A program that changes its directory before it begins.
#include <mpi.h>

#include <unistd.h>

int main(int argc, char **argv)
{
    if (chdir("/") != 0)
        return 2;
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
