// Which ABI the program's MPI has.
#ifndef COSCHED_PMPI_FRONT_FAMILY_H
#define COSCHED_PMPI_FRONT_FAMILY_H

// What this library has to know of an ABI without its header. The variants, which have it, compare.
enum {
    FAMILY_MPICH_GRAPH = 1,
    FAMILY_MPICH_CART = 2,
    FAMILY_MPICH_DIST_GRAPH = 3,
    FAMILY_MPICH_ERR_UNSUPPORTED_OPERATION = 44,
    FAMILY_OPENMPI_GRAPH = 2,
    FAMILY_OPENMPI_CART = 1,
    FAMILY_OPENMPI_DIST_GRAPH = 3,
    FAMILY_OPENMPI_ERR_UNSUPPORTED_OPERATION = 52,
};

struct family {
    const char *variant;         // file beside this library
    int graph, cart, dist_graph; // what MPI_Topo_test() says
    int err_unsupported_operation;
};

// That of an MPI that says this of itself (MPI_Get_library_version()); null: there is no variant
// for it.
const struct family *family_of(const char *version);

#endif
