#include "pmpi/variant/agreement_steps.h"

static void ask(struct agreement *agreement)
{
    agreement->step = AGREEMENT_ASKS;
    agreement->asked++;
    agreement->offer = slots_offer_any();
}

struct agreement agreement_new(uint64_t seed, uint32_t last_term)
{
    struct agreement agreement = {.seed = seed, .term = last_term};
    ask(&agreement);
    return agreement;
}

static void wish_for(struct agreement *agreement, enum agreement_step step)
{
    agreement->step = step;
    agreement->given = SLOTS_ALL;
}

// Unless more has been taken before.
static void take(struct agreement *agreement, uint64_t reserved)
{
    bool fewer = slots_count(reserved) < slots_count(agreement->taken);
    agreement->choice.slots = fewer ? agreement->taken : reserved;
    agreement->term = agreement->term % (SLOTS_TERMS - 1) + 1;
    wish_for(agreement, AGREEMENT_TAKES);
}

void agreement_step_on(struct agreement *agreement)
{
    uint64_t given = agreement->given & agreement->choice.slots;
    bool again = slots_ask_again(&agreement->offer, &agreement->choice, given, agreement->asked);
    switch (agreement->step) {
    case AGREEMENT_ASKS:
        agreement->choice = slots_choose(&agreement->offer, agreement->seed + agreement->asked);
        wish_for(agreement, AGREEMENT_RESERVES);
        break;
    case AGREEMENT_RESERVES:
        if (again)
            ask(agreement);
        else
            take(agreement, given);
        break;
    case AGREEMENT_TAKES: // a node may have less by now than it had reserved
        agreement->taken = given;
        if (again)
            ask(agreement);
        else
            agreement->step = AGREEMENT_DONE;
        break;
    case AGREEMENT_DONE:
        break;
    }
}
