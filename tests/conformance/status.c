// What a status says, and what it leaves alone.
#include "conform.h"

#include <string.h>

enum { TAG = 9, ERROR_MARK = 4711 };

static MPI_Status marked(void)
{
    MPI_Status status = fresh_status();
    status.MPI_ERROR = ERROR_MARK;
    return status;
}

// Calls that complete one operation leave MPI_ERROR as it was.
static void check_mark(const char *call, const MPI_Status *status)
{
    if (rank == 1)
        note("%s %s", call, status->MPI_ERROR == ERROR_MARK ? "kept" : "changed");
}

static const struct parameter lengths[] = {{"8", 8}, {"5000", 5000}, {"200000", 200000}};

// Rank 0 sends `messages` of them; rank 1 returns a buffer to receive them into.
static unsigned char *sent(int messages, int length)
{
    for (int i = 0; rank == 0 && i < messages; i++)
        OK(MPI_Send(message((size_t)length, 1), length, MPI_BYTE, 1, TAG, comm));
    return buffer((size_t)length);
}

CASE_EACH(error_field_after_recv, lengths)
{
    MPI_Status status = marked();
    unsigned char *got = sent(1, (int)value);
    if (rank == 1)
        OK(MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, comm, &status));
    check_mark("recv", &status);
}

CASE_EACH(error_field_after_wait, lengths)
{
    MPI_Status status = marked();
    MPI_Request request;
    unsigned char *got = sent(1, (int)value);
    if (rank == 1) {
        OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
        OK(MPI_Wait(&request, &status));
    }
    check_mark("wait", &status);
}

CASE_EACH(error_field_after_test, lengths)
{
    MPI_Status status = marked();
    MPI_Request request;
    int flag = 0;
    unsigned char *got = sent(1, (int)value);
    if (rank == 1) {
        OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
        while (!flag)
            OK(MPI_Test(&request, &flag, &status));
    }
    check_mark("test", &status);
}

CASE_EACH(error_field_after_waitany, lengths)
{
    MPI_Status status = marked();
    MPI_Request request;
    int index = -1;
    unsigned char *got = sent(1, (int)value);
    if (rank == 1) {
        OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
        OK(MPI_Waitany(1, &request, &index, &status));
        EQUAL(0, index);
    }
    check_mark("waitany", &status);
}

CASE_EACH(error_field_after_testany, lengths)
{
    MPI_Status status = marked();
    MPI_Request request;
    int index = -1, flag = 0;
    unsigned char *got = sent(1, (int)value);
    if (rank == 1) {
        OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, TAG, comm, &request));
        while (!flag)
            OK(MPI_Testany(1, &request, &index, &flag, &status));
        EQUAL(0, index);
    }
    check_mark("testany", &status);
}

CASE_EACH(error_field_after_probes, lengths)
{
    MPI_Status status = marked();
    MPI_Message matched;
    int flag = 0;
    unsigned char *got = sent(2, (int)value);
    if (rank == 1) {
        OK(MPI_Probe(0, TAG, comm, &status));
        check_mark("probe", &status);
        status = marked();
        while (!flag)
            OK(MPI_Iprobe(0, TAG, comm, &flag, &status));
        check_mark("iprobe", &status);
        status = marked();
        OK(MPI_Mprobe(0, TAG, comm, &matched, &status));
        check_mark("mprobe", &status);
        status = marked();
        OK(MPI_Mrecv(got, (int)value, MPI_BYTE, &matched, &status));
        check_mark("mrecv", &status);
        OK(MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
    }
}

CASE_EACH(error_field_after_sendrecv, lengths)
{
    MPI_Status status = marked();
    unsigned char *bytes = message((size_t)value, 1), *got = buffer((size_t)value);
    OK(MPI_Sendrecv(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, got, (int)value, MPI_BYTE, 1 - rank,
                    TAG, comm, &status));
    check_mark("sendrecv", &status);
    status = marked();
    OK(MPI_Sendrecv_replace(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, 1 - rank, TAG, comm,
                            &status));
    check_mark("sendrecv_replace", &status);
}

CASE(error_fields_of_good_waitall)
{
    MPI_Status statuses[2] = {marked(), marked()};
    MPI_Request requests[2];
    int number = 3, got = 0;
    OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, TAG, comm, &requests[0]));
    OK(MPI_Isend(&number, 1, MPI_INT, 1 - rank, TAG, comm, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
    STATUS(&statuses[0], 1 - rank, TAG, MPI_INT, 1);
    CHECK(statuses[0].MPI_ERROR == ERROR_MARK || statuses[0].MPI_ERROR == MPI_SUCCESS);
    note("%s", statuses[0].MPI_ERROR == MPI_SUCCESS ? "set" : "left");
}

enum way { WAIT, TEST, WAITANY, TESTANY, WAITSOME, TESTSOME, WAITALL, TESTALL, GET_STATUS };
static const struct parameter ways[] = {
    {"wait", WAIT},       {"test", TEST},         {"waitany", WAITANY},
    {"testany", TESTANY}, {"waitsome", WAITSOME}, {"testsome", TESTSOME},
    {"waitall", WAITALL}, {"testall", TESTALL},   {"get_status", GET_STATUS},
};

// Completes one request by the given call.
static void complete(enum way way, MPI_Request *request, MPI_Status *status)
{
    int flag = 0, index = -1, count = 0;
    switch (way) {
    case WAIT:
        OK(MPI_Wait(request, status));
        break;
    case TEST:
        while (!flag && OK(MPI_Test(request, &flag, status)))
            ;
        break;
    case WAITANY:
        OK(MPI_Waitany(1, request, &index, status));
        EQUAL(0, index);
        break;
    case TESTANY:
        while (!flag && OK(MPI_Testany(1, request, &index, &flag, status)))
            ;
        EQUAL(0, index);
        break;
    case WAITSOME:
        OK(MPI_Waitsome(1, request, &count, &index, status));
        EQUAL(1, count);
        EQUAL(0, index);
        break;
    case TESTSOME:
        while (count == 0 && OK(MPI_Testsome(1, request, &count, &index, status)))
            ;
        EQUAL(1, count);
        break;
    case WAITALL:
        OK(MPI_Waitall(1, request, status));
        break;
    case TESTALL:
        while (!flag && OK(MPI_Testall(1, request, &flag, status)))
            ;
        break;
    case GET_STATUS: {
        MPI_Status again;
        while (!flag && OK(MPI_Request_get_status(*request, &flag, status)))
            ;
        OK(MPI_Request_get_status(*request, &flag, &again));
        CHECK(flag && *request != MPI_REQUEST_NULL);
        OK(MPI_Wait(request, &again));
        break;
    }
    }
    CHECK(*request == MPI_REQUEST_NULL);
}

CASE_EACH(fields_of_a_receive, ways)
{
    static const int sizes[] = {0, 4, 1000, 8180, 8196, 300000};
    for (int i = 0; i < 6; i++) {
        MPI_Status status = fresh_status();
        MPI_Request request;
        unsigned char *got = buffer(300000);
        if (rank == 0) {
            OK(MPI_Send(message((size_t)sizes[i], i), sizes[i], MPI_BYTE, 1, TAG + i, comm));
            continue;
        }
        OK(MPI_Irecv(got, 300000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
        complete((enum way)value, &request, &status);
        STATUS(&status, 0, TAG + i, MPI_BYTE, sizes[i]);
        STATUS(&status, 0, TAG + i, MPI_INT, sizes[i] / 4);
        FILLED(got, (size_t)sizes[i], i);
        UNTOUCHED(got + sizes[i], 300000 - (size_t)sizes[i]);
    }
}

CASE_EACH(fields_of_a_send, ways)
{
    for (int i = 0; i < 2; i++) {
        int length = i == 0 ? 8 : 300000, cancelled = -1;
        MPI_Status status = fresh_status();
        MPI_Request request;
        unsigned char *bytes = message((size_t)length, i);
        if (rank == 0) {
            OK(MPI_Isend(bytes, length, MPI_BYTE, 1, TAG, comm, &request));
            complete((enum way)value, &request, &status);
            OK(MPI_Test_cancelled(&status, &cancelled));
            EQUAL(0, cancelled);
        } else {
            OK(MPI_Recv(bytes, length, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        }
    }
}

CASE_EACH(empty_for_null_request, ways)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = marked();
    int flag = 0, index = 0, count = 0;
    switch ((enum way)value) {
    case WAIT:
        OK(MPI_Wait(&request, &status));
        break;
    case TEST:
        OK(MPI_Test(&request, &flag, &status));
        EQUAL(1, flag);
        break;
    case WAITANY:
        OK(MPI_Waitany(1, &request, &index, &status));
        EQUAL(MPI_UNDEFINED, index);
        break;
    case TESTANY:
        OK(MPI_Testany(1, &request, &index, &flag, &status));
        EQUAL(MPI_UNDEFINED, index);
        EQUAL(1, flag);
        break;
    case WAITSOME:
        OK(MPI_Waitsome(1, &request, &count, &index, &status));
        EQUAL(MPI_UNDEFINED, count);
        return;
    case TESTSOME:
        OK(MPI_Testsome(1, &request, &count, &index, &status));
        EQUAL(MPI_UNDEFINED, count);
        return;
    case WAITALL:
        OK(MPI_Waitall(1, &request, &status));
        break;
    case TESTALL:
        OK(MPI_Testall(1, &request, &flag, &status));
        EQUAL(1, flag);
        break;
    case GET_STATUS:
        OK(MPI_Request_get_status(request, &flag, &status));
        EQUAL(1, flag);
        break;
    }
    EMPTY_STATUS(&status);
}

CASE(no_requests_at_all)
{
    int flag = 0, index = 0, count = 0;
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    OK(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    EQUAL(1, flag);
    OK(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
    EQUAL(MPI_UNDEFINED, index);
    flag = 0;
    OK(MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
    EQUAL(1, flag);
    EQUAL(MPI_UNDEFINED, index);
    OK(MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    EQUAL(MPI_UNDEFINED, count);
    OK(MPI_Testsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    EQUAL(MPI_UNDEFINED, count);
}

static const struct parameter element_lengths[] = {
    {"0", 0},       {"4", 4},       {"6", 6},       {"8", 8},         {"12", 12},
    {"1022", 1022}, {"1028", 1028}, {"8190", 8190}, {"65542", 65542}, {"1048584", 1048584}};

CASE_EACH(counts_in_many_types, element_lengths)
{
    // A message of bytes, asked about in types of which it may be no multiple.
    MPI_Datatype pair, triple;
    MPI_Status status = fresh_status();
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Type_vector(3, 1, 2, MPI_SHORT, &triple));
    OK(MPI_Type_commit(&triple));
    MPI_Datatype types[] = {MPI_BYTE,        MPI_SHORT, MPI_INT, MPI_DOUBLE,
                            MPI_LONG_DOUBLE, pair,      triple};
    static const int sizes[] = {1, 2, 4, 8, 16, 8, 6}, basic_sizes[] = {1, 2, 4, 8, 16, 4, 2};
    unsigned char *got = buffer((size_t)value);
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        OK(MPI_Recv(got, (int)value, MPI_BYTE, 0, TAG, comm, &status));
        for (int i = 0; i < 7; i++) {
            int count = -1, elements = -1;
            MPI_Count elements_x = -1;
            long multiple = value % sizes[i] == 0, basics = value % basic_sizes[i] == 0;
            OK(MPI_Get_count(&status, types[i], &count));
            EQUAL(multiple ? value / sizes[i] : MPI_UNDEFINED, count);
            OK(MPI_Get_elements(&status, types[i], &elements));
            OK(MPI_Get_elements_x(&status, types[i], &elements_x));
            if (basics) {
                EQUAL(value / basic_sizes[i], elements);
                EQUAL(value / basic_sizes[i], elements_x);
            } else {
                note("%d:%d/%lld", i, elements, (long long)elements_x);
            }
        }
    }
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_free(&triple));
}

CASE(elements_of_a_partly_filled_structure)
{
    // {int, double, char} twice; then only as much as int, double, char, int.
    MPI_Datatype record, prefix;
    struct {
        int i;
        double d;
        char c;
    } records[2];
    int lengths_of[] = {1, 1, 1}, count = -1, elements = -1;
    MPI_Aint places[] = {0, (char *)&records[0].d - (char *)&records[0],
                         (char *)&records[0].c - (char *)&records[0]};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, unsized;
    MPI_Status status = fresh_status();
    OK(MPI_Type_create_struct(3, lengths_of, places, types, &unsized));
    OK(MPI_Type_create_resized(unsized, 0, sizeof records[0], &record));
    OK(MPI_Type_commit(&record));
    OK(MPI_Type_free(&unsized));
    int four[] = {1, 1, 1, 1};
    MPI_Aint four_places[] = {places[0], places[1], places[2], (MPI_Aint)sizeof records[0]};
    MPI_Datatype four_types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_INT};
    OK(MPI_Type_create_struct(4, four, four_places, four_types, &prefix));
    OK(MPI_Type_commit(&prefix));
    memset(records, 0, sizeof records);
    if (rank == 0) {
        records[0].i = 1;
        records[0].d = 2;
        records[0].c = 3;
        records[1].i = 4;
        OK(MPI_Send(records, 1, prefix, 1, TAG, comm));
    } else {
        records[1].d = 99;
        OK(MPI_Recv(records, 2, record, 0, TAG, comm, &status));
        OK(MPI_Get_count(&status, record, &count));
        EQUAL(MPI_UNDEFINED, count);
        OK(MPI_Get_elements(&status, record, &elements));
        EQUAL(4, elements);
        CHECK(records[0].i == 1 && records[0].d == 2 && records[0].c == 3);
        CHECK(records[1].i == 4 && records[1].d == 99);
    }
    OK(MPI_Type_free(&record));
    OK(MPI_Type_free(&prefix));
}

CASE(copied_status)
{
    MPI_Status statuses[3];
    unsigned char *got = sent(1, 100);
    if (rank == 1) {
        OK(MPI_Recv(got, 100, MPI_BYTE, 0, TAG, comm, &statuses[0]));
        statuses[1] = statuses[0];
        memcpy(&statuses[2], &statuses[1], sizeof *statuses);
        memset(&statuses[0], 0xff, sizeof *statuses);
        STATUS(&statuses[1], 0, TAG, MPI_BYTE, 100);
        STATUS(&statuses[2], 0, TAG, MPI_BYTE, 100);
    }
}

CASE(status_set_by_the_program)
{
    MPI_Status status = fresh_status();
    int count = 0, cancelled = 0;
    unsigned char *got = sent(1, 100);
    if (rank == 1)
        OK(MPI_Recv(got, 100, MPI_BYTE, 0, TAG, comm, &status));
    else
        status = marked();
    OK(MPI_Status_set_elements(&status, MPI_INT, 7));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(7, count);
    OK(MPI_Status_set_elements_x(&status, MPI_DOUBLE, 3));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    EQUAL(24, count);
    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &cancelled));
    EQUAL(1, cancelled);
}

CASE(one_status_for_many_receives)
{
    MPI_Status status = marked();
    for (int i = 0; i < 30; i++) {
        int length = (i * 731) % 9000;
        if (rank == 0) {
            OK(MPI_Send(message((size_t)length, i), length, MPI_BYTE, 1, i, comm));
        } else {
            OK(MPI_Recv(buffer(9000), 9000, MPI_BYTE, 0, i, comm, &status));
            STATUS(&status, 0, i, MPI_BYTE, length);
        }
    }
}

CASE(type_without_size)
{
    // Even INT_MAX of nothing is nothing.
    MPI_Datatype nothing;
    MPI_Status status = fresh_status();
    int count = -1;
    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    OK(MPI_Type_commit(&nothing));
    int counts[] = {0, 1, 2147483647};
    for (int i = 0; i < 3; i++) {
        if (rank == 0) {
            OK(MPI_Send(NULL, counts[i], nothing, 1, TAG, comm));
        } else {
            OK(MPI_Recv(NULL, counts[i], nothing, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, 0);
            OK(MPI_Get_count(&status, nothing, &count));
            note("%d", count);
        }
    }
    OK(MPI_Type_free(&nothing));
}
