// Whether jobs fit on the CPUs of a node together, each process with a CPU of its own. Not only
// must there be enough CPUs: a job may be bound to some of them, as most MPIs, batch systems and
// containers do it, and two that are bound to the same do not fit however many others the node has.
// Pure.
#ifndef COSCHED_CLASSD_POLICY_ROOM_H
#define COSCHED_CLASSD_POLICY_ROOM_H

#include "classd/policy/policy.h"

// Different sets of CPUs that are told apart. Jobs with others after so many count as bound to
// none.
#define ROOM_SETS 64u

// Starts as {0}; points to the jobs that were added.
struct room {
    size_t count;
    uint64_t width;
    bool over; // they do not fit
    size_t set_count;
    struct {
        const struct engine_cpus *cpus;
        uint64_t width; // of those who are bound to these
    } sets[ROOM_SETS];
};

// Whether the two can be in each other's way.
bool room_compete(const struct policy_node *node, const struct policy_job *one,
                  const struct policy_job *other);

// Whether the job fits beside those that were added. Alone every job does.
bool room_fits(const struct policy_node *node, const struct room *room,
               const struct policy_job *job);

void room_add(const struct policy_node *node, struct room *room, const struct policy_job *job);

#endif
