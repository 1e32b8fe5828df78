// Who holds a slot of the round together on a node's CPUs; for the office. Pure.
#ifndef COSCHED_CLASSD_POLICY_HOLDERS_H
#define COSCHED_CLASSD_POLICY_HOLDERS_H

#include "classd/policy/policy.h"
#include "classd/policy/room.h"

// What the job was promised beside its slots, as long as that holds.
uint64_t holders_promised(const struct policy_node *node, const struct policy_job *job);

// What all others were promised.
uint64_t holders_promised_beside(const struct policy_node *node, const struct policy_job *but);

// Whether the slot is the job's, or promised to it.
bool holders_include(const struct policy_node *node, const struct policy_job *job, unsigned slot);

// Who holds the slot or was promised it, but `but` and those that yield.
struct room holders_beside(const struct policy_node *node, const struct policy_job *but,
                           unsigned slot);

#endif
