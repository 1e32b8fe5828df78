#include "pmpi/front/family.h"

#include <stddef.h>
#include <string.h>

static const struct family mpich = {
    .variant = "libcosched_pmpi_mpich.so",
    .graph = FAMILY_MPICH_GRAPH,
    .cart = FAMILY_MPICH_CART,
    .dist_graph = FAMILY_MPICH_DIST_GRAPH,
    .err_unsupported_operation = FAMILY_MPICH_ERR_UNSUPPORTED_OPERATION,
};

static const struct family openmpi = {
    .variant = "libcosched_pmpi_openmpi.so",
    .graph = FAMILY_OPENMPI_GRAPH,
    .cart = FAMILY_OPENMPI_CART,
    .dist_graph = FAMILY_OPENMPI_DIST_GRAPH,
    .err_unsupported_operation = FAMILY_OPENMPI_ERR_UNSUPPORTED_OPERATION,
};

// By the beginning of the text of MPI_Get_library_version(). Relatives of MPICH share its ABI (the
// MPICH ABI initiative). What only wraps one of these names it further behind, and has another.
static const struct {
    const char *marker;
    const struct family *family;
} members[] = {
    {"Open MPI", &openmpi},   {"MPICH", &mpich},      {"MVAPICH", &mpich},
    {"Intel(R) MPI", &mpich}, {"CRAY MPICH", &mpich}, {"MPI VERSION", &mpich},
};

const struct family *family_of(const char *version)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strncmp(version, members[i].marker, strlen(members[i].marker)) == 0)
            return members[i].family;
    }
    return NULL;
}
