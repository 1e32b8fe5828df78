// What an idle rank uses of its CPU while it waits: `waiter recv|barrier|allreduce SECONDS`, on two
// ranks. Rank 1 sleeps for so long and then does its part; rank 0 waits for it, and prints how much
// CPU time that took, in nanoseconds, and how long it was.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void meet(const char *way, int rank)
{
    double in = 1, out;
    if (strcmp(way, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(way, "allreduce") == 0)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(&out, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    if (argc != 3 || atoi(argv[2]) <= 0) {
        fprintf(stderr, "waiter: usage: waiter recv|barrier|allreduce SECONDS, on two ranks\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), began_ns = clock_ns(CLOCK_MONOTONIC);
    if (rank == 1)
        nanosleep(&(struct timespec){.tv_sec = atoi(argv[2])}, NULL);
    if (size == 2)
        meet(argv[1], rank);
    used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used_ns;
    if (rank == 0)
        printf("used_ns=%lld waited_ns=%lld\n", (long long)used_ns,
               (long long)(clock_ns(CLOCK_MONOTONIC) - began_ns));
    MPI_Finalize();
    return size == 2 ? 0 : 2;
}
