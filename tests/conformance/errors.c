// Errors: their classes, and whom they are reported to. The program's own handlers are called with
// the program's own communicator, once.
#include "conform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 14 };

static void note_class(int rc)
{
    CHECK(rc != MPI_SUCCESS);
    note("%s", class_name(rc));
}

static int number;
static MPI_Request request;
static MPI_Status status;

#define NOTE_ERROR(call) note_class(call)

CASE(send_to_no_rank)
{
    NOTE_ERROR(MPI_Send(&number, 1, MPI_INT, ranks, TAG, comm));
    NOTE_ERROR(MPI_Send(&number, 1, MPI_INT, -77, TAG, comm));
    NOTE_ERROR(MPI_Send(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm));
    NOTE_ERROR(MPI_Ssend(&number, 1, MPI_INT, ranks, TAG, comm));
    NOTE_ERROR(MPI_Rsend(&number, 1, MPI_INT, ranks, TAG, comm));
    NOTE_ERROR(MPI_Isend(&number, 1, MPI_INT, ranks, TAG, comm, &request));
    NOTE_ERROR(MPI_Issend(&number, 1, MPI_INT, ranks, TAG, comm, &request));
    NOTE_ERROR(MPI_Send_init(&number, 1, MPI_INT, ranks, TAG, comm, &request));
}

CASE(receive_from_no_rank)
{
    NOTE_ERROR(MPI_Recv(&number, 1, MPI_INT, ranks, TAG, comm, &status));
    NOTE_ERROR(MPI_Recv(&number, 1, MPI_INT, -77, TAG, comm, MPI_STATUS_IGNORE));
    NOTE_ERROR(MPI_Irecv(&number, 1, MPI_INT, ranks, TAG, comm, &request));
    NOTE_ERROR(MPI_Recv_init(&number, 1, MPI_INT, ranks, TAG, comm, &request));
    NOTE_ERROR(MPI_Probe(ranks, TAG, comm, &status));
}

CASE(bad_tags)
{
    NOTE_ERROR(MPI_Send(&number, 1, MPI_INT, 1 - rank, -3, comm));
    NOTE_ERROR(MPI_Send(&number, 1, MPI_INT, 1 - rank, MPI_ANY_TAG, comm));
    NOTE_ERROR(MPI_Isend(&number, 1, MPI_INT, 1 - rank, -3, comm, &request));
    NOTE_ERROR(MPI_Recv(&number, 1, MPI_INT, 1 - rank, -3, comm, &status));
    NOTE_ERROR(MPI_Irecv(&number, 1, MPI_INT, 1 - rank, -3, comm, &request));
}

CASE(bad_counts)
{
    NOTE_ERROR(MPI_Send(&number, -1, MPI_INT, 1 - rank, TAG, comm));
    NOTE_ERROR(MPI_Isend(&number, -1, MPI_INT, 1 - rank, TAG, comm, &request));
    NOTE_ERROR(MPI_Recv(&number, -1, MPI_INT, 1 - rank, TAG, comm, &status));
    NOTE_ERROR(MPI_Irecv(&number, -1, MPI_INT, 1 - rank, TAG, comm, &request));
    NOTE_ERROR(MPI_Bcast(&number, -1, MPI_INT, 0, comm));
}

CASE(bad_types)
{
    MPI_Datatype uncommitted;
    OK(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
    NOTE_ERROR(MPI_Send(&number, 1, MPI_DATATYPE_NULL, 1 - rank, TAG, comm));
    NOTE_ERROR(MPI_Recv(&number, 1, MPI_DATATYPE_NULL, 1 - rank, TAG, comm, &status));
    NOTE_ERROR(MPI_Isend(&number, 1, MPI_DATATYPE_NULL, 1 - rank, TAG, comm, &request));
    NOTE_ERROR(MPI_Send(&number, 1, uncommitted, 1 - rank, TAG, comm));
    NOTE_ERROR(MPI_Irecv(&number, 1, uncommitted, 1 - rank, TAG, comm, &request));
    OK(MPI_Type_free(&uncommitted));
}

// A handle that is no type's. Open MPI takes any other one for an address.
static MPI_Datatype no_type(void)
{
#ifdef OPEN_MPI
    return MPI_DATATYPE_NULL;
#else
    return (MPI_Datatype)MPI_COMM_WORLD;
#endif
}

// MPI_COMM_WORLD's errors are fatal here; this communicator's are not.
CASE(bad_types_of_collectives)
{
    int all[2] = {0}; // ranks
    NOTE_ERROR(MPI_Bcast(&number, 1, no_type(), 0, comm));
    NOTE_ERROR(MPI_Allgather(&number, 1, MPI_INT, all, 1, no_type(), comm));
#ifndef OPEN_MPI
    NOTE_ERROR(MPI_Allreduce(&number, all, 1, no_type(), MPI_SUM, comm));
#endif
}

CASE(bad_communicators)
{
    return_all_errors();
    NOTE_ERROR(MPI_Send(&number, 1, MPI_INT, 0, TAG, MPI_COMM_NULL));
    NOTE_ERROR(MPI_Recv(&number, 1, MPI_INT, 0, TAG, MPI_COMM_NULL, &status));
    NOTE_ERROR(MPI_Isend(&number, 1, MPI_INT, 0, TAG, MPI_COMM_NULL, &request));
    NOTE_ERROR(MPI_Irecv(&number, 1, MPI_INT, 0, TAG, MPI_COMM_NULL, &request));
#ifndef OPEN_MPI // ends the program there, whatever the handlers
    NOTE_ERROR(MPI_Probe(0, TAG, MPI_COMM_NULL, &status));
#endif
    NOTE_ERROR(MPI_Barrier(MPI_COMM_NULL));
}

CASE(bad_buffers)
{
    NOTE_ERROR(MPI_Send(NULL, 1, MPI_INT, 1 - rank, TAG, comm));
    NOTE_ERROR(MPI_Recv(NULL, 1, MPI_INT, 1 - rank, TAG, comm, &status));
    NOTE_ERROR(MPI_Isend(NULL, 1, MPI_INT, 1 - rank, TAG, comm, &request));
    NOTE_ERROR(MPI_Irecv(NULL, 1, MPI_INT, 1 - rank, TAG, comm, &request));
}

CASE(bad_roots)
{
    NOTE_ERROR(MPI_Bcast(&number, 1, MPI_INT, ranks, comm));
    NOTE_ERROR(MPI_Reduce(&number, &number + 1, 1, MPI_INT, MPI_SUM, -5, comm));
    NOTE_ERROR(MPI_Ibcast(&number, 1, MPI_INT, ranks, comm, &request));
}

CASE(bad_requests)
{
    return_all_errors();
    MPI_Request none = MPI_REQUEST_NULL;
    NOTE_ERROR(MPI_Start(&none));
    NOTE_ERROR(MPI_Request_free(&none));
    NOTE_ERROR(MPI_Cancel(&none));
}

CASE(bad_sendrecv)
{
    int got;
    NOTE_ERROR(MPI_Sendrecv(&number, 1, MPI_INT, ranks, TAG, &got, 1, MPI_INT, 1 - rank, TAG, comm,
                            &status));
    NOTE_ERROR(MPI_Sendrecv(&number, -1, MPI_INT, 1 - rank, TAG, &got, 1, MPI_INT, 1 - rank, TAG,
                            comm, &status));
    NOTE_ERROR(MPI_Sendrecv(&number, 1, MPI_INT, 1 - rank, TAG, &got, 1, MPI_INT, ranks, TAG, comm,
                            &status));
    NOTE_ERROR(MPI_Sendrecv_replace(&number, 1, MPI_INT, ranks, TAG, 1 - rank, TAG, comm, &status));
    // Whatever was begun for them is gone: these two messages meet no leftover receive.
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, TAG, &got, 1, MPI_INT, 1 - rank, TAG, comm,
                    &status));
    EQUAL(1 - rank, got);
}

CASE(bad_mrecv)
{
#ifdef OPEN_MPI
    skip("Open MPI ends the program, whatever the handlers");
    return;
#endif
    return_all_errors();
    MPI_Message none = MPI_MESSAGE_NULL;
    NOTE_ERROR(MPI_Mrecv(&number, 1, MPI_INT, &none, &status));
    NOTE_ERROR(MPI_Imrecv(&number, 1, MPI_INT, &none, &request));
}

CASE(errors_leave_everything_working)
{
    int got = -1;
    for (int i = 0; i < 20; i++) {
        CHECK(MPI_Send(&i, 1, MPI_INT, ranks + i, TAG, comm) != MPI_SUCCESS);
        CHECK(MPI_Irecv(&got, -1, MPI_INT, 1 - rank, TAG, comm, &request) != MPI_SUCCESS);
        OK(MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, TAG, &got, 1, MPI_INT, 1 - rank, TAG, comm,
                        &status));
        EQUAL(i, got);
    }
}

// --- Handlers ------------------------------------------------------------------------------------

static int calls;
static MPI_Comm called_with;
static int called_class;

static void handle(MPI_Comm *with, int *code, ...)
{
    calls++;
    called_with = *with;
    MPI_Error_class(*code, &called_class);
}

static MPI_Errhandler install(MPI_Comm on)
{
    MPI_Errhandler handler;
    calls = 0;
    called_with = MPI_COMM_NULL;
    called_class = MPI_SUCCESS;
    OK(MPI_Comm_create_errhandler(handle, &handler));
    OK(MPI_Comm_set_errhandler(on, handler));
    return handler;
}

// What was called must be right as to the communicator; how often, and the class, is noted.
static void check_called(MPI_Comm with)
{
    CHECK(calls > 0);
    CHECK(called_with == with);
    note("%d %s", calls, class_name(called_class));
    calls = 0;
    called_with = MPI_COMM_NULL;
}

CASE(handler_of_bad_arguments)
{
    MPI_Errhandler handler = install(comm);
    CHECK(MPI_Send(&number, 1, MPI_INT, ranks, TAG, comm) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Recv(&number, 1, MPI_INT, ranks, TAG, comm, &status) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Isend(&number, 1, MPI_INT, ranks, TAG, comm, &request) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Irecv(&number, 1, MPI_INT, 0, -9, comm, &request) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Probe(ranks, TAG, comm, &status) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Bcast(&number, -1, MPI_INT, 0, comm) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Bcast(&number, 1, no_type(), 0, comm) != MPI_SUCCESS);
    check_called(comm);
    CHECK(MPI_Sendrecv(&number, 1, MPI_INT, ranks, TAG, &number, 1, MPI_INT, 0, TAG, comm,
                       &status) != MPI_SUCCESS);
    check_called(comm);
    OK(MPI_Errhandler_free(&handler));
}

// MPICH takes what the handler leaves there for what the call has come to.
static void swallow(MPI_Comm *with, int *code, ...)
{
    calls++;
    called_with = *with;
    MPI_Error_class(*code, &called_class);
    *code = MPI_SUCCESS;
}

CASE(handler_that_swallows)
{
    MPI_Errhandler handler;
    MPI_Message matched;
    calls = 0;
    OK(MPI_Comm_create_errhandler(swallow, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    MPI_Recv(&number, 1, MPI_INT, ranks, TAG, comm, &status);
    check_called(comm);
    MPI_Sendrecv(&number, 1, MPI_INT, 0, TAG, &number, 1, MPI_INT, ranks, TAG, comm, &status);
    check_called(comm);
    MPI_Sendrecv(&number, 1, MPI_INT, ranks, TAG, &number, 1, MPI_INT, 0, TAG, comm, &status);
    check_called(comm);
    MPI_Probe(ranks, TAG, comm, &status);
    check_called(comm);
    MPI_Mprobe(ranks, TAG, comm, &matched, &status);
    check_called(comm);
    if (rank == 0) {
        OK(MPI_Send(message(100, 1), 100, MPI_BYTE, 1, TAG, comm));
    } else if (rank == 1) {
        note_class(MPI_Recv(loose_buffer(4, 1 << 20), 4, MPI_BYTE, 0, TAG, comm, &status));
        check_called(comm);
    }
    OK(MPI_Errhandler_free(&handler));
}

// What it leaves of a fault of an argument is not to be waited on.
CASE(handler_that_swallows_faults_of_waits)
{
    MPI_Errhandler handler, world, self;
    MPI_Request none = MPI_REQUEST_NULL;
    calls = 0;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &self));
    OK(MPI_Comm_create_errhandler(swallow, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    MPI_Waitall(-1, &none, MPI_STATUSES_IGNORE);
    note("%d", calls);
    // Open MPI's MPI_Testsome, by which the other is polled, calls no handler.
    int found = 0, index = 0;
    MPI_Waitsome(-1, &none, &found, &index, MPI_STATUSES_IGNORE);
    MPI_Testsome(-1, &none, &found, &index, MPI_STATUSES_IGNORE);
    note("%d", found);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&world));
    OK(MPI_Errhandler_free(&self));
}

enum { FAULTY, GOOD, LATE, MESSAGES };

static void three_messages(MPI_Request *requests, MPI_Status *statuses, unsigned char **got)
{
    for (int i = 0; i < MESSAGES; i++) {
        got[i] = loose_buffer(50, i == FAULTY ? 1 << 20 : 0);
        statuses[i] = fresh_status();
        OK(MPI_Irecv(got[i], i == FAULTY ? 4 : 50, MPI_BYTE, 0, TAG + i, comm, &requests[i]));
    }
}

// What has come of the messages is in the statuses.
CASE(handler_that_swallows_a_fault_of_a_message)
{
    MPI_Errhandler handler, world, self;
    MPI_Request requests[MESSAGES];
    MPI_Status statuses[MESSAGES];
    unsigned char *got[MESSAGES];
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &self));
    OK(MPI_Comm_create_errhandler(swallow, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    if (rank == 1)
        three_messages(requests, statuses, got);
    meet();
    if (rank == 0) {
        OK(MPI_Send(message(50, FAULTY), 50, MPI_BYTE, 1, TAG + FAULTY, comm));
        OK(MPI_Send(message(50, GOOD), 50, MPI_BYTE, 1, TAG + GOOD, comm));
        OK(MPI_Send(&number, 1, MPI_INT, 1, TAG + MESSAGES, comm));
        usleep(20000);
        OK(MPI_Send(message(50, LATE), 50, MPI_BYTE, 1, TAG + LATE, comm));
    } else {
        OK(MPI_Recv(&number, 1, MPI_INT, 0, TAG + MESSAGES, comm, MPI_STATUS_IGNORE));
        MPI_Waitall(MESSAGES, requests, statuses);
        RETURNS(MPI_ERR_TRUNCATE, statuses[FAULTY].MPI_ERROR);
#ifdef OPEN_MPI
        if (requests[LATE] != MPI_REQUEST_NULL)
            statuses[LATE].MPI_ERROR = MPI_Wait(&requests[LATE], &statuses[LATE]);
#endif
        for (int i = GOOD; i < MESSAGES; i++) {
            RETURNS(MPI_SUCCESS, statuses[i].MPI_ERROR);
            STATUS(&statuses[i], 0, TAG + i, MPI_BYTE, 50);
            FILLED(got[i], 50, i);
        }
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&world));
    OK(MPI_Errhandler_free(&self));
}

// Whose handler is called for no communicator at all, and how often, is up to the MPI.
CASE(handler_of_no_communicator)
{
    return_all_errors();
    MPI_Errhandler self = install(MPI_COMM_SELF), world = install(MPI_COMM_WORLD);
    CHECK(MPI_Barrier(MPI_COMM_NULL) != MPI_SUCCESS);
    note("%d %s", calls, class_name(called_class));
    CHECK(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_NULL) != MPI_SUCCESS);
    note("%d %s", calls, class_name(called_class));
    OK(MPI_Errhandler_free(&self));
    OK(MPI_Errhandler_free(&world));
}

static const struct parameter truncations[] = {
    {"8_into_4", 8}, {"2000_into_4", 2000}, {"9000_into_4", 9000}, {"100000_into_4", 100000}};

CASE_EACH(handler_of_truncated_recv, truncations)
{
    MPI_Errhandler handler = install(comm);
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        RETURNS(MPI_ERR_TRUNCATE,
                MPI_Recv(loose_buffer(4, 1 << 20), 4, MPI_BYTE, 0, TAG, comm, &status));
        check_called(comm);
    }
    OK(MPI_Errhandler_free(&handler));
}

CASE_EACH(handler_of_truncated_sendrecv, truncations)
{
    MPI_Errhandler handler = install(comm);
    int length = rank == 0 ? (int)value : 1;
    int rc = MPI_Sendrecv(message((size_t)length, 1), length, MPI_BYTE, 1 - rank, TAG,
                          loose_buffer(4, 1 << 20), 4, MPI_BYTE, 1 - rank, TAG, comm, &status);
    RETURNS(rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE, rc);
    if (rank == 1)
        check_called(comm);
    OK(MPI_Errhandler_free(&handler));
}

CASE_EACH(handler_of_truncated_wait, truncations)
{
    // Which of the two communicators' handlers an MPI calls is noted; it must be one of them.
    return_all_errors();
    MPI_Errhandler handler = install(comm), other = install(MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    } else {
        OK(MPI_Irecv(loose_buffer(4, 1 << 20), 4, MPI_BYTE, 0, TAG, comm, &request));
        RETURNS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
        note("%s %d",
             called_with == comm             ? "own"
             : called_with == MPI_COMM_WORLD ? "world"
             : called_with == MPI_COMM_NULL  ? "none"
                                             : "unknown",
             calls);
        CHECK(calls == 0 || called_with == comm || called_with == MPI_COMM_WORLD);
    }
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Errhandler_free(&other));
}

CASE_EACH(truncated_recv_with_fatal_world, truncations)
{
    // MPI_COMM_WORLD's errors are fatal here; this communicator's are not.
    if (rank == 0)
        OK(MPI_Send(message((size_t)value, 1), (int)value, MPI_BYTE, 1, TAG, comm));
    else
        RETURNS(MPI_ERR_TRUNCATE,
                MPI_Recv(loose_buffer(4, 1 << 20), 4, MPI_BYTE, 0, TAG, comm, &status));
}

CASE(handler_is_inherited)
{
    MPI_Errhandler handler = install(comm);
    MPI_Comm other;
    OK(MPI_Comm_dup(comm, &other));
    CHECK(MPI_Send(&number, 1, MPI_INT, ranks, TAG, other) != MPI_SUCCESS);
    check_called(other);
    OK(MPI_Comm_free(&other));
    OK(MPI_Errhandler_free(&handler));
}

CASE(handler_can_be_asked_for)
{
    MPI_Errhandler handler = install(comm), found;
    OK(MPI_Comm_get_errhandler(comm, &found));
    CHECK(found == handler);
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_free(&handler));
}

CASE(program_calls_the_handler)
{
    MPI_Errhandler handler = install(comm);
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TAG));
    check_called(comm);
    OK(MPI_Errhandler_free(&handler));
}

CASE(own_error_classes)
{
    int error_class, code, found, length;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&error_class));
    OK(MPI_Add_error_code(error_class, &code));
    OK(MPI_Add_error_string(code, "mine"));
    OK(MPI_Error_class(code, &found));
    EQUAL(error_class, found);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "mine") == 0);
}

// Who forgets a pointer is told so, also while another request is under way.
CASE(null_pointers)
{
    int got = -1, flag = 0;
    MPI_Request receive = MPI_REQUEST_NULL, other;
    return_all_errors();
    OK(MPI_Irecv(&got, 1, MPI_INT, 1 - rank, TAG, comm, &receive));
    note_class(MPI_Imrecv(&number, 1, MPI_INT, NULL, &other));
    note_class(MPI_Mrecv(&number, 1, MPI_INT, NULL, &status));
    note_class(MPI_Start(NULL));
    note_class(MPI_Startall(1, NULL));
    note_class(MPI_Wait(NULL, &status));
    note_class(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE));
    note_class(MPI_Test(NULL, &flag, &status));
    note_class(MPI_Test(&receive, NULL, &status));
    OK(MPI_Send(&rank, 1, MPI_INT, 1 - rank, TAG, comm));
    OK(MPI_Wait(&receive, &status));
    STATUS(&status, 1 - rank, TAG, MPI_INT, 1);
    EQUAL(1 - rank, got);
}

// And who names no memory for what has a size.
CASE(null_buffers_of_derived_types)
{
    MPI_Datatype pair;
    return_all_errors();
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    int rc = MPI_Isend(NULL, 0, pair, 1 - rank, TAG, comm, &request); // it is not committed
    note("%s", class_name(rc));
    if (rc == MPI_SUCCESS) {
        OK(MPI_Wait(&request, &status));
        OK(MPI_Recv(NULL, 0, MPI_INT, 1 - rank, TAG, comm, &status));
    }
    OK(MPI_Type_commit(&pair));
    note_class(MPI_Send(NULL, 1, pair, 1 - rank, TAG, comm));
    note_class(MPI_Irecv(NULL, 1, pair, 1 - rank, TAG, comm, &request));
    OK(MPI_Type_free(&pair));
}

#ifndef OPEN_MPI // begins another one
CASE(what_is_started_already)
{
    int got = -1;
    MPI_Request receive;
    return_all_errors();
    OK(MPI_Recv_init(&got, 1, MPI_INT, 1 - rank, TAG, comm, &receive));
    OK(MPI_Start(&receive));
    meet();
    OK(MPI_Send(&rank, 1, MPI_INT, 1 - rank, TAG, comm));
    meet();
    note_class(MPI_Start(&receive));
    OK(MPI_Wait(&receive, &status));
    note("from %d", status.MPI_SOURCE); // MPICH forgets the count
    EQUAL(1 - rank, got);
    OK(MPI_Request_free(&receive));
}
#endif
