// The beat: a timer that fires at every time-slice. Aligned, it fires when the wall clock is a
// multiple of the time-slice, so that nodes with synchronised clocks switch together without a
// message; else it counts from its start, as the paper's timer daemon does.
#ifndef COSCHED_TIMERD_TICK_H
#define COSCHED_TIMERD_TICK_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

// A descriptor that is readable at every tick; the caller closes it.
int tick_open(uint64_t slice_ns, bool align, struct error *err);

// To be called when it is readable. True when a tick is due; ticks that were missed count as one.
// When somebody has set the wall clock, aligned ticks follow it from the next multiple on, and no
// tick is due now.
bool tick_take(int tick, uint64_t slice_ns, bool align);

// The first multiple of slice_ns after wall_ns.
uint64_t tick_after(uint64_t wall_ns, uint64_t slice_ns);

#endif
