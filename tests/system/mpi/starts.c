// A plugin that calls MPI_Init and MPI_Finalize, of which its MPI need not have the second, and
// says what they returned.
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
#pragma weak MPI_Finalize
int MPI_Finalize(void);
int run(int argc, char **argv);

int run(int argc, char **argv)
{
    int begun = MPI_Init(&argc, &argv);
    printf("%d %d\n", begun, MPI_Finalize != NULL ? MPI_Finalize() : 0);
    return 0;
}
