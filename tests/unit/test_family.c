// An MPI is taken for one of the ABIs that there are variants for by what it is, and not for what
// it wraps.
#include "pmpi/front/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void families_are_known(void **state)
{
    static const char *const mpich[] = {
        "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022",
        "MVAPICH2 Version      :\t2.3.7",
        "MVAPICH Version      :\t3.0",
        "Intel(R) MPI Library 2021.9 for Linux* OS",
        "MPI VERSION    : CRAY MPICH version 8.1.26.10 (ANL base 3.4a2)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof mpich / sizeof *mpich; i++)
        assert_string_equal(family_of(mpich[i])->variant, "libcosched_pmpi_mpich.so");
    assert_string_equal(
        family_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4")->variant,
        "libcosched_pmpi_openmpi.so");
}

static void what_wraps_one_is_none(void **state)
{
    (void)state;
    assert_null(family_of("MPIwrapper 2.10.4, using MPIABI 2.9.0, wrapping:\n"
                          "MPICH Version:      4.0.2"));
    assert_null(family_of("MPIwrapper 2.10.4, using MPIABI 2.9.0, wrapping:\n"
                          "Open MPI v4.1.4, package: Debian OpenMPI"));
    assert_null(family_of(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_known),
        cmocka_unit_test(what_wraps_one_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
