// What a sequential library has in the place of Fortran bindings is not called where it is linked
// into the program, beside an MPI.
#include "pmpi/variant/bindings.h"

#include "pmpi/variant/core.h"
#include "tests/unit/mock_bindings.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct mpi_next mpi_next[2];

static int called;

void mock_bindings_send(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    (void)integers;
    called++;
}

void mock_bindings_recv(const int64_t integers[MOCK_BINDINGS_INTEGERS])
{
    mock_bindings_send(integers);
}

static void what_is_linked_into_the_program_is_not_called(void **state)
{
    (void)state;
    assert_non_null(dlsym(RTLD_DEFAULT, "mpi_send_"));
    assert_non_null(dlsym(RTLD_DEFAULT, "PMPI_Send"));
    assert_false(bindings_bypass_us());
    assert_int_equal(called, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_linked_into_the_program_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
