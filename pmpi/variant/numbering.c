#include "pmpi/variant/numbering.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct numbering_rank *left = a, *right = b;
    if (left->node_id != right->node_id)
        return left->node_id < right->node_id ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

void numbering_nodes(struct numbering_rank *ranks, int count, int *nodes)
{
    int first = 0;
    if (count > 0)
        qsort(ranks, (size_t)count, sizeof *ranks, compare);
    for (int i = 0; i < count; i++) {
        if (i == 0 || ranks[i].node_id != ranks[i - 1].node_id)
            first = ranks[i].rank;
        nodes[ranks[i].rank] = first;
    }
}
