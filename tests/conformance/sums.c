// Sums of floating-point numbers depend on the order in which they are added, which is the MPI's
// choice. Whatever it chooses in a program, it must choose with the library, too: so each line has
// the bits.
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 70000, SEED = 4711 };

static int rank, ranks;
static double *in, *out;

// FNV-1a; 0 for nothing.
static uint64_t digest(const double *values, int count)
{
    uint64_t sum = count == 0 ? 0 : UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int k = 0; k < 64; k += 8)
            sum = (sum ^ (bits >> k & 0xff)) * UINT64_C(0x100000001b3);
    }
    return sum;
}

// Of the parts that the ranks have, in their order.
static void say(const char *what, int count, int own)
{
    uint64_t mine = digest(out, own), all[64];
    MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("ok %s/%d", what, count);
    for (int i = 0; i < ranks; i++)
        printf(" %016" PRIx64, all[i]);
    printf("\n");
}

static void sums_of(int count)
{
    int part = count / ranks, counts[64];
    for (int i = 0; i < ranks; i++)
        counts[i] = i == 0 ? count - part * (ranks - 1) : part;
    MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    say("MPI_Reduce", count, rank == ranks - 1 ? count : 0);
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    say("MPI_Allreduce", count, count);
    MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    say("MPI_Scan", count, count);
    MPI_Exscan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    say("MPI_Exscan", count, rank == 0 ? 0 : count);
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    say("MPI_Reduce_scatter", count, counts[rank]);
    MPI_Reduce_scatter_block(in, out, part, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    say("MPI_Reduce_scatter_block", count, part);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 3, 10, 100, 1000, 10000, COUNT_MAX};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    in = malloc(COUNT_MAX * sizeof *in);
    out = malloc(COUNT_MAX * sizeof *out);
    if (in == NULL || out == NULL || ranks > 64)
        return MPI_Abort(MPI_COMM_WORLD, 1);
    srand48(SEED + rank);
    for (int i = 0; i < COUNT_MAX; i++)
        in[i] = (drand48() - 0.5) * (i % 7 == 0 ? 1e6 : 1);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        sums_of(counts[i]);
    free(in);
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("end: sums\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
