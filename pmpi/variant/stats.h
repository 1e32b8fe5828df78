// COSCHED_STATS=1: what the library did, one line per job at its end. Counters are relaxed atomics:
// cheap, and right enough for people.
#ifndef COSCHED_PMPI_VARIANT_STATS_H
#define COSCHED_PMPI_VARIANT_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum stats_counter {
    STATS_MESSAGES,  // sends and immediate sends of the program
    STATS_NOTICES,   // notices sent
    STATS_HEARD,     // notices received
    STATS_REQUESTS,  // SCHEDULE commands sent
    STATS_WAITED_NS, // inside blocking MPI calls
    STATS_OWN_NS,    // inside the library's own code
    STATS_YIELDS,    // of ranks that wait by sched_yield
    STATS_SLEEPS,    // of ranks that wait by sleep
    STATS_OVERSLEPT, // of these, ended by time and not by a sign
    STATS_COUNTERS,
};

extern bool stats_on __attribute__((visibility("hidden")));
extern _Atomic uint64_t stats_counters[STATS_COUNTERS];

static inline void stats_add(enum stats_counter counter, uint64_t amount)
{
    if (stats_on)
        atomic_fetch_add_explicit(&stats_counters[counter], amount, memory_order_relaxed);
}

static inline void stats_message(void)
{
    stats_add(STATS_MESSAGES, 1);
}

#endif
