// Calls that block are made of polls where ranks yield, and come to the same.
#include "pmpi/variant/wait.h"
#include "tests/unit/mock_mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TAG = 5 };

static bool partitioned; // there has been a request that MPICH 4.0's MPI_Testall does not know
static int polled_together;
static __typeof__(mpi_next[1].Testall) mock_testall;

static int make_partitioned(const void *buf, int partitions, MPI_Count count, MPI_Datatype type,
                            int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    (void)info;
    partitioned = true;
    return mpi_next[1].Send_init(buf, partitions * (int)count, type, dest, tag, comm, request);
}

static int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    polled_together++;
    return partitioned ? MPI_ERR_IN_STATUS : mock_testall(count, requests, flag, statuses);
}

static int start(void **state)
{
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    mock_testall = mpi_next[1].Testall;
    for (int entry = 0; entry < 2; entry++) {
        mpi_next[entry].Testall = test_all;
        mpi_next[entry].Psend_init = make_partitioned;
    }
    core_active = wait_yields = true;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    core_active = wait_yields = false;
    return mock_requests_left() + mock_messages_left() + mock_types_left();
}

// ---- several requests

static void complete_two(MPI_Request *first)
{
    char byte = 0, sent;
    MPI_Request both[2] = {*first};
    mock_peer_send(MPI_COMM_WORLD, TAG, "x", 1);
    assert_int_equal(lib.Start(&both[0]), MPI_SUCCESS);
    assert_int_equal(lib.Irecv(&byte, 1, MPI_CHAR, MOCK_PEER, TAG, MPI_COMM_WORLD, &both[1]),
                     MPI_SUCCESS);
    assert_int_equal(lib.Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    assert_int_equal(byte, 'x');
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, TAG, &sent, 1), 1);
}

static void partitioned_requests_are_waited_for_one_by_one(void **state)
{
    MPI_Request request;
    (void)state;
    lib.Send_init("y", 1, MPI_CHAR, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    complete_two(&request);
    assert_true(polled_together > 0);
    lib.Request_free(&request);
    lib.Psend_init("y", 1, 1, MPI_CHAR, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    complete_two(&request);
    lib.Request_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitioned_requests_are_waited_for_one_by_one),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
