// Much data, and much of it at once.
#include "conform.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 16 };

static const struct parameter lengths[] = {
    {"4MiB", 4 << 20}, {"16MiB-8", (16 << 20) - 8}, {"16MiB", 16 << 20}};

CASE_EACH(send_recv, lengths)
{
    unsigned char *bytes = message((size_t)value, rank), *got = buffer((size_t)value);
    MPI_Status status = fresh_status();
    for (int sender = 0; sender < 2; sender++) {
        if (rank == sender) {
            OK(MPI_Send(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, comm));
        } else {
            OK(MPI_Recv(got, (int)value, MPI_BYTE, sender, TAG, comm, &status));
            STATUS(&status, sender, TAG, MPI_BYTE, (int)value);
            FILLED(got, (size_t)value, sender);
        }
    }
}

CASE_EACH(sendrecv_replace, lengths)
{
    unsigned char *bytes = message((size_t)value, rank);
    OK(MPI_Sendrecv_replace(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, 1 - rank, TAG, comm,
                            MPI_STATUS_IGNORE));
    FILLED(bytes, (size_t)value, 1 - rank);
}

CASE_EACH(probe_and_mrecv, lengths)
{
    MPI_Message matched;
    MPI_Status status = fresh_status();
    MPI_Count elements = 0;
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 3), (int)value, MPI_BYTE, 1, TAG, comm));
        return;
    }
    unsigned char *got = buffer((size_t)value);
    OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
    OK(MPI_Get_elements_x(&status, MPI_BYTE, &elements));
    EQUAL(value, elements);
    OK(MPI_Mrecv(got, (int)value, MPI_BYTE, &matched, &status));
    STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 3);
}

CASE(many_long_ones_at_once)
{
    enum { COUNT = 16, LENGTH = 1 << 20 };
    MPI_Request requests[2 * COUNT];
    MPI_Status statuses[2 * COUNT];
    unsigned char *got[COUNT];
    for (int i = 0; i < COUNT; i++) {
        got[i] = buffer(LENGTH + 4);
        OK(MPI_Irecv(got[i], LENGTH + 4, MPI_BYTE, MPI_ANY_SOURCE, i, comm, &requests[i]));
    }
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Isend(message(LENGTH, i + rank), LENGTH, MPI_BYTE, 1 - rank, COUNT - 1 - i, comm,
                     &requests[COUNT + i]));
    OK(MPI_Waitall(2 * COUNT, requests, statuses));
    for (int i = 0; i < COUNT; i++) {
        STATUS(&statuses[i], 1 - rank, i, MPI_BYTE, LENGTH);
        FILLED(got[i], LENGTH, COUNT - 1 - i + 1 - rank);
        UNTOUCHED(got[i] + LENGTH, 4);
    }
}

CASE(strided_megabytes)
{
    enum { COUNT = 500000 };
    MPI_Datatype every_other;
    MPI_Status status = fresh_status();
    int *numbers = buffer(2 * COUNT * sizeof *numbers), wrong = 0;
    OK(MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_other));
    OK(MPI_Type_commit(&every_other));
    if (rank == 0) {
        for (int i = 0; i < COUNT; i++)
            numbers[2 * i] = i;
        OK(MPI_Send(numbers, 1, every_other, 1, TAG, comm));
    } else {
        OK(MPI_Recv(numbers, 1, every_other, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_INT, COUNT);
        for (int i = 0; i < COUNT; i++)
            wrong += numbers[2 * i] != i;
        EQUAL(0, wrong);
        UNTOUCHED(&numbers[1], sizeof *numbers);
    }
    OK(MPI_Type_free(&every_other));
}

CASE(long_messages_in_a_row)
{
    // Each is written over as soon as the send returns.
    unsigned char *bytes = buffer(3000000);
    for (int i = 0; i < 10; i++) {
        size_t length = 3000000 - (size_t)i * 1001;
        if (rank == 0) {
            fill(bytes, length, i);
            OK(MPI_Send(bytes, (int)length, MPI_BYTE, 1, TAG, comm));
        } else {
            MPI_Status status = fresh_status();
            memset(bytes, UNTOUCHED_BYTE, 3000000);
            OK(MPI_Recv(bytes, 3000000, MPI_BYTE, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, (int)length);
            FILLED(bytes, length, i);
            UNTOUCHED(bytes + length, 3000000 - length);
        }
    }
}

CASE(long_collectives)
{
    enum { COUNT = 1 << 20 };
    double *numbers = buffer(COUNT * sizeof *numbers), *sums = buffer(COUNT * sizeof *sums);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i + rank;
    OK(MPI_Allreduce(numbers, sums, COUNT, MPI_DOUBLE, MPI_SUM, comm));
    for (int i = 0; i < COUNT; i++)
        wrong += sums[i] != 2.0 * i + 1;
    EQUAL(0, wrong);
    OK(MPI_Bcast(numbers, COUNT, MPI_DOUBLE, 1, comm));
    for (int i = 0; i < COUNT; i++)
        wrong += numbers[i] != i + 1;
    EQUAL(0, wrong);
}

CASE(two_hundred_communicators)
{
    enum { COUNT = 220 };
    static MPI_Comm comms[COUNT];
    MPI_Request requests[2 * COUNT];
    int numbers[COUNT], got[COUNT], wrong = 0;
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Comm_dup(comm, &comms[i]));
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = 5 * i + rank;
        OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, TAG, comms[i], &requests[i]));
    }
    for (int i = COUNT - 1; i >= 0; i--)
        OK(MPI_Isend(&numbers[i], 1, MPI_INT, 1 - rank, TAG, comms[i], &requests[COUNT + i]));
    OK(MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) {
        wrong += got[i] != 5 * i + 1 - rank;
        OK(MPI_Comm_free(&comms[i]));
    }
    EQUAL(0, wrong);
}

#if MPI_VERSION >= 4
// The variants with a large count, with what fits in a test.

CASE_EACH(large_count_send_recv, border_sizes)
{
    MPI_Count length = value, count = -1;
    MPI_Status status = fresh_status();
    MPI_Request request;
    unsigned char *bytes = message((size_t)value, 2), *got = buffer((size_t)value + 4);
    if (rank == 0) {
        OK(MPI_Send_c(bytes, length, MPI_BYTE, 1, TAG, comm));
        OK(MPI_Ssend_c(bytes, length, MPI_BYTE, 1, TAG, comm));
        OK(MPI_Isend_c(bytes, length, MPI_BYTE, 1, TAG, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Send(bytes, (int)value, MPI_BYTE, 1, TAG, comm));
        return;
    }
    for (int i = 0; i < 4; i++) {
        memset(got, UNTOUCHED_BYTE, (size_t)value + 4);
        if (i == 0) {
            OK(MPI_Recv(got, (int)value + 4, MPI_BYTE, 0, TAG, comm, &status));
        } else if (i == 1) {
            OK(MPI_Irecv_c(got, length + 4, MPI_BYTE, 0, TAG, comm, &request));
            OK(MPI_Wait(&request, &status));
        } else {
            OK(MPI_Recv_c(got, length + 4, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &status));
        }
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
        EQUAL(length, count);
        FILLED(got, (size_t)value, 2);
        UNTOUCHED(got + value, 4);
    }
}

CASE_EACH(large_count_sendrecv, border_sizes)
{
    MPI_Count length = value;
    MPI_Status status = fresh_status();
    unsigned char *bytes = message((size_t)value, rank), *got = buffer((size_t)value);
    OK(MPI_Sendrecv_c(bytes, length, MPI_BYTE, 1 - rank, TAG, got, length, MPI_BYTE, 1 - rank, TAG,
                      comm, &status));
    STATUS(&status, 1 - rank, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 1 - rank);
    OK(MPI_Sendrecv_replace_c(bytes, length, MPI_BYTE, 1 - rank, TAG, 1 - rank, TAG, comm,
                              &status));
    STATUS(&status, 1 - rank, TAG, MPI_BYTE, (int)value);
    FILLED(bytes, (size_t)value, 1 - rank);
}

CASE_EACH(large_count_persistent, border_sizes)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    unsigned char *bytes = buffer((size_t)value);
    if (rank == 0)
        OK(MPI_Send_init_c(bytes, value, MPI_BYTE, 1, TAG, comm, &request));
    else
        OK(MPI_Recv_init_c(bytes, value, MPI_BYTE, 0, TAG, comm, &request));
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            fill(bytes, (size_t)value, i);
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, &status));
        if (rank == 1) {
            STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
            FILLED(bytes, (size_t)value, i);
        }
    }
    OK(MPI_Request_free(&request));
}

CASE_EACH(large_count_mrecv, border_sizes)
{
    MPI_Message matched;
    MPI_Status status = fresh_status();
    MPI_Request request;
    unsigned char *got = buffer((size_t)value);
    for (int i = 0; i < 2; i++) {
        if (rank == 0) {
            OK(MPI_Send_c(message((size_t)value, i), value, MPI_BYTE, 1, TAG, comm));
            continue;
        }
        OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        if (i == 0) {
            OK(MPI_Mrecv_c(got, value, MPI_BYTE, &matched, &status));
        } else {
            OK(MPI_Imrecv_c(got, value, MPI_BYTE, &matched, &request));
            OK(MPI_Wait(&request, &status));
        }
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, i);
    }
}

CASE(large_count_bsend)
{
    MPI_Count size = 0, detached_size = 0;
    void *detached = NULL;
    OK(MPI_Pack_size_c(5000, MPI_BYTE, comm, &size));
    size += MPI_BSEND_OVERHEAD;
    if (rank == 0) {
        void *space = buffer((size_t)size);
        OK(MPI_Buffer_attach_c(space, size));
        OK(MPI_Bsend_c(message(5000, 1), 5000, MPI_BYTE, 1, TAG, comm));
        OK(MPI_Buffer_detach_c(&detached, &detached_size));
        CHECK(detached == space);
        EQUAL(size, detached_size);
    } else {
        unsigned char *got = buffer(5000);
        OK(MPI_Recv(got, 5000, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        FILLED(got, 5000, 1);
    }
}

CASE(large_count_collectives)
{
    MPI_Count counts[2] = {3, 3};
    MPI_Aint places[2] = {0, 3};
    int mine[3] = {rank, rank + 1, rank + 2}, all[6], sum = 0;
    OK(MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(1, sum);
    OK(MPI_Allgatherv_c(mine, 3, MPI_INT, all, counts, places, MPI_INT, comm));
    for (int i = 0; i < 6; i++)
        EQUAL(i / 3 + i % 3, all[i]);
    OK(MPI_Bcast_c(all, 6, MPI_INT, 0, comm));
    MPI_Request request;
    OK(MPI_Iallgather_c(mine, 3, MPI_INT, all, 3, MPI_INT, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 6; i++)
        EQUAL(i / 3 + i % 3, all[i]);
}

CASE(large_count_elements)
{
    MPI_Datatype pair;
    MPI_Status status = fresh_status();
    MPI_Count count = 0;
    int numbers[5] = {1, 2, 3, 4, 5};
    OK(MPI_Type_contiguous_c(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    if (rank == 0) {
        OK(MPI_Send(numbers, 5, MPI_INT, 1, TAG, comm));
    } else {
        OK(MPI_Recv_c(numbers, 5, MPI_INT, 0, TAG, comm, &status));
        OK(MPI_Get_count_c(&status, pair, &count));
        EQUAL(MPI_UNDEFINED, count);
        OK(MPI_Get_elements_c(&status, pair, &count));
        EQUAL(5, count);
    }
    OK(MPI_Type_free(&pair));
}
#endif
