// Whether Fortran calls come by the library is tried with what leads to an MPI, whatever its
// integers are, and with nothing else.
#include "pmpi/variant/bindings.h"

#include "pmpi/variant/core.h"
#include "tests/unit/mock_bindings.h"

#include <dlfcn.h>
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
};

static struct outcome *outcome;

static bool comes_by; // the bindings call MPI_Send and MPI_Recv

static bool nothing_with_nobody(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    return integers[0] == 0 && integers[1] == MPI_Type_c2f(MPI_BYTE) &&
           integers[2] == MPI_PROC_NULL && integers[3] == 0 &&
           integers[4] == MPI_Comm_c2f(MPI_COMM_SELF);
}

void mock_bindings_send(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    outcome->sent++;
    outcome->other += !nothing_with_nobody(integers);
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
        outcome->bypassed = bindings_bypass_us();
        _exit(mpi_next[0].Send != NULL || mpi_next[1].Recv != NULL);
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
