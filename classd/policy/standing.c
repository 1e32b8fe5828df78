#include "classd/policy/standing.h"

#include "classd/policy/holders.h"
#include "classd/policy/round.h"

static uint64_t until_ns(const struct policy_node *node)
{
    return node->now_ns + STANDING_ROUNDS * ENGINE_ROUND * node->time_slice_ns;
}

// Else who drops most of his slots, has less than anybody, takes others', and then his own again,
// since those are free.
uint64_t standing_slots(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t slots = job->slots;
    uint64_t given_up = node->now_ns < job->given_up_until_ns ? job->given_up : 0;
    for (unsigned s = 0; s < ENGINE_ROUND && given_up != 0; s++) {
        struct room beside = {0};
        for (size_t i = 0; i < node->count; i++) {
            const struct policy_job *other = &node->jobs[i];
            if (other != job && holders_include(node, other, s))
                room_add(node, &beside, other);
        }
        if (round_has(given_up, s) && room_fits(node, &beside, job))
            slots |= UINT64_C(1) << s;
    }
    return slots;
}

void standing_give_up(const struct policy_node *node, struct policy_job *job, uint64_t before)
{
    uint64_t lost = before & ~job->slots;
    if (lost == 0)
        return;
    job->given_up = lost | (node->now_ns < job->given_up_until_ns ? job->given_up : 0);
    job->given_up_until_ns = until_ns(node);
}

unsigned standing_part(const struct policy_node *node)
{
    unsigned room = ENGINE_ROUND - round_count(round_dummies(node));
    uint64_t jobs = 0;
    for (size_t i = 0; i < node->count; i++)
        jobs += !node->jobs[i].sequential;
    if (jobs <= node->servants)
        return room;
    return (unsigned)(room / (1 + (jobs - 1 + node->servants - 1) / node->servants));
}

static bool is_spared(const struct policy_node *node, const struct policy_job *job)
{
    return node->now_ns < job->spared_until_ns;
}

// Who has lost some of his part has the time to find others instead, which he can do where slots
// are free here: that somebody else needs those that he had, and cannot use the free ones, is all
// that justified taking them.
unsigned standing_keeps(const struct policy_node *node, const struct policy_job *job, unsigned keep)
{
    unsigned part = is_spared(node, job) ? standing_part(node) : 0;
    return keep > part ? keep : part;
}

unsigned standing_most(const struct policy_node *node, const struct policy_job *job)
{
    unsigned part = standing_part(node);
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other != job && is_spared(node, other) && round_count(other->slots) < part)
            return part;
    }
    return ENGINE_ROUND;
}

void standing_note_loss(const struct policy_node *node, struct policy_job *job)
{
    if (round_count(job->slots) < standing_part(node))
        job->spared_until_ns = until_ns(node);
}
