// Which MPI_COMM_WORLD this process is of, and which one has spawned that, by what its launcher has
// told it. Numbers that are the same for all processes of one on a node, and different for all
// others of a user there.
#ifndef COSCHED_PMPI_VARIANT_ORIGIN_H
#define COSCHED_PMPI_VARIANT_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

struct origin { // 0: it has not told
    uint64_t world;
    uint64_t parent;
};

// Of a process that was spawned (MPI_Comm_get_parent), or not: then it has no parent, whatever it
// has inherited from somebody who was. Reads the environment.
struct origin origin_of(bool spawned);

#endif
