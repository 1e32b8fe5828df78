// At which moments the periods of a class's CPU bandwidth limit begin, and when to have them begin
// anew. Pure. What an idle job or the sequential class gets of a node, it gets at the beginning of
// each period; where these are not the same moments on all nodes, a scheduled job of several nodes
// stands still once for each of them. So periods are to begin when the wall clock is a multiple of
// their length, which nodes have in common like their time-slices.
//
// The kernel begins each class's periods at a random moment and keeps to it, by the monotonic
// clock, as long as the length stays. It takes another moment only where no period is running:
// after a whole one without a limit. Periods of another length begin where one of the former ends.
#ifndef COSCHED_CLASSD_POLICY_PHASE_H
#define COSCHED_CLASSD_POLICY_PHASE_H

#include <stdbool.h>
#include <stdint.h>

// It can be done to within that.
#define PHASE_PRECISION_NS UINT64_C(1000000)

// Periods that are shorter than this have nothing to gain.
#define PHASE_SHORTEST_NS (10 * PHASE_PRECISION_NS)

// Of one class. All zeros at first: nothing is known.
struct phase {
    bool free; // without a limit, since free_since_ns
    uint64_t free_since_ns;
    uint64_t length_ns; // of the periods of its limits since `since_ns`
    uint64_t since_ns;
    uint64_t longest_ns; // of a period that can still be running; 0: as those that are to begin
    uint64_t period_ns;  // that was last begun at begun_ns; 0: not known when
    uint64_t begun_ns;
};

struct phase_moment {
    uint64_t now_ns;  // monotonic
    uint64_t wall_ns; // the time of day at now_ns; 0: not known, or not to be gone by
};

// Whether the periods, `period_ns` long, of a class that is about to be limited are to begin now:
// they can, this is a moment at which they should, and they are further off so far. How far off
// that is follows from the clocks: they drift apart when the time of day is set, and never else.
bool phase_due(const struct phase *phase, uint64_t period_ns, const struct phase_moment *moment);

// The class was limited; its periods began with that (`begun`), or go on as before.
void phase_limited(struct phase *phase, uint64_t period_ns, bool begun, uint64_t now_ns);

// The class is without a limit.
void phase_freed(struct phase *phase, uint64_t now_ns);

#endif
