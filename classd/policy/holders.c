#include "classd/policy/holders.h"

#include "classd/policy/office.h"
#include "classd/policy/round.h"

uint64_t holders_promised(const struct policy_node *node, const struct policy_job *job)
{
    return node->now_ns < job->promised_until_ns ? job->promised : 0;
}

bool holders_include(const struct policy_node *node, const struct policy_job *job, unsigned slot)
{
    return round_has(office_slots(node, job) | holders_promised(node, job), slot);
}

bool holders_fit(const struct policy_node *node, const struct policy_job *job,
                 const struct holders *holders)
{
    return holders->count == 0 || holders->width + policy_room_of(node, job) <= policy_room(node);
}

void holders_add(const struct policy_node *node, const struct policy_job *job,
                 struct holders *holders)
{
    holders->count++;
    holders->width += policy_room_of(node, job);
}

struct holders holders_beside(const struct policy_node *node, const struct policy_job *but,
                              unsigned slot)
{
    struct holders holders = {0};
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other != but && !other->yields && holders_include(node, other, slot))
            holders_add(node, other, &holders);
    }
    return holders;
}
