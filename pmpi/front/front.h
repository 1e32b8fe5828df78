// Between the front (libcosched_pmpi.so, which knows no MPI) and a variant (one per MPI family).
#ifndef COSCHED_PMPI_FRONT_FRONT_H
#define COSCHED_PMPI_FRONT_FRONT_H

#include <stddef.h>
#include <stdint.h>

#define FRONT_API_VERSION 4u

enum front_entry {
    FRONT_ENTRY_MPI = 0,  // called as MPI_X
    FRONT_ENTRY_PMPI = 1, // called as PMPI_X
};

struct front_api {
    uint32_t version; // FRONT_API_VERSION
    uint32_t table;   // checksum over the function table that the front was made from
    // The function that stands behind this library under the name MPI_<name> or PMPI_<name>, or
    // null. A PMPI tool that was preloaded after this library is found under MPI_<name>.
    void *(*real)(enum front_entry entry, const char *name);
    // The address of another symbol of the program's MPI, or of what that is linked to, or null.
    void *(*find)(const char *symbol);
    // Takes the library out of the way: from now on every entry point but that of the function
    // `except` (null: none) is one jump to the real function.
    void (*bypass)(const char *except);
    // As ucx_linger().
    void (*linger)(uint32_t connections, uint64_t linger_ns);
    // As ucx_when_nothing_moved().
    void (*when_nothing_moved)(void (*look)(void));
};

// Why a variant cannot serve.
enum front_refusal {
    FRONT_OTHER_VERSION = -1, // the front is none of its own
    FRONT_MPI_TOO_OLD = -2,   // the MPI has not all of MPI-3
};

// A variant's only exported function, "cosched_pmpi_variant". It fills `entries`, two for each
// function of the table in order (MPI_X, PMPI_X), and returns 0; or else a front_refusal.
typedef int front_variant_fn(const struct front_api *api, void **entries, size_t count);

#define FRONT_VARIANT_SYMBOL "cosched_pmpi_variant"

#endif
