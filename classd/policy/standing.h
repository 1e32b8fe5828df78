// What a job counts as having when slots are taken from others for it, and what those keep: so that
// nobody gains slots by giving some up, or by coming and going. For the office; section 3 of
// doc/design/gang.md. Pure.
#ifndef COSCHED_CLASSD_POLICY_STANDING_H
#define COSCHED_CLASSD_POLICY_STANDING_H

#include "classd/policy/policy.h"

// For how long slots that a job has given up count as its own, and one from which was taken is
// spared.
#define STANDING_ROUNDS 2

// The job's slots, and those that it has given up lately and could have back since nobody else
// holds them.
uint64_t standing_slots(const struct policy_node *node, const struct policy_job *job);

// The job had the slots `before`, and what it has no more it has given up itself.
void standing_give_up(const struct policy_node *node, struct policy_job *job, uint64_t before);

// How many slots each job of the node has at least, where these are fairly given.
unsigned standing_part(const struct policy_node *node);

// How many the job keeps when another takes as many as would leave it `keep`.
unsigned standing_keeps(const struct policy_node *node, const struct policy_job *job,
                        unsigned keep);

// How many the job can have: as many as there are, unless others are to find some first.
unsigned standing_most(const struct policy_node *node, const struct policy_job *job);

// Somebody has taken slots from the job.
void standing_note_loss(const struct policy_node *node, struct policy_job *job);

#endif
