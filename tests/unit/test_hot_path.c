// While nothing changes, the library allocates nothing, takes no lock and makes no system call: its
// entry points run in a child that the kernel would kill for one.
#include "common/status_page.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    TIMES = 1000,
    CALLS = 12,   // in one round
    LENGTH = 100, // of the messages
    ALL_WELL = 0, // what the child ends with
    MISCALLED,    // MPI was not called once for each call
    ALLOCATED,
    LOCKED,
    UNWATCHED, // all is well, but system calls were not looked at
};

static int mpi_calls, allocations, locks;

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    locks++;
    return __real_pthread_mutex_lock(mutex);
}

// --- an MPI that does nothing at once ------------------------------------------------------------

static int at_once_send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                        MPI_Comm comm)
{
    (void)buf, (void)count, (void)type, (void)dest, (void)tag, (void)comm;
    mpi_calls++;
    return MPI_SUCCESS;
}

static int at_once_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    *request = 5;
    return at_once_send(buf, count, type, dest, tag, comm);
}

static int at_once_irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    *request = 6;
    return at_once_send(buf, count, type, source, tag, comm);
}

static int at_once_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                        MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE)
        *status = (MPI_Status){.MPI_SOURCE = MOCK_PEER, .count_lo = count};
    return at_once_send(buf, count, type, source, tag, comm);
}

static int at_once_wait(MPI_Request *request, MPI_Status *status)
{
    *request = MPI_REQUEST_NULL;
    if (status != MPI_STATUS_IGNORE)
        *status = (MPI_Status){.MPI_SOURCE = MOCK_PEER};
    mpi_calls++;
    return MPI_SUCCESS;
}

static int at_once_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = 1;
    return at_once_wait(request, status);
}

static int at_once_waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    for (int i = 0; i < count; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (statuses != MPI_STATUSES_IGNORE)
            statuses[i] = (MPI_Status){.MPI_SOURCE = MOCK_PEER};
    }
    mpi_calls++;
    return MPI_SUCCESS;
}

static int at_once_iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    (void)source, (void)tag, (void)comm, (void)status;
    *flag = 0;
    mpi_calls++;
    return MPI_SUCCESS;
}

static int at_once_barrier(MPI_Comm comm)
{
    (void)comm;
    mpi_calls++;
    return MPI_SUCCESS;
}

// Used by the library for itself.
static int at_once_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    (void)request, (void)status;
    *flag = 1;
    return MPI_SUCCESS;
}

static void one_round(MPI_Comm comm)
{
    static char buf[LENGTH];
    MPI_Request requests[2];
    MPI_Status status;
    int flag;
    lib.Send(buf, LENGTH, MPI_BYTE, MOCK_PEER, 0, comm);
    lib.Recv(buf, LENGTH, MPI_BYTE, MOCK_PEER, 0, comm, &status);
    lib.Irecv(buf, LENGTH, MPI_BYTE, MOCK_PEER, 0, comm, &requests[0]);
    lib.Wait(&requests[0], &status);
    lib.Isend(buf, LENGTH, MPI_BYTE, MOCK_PEER, 0, comm, &requests[0]);
    lib.Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    lib.Irecv(buf, LENGTH, MPI_BYTE, MOCK_PEER, 0, comm, &requests[0]);
    lib.Isend(buf, LENGTH, MPI_BYTE, MOCK_PEER, 0, comm, &requests[1]);
    lib.Waitall(2, requests, MPI_STATUSES_IGNORE);
    lib.Iprobe(MOCK_PEER, 0, comm, &flag, &status);
    lib.Barrier(comm);
    lib.Barrier(comm);
}

static _Noreturn void run_watched(MPI_Comm comm)
{
    // From here on, any system call but the last one kills; unless others, as of containers, watch.
    bool watched = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
    mpi_calls = allocations = locks = 0;
    for (int i = 0; i < TIMES; i++)
        one_round(comm);
    int result = mpi_calls != TIMES * CALLS ? MISCALLED
                 : allocations != 0         ? ALLOCATED
                 : locks != 0               ? LOCKED
                 : !watched                 ? UNWATCHED
                                            : ALL_WELL;
    for (;;)
        syscall(SYS_exit, result);
}

static void begin(bool headers)
{
    const int nodes[MOCK_SIZE] = {0, 1};
    const bool remote[MOCK_SIZE] = {false, true};
    mock_start(MPI_THREAD_MULTIPLE);
    MPI_Comm private_comm = mock_comm();
    mock_status(STATUS_SCHEDULED);
    assert_int_equal(peers_start(nodes, MOCK_SIZE), 0);
    assert_int_equal(carrier_start(private_comm, MOCK_SIZE, remote, headers), 0);
    if (headers)
        header_start(private_comm, MOCK_SELF);
    core_active = true;
    core_quick = !headers;
    for (int entry = 0; entry < 2; entry++) {
        struct mpi_next *next = &mpi_next[entry];
        next->Send = at_once_send;
        next->Isend = at_once_isend;
        next->Irecv = at_once_irecv;
        next->Recv = at_once_recv;
        next->Wait = at_once_wait;
        next->Test = at_once_test;
        next->Waitall = at_once_waitall;
        next->Iprobe = at_once_iprobe;
        next->Barrier = at_once_barrier;
        next->Request_get_status = at_once_get_status;
    }
}

static void end(bool headers)
{
    core_active = core_quick = false;
    if (headers)
        header_stop();
    carrier_stop();
    peers_stop();
}

static void run(bool headers)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    bool watched = true;
    begin(headers);
    assert_int_equal(lib.Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    for (int world = 0; world < 2; world++, comm = MPI_COMM_WORLD) {
        one_round(comm); // what is new is learnt
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            run_watched(comm);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_false(WIFSIGNALED(status)); // a system call
        watched &= WEXITSTATUS(status) != UNWATCHED;
        assert_int_equal(watched ? WEXITSTATUS(status) : ALL_WELL, ALL_WELL);
    }
    end(headers);
    if (!watched)
        skip();
}

static void notices_cost_nothing_while_nothing_changes(void **state)
{
    (void)state;
    run(false);
}

static void headers_need_no_memory_and_no_kernel(void **state)
{
    (void)state;
    run(true);
}

// Sends without a look at anything but the status word must not miss that it has changed.
static void each_change_is_told_once(void **state)
{
    (void)state;
    begin(false);
    one_round(MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
        char byte = 0;
        MPI_Request request;
        bool scheduled = i % 2 == 1;
        mock_status(scheduled ? STATUS_SCHEDULED : 0);
        assert_int_not_equal(carrier.settled, session_word());
        int sent = carrier_sent()[MOCK_PEER];
        for (int repeat = 0; repeat < 3; repeat++) {
            if (i % 4 < 2)
                lib.Send(&byte, 1, MPI_BYTE, MOCK_PEER, 0, MPI_COMM_WORLD);
            else
                lib.Isend(&byte, 1, MPI_BYTE, MOCK_PEER, 0, MPI_COMM_WORLD, &request);
            assert_int_equal(carrier_sent()[MOCK_PEER], sent + 1);
            assert_int_equal(carrier.peers[MOCK_PEER].told_scheduled, scheduled);
            assert_int_equal(carrier.settled, session_word());
        }
    }
    mock_status(STATUS_SCHEDULED | STATUS_CONTENDED); // here a call has more to do
    lib.Send(NULL, 0, MPI_BYTE, MOCK_PEER, 0, MPI_COMM_WORLD);
    assert_int_not_equal(carrier.settled, session_word());
    end(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_cost_nothing_while_nothing_changes),
        cmocka_unit_test(headers_need_no_memory_and_no_kernel),
        cmocka_unit_test(each_change_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
