// Requests: completing, asking, freeing, cancelling, alone and in crowds.
#include "conform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 7 };

static const struct parameter lengths[] = {
    {"8", 8}, {"1024", 1024}, {"1025", 1025}, {"9000", 9000}, {"200000", 200000}};

// --- Arrays of requests --------------------------------------------------------------------------

// Six requests on rank 1: active receives at 1, 3 and 4, an inactive persistent one at 2, null ones
// at 0 and 5. The messages come in the order 4, 1, 3.
static void start_six(MPI_Request requests[6], int got[6])
{
    static const int order[] = {4, 1, 3};
    for (int i = 0; i < 6; i++) {
        requests[i] = MPI_REQUEST_NULL;
        got[i] = -1;
    }
    if (rank == 1) {
        for (int i = 0; i < 3; i++)
            OK(MPI_Irecv(&got[order[i]], 1, MPI_INT, 0, order[i], comm, &requests[order[i]]));
        OK(MPI_Recv_init(&got[2], 1, MPI_INT, 0, 2, comm, &requests[2]));
    }
    meet();
    for (int i = 0; rank == 0 && i < 3; i++)
        OK(MPI_Send(&order[i], 1, MPI_INT, 1, order[i], comm));
}

static void end_six(MPI_Request requests[6], const int got[6])
{
    if (rank == 0)
        return;
    CHECK(requests[2] != MPI_REQUEST_NULL);
    OK(MPI_Request_free(&requests[2]));
    for (int i = 0; i < 6; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        EQUAL(i == 1 || i == 3 || i == 4 ? i : -1, got[i]);
    }
}

CASE(waitany_among_null_and_inactive)
{
    MPI_Request requests[6];
    int got[6], seen = 0, index;
    start_six(requests, got);
    for (int i = 0; rank == 1 && i < 3; i++) {
        MPI_Status status = fresh_status();
        OK(MPI_Waitany(6, requests, &index, &status));
        CHECK(index == 1 || index == 3 || index == 4);
        STATUS(&status, 0, index, MPI_INT, 1);
        seen |= 1 << index;
    }
    if (rank == 1) {
        MPI_Status status = fresh_status();
        EQUAL(1 << 1 | 1 << 3 | 1 << 4, seen);
        OK(MPI_Waitany(6, requests, &index, &status));
        EQUAL(MPI_UNDEFINED, index);
        EMPTY_STATUS(&status);
    }
    end_six(requests, got);
}

CASE(testany_among_null_and_inactive)
{
    MPI_Request requests[6];
    int got[6], seen = 0, index, flag;
    start_six(requests, got);
    for (int i = 0; rank == 1 && i < 3; i++) {
        MPI_Status status = fresh_status();
        do {
            flag = 0;
            OK(MPI_Testany(6, requests, &index, &flag, &status));
            CHECK(flag || index == MPI_UNDEFINED);
        } while (!flag);
        STATUS(&status, 0, index, MPI_INT, 1);
        seen |= 1 << index;
    }
    if (rank == 1) {
        MPI_Status status = fresh_status();
        EQUAL(1 << 1 | 1 << 3 | 1 << 4, seen);
        OK(MPI_Testany(6, requests, &index, &flag, &status));
        EQUAL(1, flag);
        EQUAL(MPI_UNDEFINED, index);
        // Should be empty; MPICH 4.0 leaves it as it was.
        note("source %s", status.MPI_SOURCE == MPI_ANY_SOURCE ? "any" : "wrong");
    }
    end_six(requests, got);
}

static void some_of_six(int (*some)(int, MPI_Request[], int *, int[], MPI_Status[]))
{
    MPI_Request requests[6];
    int got[6], indices[6], count, seen = 0;
    MPI_Status statuses[6];
    start_six(requests, got);
    for (int done = 0; rank == 1 && done < 3;) {
        OK(some(6, requests, &count, indices, statuses));
        if (!CHECK(count >= 0 && count <= 3))
            break;
        for (int i = 0; i < count; i++) {
            CHECK(indices[i] == 1 || indices[i] == 3 || indices[i] == 4);
            STATUS(&statuses[i], 0, indices[i], MPI_INT, 1);
            seen |= 1 << indices[i];
        }
        done += count;
    }
    if (rank == 1) {
        EQUAL(1 << 1 | 1 << 3 | 1 << 4, seen);
        OK(some(6, requests, &count, indices, statuses));
        EQUAL(MPI_UNDEFINED, count);
    }
    end_six(requests, got);
}

CASE(waitsome_among_null_and_inactive)
{
    some_of_six(MPI_Waitsome);
}

CASE(testsome_among_null_and_inactive)
{
    some_of_six(MPI_Testsome);
}

static void check_all_of_six(MPI_Status statuses[6])
{
    for (int i = 0; i < 6; i++) {
        if (i == 1 || i == 3 || i == 4)
            STATUS(&statuses[i], 0, i, MPI_INT, 1);
        else
            EMPTY_STATUS(&statuses[i]);
    }
}

CASE(waitall_among_null_and_inactive)
{
    MPI_Request requests[6];
    int got[6];
    MPI_Status statuses[6];
    for (int i = 0; i < 6; i++)
        statuses[i] = fresh_status();
    start_six(requests, got);
    OK(MPI_Waitall(6, requests, statuses));
    if (rank == 1)
        check_all_of_six(statuses);
    end_six(requests, got);
}

CASE(testall_among_null_and_inactive)
{
    MPI_Request requests[6];
    int got[6], flag = 0;
    MPI_Status statuses[6];
    for (int i = 0; i < 6; i++)
        statuses[i] = fresh_status();
    start_six(requests, got);
    while (!flag && OK(MPI_Testall(6, requests, &flag, statuses)))
        ;
    if (rank == 1)
        check_all_of_six(statuses);
    end_six(requests, got);
}

CASE(testall_leaves_the_unfinished_alone)
{
    // One of two has arrived: neither may be completed.
    int numbers[2] = {-1, -1}, flag = 1;
    MPI_Request requests[2];
    if (rank == 1) {
        for (int i = 0; i < 2; i++)
            OK(MPI_Irecv(&numbers[i], 1, MPI_INT, 0, TAG + i, comm, &requests[i]));
    }
    meet();
    if (rank == 0) {
        OK(MPI_Ssend(&rank, 1, MPI_INT, 1, TAG, comm));
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE));
        OK(MPI_Send(&rank, 1, MPI_INT, 1, TAG + 1, comm));
    } else {
        MPI_Status statuses[2];
        for (int i = 0; i < 50; i++)
            OK(MPI_Testall(2, requests, &flag, statuses));
        EQUAL(0, flag);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        OK(MPI_Send(NULL, 0, MPI_INT, 0, TAG, comm));
        OK(MPI_Waitall(2, requests, statuses));
        for (int i = 0; i < 2; i++)
            STATUS(&statuses[i], 0, TAG + i, MPI_INT, 1);
    }
}

// --- Asking without completing -------------------------------------------------------------------

CASE_EACH(get_status_many_times, lengths)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    int flag = 0;
    unsigned char *bytes = message((size_t)value, 3), *got = buffer((size_t)value + 8);
    if (rank == 0) {
        OK(MPI_Isend(bytes, (int)value, MPI_BYTE, 1, TAG, comm, &request));
        while (!flag)
            OK(MPI_Request_get_status(request, &flag, &status));
        CHECK(request != MPI_REQUEST_NULL);
        OK(MPI_Wait(&request, &status));
        CHECK(request == MPI_REQUEST_NULL);
        return;
    }
    OK(MPI_Irecv(got, (int)value + 8, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &request));
    while (!flag)
        OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++) { // the same every time, and the data is there
        status = fresh_status();
        OK(MPI_Request_get_status(request, &flag, &status));
        EQUAL(1, flag);
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
    }
    FILLED(got, (size_t)value, 3);
    UNTOUCHED(got + value, 8);
    CHECK(request != MPI_REQUEST_NULL);
    status = fresh_status();
    OK(MPI_Wait(&request, &status));
    STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
}

CASE_EACH(get_status_then_test, lengths)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    int flag = 0;
    unsigned char *got = buffer((size_t)value);
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 3), (int)value, MPI_BYTE, 1, TAG, comm));
        return;
    }
    OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, MPI_ANY_TAG, comm, &request));
    while (!flag)
        OK(MPI_Request_get_status(request, &flag, &status));
    flag = 0;
    OK(MPI_Test(&request, &flag, &status));
    EQUAL(1, flag);
    STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 3);
}

// --- Freeing -------------------------------------------------------------------------------------

CASE_EACH(freed_sends, lengths)
{
    // Several sends, nobody waits for them; that all have arrived is learnt by a message.
    unsigned char *bytes[5];
    for (int i = 0; i < 5; i++) {
        MPI_Request request;
        if (rank == 0) {
            bytes[i] = message((size_t)value, i);
            OK(MPI_Isend(bytes[i], (int)value, MPI_BYTE, 1, TAG, comm, &request));
            OK(MPI_Request_free(&request));
            CHECK(request == MPI_REQUEST_NULL);
        } else {
            MPI_Status status = fresh_status();
            bytes[i] = buffer((size_t)value);
            OK(MPI_Recv(bytes[i], (int)value, MPI_BYTE, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
            FILLED(bytes[i], (size_t)value, i);
        }
    }
    meet();
}

CASE_EACH(freed_receives, lengths)
{
    // The receive has no request any more; a later message, in order, says that it is complete.
    MPI_Request request;
    unsigned char *got = buffer((size_t)value);
    int token = 0;
    if (rank == 1) {
        OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
        OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    meet();
    if (rank == 0) {
        // Synchronous, so that it has been received when the token is sent.
        OK(MPI_Ssend(message((size_t)value, 4), (int)value, MPI_BYTE, 1, TAG, comm));
        OK(MPI_Ssend(&token, 1, MPI_INT, 1, TAG + 1, comm));
    } else {
        OK(MPI_Recv(&token, 1, MPI_INT, 0, TAG + 1, comm, MPI_STATUS_IGNORE));
    }
    meet();
    if (rank == 1) {
        // The last part of a long message may still be on its way into the buffer.
        for (int i = 0; i < 1000 && got[value - 1] == UNTOUCHED_BYTE; i++) {
            int flag;
            OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
            usleep(1000);
        }
        FILLED(got, (size_t)value, 4);
    }
}

CASE(freed_synchronous_send)
{
    MPI_Request request;
    int number = 8, got = 0;
    if (rank == 0) {
        OK(MPI_Issend(&number, 1, MPI_INT, 1, TAG, comm, &request));
        OK(MPI_Request_free(&request));
    } else {
        OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
        EQUAL(8, got);
    }
    meet();
}

// --- Cancelling ----------------------------------------------------------------------------------

static const struct parameter capacities[] = {
    {"8", 8}, {"8192", 8192}, {"8193", 8193}, {"1MiB", 1048576}};

// A cancelled receive touches nothing, and the next one gets the message.
static void cancel_receive(int source, int tag, int capacity)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    int cancelled = 0, number = 0;
    unsigned char *got = buffer((size_t)capacity);
    if (rank == 1) {
        OK(MPI_Irecv(got, capacity, MPI_BYTE, source, tag, comm, &request));
        OK(MPI_Cancel(&request));
        CHECK(request != MPI_REQUEST_NULL);
        OK(MPI_Wait(&request, &status));
        CHECK(request == MPI_REQUEST_NULL);
        OK(MPI_Test_cancelled(&status, &cancelled));
        EQUAL(1, cancelled);
    }
    meet();
    if (rank == 0) {
        number = 99;
        OK(MPI_Send(&number, 1, MPI_INT, 1, TAG, comm));
    } else {
        OK(MPI_Recv(&number, 1, MPI_INT, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_INT, 1);
        EQUAL(99, number);
        UNTOUCHED(got, (size_t)capacity);
    }
}

CASE_EACH(cancelled_receive, capacities)
{
    cancel_receive(0, TAG, (int)value);
}

CASE_EACH(cancelled_wildcard, capacities)
{
    cancel_receive(MPI_ANY_SOURCE, MPI_ANY_TAG, (int)value);
}

CASE_EACH(cancelled_persistent, capacities)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    int cancelled = 0;
    unsigned char *got = buffer((size_t)value);
    if (rank == 1) {
        OK(MPI_Recv_init(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
        OK(MPI_Start(&request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        EQUAL(1, cancelled);
        CHECK(request != MPI_REQUEST_NULL);
        OK(MPI_Start(&request));
    }
    meet();
    if (rank == 0) {
        OK(MPI_Send(message(8, 6), 8, MPI_BYTE, 1, TAG, comm));
    } else {
        OK(MPI_Wait(&request, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, 8);
        FILLED(got, 8, 6);
        OK(MPI_Request_free(&request));
    }
}

CASE_EACH(cancelled_too_late, lengths)
{
    // The message is there: the receive completes, or is cancelled and another gets it; never both.
    MPI_Request request;
    MPI_Status status = fresh_status();
    int cancelled = 0, flag = 0;
    unsigned char *got = buffer((size_t)value);
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 5), (int)value, MPI_BYTE, 1, TAG, comm));
        return;
    }
    OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
    while (!flag)
        OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    EQUAL(0, cancelled);
    STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
    FILLED(got, (size_t)value, 5);
}

CASE(cancelled_among_others)
{
    // Cancelled, freed, null and completed ones in one Waitall.
    int numbers[4] = {-1, -1, -1, -1}, cancelled = 0;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    requests[3] = MPI_REQUEST_NULL;
    if (rank == 1) {
        for (int i = 0; i < 3; i++)
            OK(MPI_Irecv(&numbers[i], 1, MPI_INT, 0, TAG + i, comm, &requests[i]));
        OK(MPI_Cancel(&requests[1]));
    }
    meet();
    if (rank == 0) {
        OK(MPI_Send(&rank, 1, MPI_INT, 1, TAG, comm));
        OK(MPI_Send(&rank, 1, MPI_INT, 1, TAG + 2, comm));
    } else {
        OK(MPI_Waitall(4, requests, statuses));
        OK(MPI_Test_cancelled(&statuses[1], &cancelled));
        EQUAL(1, cancelled);
        STATUS(&statuses[0], 0, TAG, MPI_INT, 1);
        STATUS(&statuses[2], 0, TAG + 2, MPI_INT, 1);
        EMPTY_STATUS(&statuses[3]);
        EQUAL(-1, numbers[1]);
    }
}

CASE(cancelled_and_freed)
{
    int number = -1;
    MPI_Request request;
    if (rank == 1) {
        OK(MPI_Irecv(&number, 1, MPI_INT, 0, TAG, comm, &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Request_free(&request));
    }
    meet();
    if (rank == 0) {
        OK(MPI_Send(&rank, 1, MPI_INT, 1, TAG, comm));
    } else {
        int got = -1;
        OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
        EQUAL(0, got);
        EQUAL(-1, number);
    }
}

CASE(cancelled_send_is_received_or_not)
{
    // The sender says which; a cancelled send must not be received.
    MPI_Request request;
    MPI_Status status = fresh_status();
    int number = 1, cancelled = 0, flag = 1, got = 0;
    if (rank == 0) {
        OK(MPI_Isend(&number, 1, MPI_INT, 1, TAG, comm, &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        OK(MPI_Send(&cancelled, 1, MPI_INT, 1, TAG + 1, comm));
    } else {
        OK(MPI_Recv(&cancelled, 1, MPI_INT, 0, TAG + 1, comm, &status));
        if (!cancelled)
            OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, &status));
        OK(MPI_Iprobe(0, TAG, comm, &flag, &status));
        EQUAL(0, flag);
        EQUAL(!cancelled, got);
    }
}

// --- Crowds --------------------------------------------------------------------------------------

static const struct parameter crowds[] = {{"1000", 1000}, {"20000", 20000}};

CASE_EACH(outstanding_wildcards, crowds)
{
    // All posted before the first is sent; each gets its own, in order.
    int count = (int)value, wrong = 0;
    int *numbers = buffer((size_t)count * sizeof *numbers);
    MPI_Request *requests = buffer((size_t)count * sizeof *requests);
    MPI_Status *statuses = buffer((size_t)count * sizeof *statuses);
    for (int i = 0; rank == 1 && i < count; i++)
        wrong += MPI_Irecv(&numbers[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                           &requests[i]) != MPI_SUCCESS;
    meet();
    for (int i = 0; rank == 0 && i < count; i++) {
        numbers[i] = i;
        wrong += MPI_Isend(&numbers[i], 1, MPI_INT, 1, i % 1000, comm, &requests[i]) != MPI_SUCCESS;
    }
    OK(MPI_Waitall(count, requests, statuses));
    for (int i = 0; rank == 1 && i < count; i++) {
        int length = -1;
        MPI_Get_count(&statuses[i], MPI_INT, &length);
        wrong += numbers[i] != i || statuses[i].MPI_TAG != i % 1000 || length != 1 ||
                 statuses[i].MPI_SOURCE != 0 || requests[i] != MPI_REQUEST_NULL;
    }
    EQUAL(0, wrong);
}

CASE_EACH(outstanding_in_both_directions, crowds)
{
    int count = (int)value, wrong = 0, half = count / 2;
    int *numbers = buffer((size_t)count * sizeof *numbers);
    MPI_Request *requests = buffer((size_t)count * sizeof *requests);
    for (int i = 0; i < half; i++) {
        int length = i % 10 == 0 ? 0 : 1;
        numbers[i] = -1;
        numbers[half + i] = i;
        wrong += MPI_Irecv(&numbers[i], 1, MPI_INT, 1 - rank, TAG, comm, &requests[i]) != 0;
        wrong += MPI_Isend(&numbers[half + i], length, MPI_INT, 1 - rank, TAG, comm,
                           &requests[half + i]) != 0;
    }
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < half; i++)
        wrong += numbers[i] != (i % 10 == 0 ? -1 : i);
    EQUAL(0, wrong);
}

CASE(unexpected_crowd)
{
    // 5,000 messages are there before the first receive.
    enum { COUNT = 5000 };
    int number, wrong = 0;
    MPI_Request request;
    for (int i = 0; rank == 0 && i < COUNT; i++) {
        wrong += MPI_Isend(&i, 1, MPI_INT, 1, TAG, comm, &request) != MPI_SUCCESS;
        wrong += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    }
    meet();
    for (int i = 0; rank == 1 && i < COUNT; i++) {
        wrong += MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, MPI_STATUS_IGNORE) != 0;
        wrong += number != i;
    }
    EQUAL(0, wrong);
}

CASE(completed_backwards_by_waitany)
{
    enum { COUNT = 64 };
    static int numbers[COUNT];
    MPI_Request requests[COUNT];
    int seen = 0;
    for (int i = 0; i < COUNT; i++) {
        if (rank == 1)
            OK(MPI_Irecv(&numbers[i], 1, MPI_INT, 0, i, comm, &requests[i]));
    }
    for (int i = COUNT - 1; rank == 0 && i >= 0; i--)
        OK(MPI_Send(&i, 1, MPI_INT, 1, i, comm));
    for (int i = 0; rank == 1 && i < COUNT; i++) {
        int index;
        MPI_Status status = fresh_status();
        OK(MPI_Waitany(COUNT, requests, &index, &status));
        STATUS(&status, 0, index, MPI_INT, 1);
        EQUAL(index, numbers[index]);
        seen++;
    }
    EQUAL(rank * COUNT, seen);
}

// --- Generalized requests ------------------------------------------------------------------------

static int queried, freed;

static int query(void *state, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

CASE(generalized_request)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    int elements = 12, flag = 1;
    queried = freed = 0;
    OK(MPI_Grequest_start(query, release, cancel, &elements, &request));
    OK(MPI_Test(&request, &flag, &status));
    EQUAL(0, flag);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    STATUS(&status, 5, 6, MPI_INT, 12);
    EQUAL(1, queried);
    EQUAL(1, freed);
}

CASE(generalized_request_in_waitall)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int elements = 3, got = -1;
    queried = freed = 0;
    OK(MPI_Grequest_start(query, release, cancel, &elements, &requests[0]));
    OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, TAG, comm, &requests[1]));
    OK(MPI_Ibarrier(comm, &requests[2]));
    OK(MPI_Isend(&rank, 1, MPI_INT, 1 - rank, TAG, comm, &requests[3]));
    OK(MPI_Grequest_complete(requests[0]));
    OK(MPI_Waitall(4, requests, statuses));
    STATUS(&statuses[0], 5, 6, MPI_INT, 3);
    STATUS(&statuses[1], 1 - rank, TAG, MPI_INT, 1);
    EQUAL(1 - rank, got);
    EQUAL(1, queried);
    EQUAL(1, freed);
    for (int i = 0; i < 4; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

CASE(collectives_and_messages_in_one_waitall)
{
    int sum = 0, mine = rank + 1, got = 0, root = rank == 0 ? 55 : 0;
    MPI_Request requests[5];
    MPI_Status statuses[5];
    OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, TAG, comm, &requests[0]));
    OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]));
    OK(MPI_Isend(&mine, 1, MPI_INT, 1 - rank, TAG, comm, &requests[2]));
    OK(MPI_Ibcast(&root, 1, MPI_INT, 0, comm, &requests[3]));
    OK(MPI_Ibarrier(comm, &requests[4]));
    OK(MPI_Waitall(5, requests, statuses));
    STATUS(&statuses[0], 1 - rank, TAG, MPI_INT, 1);
    EQUAL(3, sum);
    EQUAL(55, root);
    EQUAL(2 - rank, got);
}

CASE(buffer_is_free_after_completion)
{
    // The send's memory is written again as soon as it may be, and was not needed any more.
    MPI_Request request;
    for (int i = 0; i < 40; i++) {
        int length = i % 2 ? 100 : 100000;
        unsigned char *bytes = buffer((size_t)length);
        if (rank == 0) {
            fill(bytes, (size_t)length, i);
            OK(MPI_Isend(bytes, length, MPI_BYTE, 1, TAG, comm, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            memset(bytes, 0, (size_t)length);
        } else {
            OK(MPI_Recv(bytes, length, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            FILLED(bytes, (size_t)length, i);
        }
    }
}

CASE(small_sends_share_no_fate)
{
    // Handles of small sends may be equal; each can be tested, asked, waited for.
    MPI_Request requests[8];
    int numbers[8], flag, got;
    for (int i = 0; rank == 0 && i < 8; i++) {
        numbers[i] = i;
        OK(MPI_Isend(&numbers[i], 1, MPI_INT, 1, TAG, comm, &requests[i]));
    }
    for (int i = 0; rank == 1 && i < 8; i++) {
        OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
        EQUAL(i, got);
    }
    if (rank == 0) {
        for (flag = 0; !flag;)
            OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        for (flag = 0; !flag;)
            OK(MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&requests[2]));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 8; i++)
            CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}
