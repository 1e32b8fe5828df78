#include "pmpi/front/family.h"

#include <string.h>

struct family {
    const char *marker;  // at the beginning of the text of MPI_Get_library_version()
    const char *variant; // file beside this library
};

// Relatives of MPICH share its ABI (the MPICH ABI initiative). What only wraps one of these names
// it further behind, and has another.
static const struct family families[] = {
    {"Open MPI", "libcosched_pmpi_openmpi.so"}, {"MPICH", "libcosched_pmpi_mpich.so"},
    {"MVAPICH", "libcosched_pmpi_mpich.so"},    {"Intel(R) MPI", "libcosched_pmpi_mpich.so"},
    {"CRAY MPICH", "libcosched_pmpi_mpich.so"}, {"MPI VERSION", "libcosched_pmpi_mpich.so"},
};

const char *family_variant(const char *version)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strncmp(version, families[i].marker, strlen(families[i].marker)) == 0)
            return families[i].variant;
    }
    return NULL;
}
