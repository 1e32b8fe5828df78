#include "bench/dcs/program.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { EXIT_VERIFIED = 0, EXIT_WRONG = 1, EXIT_REFUSED = 2 };

static bool parse_number(const char *text, int least, int *number)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > INT_MAX)
        return false;
    *number = (int)value;
    return true;
}

static double cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

struct program program_begin(int *argc, char ***argv, const char *name, const char *usage,
                             int positive, int count, int *numbers)
{
    struct program program = {.name = name};
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &program.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &program.ranks);
    bool fits = *argc == count + 1;
    for (int i = 0; fits && i < count; i++)
        fits = parse_number((*argv)[i + 1], i < positive ? 1 : 0, &numbers[i]);
    if (fits)
        return program;
    if (program.rank == 0)
        fprintf(stderr, "%s: wants %d whole numbers; usage: %s %s\n", name, count, name, usage);
    MPI_Finalize();
    exit(EXIT_REFUSED);
}

void program_start(struct program *program)
{
    MPI_Barrier(MPI_COMM_WORLD);
    program->started_s = MPI_Wtime();
    program->cpu_started_s = cpu_s();
}

int program_end(const struct program *program, bool correct)
{
    double lasted_s = MPI_Wtime() - program->started_s, slowest_s = 0;
    double used_s = cpu_s() - program->cpu_started_s, all_used_s = 0;
    int mine = correct, all = 0;
    MPI_Allreduce(&lasted_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&used_s, &all_used_s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (program->rank == 0)
        printf("DCS program=%s ranks=%d seconds=%.4f cpu_s=%.4f verified=%s\n", program->name,
               program->ranks, slowest_s, all_used_s / program->ranks, all ? "yes" : "no");
    fflush(stdout);
    MPI_Finalize();
    return all ? EXIT_VERIFIED : EXIT_WRONG;
}
