// Whose a slot is where those that hold it do not fit together: section 4 of doc/design/gang.md.
#include "classd/policy/holders.h"
#include "classd/policy/office.h"
#include "classd/policy/round.h"
#include "classd/policy/standing.h"

static struct room holders_of(const struct policy_node *node, const struct policy_job *but,
                              unsigned slot)
{
    struct room holders = {0};
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (job != but && round_has(office_slots(node, job), slot))
            room_add(node, &holders, job);
    }
    return holders;
}

void office_refit(struct policy_node *node, struct policy_job *job)
{
    uint64_t before = job->slots;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        struct room others = holders_of(node, job, s);
        if (round_has(before, s) && !room_fits(node, &others, job))
            job->slots &= ~(UINT64_C(1) << s);
    }
    standing_give_up(node, job, before);
}

// Who has fewer; then by name, which users choose.
static bool stays_before(const struct policy_job *one, const struct policy_job *other)
{
    if (one->sequential != other->sequential)
        return one->sequential;
    if (round_count(one->slots) != round_count(other->slots))
        return round_count(one->slots) < round_count(other->slots);
    if (one->name != other->name)
        return one->name < other->name;
    return one < other;
}

// The first in line of those that hold the slot and are not among the ones that stay.
static struct policy_job *first_holder(struct policy_node *node, unsigned slot)
{
    struct policy_job *first = NULL;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (!job->yields && round_has(office_slots(node, job), slot) &&
            (first == NULL || stays_before(job, first)))
            first = job;
    }
    return first;
}

static void settle_slot(struct policy_node *node, unsigned slot)
{
    struct room staying = {0};
    struct policy_job *job;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].yields = false;
    while ((job = first_holder(node, slot)) != NULL) {
        job->yields = true; // out of the line
        if (room_fits(node, &staying, job))
            room_add(node, &staying, job);
        else
            job->slots &= ~(UINT64_C(1) << slot);
    }
}

static bool overbooked(const struct policy_node *node, unsigned slot)
{
    return holders_of(node, NULL, slot).over;
}

void office_settle(struct policy_node *node)
{
    uint64_t dummies = round_dummies(node); // of which the share may have changed
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].slots &= ~dummies;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        if (overbooked(node, s))
            settle_slot(node, s);
    }
}
