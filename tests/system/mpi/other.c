// An MPI of one process under a name that nobody knows: it says who reached it.
#include <stdio.h>

#ifndef SAYS
#define SAYS "reached"
#endif

int MPI_Init(int *argc, char ***argv);
int PMPI_Init(int *argc, char ***argv);

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    puts(SAYS);
    return 0;
}

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

#ifdef ENDS
int MPI_Finalize(void);
int MPI_Finalize(void)
{
    puts(SAYS " ends");
    return 0;
}
#endif

#ifdef VERSION
int PMPI_Get_library_version(char *version, int *length);
int PMPI_Get_library_version(char *version, int *length)
{
    *length = sprintf(version, "%s", VERSION);
    return 0;
}
#endif
