// Jobs that start at once wish for the same slots, and one node hears the one first and the next
// the other: each would be promised by one node what the other is promised by the next, and neither
// could have any. So what is promised and not yet claimed is divided among those who wish for it,
// whoever came first, by a rule that has the same outcome on all nodes: of two jobs the one whose
// name is less wins every other piece that jobs can have, the other the rest. And who would leave
// others their due takes of a promise as he would of slots that they have. For the office; section
// 3 of doc/design/gang.md. Pure.
#ifndef COSCHED_CLASSD_POLICY_CONTEST_H
#define COSCHED_CLASSD_POLICY_CONTEST_H

#include "classd/policy/policy.h"

struct contest {
    uint64_t wish;
    uint64_t own;     // what the job has, or can have without a contest
    uint64_t counted; // what of that counts when it takes others' by their due
    uint8_t due;
};

// Which of the wish the job wins from those whom they are promised to: nothing from one who would
// then have less than itself, or than he is to keep (standing.h), or but for the pieces that it
// wins by its name, less than the due.
uint64_t contest_won(const struct policy_node *node, const struct policy_job *job,
                     const struct contest *contest);

// Takes slots that were won from the promises of all others; and gives those of them back that the
// job was not given after all, which ends the contest.
void contest_take(struct policy_node *node, const struct policy_job *job, uint64_t won);
void contest_end(struct policy_node *node, uint64_t given);

#endif
