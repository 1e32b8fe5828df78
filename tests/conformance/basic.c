// Point to point: every way to send, every length, the ranks that are not others.
#include "conform.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 5 };

static const struct parameter few_sizes[] = {
    {"0", 0}, {"8", 8}, {"1025", 1025}, {"8193", 8193}, {"1MiB", 1048576}};

CASE_EACH(blocking, border_sizes)
{
    MPI_Status status = fresh_status();
    unsigned char *bytes = message((size_t)value, 1), *got = buffer((size_t)value);
    for (int sender = 0; sender < 2; sender++) {
        if (rank == sender)
            OK(MPI_Send(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, comm));
        else
            OK(MPI_Recv(got, (int)value, MPI_BYTE, sender, TAG, comm, &status));
    }
    STATUS(&status, 1 - rank, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 1);
    FILLED(bytes, (size_t)value, 1);
}

CASE_EACH(nonblocking, border_sizes)
{
    MPI_Status statuses[2];
    MPI_Request requests[2];
    unsigned char *bytes = message((size_t)value, rank), *got = buffer((size_t)value);
    OK(MPI_Irecv(got, (int)value, MPI_BYTE, 1 - rank, TAG, comm, &requests[0]));
    OK(MPI_Isend(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, comm, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    STATUS(&statuses[0], 1 - rank, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 1 - rank);
}

CASE_EACH(unexpected, border_sizes)
{
    // Rank 1 asks for it long after it has been sent.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    unsigned char *bytes = message((size_t)value, 2), *got = buffer((size_t)value);
    if (rank == 0)
        OK(MPI_Isend(bytes, (int)value, MPI_BYTE, 1, TAG, comm, &request));
    meet();
    if (rank == 0) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(got, (int)value, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 2);
    }
}

CASE_EACH(world, few_sizes)
{
    MPI_Status status = fresh_status();
    unsigned char *got = buffer((size_t)value);
    if (rank == 0) {
        MPI_Send(message((size_t)value, 3), (int)value, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 3);
    }
}

// Capacity in the millions, message length in the rest.
#define SHORTER(message, capacity) ((capacity)*1000000000L + (message))
static const struct parameter shorter_pairs[] = {
    {"0_of_1", SHORTER(0, 1)},
    {"0_of_1MiB", SHORTER(0, 1048576)},
    {"1_of_8", SHORTER(1, 8)},
    {"8_of_1016", SHORTER(8, 1016)},
    {"8_of_8192", SHORTER(8, 8192)},
    {"8_of_8193", SHORTER(8, 8193)},
    {"8_of_1MiB", SHORTER(8, 1048576)},
    {"1016_of_1024", SHORTER(1016, 1024)},
    {"1024_of_1025", SHORTER(1024, 1025)},
    {"1025_of_8184", SHORTER(1025, 8184)},
    {"8184_of_8192", SHORTER(8184, 8192)},
    {"8185_of_8193", SHORTER(8185, 8193)},
    {"8192_of_64KiB", SHORTER(8192, 65536)},
    {"8193_of_1MiB", SHORTER(8193, 1048576)},
    {"1048568_of_1MiB", SHORTER(1048568, 1048576)},
};

CASE_EACH(shorter, shorter_pairs)
{
    size_t capacity = (size_t)(value / 1000000000L), length = (size_t)(value % 1000000000L);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        MPI_Status status = fresh_status();
        MPI_Request request;
        unsigned char *got = buffer(capacity);
        if (rank == 0) {
            OK(MPI_Send(message(length, 4), (int)length, MPI_BYTE, 1, TAG, comm));
            continue;
        }
        if (nonblocking) {
            OK(MPI_Irecv(got, (int)capacity, MPI_BYTE, 0, TAG, comm, &request));
            OK(MPI_Wait(&request, &status));
        } else {
            OK(MPI_Recv(got, (int)capacity, MPI_BYTE, 0, TAG, comm, &status));
        }
        STATUS(&status, 0, TAG, MPI_BYTE, (int)length);
        FILLED(got, length, 4);
        UNTOUCHED(got + length, capacity - length);
    }
}

typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

// The receive is always posted before the send, as ready sends need it.
static void send_with(send_fn *send, isend_fn *isend, size_t length)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    unsigned char *bytes = message(length, 5), *got = buffer(length);
    if (rank == 1)
        OK(MPI_Irecv(got, (int)length, MPI_BYTE, 0, TAG, comm, &request));
    meet();
    if (rank == 0 && send != NULL)
        OK(send(bytes, (int)length, MPI_BYTE, 1, TAG, comm));
    else if (rank == 0)
        OK(isend(bytes, (int)length, MPI_BYTE, 1, TAG, comm, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    if (rank == 1) {
        STATUS(&status, 0, TAG, MPI_BYTE, (int)length);
        FILLED(got, length, 5);
    }
}

CASE_EACH(ssend, few_sizes)
{
    send_with(MPI_Ssend, NULL, (size_t)value);
}

CASE_EACH(rsend, few_sizes)
{
    send_with(MPI_Rsend, NULL, (size_t)value);
}

CASE_EACH(issend, few_sizes)
{
    send_with(NULL, MPI_Issend, (size_t)value);
}

CASE_EACH(irsend, few_sizes)
{
    send_with(NULL, MPI_Irsend, (size_t)value);
}

CASE(issend_waits_for_its_receive)
{
    MPI_Request request;
    int flag = 0, number = 42;
    if (rank == 0) {
        OK(MPI_Issend(&number, 1, MPI_INT, 1, TAG, comm, &request));
        for (int i = 0; i < 1000 && !flag; i++)
            OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        EQUAL(0, flag); // rank 1 is told only now to receive
        OK(MPI_Send(&number, 0, MPI_INT, 1, TAG + 1, comm));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, TAG + 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&number, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
    }
}

CASE(zero_count_null_buffer)
{
    MPI_Status status = fresh_status();
    if (rank == 0) {
        OK(MPI_Send(NULL, 0, MPI_DOUBLE, 1, TAG, comm));
        OK(MPI_Ssend(NULL, 0, MPI_DOUBLE, 1, TAG, comm));
    } else {
        for (int i = 0; i < 2; i++) {
            OK(MPI_Recv(NULL, 0, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_DOUBLE, 0);
        }
    }
}

CASE(zero_count_keeps_order)
{
    int got = -1;
    MPI_Status status = fresh_status();
    for (int i = 0; i < 20; i++) {
        if (rank == 0) {
            OK(MPI_Send(&i, i % 2, MPI_INT, 1, TAG, comm));
        } else {
            OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_INT, i % 2);
            EQUAL(i % 2 ? i : i - 1, got);
        }
    }
}

CASE(proc_null_sends)
{
    int number = 1;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    OK(MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, comm));
    OK(MPI_Ssend(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, comm));
    OK(MPI_Rsend(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, comm));
    OK(MPI_Bsend(&number, 0, MPI_INT, MPI_PROC_NULL, TAG, comm));
    OK(MPI_Isend(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[0]));
    OK(MPI_Issend(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[1]));
    OK(MPI_Irsend(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[2]));
    OK(MPI_Ibsend(&number, 0, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[3]));
    OK(MPI_Waitall(4, requests, statuses));
}

CASE(proc_null_recv)
{
    unsigned char *got = buffer(64);
    MPI_Status status = fresh_status();
    OK(MPI_Recv(got, 64, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &status));
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    UNTOUCHED(got, 64);
}

CASE(proc_null_irecv)
{
    // What the status says is noted, not checked: MPICH 4.0 leaves source and tag unset.
    unsigned char *got = buffer(64);
    MPI_Request request;
    MPI_Status status = fresh_status();
    int count = -1;
    OK(MPI_Irecv(got, 64, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    note("source %s tag %s count %d", status.MPI_SOURCE == MPI_PROC_NULL ? "null" : "wrong",
         status.MPI_TAG == MPI_ANY_TAG ? "any" : "wrong", count);
    UNTOUCHED(got, 64);
}

CASE(proc_null_sendrecv)
{
    unsigned char *bytes = message(100, 6), *got = buffer(100);
    MPI_Status status = fresh_status();
    OK(MPI_Sendrecv(bytes, 100, MPI_BYTE, MPI_PROC_NULL, TAG, got, 100, MPI_BYTE, MPI_PROC_NULL,
                    TAG, comm, &status));
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    UNTOUCHED(got, 100);
    OK(MPI_Sendrecv_replace(bytes, 100, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG, comm,
                            &status));
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    FILLED(bytes, 100, 6);
}

CASE_EACH(half_proc_null_shift, few_sizes)
{
    // As at the ends of a row: each rank has one neighbour and one MPI_PROC_NULL.
    unsigned char *bytes = message((size_t)value, 7 + rank), *got = buffer((size_t)value);
    int to = rank == 0 ? 1 : MPI_PROC_NULL, from = rank == 1 ? 0 : MPI_PROC_NULL;
    MPI_Status status = fresh_status();
    OK(MPI_Sendrecv(bytes, (int)value, MPI_BYTE, to, TAG, got, (int)value, MPI_BYTE, from, TAG,
                    comm, &status));
    if (rank == 1) {
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 7);
    } else {
        STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
        UNTOUCHED(got, (size_t)value);
    }
    OK(MPI_Sendrecv_replace(bytes, (int)value, MPI_BYTE, to, TAG, from, TAG, comm, &status));
    FILLED(bytes, (size_t)value, 7);
}

CASE_EACH(self, border_sizes)
{
    MPI_Comm comms[] = {comm, MPI_COMM_SELF, MPI_COMM_WORLD};
    for (int i = 0; i < 3; i++) {
        int me = i == 1 ? 0 : rank;
        MPI_Request request;
        MPI_Status status = fresh_status();
        unsigned char *bytes = message((size_t)value, 8), *got = buffer((size_t)value);
        OK(MPI_Isend(bytes, (int)value, MPI_BYTE, me, TAG, comms[i], &request));
        OK(MPI_Recv(got, (int)value, MPI_BYTE, MPI_ANY_SOURCE, TAG, comms[i], &status));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        STATUS(&status, me, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 8);
    }
}

CASE(self_into_posted_receive)
{
    int number = 17, got = 0;
    MPI_Request request;
    MPI_Status status = fresh_status();
    OK(MPI_Irecv(&got, 1, MPI_INT, rank, TAG, comm, &request));
    OK(MPI_Ssend(&number, 1, MPI_INT, rank, TAG, comm));
    OK(MPI_Wait(&request, &status));
    STATUS(&status, rank, TAG, MPI_INT, 1);
    EQUAL(17, got);
}

CASE(self_and_other_by_wildcard)
{
    int numbers[2] = {rank, rank + 10}, got[2] = {-1, -1}, seen = 0;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    for (int i = 0; i < 2; i++)
        OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[i]));
    OK(MPI_Isend(&numbers[0], 1, MPI_INT, rank, TAG, comm, &requests[2]));
    OK(MPI_Isend(&numbers[1], 1, MPI_INT, 1 - rank, TAG, comm, &requests[3]));
    OK(MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 2; i++) {
        int source = statuses[i].MPI_SOURCE;
        STATUS(&statuses[i], source, TAG, MPI_INT, 1);
        EQUAL(source == rank ? rank : source + 10, got[i]);
        seen |= 1 << source;
    }
    EQUAL(3, seen);
}

// Lengths that make neighbouring messages travel by different techniques.
static size_t mixed_length(int i)
{
    static const size_t lengths[] = {8,     70000, 0,    1024, 300000, 1,    8192, 8193,
                                     65536, 1016,  1025, 4,    8184,   2000, 9000};
    return lengths[(size_t)i % (sizeof lengths / sizeof *lengths)];
}

CASE(order_of_mixed_lengths_blocking)
{
    MPI_Status status = fresh_status();
    unsigned char *bytes = buffer(300000);
    for (int i = 0; i < 150; i++) {
        size_t length = mixed_length(i);
        if (rank == 0) {
            fill(bytes, length, i);
            OK(MPI_Send(bytes, (int)length, MPI_BYTE, 1, TAG, comm));
        } else {
            OK(MPI_Recv(bytes, 300000, MPI_BYTE, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, (int)length);
            FILLED(bytes, length, i);
        }
    }
}

CASE(order_of_mixed_lengths_nonblocking)
{
    enum { MESSAGES = 60 };
    MPI_Request requests[MESSAGES];
    MPI_Status statuses[MESSAGES];
    unsigned char *bytes[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0) {
            bytes[i] = message(mixed_length(i), i);
            OK(MPI_Isend(bytes[i], (int)mixed_length(i), MPI_BYTE, 1, TAG, comm, &requests[i]));
        } else {
            bytes[i] = buffer(300000);
            OK(MPI_Irecv(bytes[i], 300000, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 0,
                         i % 3 ? MPI_ANY_TAG : TAG, comm, &requests[i]));
        }
    }
    OK(MPI_Waitall(MESSAGES, requests, statuses));
    for (int i = 0; rank == 1 && i < MESSAGES; i++) {
        STATUS(&statuses[i], 0, TAG, MPI_BYTE, (int)mixed_length(i));
        FILLED(bytes[i], mixed_length(i), i);
        UNTOUCHED(bytes[i] + mixed_length(i), 300000 - mixed_length(i));
    }
}

CASE(order_of_mixed_capacities)
{
    // The capacities of the receives alternate, and so may their techniques; each gets its own.
    enum { MESSAGES = 60 };
    static const int capacities[] = {64, 8192, 100000, 1024, 8193};
    MPI_Request requests[MESSAGES];
    int *numbers[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        numbers[i] = buffer((size_t)capacities[i % 5]);
        if (rank == 1)
            OK(MPI_Irecv(numbers[i], capacities[i % 5] / 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                         comm, &requests[i]));
    }
    meet();
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0) {
            *numbers[i] = i;
            OK(MPI_Isend(numbers[i], 1 + i % 16, MPI_INT, 1, i, comm, &requests[i]));
        }
    }
    for (int i = MESSAGES - 1; i >= 0; i--) {
        MPI_Status status = fresh_status();
        OK(MPI_Wait(&requests[i], &status));
        if (rank == 1) {
            STATUS(&status, 0, i, MPI_INT, 1 + i % 16);
            EQUAL(i, *numbers[i]);
        }
    }
}

CASE(order_across_send_modes)
{
    enum { MESSAGES = 24 };
    MPI_Request requests[MESSAGES];
    int numbers[MESSAGES], got = -1;
    void *space = buffer(MESSAGES * (sizeof(int) + MPI_BSEND_OVERHEAD + 64)), *detached;
    int space_size = (int)(MESSAGES * (sizeof(int) + MPI_BSEND_OVERHEAD + 64)), detached_size;
    OK(MPI_Buffer_attach(space, space_size));
    for (int i = 0; i < MESSAGES; i++) {
        requests[i] = MPI_REQUEST_NULL;
        numbers[i] = i;
        if (rank == 1) {
            OK(MPI_Recv(&got, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
            EQUAL(i, got);
        } else if (i % 5 == 0) {
            OK(MPI_Send(&numbers[i], 1, MPI_INT, 1, TAG, comm));
        } else if (i % 5 == 1) {
            OK(MPI_Isend(&numbers[i], 1, MPI_INT, 1, TAG, comm, &requests[i]));
        } else if (i % 5 == 2) {
            OK(MPI_Bsend(&numbers[i], 1, MPI_INT, 1, TAG, comm));
        } else if (i % 5 == 3) {
            OK(MPI_Issend(&numbers[i], 1, MPI_INT, 1, TAG, comm, &requests[i]));
        } else {
            OK(MPI_Ssend(&numbers[i], 1, MPI_INT, 1, TAG, comm));
        }
    }
    OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Buffer_detach(&detached, &detached_size));
}

CASE(tags_choose_among_messages)
{
    enum { MESSAGES = 16 };
    MPI_Request requests[MESSAGES];
    int numbers[MESSAGES], got = -1;
    for (int i = 0; rank == 0 && i < MESSAGES; i++) {
        numbers[i] = i * i;
        OK(MPI_Isend(&numbers[i], 1, MPI_INT, 1, i, comm, &requests[i]));
    }
    for (int i = MESSAGES - 1; rank == 1 && i >= 0; i--) {
        MPI_Status status = fresh_status();
        OK(MPI_Recv(&got, 1, MPI_INT, 0, i, comm, &status));
        STATUS(&status, 0, i, MPI_INT, 1);
        EQUAL(i * i, got);
    }
    if (rank == 0)
        OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
}

CASE(tags_up_to_the_bound)
{
    int *bound, exists = 0, got;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &exists));
    CHECK(exists && *bound >= 32767);
    int tags[] = {0, 1, 32766, 32767, *bound - 1, *bound};
    for (int i = 0; i < 6; i++) {
        MPI_Status status = fresh_status();
        if (rank == 0) {
            OK(MPI_Send(&i, 1, MPI_INT, 1, tags[i], comm));
        } else {
            OK(MPI_Recv(&got, 1, MPI_INT, 0, i % 2 ? MPI_ANY_TAG : tags[i], comm, &status));
            STATUS(&status, 0, tags[i], MPI_INT, 1);
            EQUAL(i, got);
        }
    }
    note("bound %d", *bound);
}

CASE(communicators_do_not_mix)
{
    MPI_Comm other;
    OK(MPI_Comm_dup(comm, &other));
    int numbers[3] = {1, 2, 3}, got[3] = {0, 0, 0};
    MPI_Comm comms[3] = {MPI_COMM_WORLD, comm, other};
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            OK(MPI_Isend(&numbers[i], 1, MPI_INT, 1, TAG, comms[i], &requests[i]));
        else
            OK(MPI_Irecv(&got[2 - i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[2 - i],
                         &requests[i]));
    }
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; rank == 1 && i < 3; i++)
        EQUAL(i + 1, got[i]);
    OK(MPI_Comm_free(&other));
}

CASE(receives_posted_in_other_order_than_sent)
{
    // Legal since the sends are small or their receives are posted.
    int first = 1, second = 2, got_first = 0, got_second = 0;
    MPI_Request requests[2];
    if (rank == 0) {
        OK(MPI_Isend(&first, 1, MPI_INT, 1, 1, comm, &requests[0]));
        OK(MPI_Isend(&second, 1, MPI_INT, 1, 2, comm, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else {
        OK(MPI_Recv(&got_second, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&got_first, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        EQUAL(1, got_first);
        EQUAL(2, got_second);
    }
}

CASE_EACH(sendrecv, border_sizes)
{
    unsigned char *bytes = message((size_t)value, rank), *got = buffer((size_t)value + 24);
    MPI_Status status = fresh_status();
    OK(MPI_Sendrecv(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, got, (int)value + 24, MPI_BYTE,
                    1 - rank, TAG, comm, &status));
    STATUS(&status, 1 - rank, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 1 - rank);
    UNTOUCHED(got + value, 24);
}

CASE_EACH(sendrecv_replace, border_sizes)
{
    unsigned char *bytes = message((size_t)value, rank);
    MPI_Status status = fresh_status();
    OK(MPI_Sendrecv_replace(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, 1 - rank, TAG, comm,
                            &status));
    STATUS(&status, 1 - rank, TAG, MPI_BYTE, (int)value);
    FILLED(bytes, (size_t)value, 1 - rank);
}

CASE_EACH(sendrecv_with_self, few_sizes)
{
    unsigned char *bytes = message((size_t)value, 11), *got = buffer((size_t)value);
    MPI_Status status = fresh_status();
    OK(MPI_Sendrecv(bytes, (int)value, MPI_BYTE, rank, TAG, got, (int)value, MPI_BYTE, rank, TAG,
                    comm, &status));
    STATUS(&status, rank, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 11);
    OK(MPI_Sendrecv_replace(bytes, (int)value, MPI_BYTE, rank, TAG, rank, TAG, comm, &status));
    STATUS(&status, rank, TAG, MPI_BYTE, (int)value);
    FILLED(bytes, (size_t)value, 11);
}

CASE(sendrecv_of_different_lengths)
{
    size_t mine = rank == 0 ? 100 : 200000, theirs = rank == 0 ? 200000 : 100;
    unsigned char *got = buffer(200000);
    MPI_Status status = fresh_status();
    OK(MPI_Sendrecv(message(mine, rank), (int)mine, MPI_BYTE, 1 - rank, TAG, got, 200000, MPI_BYTE,
                    MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
    STATUS(&status, 1 - rank, TAG, MPI_BYTE, (int)theirs);
    FILLED(got, theirs, 1 - rank);
    UNTOUCHED(got + theirs, 200000 - theirs);
}

CASE(sendrecv_replace_with_a_shorter_message)
{
    unsigned char *bytes = message(5000, rank);
    MPI_Status status = fresh_status();
    if (rank == 0) {
        OK(MPI_Sendrecv_replace(bytes, 5000, MPI_BYTE, 1, TAG, 1, TAG, comm, &status));
        STATUS(&status, 1, TAG, MPI_BYTE, 10);
        FILLED(bytes, 10, 1);
        unsigned char *whole = message(5000, 0);
        CHECK(memcmp(bytes + 10, whole + 10, 4990) == 0);
    } else {
        unsigned char *got = buffer(5000);
        OK(MPI_Send(bytes, 10, MPI_BYTE, 0, TAG, comm));
        OK(MPI_Recv(got, 5000, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        FILLED(got, 5000, 0);
    }
}

CASE(sendrecv_meets_plain_calls)
{
    int number = 100 + rank, got = 0;
    MPI_Status status = fresh_status();
    if (rank == 0) {
        OK(MPI_Sendrecv(&number, 1, MPI_INT, 1, 1, &got, 1, MPI_INT, 1, 2, comm, &status));
        STATUS(&status, 1, 2, MPI_INT, 1);
    } else {
        OK(MPI_Send(&number, 1, MPI_INT, 0, 2, comm));
        OK(MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, &status));
        STATUS(&status, 0, 1, MPI_INT, 1);
    }
    EQUAL(101 - rank, got);
}

CASE(sendrecv_of_different_types)
{
    MPI_Datatype column;
    int matrix[8][8], got[8];
    MPI_Status status = fresh_status();
    OK(MPI_Type_vector(8, 1, 8, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int i = 0; i < 64; i++)
        matrix[i / 8][i % 8] = i + 1000 * rank;
    OK(MPI_Sendrecv(&matrix[0][3], 1, column, 1 - rank, TAG, got, 8, MPI_INT, 1 - rank, TAG, comm,
                    &status));
    STATUS(&status, 1 - rank, TAG, MPI_INT, 8);
    for (int i = 0; i < 8; i++)
        EQUAL(i * 8 + 3 + 1000 * (1 - rank), got[i]);
    OK(MPI_Sendrecv_replace(&matrix[0][5], 1, column, 1 - rank, TAG, 1 - rank, TAG, comm, &status));
    STATUS(&status, 1 - rank, TAG, column, 1);
    for (int i = 0; i < 64; i++)
        EQUAL(i + 1000 * (i % 8 == 5 ? 1 - rank : rank), matrix[i / 8][i % 8]);
    OK(MPI_Type_free(&column));
}

CASE(ignored_statuses)
{
    int number = rank, got = -1;
    MPI_Request requests[2];
    for (int i = 0; i < 3; i++) {
        OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, TAG, comm, &requests[0]));
        OK(MPI_Isend(&number, 1, MPI_INT, 1 - rank, TAG, comm, &requests[1]));
        if (i == 0) {
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        } else if (i == 1) {
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        } else {
            int index;
            OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
            OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        }
        EQUAL(1 - rank, got);
        got = -1;
    }
    OK(MPI_Sendrecv(&number, 1, MPI_INT, 1 - rank, TAG, &got, 1, MPI_INT, 1 - rank, TAG, comm,
                    MPI_STATUS_IGNORE));
    EQUAL(1 - rank, got);
}
