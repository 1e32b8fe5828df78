#include "classd/policy/leads.h"

#include <stddef.h>

// The owner's place, else that of who is the least ahead; a free one is that.
static struct lead *place_of(struct leads *leads, uint64_t owner)
{
    struct lead *least = &leads->of[0];
    for (size_t i = 0; i < LEADS_OWNERS; i++) {
        if (leads->of[i].owner == owner)
            return &leads->of[i];
        if (leads->of[i].account_ns < least->account_ns)
            least = &leads->of[i];
    }
    return least;
}

void leads_note(struct leads *leads, uint64_t owner, uint64_t account_ns)
{
    struct lead *lead = place_of(leads, owner);
    if (owner != 0 && account_ns > lead->account_ns)
        *lead = (struct lead){.owner = owner, .account_ns = account_ns};
}

uint64_t leads_account_ns(const struct leads *leads, uint64_t owner, uint64_t account_ns)
{
    for (size_t i = 0; owner != 0 && i < LEADS_OWNERS; i++) {
        if (leads->of[i].owner == owner && leads->of[i].account_ns > account_ns)
            return leads->of[i].account_ns;
    }
    return account_ns;
}

void leads_clear(struct leads *leads)
{
    *leads = (struct leads){0};
}
