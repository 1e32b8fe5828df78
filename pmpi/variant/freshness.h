// Whether a peer's status, as a notice or header said it, still tells anything. It was true when it
// was sent; an idle rank, which has 1 % of the CPUs at most, may get to it slices later, when its sender
// has long been idle, too. To act on it then is one of the "false scheduling requests" of Yoo &
// Jette, section 2.1. Pure.
//
// So the number of the slice (status_turn()) travels with the status. Nodes count slices by the
// wall clock; where a clock is off, all that comes from there seems older or younger by the same
// number, which is learnt from what is heard while this rank runs, and so in time.
#ifndef COSCHED_PMPI_VARIANT_FRESHNESS_H
#define COSCHED_PMPI_VARIANT_FRESHNESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Of one process; all zero: clocks agree. One thread at a time learns, any may ask.
struct freshness {
    _Atomic int behind;     // by how many slices the numbers of others are behind
    _Atomic unsigned times; // the last few were behind by another number:
    int other;
};

// Something numbered `said` was heard in time in the slice `here`; 0: not known. Whether there is
// something to be learnt from it, and doing so.
bool freshness_is_news(const struct freshness *freshness, uint16_t here, uint16_t said);
void freshness_learn(struct freshness *freshness, uint16_t here, uint16_t said);

// It is from an earlier slice. False when either number is not known.
bool freshness_is_stale(const struct freshness *freshness, uint16_t here, uint16_t said);

#endif
