// Probes: what they see, what they leave, what they match.
#include "conform.h"

#include <string.h>

enum { TAG = 6 };

CASE_EACH(probe, border_sizes)
{
    MPI_Status status = fresh_status();
    int count = -1;
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        for (int i = 0; i < 3; i++) { // it stays where it is
            OK(MPI_Probe(i == 0 ? 0 : MPI_ANY_SOURCE, i < 2 ? TAG : MPI_ANY_TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        }
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        unsigned char *got = buffer((size_t)count);
        OK(MPI_Recv(got, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 1);
    }
}

CASE_EACH(iprobe, border_sizes)
{
    MPI_Status status = fresh_status();
    int flag = 0;
    if (rank == 0) {
        OK(MPI_Ssend(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        while (!flag)
            OK(MPI_Iprobe(MPI_ANY_SOURCE, TAG, comm, &flag, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        OK(MPI_Iprobe(0, TAG, comm, &flag, &status));
        EQUAL(1, flag);
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        OK(MPI_Iprobe(0, TAG, comm, &flag, MPI_STATUS_IGNORE));
        EQUAL(1, flag);
        unsigned char *got = buffer((size_t)value);
        OK(MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 1);
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
        EQUAL(0, flag);
    }
}

CASE_EACH(mprobe, border_sizes)
{
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Status status = fresh_status();
    int flag = 1;
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        unsigned char *got = buffer((size_t)value + 8);
        OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &matched, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        CHECK(matched != MPI_MESSAGE_NULL && matched != MPI_MESSAGE_NO_PROC);
        OK(MPI_Iprobe(0, TAG, comm, &flag, MPI_STATUS_IGNORE)); // nobody else sees it any more
        EQUAL(0, flag);
        OK(MPI_Mrecv(got, (int)value + 8, MPI_BYTE, &matched, &status));
        CHECK(matched == MPI_MESSAGE_NULL);
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 1);
        UNTOUCHED(got + value, 8);
    }
}

CASE_EACH(improbe_imrecv, border_sizes)
{
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status = fresh_status();
    int flag = 0;
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        unsigned char *got = buffer((size_t)value);
        while (!flag)
            OK(MPI_Improbe(0, MPI_ANY_TAG, comm, &flag, &matched, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        OK(MPI_Imrecv(got, (int)value, MPI_BYTE, &matched, &request));
        CHECK(matched == MPI_MESSAGE_NULL);
        OK(MPI_Wait(&request, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 1);
    }
}

CASE(nothing_there)
{
    MPI_Message matched = MPI_MESSAGE_NULL;
    int flag = 1;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
    EQUAL(0, flag);
    flag = 1;
    OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &matched, MPI_STATUS_IGNORE));
    EQUAL(0, flag);
}

CASE(other_tag_or_communicator)
{
    int number = 1, flag = 1;
    MPI_Status status = fresh_status();
    MPI_Comm other;
    OK(MPI_Comm_dup(comm, &other));
    if (rank == 0) {
        OK(MPI_Send(&number, 1, MPI_INT, 1, TAG, comm));
    } else {
        OK(MPI_Probe(0, TAG, comm, &status));
        OK(MPI_Iprobe(0, TAG + 1, comm, &flag, &status));
        EQUAL(0, flag);
        OK(MPI_Iprobe(0, TAG, other, &flag, &status));
        EQUAL(0, flag);
        OK(MPI_Iprobe(1, TAG, comm, &flag, &status));
        EQUAL(0, flag);
        OK(MPI_Recv(&number, 1, MPI_INT, 0, TAG, comm, &status));
    }
    OK(MPI_Comm_free(&other));
}

CASE(proc_null)
{
    MPI_Status status = fresh_status();
    MPI_Message matched = MPI_MESSAGE_NULL;
    MPI_Request request;
    int flag = 0;
    char *got = buffer(8);
    OK(MPI_Probe(MPI_PROC_NULL, TAG, comm, &status));
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    OK(MPI_Iprobe(MPI_PROC_NULL, TAG, comm, &flag, &status));
    EQUAL(1, flag);
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    OK(MPI_Mprobe(MPI_PROC_NULL, TAG, comm, &matched, &status));
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    CHECK(matched == MPI_MESSAGE_NO_PROC);
    OK(MPI_Mrecv(got, 8, MPI_BYTE, &matched, &status));
    CHECK(matched == MPI_MESSAGE_NULL);
    STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_BYTE, 0);
    flag = 0;
    OK(MPI_Improbe(MPI_PROC_NULL, TAG, comm, &flag, &matched, &status));
    EQUAL(1, flag);
    CHECK(matched == MPI_MESSAGE_NO_PROC);
    OK(MPI_Imrecv(got, 8, MPI_BYTE, &matched, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    UNTOUCHED(got, 8);
}

static const struct parameter orders[] = {{"8", 8}, {"3000", 3000}, {"100000", 100000}};

CASE_EACH(matched_messages_in_any_order, orders)
{
    enum { MESSAGES = 5 };
    MPI_Message matched[MESSAGES];
    MPI_Status status = fresh_status();
    MPI_Request requests[MESSAGES];
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            OK(MPI_Isend(message((size_t)value, i), (int)value, MPI_BYTE, 1, TAG, comm,
                         &requests[i]));
        OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    } else {
        for (int i = 0; i < MESSAGES; i++) {
            OK(MPI_Mprobe(0, TAG, comm, &matched[i], &status));
            STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        }
        for (int i = MESSAGES - 1; i >= 0; i--) {
            unsigned char *got = buffer((size_t)value);
            OK(MPI_Mrecv(got, (int)value, MPI_BYTE, &matched[i], &status));
            STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
            FILLED(got, (size_t)value, i);
        }
    }
}

CASE_EACH(matched_message_passed_by, orders)
{
    // The first message is matched, but the second is received first.
    MPI_Message matched;
    MPI_Status status = fresh_status();
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
        OK(MPI_Send(message((size_t)value, 2), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        unsigned char *got = buffer((size_t)value);
        OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
        if (value <= 8192) // longer sends may not return before they are received
            OK(MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, comm, &status));
        if (value <= 8192)
            FILLED(got, (size_t)value, 2);
        OK(MPI_Mrecv(got, (int)value, MPI_BYTE, &matched, &status));
        FILLED(got, (size_t)value, 1);
        if (value > 8192)
            OK(MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, comm, &status));
    }
}

CASE_EACH(mrecv_after_faulty_ones, orders)
{
    // Whose message stays matched.
    return_all_errors();
    MPI_Message matched;
    MPI_Request request;
    MPI_Status status = fresh_status();
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        unsigned char *got = buffer((size_t)value);
        OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
        RETURNS(MPI_ERR_COUNT, MPI_Mrecv(got, -1, MPI_BYTE, &matched, &status));
        RETURNS(MPI_ERR_TYPE, MPI_Imrecv(got, 1, MPI_DATATYPE_NULL, &matched, &request));
        OK(MPI_Mrecv(got, (int)value, MPI_BYTE, &matched, &status));
        STATUS(&status, 0, TAG, MPI_BYTE, (int)value);
        FILLED(got, (size_t)value, 1);
    }
}

CASE_EACH(mrecv_of_derived_type, orders)
{
    MPI_Datatype every_other;
    MPI_Message matched;
    MPI_Status status = fresh_status();
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &every_other));
    OK(MPI_Type_commit(&every_other));
    int count = (int)value / 4, *numbers = buffer((size_t)count * 8);
    if (rank == 0) {
        for (int i = 0; i < count; i++)
            numbers[2 * i] = i;
        OK(MPI_Send(numbers, count, every_other, 1, TAG, comm));
    } else {
        int good = 0;
        OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
        STATUS(&status, 0, TAG, every_other, count);
        OK(MPI_Mrecv(numbers, count, every_other, &matched, &status));
        STATUS(&status, 0, TAG, every_other, count);
        for (int i = 0; i < count; i++)
            good += numbers[2 * i] == i;
        EQUAL(count, good);
        UNTOUCHED(numbers + 1, 4);
    }
    OK(MPI_Type_free(&every_other));
}

CASE(lengths_in_elements)
{
    MPI_Datatype pair;
    MPI_Status status = fresh_status();
    MPI_Count elements_x;
    int numbers[5] = {1, 2, 3, 4, 5}, count = 0, elements = 0;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    if (rank == 0) {
        OK(MPI_Send(numbers, 5, MPI_INT, 1, TAG, comm));
    } else {
        OK(MPI_Probe(0, TAG, comm, &status));
        OK(MPI_Get_count(&status, pair, &count));
        EQUAL(MPI_UNDEFINED, count);
        OK(MPI_Get_elements(&status, pair, &elements));
        EQUAL(5, elements);
        OK(MPI_Get_elements_x(&status, pair, &elements_x));
        EQUAL(5, elements_x);
        OK(MPI_Get_count(&status, MPI_INT, &count));
        EQUAL(5, count);
        OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
        EQUAL(MPI_UNDEFINED, count);
        OK(MPI_Recv(numbers, 5, MPI_INT, 0, TAG, comm, &status));
    }
    OK(MPI_Type_free(&pair));
}

CASE(self)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    MPI_Message matched;
    for (int i = 0; i < 3; i++) {
        static const int lengths[] = {0, 500, 50000};
        unsigned char *got = buffer((size_t)lengths[i]);
        OK(MPI_Isend(message((size_t)lengths[i], i), lengths[i], MPI_BYTE, rank, TAG, comm,
                     &request));
        OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
        STATUS(&status, rank, TAG, MPI_BYTE, lengths[i]);
        OK(MPI_Mprobe(rank, TAG, comm, &matched, &status));
        STATUS(&status, rank, TAG, MPI_BYTE, lengths[i]);
        OK(MPI_Mrecv(got, lengths[i], MPI_BYTE, &matched, &status));
        STATUS(&status, rank, TAG, MPI_BYTE, lengths[i]);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FILLED(got, (size_t)lengths[i], i);
    }
}

CASE(posted_receive_goes_first)
{
    // What a posted receive has matched no probe sees, and what comes next it does.
    int first = 11, second = 22, got = 0, probed = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    if (rank == 1)
        OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
    meet();
    if (rank == 0) {
        OK(MPI_Send(&first, 1, MPI_INT, 1, 1, comm));
        OK(MPI_Send(&second, 1, MPI_INT, 1, 2, comm));
    } else {
        OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
        STATUS(&status, 0, 2, MPI_INT, 1);
        OK(MPI_Recv(&probed, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE));
        EQUAL(22, probed);
        OK(MPI_Wait(&request, &status));
        STATUS(&status, 0, 1, MPI_INT, 1);
        EQUAL(11, got);
    }
}

CASE(unknown_lengths)
{
    // The everyday use: who sends what is learnt by probing.
    for (int i = 0; i < 40; i++) {
        int length = (i * i * 137) % 20000;
        MPI_Status status = fresh_status();
        if (rank == 0) {
            OK(MPI_Send(message((size_t)length, i), length, MPI_BYTE, 1, i, comm));
        } else {
            int count = -1;
            OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            EQUAL(length, count);
            unsigned char *got = buffer((size_t)count);
            OK(MPI_Recv(got, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status));
            STATUS(&status, 0, i, MPI_BYTE, length);
            FILLED(got, (size_t)length, i);
        }
    }
}
