#include "classd/policy/contest.h"

#include "classd/policy/holders.h"
#include "classd/policy/round.h"
#include "classd/policy/standing.h"

// A contest of one job on its node: the slots that are promised to others, and those of every other
// slot, and piece of its list, that jobs can have.
struct ground {
    uint64_t promised;
    uint64_t even_slots, even_pieces;
};

static uint64_t every_other(uint64_t cut, uint64_t slots)
{
    uint64_t every_other = 0;
    bool is_even = false;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        if (round_has(slots & cut, s))
            is_even = !is_even;
        every_other |= is_even && round_has(slots, s) ? UINT64_C(1) << s : 0;
    }
    return every_other;
}

static struct ground ground_of(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t slots = ENGINE_ALL_SLOTS & ~round_dummies(node);
    return (struct ground){.promised = holders_promised_beside(node, job),
                           .even_slots = every_other(slots, slots),
                           .even_pieces = every_other(round_cut(node, job), slots)};
}

static bool wins(const struct policy_node *node, const struct policy_job *job,
                 const struct ground *ground, const struct policy_job *other, unsigned slot)
{
    bool alike = round_length(node, job) == round_length(node, other);
    bool is_even = round_has(alike ? ground->even_pieces : ground->even_slots, slot);
    return job->name != other->name && is_even == (job->name < other->name);
}

static unsigned count_without(const struct policy_node *node, const struct policy_job *job,
                              uint64_t won)
{
    return round_count(job->slots | (holders_promised(node, job) & ~won));
}

// `keep` is what others are to have left at least, before the job wins the slot; `ground` where it
// wins by name.
static bool wins_from_all(const struct policy_node *node, const struct policy_job *job,
                          unsigned slot, uint64_t won, unsigned keep, const struct ground *ground)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other == job || !round_has(holders_promised(node, other), slot))
            continue;
        if ((ground != NULL && !wins(node, job, ground, other, slot)) ||
            count_without(node, other, won) <= standing_keeps(node, other, keep))
            return false;
    }
    return true;
}

static uint64_t win_more(const struct policy_node *node, const struct policy_job *job,
                         const struct contest *contest, const struct ground *ground, uint64_t won,
                         bool by_name)
{
    uint64_t has = by_name ? contest->own : contest->counted;
    uint64_t open = contest->wish & ground->promised & ~contest->own;
    for (unsigned n = 0; n < ENGINE_ROUND; n++) {
        unsigned slot = round_nth(n), keep = round_count(has | won) + 1u;
        if (!by_name && keep < contest->due)
            keep = contest->due;
        if (round_has(open & ~won, slot) &&
            wins_from_all(node, job, slot, won, keep, by_name ? ground : NULL))
            won |= UINT64_C(1) << slot;
    }
    return won;
}

uint64_t contest_won(const struct policy_node *node, const struct policy_job *job,
                     const struct contest *contest)
{
    struct ground ground = ground_of(node, job);
    uint64_t by_name = win_more(node, job, contest, &ground, 0, true);
    return win_more(node, job, contest, &ground, by_name, false);
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
        node->jobs[i].won_away |= node->jobs[i].contested & given;
        node->jobs[i].contested = 0;
    }
}
