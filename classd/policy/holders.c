#include "classd/policy/holders.h"

#include "classd/policy/office.h"
#include "classd/policy/round.h"

uint64_t holders_promised(const struct policy_node *node, const struct policy_job *job)
{
    return node->now_ns < job->promised_until_ns ? job->promised : 0;
}

uint64_t holders_promised_beside(const struct policy_node *node, const struct policy_job *but)
{
    uint64_t promised = 0;
    for (size_t i = 0; i < node->count; i++)
        promised |= &node->jobs[i] != but ? holders_promised(node, &node->jobs[i]) : 0;
    return promised;
}

bool holders_include(const struct policy_node *node, const struct policy_job *job, unsigned slot)
{
    return round_has(office_slots(node, job) | holders_promised(node, job), slot);
}

struct room holders_beside(const struct policy_node *node, const struct policy_job *but,
                           unsigned slot)
{
    struct room holders = {0};
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *other = &node->jobs[i];
        if (other != but && !other->yields && holders_include(node, other, slot))
            room_add(node, &holders, other);
    }
    return holders;
}
