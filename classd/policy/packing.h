// Sets of jobs that share the node, and the order of the line: what the policies that schedule a
// set at a time have in common. The paper's "scheduled job" is the set of one.
//
// Throughout, accounts (service_ns) that differ by less than `equal_ns` are equal: the policy says
// how much of a difference is noise. `next` of the jobs is the set in the making.
#ifndef COSCHED_CLASSD_POLICY_PACKING_H
#define COSCHED_CLASSD_POLICY_PACKING_H

#include "classd/policy/policy.h"
#include "classd/policy/room.h"

// After a process came or went: makes the present set fit, then fills it.
void packing_on_change(struct policy_node *node, uint64_t equal_ns);

// A slice begins: empties the set, for the policy to choose who goes first...
void packing_begin_slice(struct policy_node *node);

// ... of whom this is the least served...
struct policy_job *packing_least_served(struct policy_node *node, uint64_t equal_ns);

// ... and then the first of the set is the chosen job, or the longest waiting one where not all
// could be sure any more to wait no longer than `rounds` rounds, of a slice for each job, or
// POLICY_ROUNDS_MOST of them. Returns who it is. Others may be put beside it, as long as they fit.
struct policy_job *packing_choose(struct policy_node *node, struct policy_job *chosen,
                                  uint32_t rounds);

// Takes members that have been scheduled for at least age_ns out of the set until it fits. False
// when that cannot be.
bool packing_make_room(struct policy_node *node, uint64_t age_ns, uint64_t equal_ns);

// After a process came or went: likewise, whoever has been scheduled for how long, but whose slice
// it is.
void packing_make_fit(struct policy_node *node, uint64_t equal_ns);

// The slice is the job's from now on: it is in the set, and nobody else is the first of it.
void packing_give_slice(struct policy_node *node, struct policy_job *job);

// The set.
struct room packing_room(const struct policy_node *node);

// Whether the job fits beside the set.
bool packing_fits(const struct policy_node *node, const struct policy_job *job);

// Puts every job that still fits into the set, least served first.
void packing_fill(struct policy_node *node, uint64_t equal_ns);

// True when the set displaces somebody; then *least_ns is the account of the least served of them.
bool packing_displaces(const struct policy_node *node, uint64_t *least_ns);

// Everything as it was. Returns `outcome`, for a request that comes to nothing.
enum engine_outcome packing_discard(struct policy_node *node, enum engine_outcome outcome);

#endif
