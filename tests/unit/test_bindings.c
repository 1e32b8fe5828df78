// Whether Fortran calls come by the library is tried with what leads to an MPI, whatever its
// integers are, and with nothing else.
#include "pmpi/variant/bindings.h"

#include "pmpi/variant/core.h"
#include "tests/unit/mock_bindings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct mpi_next mpi_next[2];

// What happened in a process that had bindings.
struct outcome {
    bool bypassed;
    int sent, received;
    int other; // calls that were not of nothing and with nobody
    int lost;  // of another thread's messages
};

static struct outcome *outcome;

static bool comes_by; // the bindings call MPI_Send and MPI_Recv

static int others_sent, others_received;

static int send_of_another(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                           MPI_Comm comm)
{
    (void)buf, (void)type, (void)dest, (void)tag, (void)comm;
    others_sent += count;
    return MPI_SUCCESS;
}

static int receive_of_another(void *buf, int count, MPI_Datatype type, int source, int tag,
                              MPI_Comm comm, MPI_Status *status)
{
    (void)buf, (void)type, (void)source, (void)tag, (void)comm, (void)status;
    others_received += count;
    return MPI_SUCCESS;
}

static void *communicate(void *nothing)
{
    for (int entry = 0; entry < 2; entry++) {
        mpi_next[entry].Send(NULL, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        mpi_next[entry].Recv(NULL, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return nothing;
}

// Another thread does, on a session's communicator.
static void communicate_meanwhile(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, communicate, NULL) == 0)
        pthread_join(thread, NULL);
}

static bool nothing_with_nobody(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    return integers[0] == 0 && integers[1] == (int)MPI_BYTE && integers[2] == MPI_PROC_NULL &&
           integers[3] == 0 && integers[4] == (int)MPI_COMM_SELF;
}

void mock_bindings_send(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    outcome->sent++;
    outcome->other += !nothing_with_nobody(integers);
    communicate_meanwhile();
    if (comes_by)
        mpi_next[0].Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF);
}

void mock_bindings_recv(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    outcome->received++;
    outcome->other += !nothing_with_nobody(integers);
    if (comes_by)
        mpi_next[1].Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

// In a process of its own: whatever dlsym() has found there stays loaded.
static void try_with(const char *bindings)
{
    int status = -1;
    *outcome = (struct outcome){.bypassed = false};
    pid_t child = fork();
    if (child == 0) {
        if (dlopen(bindings, RTLD_NOW | RTLD_GLOBAL) == NULL)
            _exit(1);
        for (int entry = 0; entry < 2; entry++) {
            mpi_next[entry].Send = send_of_another;
            mpi_next[entry].Recv = receive_of_another;
        }
        outcome->bypassed = bindings_bypass_us();
        outcome->lost = 4 * outcome->sent - others_sent - others_received;
        _exit(mpi_next[0].Send != send_of_another || mpi_next[1].Recv != receive_of_another);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_program_without_fortran_has_no_bindings(void **state)
{
    (void)state;
    assert_false(bindings_bypass_us());
}

static void what_stands_in_for_an_mpi_is_not_called(void **state)
{
    (void)state;
    try_with(STAND_IN);
    assert_false(outcome->bypassed);
    assert_int_equal(outcome->sent, 0);
    assert_int_equal(outcome->received, 0);
}

static void bindings_are_tried_once_with_integers_of_any_size(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        comes_by = i == 0;
        try_with(BINDINGS);
        assert_int_equal(outcome->bypassed, !comes_by);
        assert_int_equal(outcome->sent, 1);
        assert_int_equal(outcome->received, 1);
        assert_int_equal(outcome->other, 0);
        assert_int_equal(outcome->lost, 0);
    }
}

static int share_outcome(void **state)
{
    (void)state;
    outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return outcome != MAP_FAILED ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_without_fortran_has_no_bindings),
        cmocka_unit_test(what_stands_in_for_an_mpi_is_not_called),
        cmocka_unit_test(bindings_are_tried_once_with_integers_of_any_size),
    };
    return cmocka_run_group_tests(tests, share_outcome, NULL);
}
