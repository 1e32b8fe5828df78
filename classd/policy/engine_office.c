// What the registration office is asked: whose the next slots are. Nothing is decided here.
#include "classd/policy/engine.h"

#include "classd/policy/account.h"
#include "classd/policy/members.h"
#include "classd/policy/office.h"
#include "classd/policy/round.h"
#include "classd/policy/standing.h"

uint64_t engine_cut(engine_t *engine, engine_job_t job, uint64_t now_ns)
{
    struct policy_job *found = members_in_sight(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    return found != NULL ? office_cut(&engine->node, found) : ENGINE_ALL_SLOTS;
}

uint8_t engine_dummies(const engine_t *engine)
{
    return (uint8_t)__builtin_popcountll(round_dummies(&engine->node));
}

bool engine_offer(engine_t *engine, engine_job_t job, const uint8_t *dues, size_t count,
                  uint64_t *slots, uint8_t *most, uint64_t now_ns)
{
    struct policy_job *found = members_in_sight(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    for (size_t i = 0; i < count; i++) {
        struct office_offer offer = {0};
        if (found != NULL)
            offer = office_offer(&engine->node, found, dues[i]);
        slots[i] = offer.slots;
        most[i] = offer.most;
    }
    return found != NULL;
}

uint64_t engine_promise(engine_t *engine, engine_job_t job, uint64_t wish, uint8_t due,
                        uint64_t now_ns)
{
    struct policy_job *found = members_in_sight(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    return found != NULL ? office_promise(&engine->node, found, wish, due) : 0;
}

static void keep_only(engine_t *engine, struct policy_job *job, uint64_t slots)
{
    uint64_t before = job->slots;
    job->slots &= slots;
    standing_give_up(&engine->node, job, before);
}

// A job out of sight takes nothing that others may hold by now. But it is of the agreement from
// then on, with what it had of it: else no notice of its other nodes would concern this one any
// more.
static uint64_t claim_aside(engine_t *engine, struct policy_job *job, uint64_t slots, uint32_t term)
{
    keep_only(engine, job, slots);
    job->term = term;
    return job->slots;
}

uint64_t engine_claim(engine_t *engine, engine_job_t job, uint64_t slots, uint32_t term,
                      uint64_t now_ns)
{
    struct policy_job *found = members_find(engine, job);
    account_advance(&engine->node, &engine->aside, now_ns);
    if (found == NULL)
        return 0;
    return members_in_sight(engine, job) != NULL ? office_claim(&engine->node, found, slots, term)
                                                 : claim_aside(engine, found, slots, term);
}

bool engine_intersect(engine_t *engine, engine_job_t job, uint64_t slots, uint32_t term)
{
    struct policy_job *found = members_find(engine, job);
    if (found == NULL || found->term != term || (found->slots & ~slots) == 0)
        return false;
    keep_only(engine, found, slots);
    return true;
}

void engine_drop_slots(engine_t *engine, engine_job_t job)
{
    struct policy_job *found = members_find(engine, job);
    if (found == NULL)
        return;
    uint64_t before = found->slots;
    found->slots = found->promised = 0;
    found->term = 0;
    standing_give_up(&engine->node, found, before);
}
