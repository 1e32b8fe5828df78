// Nodes by number: that of the first rank there. Pure.
#ifndef COSCHED_PMPI_VARIANT_NUMBERING_H
#define COSCHED_PMPI_VARIANT_NUMBERING_H

#include <stdint.h>

struct numbering_rank {
    uint64_t node_id;
    int rank;
};

// nodes[rank] becomes the first of the ranks with that rank's node_id, for 0 to count - 1 in any
// order. Sorts them, since a job may have as many nodes as ranks, or many ranks on each.
void numbering_nodes(struct numbering_rank *ranks, int count, int *nodes);

#endif
