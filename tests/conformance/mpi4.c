// What MPI 4 brought: partitioned messages, Isendrecv, sessions beside MPI_Init, error handlers on
// creation. With an older MPI the cases are skipped.
#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 17 };

#if MPI_VERSION >= 4

CASE_EACH(isendrecv, border_sizes)
{
    MPI_Request request;
    unsigned char *bytes = message((size_t)value, rank), *got = buffer((size_t)value + 4);
    OK(MPI_Isendrecv(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, got, (int)value + 4, MPI_BYTE,
                     1 - rank, TAG, comm, &request));
    // Not asked for a status: MPICH 4.0 leaves it unset.
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FILLED(got, (size_t)value, 1 - rank);
    UNTOUCHED(got + value, 4);
}

CASE_EACH(isendrecv_replace, border_sizes)
{
    MPI_Request request;
    unsigned char *bytes = message((size_t)value, rank);
    OK(MPI_Isendrecv_replace(bytes, (int)value, MPI_BYTE, 1 - rank, TAG, 1 - rank, TAG, comm,
                             &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FILLED(bytes, (size_t)value, 1 - rank);
}

CASE_EACH(isendrecv_meets_plain_calls, border_sizes)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    unsigned char *bytes = message((size_t)value, rank), *got = buffer((size_t)value);
    if (rank == 0) {
        OK(MPI_Isendrecv(bytes, (int)value, MPI_BYTE, 1, 1, got, (int)value, MPI_BYTE, 1, 2, comm,
                         &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Irecv(got, (int)value, MPI_BYTE, 0, 1, comm, &request));
        OK(MPI_Send(bytes, (int)value, MPI_BYTE, 0, 2, comm));
        OK(MPI_Wait(&request, &status));
        STATUS(&status, 0, 1, MPI_BYTE, (int)value);
    }
    FILLED(got, (size_t)value, 1 - rank);
}

CASE(isendrecv_meets_probe)
{
    MPI_Request request;
    MPI_Status status = fresh_status();
    int number = 5, got = 0;
    if (rank == 0) {
        OK(MPI_Isendrecv(&number, 1, MPI_INT, 1, 1, &got, 1, MPI_INT, 1, 2, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(6, got);
    } else {
        OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
        STATUS(&status, 0, 1, MPI_INT, 1);
        OK(MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, &status));
        got++;
        OK(MPI_Send(&got, 1, MPI_INT, 0, 2, comm));
    }
}

CASE(isendrecv_self)
{
    MPI_Request request;
    int number = 3, got = 0;
    // With MPI_PROC_NULL, MPICH 4.0 crashes.
    OK(MPI_Isendrecv(&number, 1, MPI_INT, rank, TAG, &got, 1, MPI_INT, rank, TAG, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(3, got);
}

CASE(isendrecv_in_a_crowd)
{
    enum { COUNT = 20 };
    MPI_Request requests[COUNT];
    int numbers[COUNT], got[COUNT], index;
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = 100 * rank + i;
        OK(MPI_Isendrecv(&numbers[i], 1, MPI_INT, 1 - rank, i, &got[i], 1, MPI_INT, 1 - rank, i,
                         comm, &requests[i]));
    }
    OK(MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++)
        EQUAL(100 * (1 - rank) + i, got[i]);
}

static int copied, deleted;

static int copy_value(MPI_Datatype type, int keyval, void *state, void *value, void *copy,
                      int *flag)
{
    (void)type, (void)keyval, (void)state;
    copied++;
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_value(MPI_Datatype type, int keyval, void *value, void *state)
{
    (void)type, (void)keyval, (void)value, (void)state;
    deleted++;
    return MPI_SUCCESS;
}

CASE(isendrecv_of_a_type_with_an_attribute)
{
    MPI_Datatype apart, keepers[3];
    MPI_Request request;
    int keyval, numbers[3] = {rank, -1, 2}, got[3] = {-1, -1, -1};
    copied = deleted = 0;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_commit(&apart));
    // Never freed, since MPICH 4.0's MPI_Isendrecv gives up references that it does not have.
    for (int i = 0; i < 3; i++)
        OK(MPI_Type_contiguous(1, apart, &keepers[i]));
    OK(MPI_Type_create_keyval(copy_value, delete_value, &keyval, NULL));
    OK(MPI_Type_set_attr(apart, keyval, &keyval));
    OK(MPI_Isendrecv(numbers, 1, apart, 1 - rank, TAG, got, 1, apart, 1 - rank, TAG, comm,
                     &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(1 - rank, got[0]);
    EQUAL(-1, got[1]);
    EQUAL(2, got[2]);
    EQUAL(0, copied);
    EQUAL(0, deleted);
    OK(MPI_Type_delete_attr(apart, keyval));
    EQUAL(1, deleted);
    OK(MPI_Type_free_keyval(&keyval));
    OK(MPI_Type_free(&apart));
}

static const struct parameter partitions[] = {
    {"1x0", 10000}, {"1x8", 10008}, {"4x256", 40256}, {"8x1024", 81024}, {"16x8192", 168192}};

CASE_EACH(partitioned, partitions)
{
    int count = (int)(value / 10000), length = (int)(value % 10000), flag = 0;
    MPI_Request request;
    MPI_Status status = fresh_status();
    size_t total = (size_t)count * (size_t)length;
    unsigned char *bytes = buffer(total);
    if (rank == 0)
        OK(MPI_Psend_init(bytes, count, length, MPI_BYTE, 1, TAG, comm, MPI_INFO_NULL, &request));
    else
        OK(MPI_Precv_init(bytes, count, length, MPI_BYTE, 0, TAG, comm, MPI_INFO_NULL, &request));
    for (int round = 0; round < 4; round++) {
        OK(MPI_Start(&request));
        if (rank == 0) {
            fill(bytes, total, round);
            for (int i = 0; i < count; i++) // any order
                OK(MPI_Pready(count - 1 - i, request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            for (int i = 0; i < count; i++) {
                for (flag = 0; !flag;)
                    OK(MPI_Parrived(request, i, &flag));
            }
            OK(MPI_Wait(&request, &status));
            FILLED(bytes, total, round);
            CHECK(request != MPI_REQUEST_NULL);
        }
    }
    OK(MPI_Request_free(&request));
}

CASE(partitioned_ranges_and_lists)
{
    int numbers[8] = {0}, list[] = {7, 5, 6};
    MPI_Request request;
    if (rank == 0) {
        OK(MPI_Psend_init(numbers, 8, 1, MPI_INT, 1, TAG, comm, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
        for (int i = 0; i < 8; i++)
            numbers[i] = i * i;
        OK(MPI_Pready_range(0, 3, request));
        OK(MPI_Pready(4, request));
        OK(MPI_Pready_list(3, list, request));
    } else {
        OK(MPI_Precv_init(numbers, 4, 2, MPI_INT, 0, TAG, comm, MPI_INFO_NULL, &request));
        OK(MPI_Start(&request));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 8; i++)
        EQUAL(i * i, numbers[i]);
    OK(MPI_Request_free(&request));
}

CASE(partitioned_beside_messages)
{
    // Partitioned messages match one another only.
    int part = -1, plain = -1;
    MPI_Request requests[2];
    MPI_Status status = fresh_status();
    if (rank == 0) {
        part = 11;
        plain = 22;
        OK(MPI_Psend_init(&part, 1, 1, MPI_INT, 1, TAG, comm, MPI_INFO_NULL, &requests[0]));
        OK(MPI_Start(&requests[0]));
        OK(MPI_Pready(0, requests[0]));
        OK(MPI_Isend(&plain, 1, MPI_INT, 1, TAG, comm, &requests[1]));
    } else {
        OK(MPI_Irecv(&plain, 1, MPI_INT, 0, TAG, comm, &requests[1]));
        OK(MPI_Precv_init(&part, 1, 1, MPI_INT, 0, TAG, comm, MPI_INFO_NULL, &requests[0]));
        OK(MPI_Start(&requests[0]));
    }
    OK(MPI_Wait(&requests[1], &status));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    EQUAL(11, part);
    EQUAL(22, plain);
    OK(MPI_Request_free(&requests[0]));
}

CASE(partitioned_completed_together)
{
    int part = -1, plain = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (rank == 0)
        OK(MPI_Psend_init(&part, 1, 1, MPI_INT, 1, TAG, comm, MPI_INFO_NULL, &requests[0]));
    else
        OK(MPI_Precv_init(&part, 1, 1, MPI_INT, 0, TAG, comm, MPI_INFO_NULL, &requests[0]));
    for (int round = 0; round < 4; round++) {
        if (rank == 0) {
            part = 11 + round;
            plain = 22 + round;
        } else {
            part = plain = -1;
        }
        OK(MPI_Start(&requests[0]));
        if (rank == 0) {
            OK(MPI_Pready(0, requests[0]));
            OK(MPI_Isend(&plain, 1, MPI_INT, 1, TAG, comm, &requests[1]));
        } else {
            OK(MPI_Irecv(&plain, 1, MPI_INT, 0, TAG, comm, &requests[1]));
        }
        OK(MPI_Waitall(2, requests, round % 2 == 0 ? statuses : MPI_STATUSES_IGNORE));
        EQUAL(11 + round, part);
        EQUAL(22 + round, plain);
    }
    OK(MPI_Request_free(&requests[0]));
}

CASE(session_beside_init)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm made;
    int me, size, got = -1;
    MPI_Status status = fresh_status();
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "conform", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    OK(MPI_Comm_rank(made, &me));
    OK(MPI_Comm_size(made, &size));
    EQUAL(rank, me);
    EQUAL(ranks, size);
    static const int lengths[] = {4, 1025, 9000, 100000};
    for (int i = 0; i < 4; i++) {
        unsigned char *bytes = buffer((size_t)lengths[i]);
        if (rank == 0) {
            fill(bytes, (size_t)lengths[i], i);
            OK(MPI_Send(bytes, lengths[i], MPI_BYTE, 1, TAG, made));
        } else {
            OK(MPI_Recv(bytes, lengths[i], MPI_BYTE, 0, TAG, made, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, lengths[i]);
            FILLED(bytes, (size_t)lengths[i], i);
        }
    }
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - me, TAG, &got, 1, MPI_INT, 1 - me, TAG, made, &status));
    EQUAL(1 - rank, got);
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
}

CASE(idup_with_info)
{
    MPI_Comm other;
    MPI_Request request;
    int got = -1;
    OK(MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, TAG, &got, 1, MPI_INT, 1 - rank, TAG, other,
                    MPI_STATUS_IGNORE));
    EQUAL(1 - rank, got);
    OK(MPI_Comm_free(&other));
}

CASE(persistent_neighbor_collectives)
{
    MPI_Comm ring;
    MPI_Request request;
    int peer = 1 - rank, number = 0, got = -1;
    OK(MPI_Dist_graph_create_adjacent(comm, 1, &peer, MPI_UNWEIGHTED, 1, &peer, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &ring));
    OK(MPI_Neighbor_allgather_init(&number, 1, MPI_INT, &got, 1, MPI_INT, ring, MPI_INFO_NULL,
                                   &request));
    for (int i = 0; i < 4; i++) {
        number = i + 10 * rank;
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(i + 10 * peer, got);
    }
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_free(&ring));
}

// With those MPI_Testall fails in MPICH 4.0, so what follows is waited for in another way.
static MPI_Request persistent_barrier(void)
{
    MPI_Request barrier;
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &barrier));
    return barrier;
}

CASE(waitall_after_a_persistent_collective)
{
    MPI_Request requests[2] = {persistent_barrier(), MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int number = 0;
    if (rank == 0)
        OK(MPI_Send_init(&number, 1, MPI_INT, 1, TAG, comm, &requests[1]));
    else
        OK(MPI_Recv_init(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[1]));
    for (int round = 0; round < 3; round++) {
        number = rank == 0 ? round : -1;
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, statuses));
        EQUAL(round, number);
        if (rank == 1)
            STATUS(&statuses[1], 0, TAG, MPI_INT, 1);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

// MPI-IO's requests are completed by a function of its own.
CASE(file_requests_after_a_persistent_collective)
{
    MPI_Request barrier = persistent_barrier(), request;
    MPI_Status status;
    MPI_File file;
    char path[64] = "";
    int numbers[4], got[4] = {0};
    if (rank == 0) {
        snprintf(path, sizeof path, "/tmp/cosched-conform-XXXXXX");
        int fd = mkstemp(path);
        CHECK(fd >= 0);
        close(fd);
    }
    OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm));
    for (int i = 0; i < 4; i++)
        numbers[i] = 10 * rank + i;
    OK(MPI_File_open(comm, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_set_view(file, (MPI_Offset)rank * (MPI_Offset)sizeof numbers, MPI_INT, MPI_INT,
                         "native", MPI_INFO_NULL));
    OK(MPI_File_iwrite_all(file, numbers, 4, MPI_INT, &request));
    OK(MPI_Waitall(1, &request, &status));
    OK(MPI_File_iread_at_all(file, 0, got, 4, MPI_INT, &request));
    OK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; i++)
        EQUAL(numbers[i], got[i]);
    OK(MPI_File_close(&file));
    OK(MPI_Request_free(&barrier));
    if (rank == 0)
        remove(path);
}

#else

CASE(needs_mpi_4)
{
    skip("this MPI is older than MPI 4");
}

#endif
