// Jobs out of the policies' sight: they have no turns, and are in nobody's way. Who is suspended is
// that, and who is dormant, which means that it sleeps. A dormant job stands aside only where not
// all jobs fit and some other is awake; else it is as free as if all were.
#ifndef COSCHED_CLASSD_POLICY_ASIDE_H
#define COSCHED_CLASSD_POLICY_ASIDE_H

#include "classd/policy/policy.h"

// In order of registration, as those of the node; the caller keeps room for all jobs in each list.
struct aside {
    struct policy_job *jobs;
    size_t count;
};

bool aside_has(const struct aside *aside, const struct policy_job *job);

// The job, which is in sight, is so no longer: it does not wait, and has no claim to a turn.
// Pointers to jobs are void.
void aside_put(struct policy_node *node, struct aside *aside, struct policy_job *job);

// The job is in sight again, with an account of at least so much. Returns where it is now.
struct policy_job *aside_take_back(struct policy_node *node, struct aside *aside,
                                   struct policy_job *job, uint64_t least_ns);

// The job, wherever it is, is gone.
void aside_forget(struct policy_node *node, struct aside *aside, struct policy_job *job);

// Returns whether those who are in sight are to take turns, which they never are where the policy
// does not coordinate; and says in `next` of the others who of them is free.
bool aside_judge(struct policy_node *node, struct aside *aside, bool coordinates);

#endif
