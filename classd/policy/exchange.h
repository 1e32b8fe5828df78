// Jobs that exchange turns, because their other nodes have them in each other's.
//
// Nodes with the same jobs have the same turns by the clock. Of nodes with other jobs each has
// turns of its own, and a job whose slices are different ones on its nodes has all of them alone:
// it is asked for in slices of others, and where that is granted it is ahead when its own one
// comes, in which nobody else of it runs. So who asks in another's slice gives that one its next
// turn by the clock, whether it was granted or is too far ahead for that. What it is given is no
// more than before, but it is given when its other nodes have it.
//
// Nodes with the same jobs may be apart for a slice, after one has come or gone. That must not
// begin a new round of being apart, so only what happens again and again counts.
#ifndef COSCHED_CLASSD_POLICY_EXCHANGE_H
#define COSCHED_CLASSD_POLICY_EXCHANGE_H

#include "classd/policy/policy.h"

// The slice that begins is `by_clock`'s by the clock, null where that says nothing, and is given to
// `first`.
void exchange_begin_slice(struct policy_node *node, const struct policy_job *by_clock,
                          const struct policy_job *first);

// `requester` asks for what is left of the slice, with the set that it would have in `next`.
void exchange_note_request(struct policy_node *node, struct policy_job *requester);

// It is the job's turn by the clock. Returns who is to have it in its place, or null: itself. What
// it owed is paid then.
struct policy_job *exchange_turn(struct policy_node *node, struct policy_job *job);

#endif
