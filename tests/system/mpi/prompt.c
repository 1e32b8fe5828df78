// A program that sleeps most of the time, as an interpreter at its prompt. Files in a folder are
// what is typed: "compute", then "end".
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int typed(const char *folder, const char *word)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, word);
    return access(path, F_OK) == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    while (!typed(argv[1], "compute"))
        usleep(100 * 1000);
    while (!typed(argv[1], "end"))
        for (volatile int i = 0; i < 1000000; i++)
            ;
    MPI_Finalize();
    puts("verified=yes");
    return 0;
}
