#include "classd/policy/contest.h"

#include "classd/policy/holders.h"
#include "classd/policy/round.h"

// Slots of lists are to be had in whole pieces.
static bool wins(const struct policy_node *node, const struct policy_job *job,
                 const struct policy_job *other, unsigned slot)
{
    unsigned own_length = round_length(node, job), length = round_length(node, other);
    bool is_even = slot / (length > own_length ? length : own_length) % 2 == 0;
    return job->name != other->name && is_even == (job->name < other->name);
}

static unsigned count_without(const struct policy_node *node, const struct policy_job *job,
                              uint64_t won)
{
    return round_count(job->slots | (holders_promised(node, job) & ~won));
}

// `keep` is what others are to have left; by name, at least as much as the job has then.
static bool wins_from_all(const struct policy_node *node, const struct policy_job *job,
                          unsigned slot, uint64_t won, unsigned keep, bool by_name)
{
    bool promised = false;
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other == job || !round_has(holders_promised(node, other), slot))
            continue;
        promised = true;
        if ((by_name && !wins(node, job, other, slot)) || count_without(node, other, won) <= keep)
            return false;
    }
    return promised;
}

static uint64_t win_more(const struct policy_node *node, const struct policy_job *job,
                         const struct contest *contest, uint64_t won, bool by_name)
{
    uint64_t has = by_name ? contest->own : contest->counted, open = contest->wish & ~contest->own;
    for (unsigned n = 0; n < ENGINE_ROUND; n++) {
        unsigned slot = round_nth(n), keep = round_count(has | won) + 1u;
        if (!by_name && keep < contest->due)
            keep = contest->due;
        if (round_has(open & ~won, slot) && wins_from_all(node, job, slot, won, keep, by_name))
            won |= UINT64_C(1) << slot;
    }
    return won;
}

uint64_t contest_won(const struct policy_node *node, const struct policy_job *job,
                     const struct contest *contest)
{
    return win_more(node, job, contest, win_more(node, job, contest, 0, true), false);
}

void contest_take(struct policy_node *node, const struct policy_job *job, uint64_t won)
{
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *other = &node->jobs[i];
        other->contested = other != job ? holders_promised(node, other) & won : 0;
        other->promised &= ~other->contested;
    }
}

void contest_end(struct policy_node *node, uint64_t given)
{
    for (size_t i = 0; i < node->count; i++) {
        node->jobs[i].promised |= node->jobs[i].contested & ~given;
        node->jobs[i].contested = 0;
    }
}
