// The account of a job: the CPU time that counts as received, by which policies tell who is behind.
#ifndef COSCHED_CLASSD_POLICY_ACCOUNT_H
#define COSCHED_CLASSD_POLICY_ACCOUNT_H

#include "classd/policy/aside.h"

// What a newcomer begins with.
uint64_t account_of_newcomer_ns(const struct policy_node *node, const struct aside *aside);

// How far ahead of a newcomer anybody gets by the policies' own doing: turns by the clock go on for
// two slices and a half of lead, and the last of them is a whole one. Who is further ahead was so
// for another reason. Were it less, who has that cut off, by leaving or being suspended, would gain
// by it.
uint64_t account_most_ns(const struct policy_node *node, uint64_t newcomer_ns);

// Somebody comes, or comes back, whose account is this: nobody is far ahead of it any more.
void account_level(struct policy_node *node, uint64_t newcomer_ns);

// The same of one job.
void account_cap(const struct policy_node *node, struct policy_job *job, uint64_t newcomer_ns);

// The job could not be served before now: its account is at least this.
void account_raise(struct policy_job *job, uint64_t least_ns);

// As it was before a restart, as far as that can be true.
void account_restore(const struct policy_node *node, struct policy_job *job,
                     const struct engine_account *account);

// The node's clock goes on, never back, and with it the time that scheduled jobs have been so.
void account_advance(struct policy_node *node, struct aside *aside, uint64_t now_ns);

// The total of CPU time that the job's class has used is `usage_ns`. Counted per CPU that the job
// can use, or a wide job would be served less often than a narrow one. The first total, and one
// that is less than the last (the class was made anew), only set the mark.
void account_usage(const struct policy_node *node, struct policy_job *job, uint64_t usage_ns);

// The job goes, or out of sight: what it held of this slice counts.
void account_settle(const struct policy_node *node, struct policy_job *job);

// A slice begins, or the job is in sight again.
void account_begin_slices(struct policy_node *node, struct aside *aside);
void account_begin_slice(struct policy_job *job);

#endif
