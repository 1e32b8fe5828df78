// How long a scheduled rank that has a CPU of its own may give it away while it waits. Its job has
// the node, but others are there for moments all the same: programs that start, until they
// register; launchers; jobs that have handed over their turn and end. On one node one of its ranks
// is not running then, and on the others its peers would spin for it, where the same program is
// starting and could have the time.
//
// Beside somebody who computes for good, who yields goes to the end of the line again and again.
// So what others have by courtesy is counted, and is a part of the time at most. Pure.
#ifndef COSCHED_PMPI_VARIANT_COURTESY_H
#define COSCHED_PMPI_VARIANT_COURTESY_H

#include <stdbool.h>
#include <stdint.h>

// Of a thread, all zero at first.
struct courtesy {
    int64_t credit_ns;   // that may yet be given away; below 0: the last ones took too long
    uint64_t counted_ns; // up to when it has grown; 0: it is full
};

// May the CPU be given away now?
bool courtesy_allows(struct courtesy *courtesy, uint64_t now_ns);

// It has been, and came back after so long.
void courtesy_took(struct courtesy *courtesy, uint64_t took_ns);

#endif
