// How the round is cut: which slots are the sequential class's (the dummy nodes of Zhou, Qu &
// Brent), and into which pieces the others are cut for the lists of jobs, each with slots of a
// length of its own. The same on all nodes with the same configuration; section 7 of
// doc/design/gang.md. Pure.
#ifndef COSCHED_CLASSD_POLICY_ROUND_H
#define COSCHED_CLASSD_POLICY_ROUND_H

#include "classd/policy/policy.h"

static inline bool round_has(uint64_t slots, unsigned slot)
{
    return slots >> slot & 1;
}

static inline uint8_t round_count(uint64_t slots)
{
    return (uint8_t)__builtin_popcountll(slots);
}

// All slots of the round by n from 0 on, so that the first few are spread evenly; the same on all
// nodes.
static inline unsigned round_nth(unsigned n)
{
    enum { STRIDE = 37 }; // by about the golden ratio of the round, and prime to it
    return n * STRIDE % ENGINE_ROUND;
}

// The slots of the sequential class by `sequential_share`, as evenly as whole slots, and the pieces
// of the longest list between them, can be; at least one, and not all. Nodes where nobody computes
// keep them too, or a job would lose slots whenever somebody begins to on one of its nodes.
uint64_t round_dummies(const struct policy_node *node);

// The list that the job is in now, by its age and where it began.
unsigned round_list(const struct policy_node *node, const struct policy_job *job);

// How many slots that follow each other are a piece of this list, at least 1.
unsigned round_length(const struct policy_node *node, const struct policy_job *job);

// The slots with which the pieces of the job's list begin. Slots of the sequential class are pieces
// of their own, so that none goes over one.
uint64_t round_cut(const struct policy_node *node, const struct policy_job *job);

// The piece that begins with this slot of the cut.
uint64_t round_piece(uint64_t cut, unsigned slot);

#endif
