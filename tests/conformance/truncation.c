// Messages longer than their buffers: an error of the right class, nothing beyond the buffer for
// small ones, and everything afterwards as if nothing had been. What a truncated status counts is
// each MPI's own affair; it is noted, so that runs can be compared.
#include "conform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 40, SLACK = 1 << 21 };

// Message length and capacity, in one number.
#define LONGER(message, capacity) ((capacity)*1000000000L + (message))
static const struct parameter pairs[] = {
    {"1_into_0", LONGER(1, 0)},
    {"9_into_8", LONGER(9, 8)},
    {"16_into_8", LONGER(16, 8)},
    {"1024_into_1016", LONGER(1024, 1016)},
    {"1025_into_1024", LONGER(1025, 1024)},
    {"2000_into_8", LONGER(2000, 8)},
    {"8192_into_8184", LONGER(8192, 8184)},
    {"8200_into_8192", LONGER(8200, 8192)},
    {"8201_into_8193", LONGER(8201, 8193)},
    {"9000_into_100", LONGER(9000, 100)},
    {"70000_into_65536", LONGER(70000, 65536)},
    {"100000_into_8", LONGER(100000, 8)},
    {"1MiB_into_1000", LONGER(1048576, 1000)},
    {"1MiB_into_512KiB", LONGER(1048576, 524288)},
};
static const struct parameter few_pairs[] = {
    {"16_into_8", LONGER(16, 8)},
    {"1025_into_1024", LONGER(1025, 1024)},
    {"9000_into_100", LONGER(9000, 100)},
    {"9000_into_8500", LONGER(9000, 8500)},
    {"100000_into_9000", LONGER(100000, 9000)},
};

static int length_of(long pair)
{
    return (int)(pair % 1000000000L);
}

static int capacity_of(long pair)
{
    return (int)(pair / 1000000000L);
}

static void note_status(const MPI_Status *status)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    note("source %d tag %d count %d", status->MPI_SOURCE, status->MPI_TAG, count);
}

// A message of every technique passes as ever, in both directions.
static void check_that_messages_pass(void)
{
    static const int lengths[] = {0, 8, 3000, 20000};
    for (int sender = 0; sender < 2; sender++) {
        for (int i = 0; i < 4; i++) {
            MPI_Status status = fresh_status();
            unsigned char *bytes = buffer((size_t)lengths[i]);
            if (rank == sender) {
                fill(bytes, (size_t)lengths[i], i);
                OK(MPI_Send(bytes, lengths[i], MPI_BYTE, 1 - rank, TAG, comm));
            } else {
                OK(MPI_Recv(bytes, lengths[i], MPI_BYTE, sender, TAG, comm, &status));
                STATUS(&status, sender, TAG, MPI_BYTE, lengths[i]);
                FILLED(bytes, (size_t)lengths[i], i);
            }
        }
    }
}

static void send_one(long pair)
{
    MPI_Request request;
    unsigned char *bytes = message((size_t)length_of(pair), 1);
    OK(MPI_Isend(bytes, length_of(pair), MPI_BYTE, 1, TAG, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

CASE_EACH(recv, pairs)
{
    MPI_Status status = fresh_status();
    if (rank == 0) {
        send_one(value);
    } else {
        void *got = loose_buffer((size_t)capacity_of(value), SLACK);
        RETURNS(MPI_ERR_TRUNCATE,
                MPI_Recv(got, capacity_of(value), MPI_BYTE, 0, TAG, comm, &status));
        note_status(&status);
    }
    check_that_messages_pass();
}

CASE_EACH(recv_any, few_pairs)
{
    if (rank == 0) {
        send_one(value);
    } else {
        void *got = loose_buffer((size_t)capacity_of(value), SLACK);
        RETURNS(MPI_ERR_TRUNCATE, MPI_Recv(got, capacity_of(value), MPI_BYTE, MPI_ANY_SOURCE,
                                           MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    }
    check_that_messages_pass();
}

CASE_EACH(wait, pairs)
{
    return_all_errors();
    MPI_Status status = fresh_status();
    MPI_Request request;
    if (rank == 1)
        OK(MPI_Irecv(loose_buffer((size_t)capacity_of(value), SLACK), capacity_of(value), MPI_BYTE,
                     0, TAG, comm, &request));
    meet();
    if (rank == 0) {
        send_one(value);
    } else {
        RETURNS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
        note("%s", request == MPI_REQUEST_NULL ? "null" : "kept");
        note_status(&status);
    }
    check_that_messages_pass();
}

CASE_EACH(test, few_pairs)
{
    return_all_errors();
    MPI_Request request;
    int flag = 0, rc = MPI_SUCCESS;
    if (rank == 0) {
        send_one(value);
    } else {
        OK(MPI_Irecv(loose_buffer((size_t)capacity_of(value), SLACK), capacity_of(value), MPI_BYTE,
                     0, TAG, comm, &request));
        while (!flag && rc == MPI_SUCCESS)
            rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        RETURNS(MPI_ERR_TRUNCATE, rc);
        note("%s", request == MPI_REQUEST_NULL ? "null" : "kept");
    }
    check_that_messages_pass();
}

// Three receives, of which the middle one is too short.
static void three_receives(long pair, MPI_Request requests[3], unsigned char *got[3])
{
    for (int i = 0; i < 3; i++) {
        int length = i == 1 ? length_of(pair) : 50;
        int capacity = i == 1 ? capacity_of(pair) : 50;
        got[i] = loose_buffer((size_t)capacity, i == 1 ? SLACK : 0);
        if (rank == 1)
            OK(MPI_Irecv(got[i], capacity, MPI_BYTE, 0, TAG + i, comm, &requests[i]));
        else
            OK(MPI_Isend(message((size_t)length, i), length, MPI_BYTE, 1, TAG + i, comm,
                         &requests[i]));
    }
}

CASE_EACH(waitall, few_pairs)
{
    return_all_errors();
    MPI_Request requests[3];
    MPI_Status statuses[3];
    unsigned char *got[3];
    three_receives(value, requests, got);
    if (rank == 0) {
        OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    } else {
        RETURNS(MPI_ERR_IN_STATUS, MPI_Waitall(3, requests, statuses));
        // Those not complete are pending, and can be waited for.
        for (int i = 0; i < 3; i++) {
            if (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
                OK(MPI_Wait(&requests[i], &statuses[i]));
            else
                RETURNS(i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, statuses[i].MPI_ERROR);
        }
        for (int i = 0; i < 3; i += 2) {
            STATUS(&statuses[i], 0, TAG + i, MPI_BYTE, 50);
            FILLED(got[i], 50, i);
        }
    }
    check_that_messages_pass();
}

// The call waits for both, though the first to come is at fault. (Open MPI's may not.)
CASE_EACH(waitall_of_a_late_message, few_pairs)
{
    return_all_errors();
    MPI_Request requests[2];
    MPI_Status statuses[2];
    unsigned char *late = buffer(50), *got = loose_buffer((size_t)capacity_of(value), SLACK);
    if (rank == 1) {
        OK(MPI_Irecv(late, 50, MPI_BYTE, 0, TAG, comm, &requests[0]));
        OK(MPI_Irecv(got, capacity_of(value), MPI_BYTE, 0, TAG + 1, comm, &requests[1]));
    }
    meet();
    if (rank == 0) {
        unsigned char *bytes = message((size_t)length_of(value), 1);
        OK(MPI_Send(bytes, length_of(value), MPI_BYTE, 1, TAG + 1, comm));
        usleep(20000);
        OK(MPI_Send(message(50, 2), 50, MPI_BYTE, 1, TAG, comm));
    } else {
        RETURNS(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
        RETURNS(MPI_ERR_TRUNCATE, statuses[1].MPI_ERROR);
        note("%s", requests[1] == MPI_REQUEST_NULL ? "null" : "kept");
#ifdef OPEN_MPI
        if (statuses[0].MPI_ERROR == MPI_ERR_PENDING)
            statuses[0].MPI_ERROR = MPI_Wait(&requests[0], &statuses[0]);
#endif
        RETURNS(MPI_SUCCESS, statuses[0].MPI_ERROR);
        CHECK(requests[0] == MPI_REQUEST_NULL);
        STATUS(&statuses[0], 0, TAG, MPI_BYTE, 50);
        FILLED(late, 50, 2);
    }
    check_that_messages_pass();
}

CASE_EACH(waitall_ignored, few_pairs)
{
    return_all_errors();
    MPI_Request requests[3];
    unsigned char *got[3];
    three_receives(value, requests, got);
    int rc = MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    note("%s", class_name(rc));
    meet();
    for (int i = 0; i < 3; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    check_that_messages_pass();
}

CASE_EACH(waitsome, few_pairs)
{
    return_all_errors();
    MPI_Request requests[3];
    MPI_Status statuses[3];
    unsigned char *got[3];
    int indices[3], done = 0, truncated = 0;
    three_receives(value, requests, got);
    if (rank == 0)
        OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    while (rank == 1 && done < 3) {
        int count = 0, rc = MPI_Waitsome(3, requests, &count, indices, statuses);
        if (count <= 0) {
            CHECK(count > 0);
            break;
        }
        for (int i = 0; i < count; i++) {
            if (indices[i] != 1) {
                STATUS(&statuses[i], 0, TAG + indices[i], MPI_BYTE, 50);
                FILLED(got[indices[i]], 50, indices[i]);
                continue;
            }
            truncated++;
            RETURNS(MPI_ERR_IN_STATUS, rc);
            RETURNS(MPI_ERR_TRUNCATE, statuses[i].MPI_ERROR);
        }
        done += count;
    }
    EQUAL(rank, truncated);
    check_that_messages_pass();
}

CASE_EACH(waitany, few_pairs)
{
    return_all_errors();
    MPI_Request requests[3];
    MPI_Status status = fresh_status();
    unsigned char *got[3];
    int truncated = 0;
    three_receives(value, requests, got);
    for (int i = 0; i < 3; i++) {
        int index = -1, rc = MPI_Waitany(3, requests, &index, &status);
        truncated += rc != MPI_SUCCESS;
        if (rank == 1) {
            CHECK(index >= 0 && index < 3);
            RETURNS(index == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, rc);
        }
    }
    EQUAL(rank, truncated);
    check_that_messages_pass();
}

CASE_EACH(sendrecv, few_pairs)
{
    int length = rank == 0 ? length_of(value) : 10;
    int capacity = rank == 0 ? 10 : capacity_of(value);
    MPI_Status status = fresh_status();
    int rc = MPI_Sendrecv(message((size_t)length, rank), length, MPI_BYTE, 1 - rank, TAG,
                          loose_buffer((size_t)capacity, SLACK), capacity, MPI_BYTE, 1 - rank, TAG,
                          comm, &status);
    RETURNS(rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE, rc);
    check_that_messages_pass();
}

CASE_EACH(mrecv, few_pairs)
{
    return_all_errors();
    MPI_Message matched;
    MPI_Status status = fresh_status();
    if (rank == 0) {
        send_one(value);
    } else {
        void *got = loose_buffer((size_t)capacity_of(value), SLACK);
        OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, length_of(value));
        RETURNS(MPI_ERR_TRUNCATE, MPI_Mrecv(got, capacity_of(value), MPI_BYTE, &matched, &status));
        note("message %s", matched == MPI_MESSAGE_NULL ? "taken" : "left");
        note_status(&status);
    }
    check_that_messages_pass();
}

CASE_EACH(persistent, few_pairs)
{
    // Too long every other time; the request remains usable.
    return_all_errors();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    unsigned char *got = loose_buffer((size_t)capacity_of(value), SLACK);
    if (rank == 1)
        OK(MPI_Recv_init(got, capacity_of(value), MPI_BYTE, 0, TAG, comm, &request));
    for (int i = 0; i < 4; i++) {
        int length = i % 2 == 0 ? length_of(value) : capacity_of(value);
        if (rank == 0) {
            OK(MPI_Send(message((size_t)length, i), length, MPI_BYTE, 1, TAG, comm));
            continue;
        }
        OK(MPI_Start(&request));
        int rc = MPI_Wait(&request, &status);
        RETURNS(i % 2 == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, rc);
        note("%s", request == MPI_REQUEST_NULL ? "null" : "kept");
        if (request == MPI_REQUEST_NULL) // an error may end a persistent request
            OK(MPI_Recv_init(got, capacity_of(value), MPI_BYTE, 0, TAG, comm, &request));
        if (i % 2 != 0) {
            STATUS(&status, 0, TAG, MPI_BYTE, length);
            FILLED(got, (size_t)length, i);
        }
    }
    if (rank == 1)
        OK(MPI_Request_free(&request));
    check_that_messages_pass();
}

// Open MPI's MPI_Testany tells no fault of a persistent request, its MPI_Waitany does.
CASE_EACH(persistent_waitany, few_pairs)
{
    return_all_errors();
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status = fresh_status();
    int index = -1, length = length_of(value);
    if (rank == 0) {
        OK(MPI_Send(message((size_t)length, 1), length, MPI_BYTE, 1, TAG, comm));
    } else {
        unsigned char *got = loose_buffer((size_t)capacity_of(value), SLACK);
        OK(MPI_Recv_init(got, capacity_of(value), MPI_BYTE, 0, TAG, comm, &requests[1]));
        OK(MPI_Start(&requests[1]));
        RETURNS(MPI_ERR_TRUNCATE, MPI_Waitany(2, requests, &index, &status));
        EQUAL(1, index);
        note("%s", requests[1] == MPI_REQUEST_NULL ? "null" : "kept");
        if (requests[1] != MPI_REQUEST_NULL)
            OK(MPI_Request_free(&requests[1]));
        OK(MPI_Waitany(2, requests, &index, &status));
        EQUAL(MPI_UNDEFINED, index);
    }
    check_that_messages_pass();
}

// Of one that is complete when MPI_Waitall is called Open MPI tells no fault: so it waits here.
CASE_EACH(persistent_waitall, few_pairs)
{
    return_all_errors();
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2] = {fresh_status(), fresh_status()};
    int length = length_of(value);
    unsigned char *got = loose_buffer((size_t)capacity_of(value), SLACK);
    if (rank == 1) {
        OK(MPI_Recv_init(got, capacity_of(value), MPI_BYTE, 0, TAG, comm, &requests[1]));
        OK(MPI_Start(&requests[1]));
    }
    meet();
    if (rank == 0) {
        usleep(50000);
        OK(MPI_Send(message((size_t)length, 1), length, MPI_BYTE, 1, TAG, comm));
    } else {
        RETURNS(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
        RETURNS(MPI_ERR_TRUNCATE, statuses[1].MPI_ERROR);
        if (requests[1] != MPI_REQUEST_NULL)
            OK(MPI_Request_free(&requests[1]));
    }
    check_that_messages_pass();
}

// Whose statuses nobody looks at. A header needs them, and with statuses Open MPI tells no fault of
// a persistent request that is complete when the call is made.
CASE_EACH(persistent_ignored, few_pairs)
{
    return_all_errors();
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned char *got = loose_buffer((size_t)capacity_of(value), SLACK);
    if (rank == 0) {
        int length = length_of(value);
        OK(MPI_Send(message((size_t)length, 1), length, MPI_BYTE, 1, TAG, comm));
    } else {
        OK(MPI_Recv_init(got, capacity_of(value), MPI_BYTE, 0, TAG, comm, &request));
        OK(MPI_Start(&request));
        int rc = MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        const char *carrier = getenv("COSCHED_PIGGYBACK");
        CHECK(rc != MPI_SUCCESS || (carrier != NULL && strcmp(carrier, "header") == 0));
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
    }
    check_that_messages_pass();
}

CASE_EACH(self, few_pairs)
{
    return_all_errors();
    MPI_Request request;
    unsigned char *bytes = message((size_t)length_of(value), 1);
    void *got = loose_buffer((size_t)capacity_of(value), SLACK);
    OK(MPI_Irecv(got, capacity_of(value), MPI_BYTE, rank, TAG, comm, &request));
    int sent = MPI_Send(bytes, length_of(value), MPI_BYTE, rank, TAG, comm);
    RETURNS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    note("send %s", class_name(sent));
    check_that_messages_pass();
}

CASE_EACH(derived, few_pairs)
{
    MPI_Datatype every_other;
    OK(MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other));
    OK(MPI_Type_commit(&every_other));
    if (rank == 0) {
        send_one(value);
    } else {
        void *got = loose_buffer(2 * (size_t)capacity_of(value), SLACK);
        RETURNS(MPI_ERR_TRUNCATE,
                MPI_Recv(got, capacity_of(value), every_other, 0, TAG, comm, MPI_STATUS_IGNORE));
    }
    OK(MPI_Type_free(&every_other));
    check_that_messages_pass();
}

CASE(a_shorter_message_after_a_probe)
{
    // What the probe saw is what the receive gets, when it is given room enough.
    MPI_Status status = fresh_status();
    int count = 0;
    for (int i = 0; i < 4; i++) {
        static const int lengths[] = {40, 4000, 9000, 90000};
        if (rank == 0) {
            OK(MPI_Send(message((size_t)lengths[i], i), lengths[i], MPI_BYTE, 1, TAG, comm));
        } else {
            OK(MPI_Probe(0, TAG, comm, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            EQUAL(lengths[i], count);
            void *got = loose_buffer((size_t)count - 1, SLACK);
            RETURNS(MPI_ERR_TRUNCATE,
                    MPI_Recv(got, count - 1, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        }
    }
    check_that_messages_pass();
}
