// Calls that block are made of polls where ranks yield, and come to the same.
#include "pmpi/variant/wait.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { TAG = 5, ELEMENTS = 3, LARGE = 20000 };

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
    wire_start();
    core_active = wait_yields = true;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    core_active = wait_yields = false;
    return mock_requests_left() + mock_messages_left() + mock_types_left();
}

// ---- one buffer for both ways

static void exchange(void *buf, int count, MPI_Datatype type, size_t bytes)
{
    static char theirs[LARGE], sent[LARGE + 1];
    MPI_Status status;
    memset(theirs, 'b', bytes);
    mock_peer_send(MPI_COMM_WORLD, TAG, theirs, bytes);
    assert_int_equal(lib.Sendrecv_replace(buf, count, type, MOCK_PEER, TAG, MOCK_PEER, TAG,
                                          MPI_COMM_WORLD, &status),
                     MPI_SUCCESS);
    assert_int_equal(status.MPI_SOURCE, MOCK_PEER);
    assert_int_equal(mock_bytes(&status), bytes);
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, TAG, sent, sizeof sent), bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(sent[i], 'a');
}

static void one_buffer_goes_out_before_it_comes_in(void **state)
{
    static const size_t lengths[] = {0, 1, 8, 1000, 9000, LARGE};
    char buf[LARGE];
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(buf, 'a', sizeof buf);
        exchange(buf, (int)lengths[i], MPI_BYTE, lengths[i]);
        for (size_t k = 0; k < sizeof buf; k++)
            assert_int_equal(buf[k], k < lengths[i] ? 'b' : 'a');
    }
}

static void so_does_one_with_gaps(void **state)
{
    int lengths[] = {3, 2};
    MPI_Aint places[] = {0, 5};
    MPI_Datatype types[] = {MPI_CHAR, MPI_CHAR}, type;
    char buf[ELEMENTS * 7];
    (void)state;
    memset(buf, '-', sizeof buf);
    for (int i = 0; i < ELEMENTS; i++) {
        memcpy(buf + i * 7L, "aaa", 3);
        memcpy(buf + i * 7L + 5, "aa", 2);
    }
    mpi_next[1].Type_create_struct(2, lengths, places, types, &type);
    mpi_next[1].Type_commit(&type);
    exchange(buf, ELEMENTS, type, 5 * (size_t)ELEMENTS);
    mpi_next[1].Type_free(&type);
    for (int i = 0; i < ELEMENTS; i++)
        assert_memory_equal(buf + i * 7L, "bbb--bb", 7);
}

static int pack_of_a_device(const void *buf, int count, MPI_Datatype type, void *out, int size,
                            int *position, MPI_Comm comm)
{
    (void)buf, (void)type, (void)size, (void)comm;
    memset((char *)out + *position, 'a', (size_t)count);
    *position += count;
    return MPI_SUCCESS;
}

static void only_the_mpi_reads_what_may_be_a_devices(void **state)
{
    __typeof__(mpi_next[1].Pack) pack = mpi_next[1].Pack;
    char sent[ELEMENTS];
    void *device = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(device, MAP_FAILED);
    mpi_next[0].Pack = mpi_next[1].Pack = pack_of_a_device;
    mock_peer_send(MPI_COMM_WORLD, TAG, "", 0);
    assert_int_equal(lib.Sendrecv_replace(device, ELEMENTS, MPI_BYTE, MOCK_PEER, TAG, MOCK_PEER,
                                          TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     MPI_SUCCESS);
    mpi_next[0].Pack = mpi_next[1].Pack = pack;
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, TAG, sent, sizeof sent), ELEMENTS);
    assert_memory_equal(sent, "aaa", ELEMENTS);
    munmap(device, 4096);
}

static __typeof__(mpi_next[1].Recv) mock_recv;
static _Atomic bool has_received;
static char taken[ELEMENTS];

static int receive(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Status *status)
{
    int rc = mock_recv(buf, count, type, source, tag, comm, status);
    atomic_store(&has_received, true);
    return rc;
}

// The peer takes what it was sent only when its own message has been found too long.
static void *take_late(void *unused)
{
    while (!atomic_load(&has_received))
        usleep(100);
    while (mock_peer_receive(MPI_COMM_WORLD, TAG, taken, sizeof taken) < 0)
        usleep(100);
    return unused;
}

static int class_of(int code, int *class)
{
    *class = code;
    return MPI_SUCCESS;
}

static void a_message_too_long_ends_no_send(void **state)
{
    char out[] = "aaa", in[ELEMENTS];
    pthread_t peer;
    (void)state;
    mock_recv = mpi_next[1].Recv;
    for (int entry = 0; entry < 2; entry++) {
        mpi_next[entry].Recv = receive;
        mpi_next[entry].Error_class = class_of;
    }
    mock_hold_sends(MPI_COMM_WORLD);
    mock_peer_send(MPI_COMM_WORLD, TAG, "bbbb", ELEMENTS + 1);
    pthread_create(&peer, NULL, take_late, NULL);
    assert_int_equal(lib.Sendrecv(out, ELEMENTS, MPI_BYTE, MOCK_PEER, TAG, in, ELEMENTS, MPI_BYTE,
                                  MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     MPI_ERR_TRUNCATE);
    memset(out, 'c', sizeof out); // the program's again
    pthread_join(peer, NULL);
    mock_hold_sends(MPI_COMM_NULL);
    for (int entry = 0; entry < 2; entry++)
        mpi_next[entry].Recv = mock_recv;
    assert_memory_equal(taken, "aaa", ELEMENTS);
}

static int receive_nothing(void *buf, int count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, MPI_Status *status)
{
    (void)buf, (void)count, (void)type, (void)source, (void)tag, (void)comm, (void)status;
    return MPI_ERR_OTHER;
}

static void exchange_in_vain(char byte)
{
    char both[ELEMENTS];
    memset(both, byte, sizeof both);
    assert_int_equal(lib.Sendrecv_replace(both, ELEMENTS, MPI_BYTE, MOCK_PEER, TAG, MOCK_PEER, TAG,
                                          MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     MPI_ERR_OTHER);
}

// Who should have answered has failed, say, and who is sent to has not.
static void a_send_that_is_left_keeps_its_copy(void **state)
{
    char sent[ELEMENTS];
    (void)state;
    mock_recv = mpi_next[1].Recv;
    mpi_next[0].Recv = mpi_next[1].Recv = receive_nothing;
    mpi_next[0].Error_class = mpi_next[1].Error_class = class_of;
    mock_hold_sends(MPI_COMM_WORLD);
    mock_peer_send(MPI_COMM_WORLD, TAG, "bbb", ELEMENTS);
    exchange_in_vain('a');
    exchange_in_vain('c');
    mock_hold_sends(MPI_COMM_NULL);
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, TAG, sent, sizeof sent), ELEMENTS);
    assert_memory_equal(sent, "aaa", ELEMENTS);
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, TAG, sent, sizeof sent), ELEMENTS);
    assert_memory_equal(sent, "ccc", ELEMENTS);
    mpi_next[0].Recv = mpi_next[1].Recv = mock_recv;
    assert_int_equal(
        lib.Recv(sent, ELEMENTS, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        MPI_SUCCESS);
    orphans_look();
    assert_false(orphans_exist);
}

// ---- messages that are there

static int yields;
static bool brought; // into the MPI
static __typeof__(mpi_next[1].Iprobe) mock_iprobe;

int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
    yields++;
    return 0;
}

// As MPIs do it, which then make progress. The message comes when the CPU was given to its sender.
static int look_first(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    bool found = brought;
    brought = yields > 0;
    *flag = 0;
    return found ? mock_iprobe(source, tag, comm, flag, status) : MPI_SUCCESS;
}

static void nobody_gives_the_cpu_away_beside_a_message(void **state)
{
    char byte = 0;
    (void)state;
    mock_iprobe = mpi_next[1].Iprobe;
    mpi_next[0].Iprobe = mpi_next[1].Iprobe = look_first;
    yields = 0;
    mock_peer_send(MPI_COMM_WORLD, TAG, "x", 1);
    lib.Probe(MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    assert_int_equal(yields, 1);
    brought = false;
    yields = 0;
    lib.Recv(&byte, 1, MPI_CHAR, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    assert_int_equal(yields, 1);
    assert_int_equal(byte, 'x');
    mpi_next[0].Iprobe = mpi_next[1].Iprobe = mock_iprobe;
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

static bool leaves;   // as MPICH from 4.2 on
static bool swallows; // so does a handler of the program's

static int test_too_early(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    if (count == 1)
        return mock_testall(count, requests, flag, statuses);
    assert_int_equal(count, 2);
    statuses[0].MPI_ERROR =
        leaves ? MPI_ERR_TRUNCATE : mpi_next[1].Test(&requests[0], flag, &statuses[0]);
    statuses[1].MPI_ERROR = MPI_ERR_PENDING;
    mock_peer_send(MPI_COMM_WORLD, TAG + 1, "x", 1);
    *flag = 0;
    return swallows ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

static void a_fault_is_told_when_all_are_complete(void **state)
{
    (void)state;
    mpi_next[0].Testall = test_too_early;
    for (int way = 0; way < 4; way++) {
        char bytes[2] = {0};
        MPI_Request requests[2];
        MPI_Status statuses[2];
        leaves = (way & 1) != 0;
        swallows = (way & 2) != 0;
        for (int i = 0; i < 2; i++)
            lib.Irecv(&bytes[i], 1, MPI_CHAR, MOCK_PEER, TAG + i, MPI_COMM_WORLD, &requests[i]);
        mock_peer_send(MPI_COMM_WORLD, TAG, "yy", 2);
        assert_int_equal(lib.Waitall(2, requests, statuses),
                         swallows ? MPI_SUCCESS : MPI_ERR_IN_STATUS);
        assert_int_equal(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
        assert_int_equal(statuses[1].MPI_ERROR, MPI_SUCCESS);
        assert_int_equal(statuses[1].MPI_TAG, TAG + 1);
        assert_int_equal(bytes[1], 'x');
        assert_int_equal(requests[0], MPI_REQUEST_NULL);
        assert_int_equal(requests[1], MPI_REQUEST_NULL);
    }
    mpi_next[0].Testall = test_all;
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

static int start_generalized(MPI_Grequest_query_function *query,
                             MPI_Grequest_free_function *free_it,
                             MPI_Grequest_cancel_function *cancel, void *extra,
                             MPI_Request *request)
{
    (void)query, (void)free_it, (void)cancel, (void)extra, (void)request;
    return MPI_SUCCESS;
}

// A session's communicator needs no MPI_Init, and callbacks of MPI's make calls, too.
static void what_is_not_polled_is_seen_before_the_job_begins(void **state)
{
    MPI_Request request;
    (void)state;
    for (int entry = 0; entry < 2; entry++)
        mpi_next[entry].Grequest_start = start_generalized;
    core_active = wait_whole = wait_generalized = false;
    lib.Psend_init("y", 1, 1, MPI_CHAR, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    lib.Request_free(&request);
    assert_true(wait_whole);
    assert_false(wait_generalized);
    lib.Grequest_start(NULL, NULL, NULL, NULL, &request);
    assert_true(wait_generalized);
    core_active = true;
    core_depth = 1;
    core_frame = UINTPTR_MAX;
    wait_generalized = false;
    lib.Grequest_start(NULL, NULL, NULL, NULL, &request);
    assert_true(wait_generalized);
    core_depth = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_buffer_goes_out_before_it_comes_in),
        cmocka_unit_test(so_does_one_with_gaps),
        cmocka_unit_test(only_the_mpi_reads_what_may_be_a_devices),
        cmocka_unit_test(a_message_too_long_ends_no_send),
        cmocka_unit_test(a_send_that_is_left_keeps_its_copy),
        cmocka_unit_test(nobody_gives_the_cpu_away_beside_a_message),
        cmocka_unit_test(a_fault_is_told_when_all_are_complete),
        cmocka_unit_test(partitioned_requests_are_waited_for_one_by_one),
        cmocka_unit_test(what_is_not_polled_is_seen_before_the_job_begins),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
