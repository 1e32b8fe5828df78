// Whether somebody else computes on the CPUs of a job whose ranks have one each, without a
// scheduler. Its ranks wait as their MPI does, which is the fastest way while they are
// alone. Beside others who compute, a rank that spins takes the CPU from them for nothing, and the
// job waits most for those of its ranks that are not running: then all of them wait as ranks do
// that share their CPUs (wait = auto) for a while, and look again.
//
// Noticed by the kernel's account of how long a thread stood in line for a CPU, now and then, after
// a call that may have waited. What the ranks do stands in a word in their doorbell's segment, or
// where they are on several machines each has a word of its own. It takes the place of the
// scheduler's: while it stays the same a call costs what it costs under a scheduler that has
// nothing to say.
#ifndef COSCHED_PMPI_VARIANT_OUTSIDERS_H
#define COSCHED_PMPI_VARIANT_OUTSIDERS_H

#include "common/error.h"
#include "pmpi/variant/core.h"

#include <stdbool.h>
#include <stdint.h>

struct outsiders {
    uint64_t window_ns;    // how long is looked at, at least
    uint64_t hold_ns;      // how long ranks go on as if somebody were there, the first time
    uint64_t hold_most_ns; // and at most, if nobody stands in line meanwhile
    uint64_t longest_ns;   // and if somebody does
    // How long this thread has stood in line for a CPU since it began. False: not to be known.
    bool (*queued_ns)(uint64_t *queued_ns);
    // CPU time of this process's other threads, about: of two clocks, read one after the other.
    uint64_t (*others_ns)(void);
};

extern struct outsiders outsiders HIDDEN;

// By the kernel.
bool outsiders_queued_ns(uint64_t *queued_ns);
uint64_t outsiders_others_ns(void);

// Can this rank take part? Not where several threads may be in MPI at once.
bool outsiders_possible(void);

// From now on, with the doorbell if one is there; and until then.
void outsiders_start(void);
void outsiders_stop(void);

// Meanwhile: are they watched for; and before a call, what has been said of them holds from now on.
extern bool outsiders_on HIDDEN;
void outsiders_follow(void);

// How many calls that may have waited are left until the next look.
extern _Thread_local uint32_t outsiders_left __attribute__((tls_model("initial-exec")));
void outsiders_look(void);

// After such a call.
static inline void outsiders_count(void)
{
    if (__builtin_expect(--outsiders_left == 0, 0))
        outsiders_look();
}

#endif
