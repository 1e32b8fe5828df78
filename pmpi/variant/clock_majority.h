// Which of several clocks are right, as far as that can be told: those of the majority. Pure.
//
// Each clock is known by an interval, within which it was at a moment that all have in common. Two
// clocks differ by no less than what is between their intervals, so nobody is called wrong for a
// measurement that was slow.
#ifndef COSCHED_PMPI_VARIANT_CLOCK_MAJORITY_H
#define COSCHED_PMPI_VARIANT_CLOCK_MAJORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All zeros: nothing is known of the clock, which then differs from none.
struct clock_reading {
    uint64_t earliest_ns, latest_ns;
    bool synchronised; // says its kernel, by NTP or PTP
};

// By how much the first clock is ahead (below 0: behind) at least; 0 when they may be the same.
int64_t clock_apart_ns(const struct clock_reading *one, const struct clock_reading *other);

struct clock_majority {
    size_t agreeing;             // clocks that differ from the middle one by no more than the
                                 // tolerance; 0: there is no majority
    struct clock_reading middle; // of the majority
};

// More than half of all clocks; or, where there is none, of those that call themselves
// synchronised. `room` has space for `count` readings.
struct clock_majority clock_majority_of(const struct clock_reading *clocks, size_t count,
                                        uint64_t tolerance_ns, struct clock_reading *room);

// How far a clock of them is off: from the middle of the majority or, where there is none, from the
// clock that is furthest from it. 0 when that is no more than the tolerance.
int64_t clock_off_ns(const struct clock_reading *clock, const struct clock_majority *majority,
                     const struct clock_reading *clocks, size_t count, uint64_t tolerance_ns);

#endif
