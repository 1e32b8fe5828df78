// Every collective operation, blocking, nonblocking and, where there is MPI 4, persistent; with
// MPI_IN_PLACE, with empty parts, in order with messages. For any number of ranks up to 8.
#include "conform.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 8, TAG = 13 };

// Each operation is written once: `start` begins it and gives a request, or completes it at once.
enum how { BLOCKING, NONBLOCKING, PERSISTENT };
static const struct parameter hows[] = {{"blocking", BLOCKING},
                                        {"nonblocking", NONBLOCKING},
#if MPI_VERSION >= 4
                                        {"persistent", PERSISTENT}
#endif
};

static void finish(long how, MPI_Request *request)
{
    if (how == BLOCKING)
        return;
    if (how == PERSISTENT)
        OK(MPI_Start(request));
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (how == PERSISTENT)
        OK(MPI_Request_free(request));
}

#if MPI_VERSION >= 4
#define COLLECTIVE(how, name, ...)                                                                 \
    do {                                                                                           \
        MPI_Request of_collective = MPI_REQUEST_NULL;                                              \
        if ((how) == BLOCKING)                                                                     \
            OK(MPI_##name(__VA_ARGS__));                                                           \
        else if ((how) == NONBLOCKING)                                                             \
            OK(MPI_I##name(__VA_ARGS__, &of_collective));                                          \
        else                                                                                       \
            OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &of_collective));                     \
        finish(how, &of_collective);                                                               \
    } while (0)
#else
#define COLLECTIVE(how, name, ...)                                                                 \
    do {                                                                                           \
        MPI_Request of_collective = MPI_REQUEST_NULL;                                              \
        if ((how) == BLOCKING)                                                                     \
            OK(MPI_##name(__VA_ARGS__));                                                           \
        else                                                                                       \
            OK(MPI_I##name(__VA_ARGS__, &of_collective));                                          \
        finish(how, &of_collective);                                                               \
    } while (0)
#endif
// The nonblocking names have a small letter after the I.
#define MPI_IBarrier              MPI_Ibarrier
#define MPI_IBcast                MPI_Ibcast
#define MPI_IGather               MPI_Igather
#define MPI_IGatherv              MPI_Igatherv
#define MPI_IScatter              MPI_Iscatter
#define MPI_IScatterv             MPI_Iscatterv
#define MPI_IAllgather            MPI_Iallgather
#define MPI_IAllgatherv           MPI_Iallgatherv
#define MPI_IAlltoall             MPI_Ialltoall
#define MPI_IAlltoallv            MPI_Ialltoallv
#define MPI_IAlltoallw            MPI_Ialltoallw
#define MPI_IReduce               MPI_Ireduce
#define MPI_IAllreduce            MPI_Iallreduce
#define MPI_IReduce_scatter       MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan                 MPI_Iscan
#define MPI_IExscan               MPI_Iexscan

CASE_EACH(barrier, hows)
{
    // Nobody leaves before the last has come: rank 0's word is there by then.
    int flag = 0, last = ranks - 1;
    if (rank == 0)
        OK(MPI_Send(&last, 1, MPI_INT, last, TAG, comm));
    COLLECTIVE(value, Barrier, comm);
    if (rank == last) {
        while (!flag)
            OK(MPI_Iprobe(0, TAG, comm, &flag, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&flag, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
    }
}

CASE_EACH(bcast, hows)
{
    static const int lengths[] = {0, 8, 9000, 300000};
    for (int i = 0; i < 4; i++) {
        int root = i % ranks;
        unsigned char *bytes = buffer((size_t)lengths[i]);
        if (rank == root)
            fill(bytes, (size_t)lengths[i], i);
        COLLECTIVE(value, Bcast, bytes, lengths[i], MPI_BYTE, root, comm);
        FILLED(bytes, (size_t)lengths[i], i);
    }
}

CASE_EACH(gather, hows)
{
    int mine[2] = {rank, -rank}, all[2 * RANKS_MAX];
    memset(all, 0x33, sizeof all);
    COLLECTIVE(value, Gather, mine, 2, MPI_INT, all, 2, MPI_INT, ranks - 1, comm);
    for (int i = 0; rank == ranks - 1 && i < ranks; i++)
        CHECK(all[2 * i] == i && all[2 * i + 1] == -i);
    CHECK(rank == ranks - 1 || all[0] == 0x33333333);
}

CASE_EACH(gather_in_place, hows)
{
    int all[RANKS_MAX], mine = rank * 3;
    all[0] = 0;
    if (rank == 0)
        COLLECTIVE(value, Gather, MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
    else
        COLLECTIVE(value, Gather, &mine, 1, MPI_INT, NULL, 0, MPI_INT, 0, comm);
    for (int i = 0; rank == 0 && i < ranks; i++)
        EQUAL(i * 3, all[i]);
}

// Rank i has i elements, placed with gaps; rank 0 has none.
static void uneven(int counts[RANKS_MAX], int places[RANKS_MAX])
{
    for (int i = 0; i < ranks; i++) {
        counts[i] = i;
        places[i] = i * (RANKS_MAX + 1);
    }
}

// What this rank has of them, and room for all.
static void uneven_values(int mine[RANKS_MAX], int all[RANKS_MAX * (RANKS_MAX + 1)])
{
    memset(all, 0xff, RANKS_MAX * (RANKS_MAX + 1) * sizeof *all);
    for (int i = 0; i < rank; i++)
        mine[i] = rank * 10 + i;
}

static void check_gathered(const int places[RANKS_MAX], const int all[RANKS_MAX * (RANKS_MAX + 1)])
{
    for (int i = 0; i < ranks; i++) {
        for (int j = 0; j <= i; j++)
            EQUAL(j < i ? i * 10 + j : -1, all[places[i] + j]);
    }
}

CASE_EACH(gatherv, hows)
{
    int counts[RANKS_MAX], places[RANKS_MAX], mine[RANKS_MAX];
    int all[RANKS_MAX * (RANKS_MAX + 1)];
    uneven(counts, places);
    uneven_values(mine, all);
    COLLECTIVE(value, Gatherv, mine, rank, MPI_INT, all, counts, places, MPI_INT, 0, comm);
    if (rank == 0)
        check_gathered(places, all);
}

CASE_EACH(scatter, hows)
{
    int all[2 * RANKS_MAX], mine[3] = {-1, -1, -1};
    for (int i = 0; i < 2 * ranks; i++)
        all[i] = rank == 1 ? i : -5;
    COLLECTIVE(value, Scatter, all, 2, MPI_INT, mine, 2, MPI_INT, 1, comm);
    CHECK(mine[0] == 2 * rank && mine[1] == 2 * rank + 1 && mine[2] == -1);
}

CASE_EACH(scatter_in_place, hows)
{
    int all[RANKS_MAX], mine = -1;
    for (int i = 0; i < ranks; i++)
        all[i] = i + 7;
    if (rank == 0)
        COLLECTIVE(value, Scatter, all, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm);
    else
        COLLECTIVE(value, Scatter, NULL, 0, MPI_INT, &mine, 1, MPI_INT, 0, comm);
    EQUAL(rank + 7, rank == 0 ? all[0] : mine);
}

CASE_EACH(scatterv, hows)
{
    int counts[RANKS_MAX], places[RANKS_MAX], mine[RANKS_MAX];
    int all[RANKS_MAX * (RANKS_MAX + 1)];
    uneven(counts, places);
    for (int i = 0; i < ranks; i++) {
        for (int j = 0; j < i; j++)
            all[places[i] + j] = i * 10 + j;
    }
    COLLECTIVE(value, Scatterv, all, counts, places, MPI_INT, mine, rank, MPI_INT, 0, comm);
    for (int j = 0; j < rank; j++)
        EQUAL(rank * 10 + j, mine[j]);
}

CASE_EACH(allgather, hows)
{
    int all[RANKS_MAX];
    COLLECTIVE(value, Allgather, &rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < ranks; i++)
        EQUAL(i, all[i]);
    all[rank] = rank + 50;
    COLLECTIVE(value, Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm);
    for (int i = 0; i < ranks; i++)
        EQUAL(i + 50, all[i]);
}

CASE_EACH(allgather_long, hows)
{
    unsigned char *all = buffer((size_t)ranks * 40000);
    COLLECTIVE(value, Allgather, message(40000, rank), 40000, MPI_BYTE, all, 40000, MPI_BYTE, comm);
    for (int i = 0; i < ranks; i++)
        FILLED(all + i * 40000, 40000, i);
}

CASE_EACH(allgatherv, hows)
{
    int counts[RANKS_MAX], places[RANKS_MAX], mine[RANKS_MAX];
    int all[RANKS_MAX * (RANKS_MAX + 1)];
    uneven(counts, places);
    uneven_values(mine, all);
    COLLECTIVE(value, Allgatherv, mine, rank, MPI_INT, all, counts, places, MPI_INT, comm);
    check_gathered(places, all);
}

CASE_EACH(alltoall, hows)
{
    int out[RANKS_MAX], in[RANKS_MAX];
    for (int i = 0; i < ranks; i++)
        out[i] = rank * 10 + i;
    COLLECTIVE(value, Alltoall, out, 1, MPI_INT, in, 1, MPI_INT, comm);
    for (int i = 0; i < ranks; i++)
        EQUAL(i * 10 + rank, in[i]);
}

CASE_EACH(alltoall_in_place, hows)
{
    int both[RANKS_MAX];
    for (int i = 0; i < ranks; i++)
        both[i] = rank * 10 + i;
    COLLECTIVE(value, Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both, 1, MPI_INT, comm);
    for (int i = 0; i < ranks; i++)
        EQUAL(i * 10 + rank, both[i]);
}

CASE_EACH(alltoallv, hows)
{
    // Rank i sends j elements to rank j.
    int out_counts[RANKS_MAX], in_counts[RANKS_MAX], places[RANKS_MAX];
    int out[RANKS_MAX * RANKS_MAX], in[RANKS_MAX * RANKS_MAX];
    for (int i = 0; i < ranks; i++) {
        out_counts[i] = i;
        in_counts[i] = rank;
        places[i] = i * RANKS_MAX;
        for (int j = 0; j < RANKS_MAX; j++)
            out[places[i] + j] = rank * 100 + j;
    }
    COLLECTIVE(value, Alltoallv, out, out_counts, places, MPI_INT, in, in_counts, places, MPI_INT,
               comm);
    for (int i = 0; i < ranks; i++) {
        for (int j = 0; j < rank; j++)
            EQUAL(i * 100 + j, in[places[i] + j]);
    }
}

CASE_EACH(alltoallw, hows)
{
    int counts[RANKS_MAX], places[RANKS_MAX], out[RANKS_MAX], in[RANKS_MAX];
    MPI_Datatype out_types[RANKS_MAX], in_types[RANKS_MAX];
    for (int i = 0; i < ranks; i++) {
        out[i] = rank * 10 + i;
        counts[i] = 4;
        places[i] = i * 4;
        out_types[i] = MPI_BYTE;
        in_types[i] = MPI_BYTE;
    }
    COLLECTIVE(value, Alltoallw, out, counts, places, out_types, in, counts, places, in_types,
               comm);
    for (int i = 0; i < ranks; i++)
        EQUAL(i * 10 + rank, in[i]);
}

// Rank 0 has nothing for anybody, itself included. Blocking only: Open MPI 4.1's nonblocking one
// hangs.
CASE(alltoallw_in_place_of_some)
{
    int counts[RANKS_MAX] = {0}, places[RANKS_MAX], both[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    for (int i = 0; i < ranks; i++) {
        both[i] = rank * 10 + i;
        counts[i] = rank > 0 && i > 0 ? 4 : 0;
        places[i] = i * 4;
        types[i] = MPI_BYTE;
    }
    OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, both, counts, places, types, comm));
    for (int i = 0; i < ranks; i++)
        EQUAL(counts[i] > 0 ? i * 10 + rank : rank * 10 + i, both[i]);
}

// By whom data goes, it is of another type. Blocking only: MPICH 4.0's nonblocking one takes what
// goes to oneself for the type of what goes to others.
CASE(alltoallw_in_place_of_types)
{
    int counts[RANKS_MAX], places[RANKS_MAX], both[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    for (int i = 0; i < ranks; i++) {
        both[i] = rank * 10 + i;
        counts[i] = i != rank;
        places[i] = i * 4;
        types[i] = i == rank ? MPI_BYTE : MPI_INT;
    }
    OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, both, counts, places, types, comm));
    for (int i = 0; i < ranks; i++)
        EQUAL(i * 10 + rank, both[i]);
}

#ifdef OPEN_MPI // MPICH refuses buffers that begin at one address
// What is sent and what is received are columns of one matrix. Blocking only: Open MPI's
// nonblocking ones take that for MPI_IN_PLACE.
CASE(columns_of_one_matrix)
{
    int matrix[RANKS_MAX][2], one = 1;
    MPI_Aint at = sizeof(int);
    MPI_Datatype integer = MPI_INT, second, first_column, second_column;
    OK(MPI_Type_create_resized(MPI_INT, 0, sizeof matrix[0], &first_column));
    OK(MPI_Type_create_struct(1, &one, &at, &integer, &second));
    OK(MPI_Type_create_resized(second, 0, sizeof matrix[0], &second_column));
    OK(MPI_Type_commit(&first_column));
    OK(MPI_Type_commit(&second_column));
    for (int i = 0; i < ranks; i++) {
        matrix[i][0] = rank * 10 + i;
        matrix[i][1] = -1;
    }
    OK(MPI_Alltoall(matrix, 1, first_column, matrix, 1, second_column, comm));
    for (int i = 0; i < ranks; i++)
        EQUAL(i * 10 + rank, matrix[i][1]);
    OK(MPI_Allgather(matrix, 1, first_column, matrix, 1, second_column, comm));
    for (int i = 0; i < ranks; i++)
        EQUAL(i * 10, matrix[i][1]);
    OK(MPI_Type_free(&second_column));
    OK(MPI_Type_free(&first_column));
    OK(MPI_Type_free(&second));
}
#endif

CASE_EACH(reduce, hows)
{
    double mine[3] = {rank + 1, rank, 2}, all[3] = {-1, -1, -1};
    COLLECTIVE(value, Reduce, mine, all, 3, MPI_DOUBLE, MPI_SUM, 1, comm);
    if (rank == 1) {
        CHECK(all[0] == ranks * (ranks + 1) / 2);
        CHECK(all[1] == ranks * (ranks - 1) / 2);
        CHECK(all[2] == 2 * ranks);
    }
}

CASE_EACH(reduce_in_place, hows)
{
    int number = rank + 1;
    if (rank == 0)
        COLLECTIVE(value, Reduce, MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, 0, comm);
    else
        COLLECTIVE(value, Reduce, &number, NULL, 1, MPI_INT, MPI_MAX, 0, comm);
    EQUAL(rank == 0 ? ranks : rank + 1, number);
}

static const struct parameter operations[] = {{"sum", 0},  {"prod", 1}, {"max", 2},  {"min", 3},
                                              {"land", 4}, {"lor", 5},  {"lxor", 6}, {"band", 7},
                                              {"bor", 8},  {"bxor", 9}};

CASE_EACH(allreduce_operations, operations)
{
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                    MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    int mine = rank + 2, got = -1, again = rank + 2, gathered[RANKS_MAX], expected;
    OK(MPI_Allreduce(&mine, &got, 1, MPI_INT, ops[value], comm));
    OK(MPI_Allreduce(MPI_IN_PLACE, &again, 1, MPI_INT, ops[value], comm));
    OK(MPI_Allgather(&mine, 1, MPI_INT, gathered, 1, MPI_INT, comm));
    expected = gathered[0];
    for (int i = 1; i < ranks; i++)
        OK(MPI_Reduce_local(&gathered[i], &expected, 1, MPI_INT, ops[value]));
    if (ranks > 1)
        EQUAL(expected, got);
    EQUAL(got, again);
}

CASE_EACH(allreduce, hows)
{
    static const int lengths[] = {1, 1000, 40000};
    for (int i = 0; i < 3; i++) {
        int *mine = buffer((size_t)lengths[i] * sizeof *mine);
        int *sum = buffer((size_t)lengths[i] * sizeof *sum), wrong = 0;
        for (int j = 0; j < lengths[i]; j++)
            mine[j] = rank + j;
        COLLECTIVE(value, Allreduce, mine, sum, lengths[i], MPI_INT, MPI_SUM, comm);
        for (int j = 0; j < lengths[i]; j++)
            wrong += sum[j] != ranks * j + ranks * (ranks - 1) / 2;
        EQUAL(0, wrong);
        COLLECTIVE(value, Allreduce, MPI_IN_PLACE, mine, lengths[i], MPI_INT, MPI_SUM, comm);
        CHECK(memcmp(mine, sum, (size_t)lengths[i] * sizeof *sum) == 0);
    }
}

CASE_EACH(allreduce_minloc, hows)
{
    struct {
        double number;
        int place;
    } mine = {rank == 1 ? -3.5 : rank, rank}, all = {0, -1};
    COLLECTIVE(value, Allreduce, &mine, &all, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    EQUAL(1, all.place);
    CHECK(all.number == -3.5);
}

// Multiplies 2 x 2 matrices: associative, not commutative.
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    long *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *length; i++, a += 4, b += 4) {
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                     a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

CASE_EACH(own_operation, hows)
{
    MPI_Op op;
    MPI_Datatype matrix;
    long mine[4] = {1, rank + 1, rank, 1}, product[4], expected[4] = {1, 1, 0, 1};
    OK(MPI_Op_create(multiply, 0, &op));
    OK(MPI_Type_contiguous(4, MPI_LONG, &matrix));
    OK(MPI_Type_commit(&matrix));
    COLLECTIVE(value, Allreduce, mine, product, 1, matrix, op, comm);
    for (int i = 1; i < ranks; i++) {
        long next[4] = {1, i + 1, i, 1};
        int one = 1;
        multiply(expected, next, &one, &matrix);
        memcpy(expected, next, sizeof next);
    }
    CHECK(memcmp(product, expected, sizeof expected) == 0);
    OK(MPI_Type_free(&matrix));
    OK(MPI_Op_free(&op));
}

CASE_EACH(reduce_scatter, hows)
{
    int counts[RANKS_MAX], out[RANKS_MAX * RANKS_MAX], in[RANKS_MAX], total = 0, before = 0;
    for (int i = 0; i < ranks; i++) {
        counts[i] = i + 1;
        total += counts[i];
        before += i < rank ? counts[i] : 0;
    }
    for (int i = 0; i < total; i++)
        out[i] = i + rank;
    COLLECTIVE(value, Reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < counts[rank]; i++)
        EQUAL(ranks * (before + i) + ranks * (ranks - 1) / 2, in[i]);
}

CASE_EACH(reduce_scatter_block, hows)
{
    int out[2 * RANKS_MAX], in[2];
    for (int i = 0; i < 2 * ranks; i++)
        out[i] = i * (rank + 1);
    COLLECTIVE(value, Reduce_scatter_block, out, in, 2, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < 2; i++)
        EQUAL((2 * rank + i) * ranks * (ranks + 1) / 2, in[i]);
}

CASE_EACH(scan, hows)
{
    int mine = rank + 1, sum = -1;
    COLLECTIVE(value, Scan, &mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    EQUAL((rank + 1) * (rank + 2) / 2, sum);
    COLLECTIVE(value, Scan, MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, comm);
    EQUAL(sum, mine);
}

CASE_EACH(exscan, hows)
{
    int mine = rank + 1, sum = -1;
    COLLECTIVE(value, Exscan, &mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    EQUAL(rank == 0 ? -1 : rank * (rank + 1) / 2, sum);
}

CASE_EACH(derived_types, hows)
{
    // A column of each rank's matrix becomes a row of the root's.
    MPI_Datatype column;
    int matrix[4][4], rows[RANKS_MAX][4];
    OK(MPI_Type_vector(4, 1, 4, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int i = 0; i < 16; i++)
        matrix[i / 4][i % 4] = 100 * rank + i;
    COLLECTIVE(value, Gather, &matrix[0][2], 1, column, rows, 4, MPI_INT, 0, comm);
    for (int i = 0; rank == 0 && i < ranks; i++) {
        for (int j = 0; j < 4; j++)
            EQUAL(100 * i + 4 * j + 2, rows[i][j]);
    }
    OK(MPI_Type_free(&column));
}

CASE(on_self)
{
    int number = 5, got = 0;
    OK(MPI_Barrier(MPI_COMM_SELF));
    OK(MPI_Allreduce(&number, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    EQUAL(5, got);
    OK(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_SELF));
    OK(MPI_Alltoall(&number, 1, MPI_INT, &got, 1, MPI_INT, MPI_COMM_SELF));
    EQUAL(5, got);
}

CASE(on_world)
{
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQUAL(ranks * (ranks - 1) / 2, sum);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

CASE(many_nonblocking_at_once)
{
    enum { COUNT = 30 };
    int numbers[COUNT], sums[COUNT];
    MPI_Request requests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = rank + i;
        if (i % 3 == 0)
            OK(MPI_Iallreduce(&numbers[i], &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]));
        else if (i % 3 == 1)
            OK(MPI_Ibcast(&numbers[i], 1, MPI_INT, i % ranks, comm, &requests[i]));
        else
            OK(MPI_Ibarrier(comm, &requests[i]));
    }
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) {
        if (i % 3 == 0)
            EQUAL(ranks * i + ranks * (ranks - 1) / 2, sums[i]);
        else if (i % 3 == 1)
            EQUAL(i % ranks + i, numbers[i]);
    }
}

CASE(messages_between_collectives)
{
    // The same communicator carries both, and neither takes the other's.
    for (int i = 0; i < 6; i++) {
        int got = -1, sum = 0;
        MPI_Request requests[2];
        MPI_Status status;
        OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]));
        OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm));
        EQUAL(ranks * i, sum);
        OK(MPI_Isend(&i, 1, MPI_INT, (rank + 1) % ranks, i, comm, &requests[1]));
        OK(MPI_Wait(&requests[0], &status));
        STATUS(&status, (rank + ranks - 1) % ranks, i, MPI_INT, 1);
        EQUAL(i, got);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

CASE(collectives_among_some)
{
    // Only the first half acts; the others must not be needed.
    MPI_Comm part;
    int sum = 0;
    OK(MPI_Comm_split(comm, rank < ranks / 2 ? 0 : MPI_UNDEFINED, rank, &part));
    if (part != MPI_COMM_NULL) {
        OK(MPI_Allreduce(&ranks, &sum, 1, MPI_INT, MPI_SUM, part));
        EQUAL(ranks * (ranks / 2), sum);
        OK(MPI_Comm_free(&part));
    }
}

#if MPI_VERSION >= 4
CASE(persistent_completed_by_testall)
{
    int number = 0, sum = 0, flag = 0;
    MPI_Request request;
    return_all_errors();
    OK(MPI_Allreduce_init(&number, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (int i = 0; i < 3; i++, flag = 0) {
        number = rank * i;
        OK(MPI_Start(&request));
        while (!flag && OK(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE)))
            ;
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(i * ranks * (ranks - 1) / 2, sum);
    }
    OK(MPI_Request_free(&request));
}

CASE(persistent_started_many_times)
{
    int number = 0, sum = 0;
    MPI_Request requests[2];
    OK(MPI_Allreduce_init(&number, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[1]));
    for (int i = 0; i < 10; i++) {
        number = rank * i;
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        EQUAL(i * ranks * (ranks - 1) / 2, sum);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}
#endif
