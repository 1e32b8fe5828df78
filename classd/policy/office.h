// The registration office of a node (Zhou, Qu & Brent, section 3): which job holds which slots of
// the round, what a newcomer could have of them, and what is promised. Pure; policy gang goes by
// it. Where the paper's global job manager sets the offices up, here the jobs do: each asks its
// nodes' offices, takes what all of them offer, and tells them (doc/design/gang.md).
//
// What an office keeps to by itself, after every call: jobs that hold a slot together fit on the
// node's CPUs together, as often as there are servants, and who is given slots takes none from a
// job that has no more than itself, with what it has given up lately (standing.h).
#ifndef COSCHED_CLASSD_POLICY_OFFICE_H
#define COSCHED_CLASSD_POLICY_OFFICE_H

#include "classd/policy/policy.h"

// How long slots stay reserved for a job that does not claim them.
#define OFFICE_PROMISE_ROUNDS 2

struct office_offer {
    uint64_t slots; // that are free for the job, promised to others from whom it would win them, or
                    // held by jobs with more than they are to keep
    uint8_t most;   // of these, how many can be had at most without taking too many from anybody
};

// The slots that are a job's: as agreed, or by `sequential_share` for the sequential class (the
// paper's dummy nodes), the same numbers on all nodes. No other job is given these.
uint64_t office_slots(const struct policy_node *node, const struct policy_job *job);

// What the job could have if every other kept at least `due` slots; with the whole round as due,
// what is free.
struct office_offer office_offer(struct policy_node *node, const struct policy_job *job,
                                 uint8_t due);

// Where the job may cut the round, as a set of first slots: the pieces of its own list, joined
// where a cut would go through a piece of a list of longer slots that another job holds. The job is
// to wish for whole pieces. Nodes' cuts are intersected, so they need not agree about the lists
// that jobs are in.
uint64_t office_cut(const struct policy_node *node, const struct policy_job *job);

// Reserves as many of `wish` as can be had so; returns them. What the job was promised before is no
// longer; what others were, it may win a part of (contest.h). Two rounds after the first promise
// ends the last, and with a claim at once; a job that has taken nothing of them is promised nothing
// for as long again, whatever it said meanwhile.
uint64_t office_promise(struct policy_node *node, struct policy_job *job, uint64_t wish,
                        uint8_t due);

// See engine_claim(). Of what was promised it takes as much as leaves each holder at most one slot
// fewer than the job then has, whatever was true when it was promised.
uint64_t office_claim(struct policy_node *node, struct policy_job *job, uint64_t slots,
                      uint32_t term);

// The job grew wider, or can run again: it loses those of its slots in which it does not fit beside
// those who hold them, and nobody else loses any. So this is no way to take slots from others.
void office_refit(struct policy_node *node, struct policy_job *job);

// Whatever pages or settings say: of jobs that hold a slot and do not fit together, those that have
// most lose it, among equals those whose names come last. Nodes with the same jobs decide alike.
void office_settle(struct policy_node *node);

#endif
