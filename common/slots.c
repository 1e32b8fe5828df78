#include "common/slots.h"

#include <string.h>

const uint8_t slots_dues[SLOTS_LEVELS] = {60, 30, 20, 15, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1};

struct slots_offer slots_offer_any(void)
{
    struct slots_offer offer;
    memset(&offer, 0xff, sizeof offer);
    return offer;
}

struct slots_offer slots_offer_nothing(void)
{
    return (struct slots_offer){0};
}

uint64_t slots_most(unsigned count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

unsigned slots_count(uint64_t slots)
{
    return (unsigned)__builtin_popcountll(slots);
}

// So many of the slots, in the same distances as far as there are some.
static uint64_t spread(uint64_t slots, unsigned count, uint64_t seed)
{
    unsigned there = slots_count(slots), seen = 0;
    uint64_t chosen = 0;
    if (count >= there)
        return slots;
    unsigned first = (unsigned)(seed % there);
    for (unsigned s = 0; s < SLOTS_ROUND; s++) {
        if ((slots >> s & 1) == 0)
            continue;
        unsigned n = seen++ + first;
        if ((n + 1) * count / there > n * count / there)
            chosen |= UINT64_C(1) << s;
    }
    return chosen;
}

struct slots_choice slots_choose(const struct slots_offer *offer, uint64_t seed)
{
    uint64_t free_slots = offer->slots[0] & SLOTS_ALL;
    struct slots_choice choice = {.slots = free_slots, .due = SLOTS_ROUND};
    unsigned free_count = slots_count(free_slots);
    for (size_t level = 0; level < SLOTS_LEVELS; level++) {
        unsigned due = slots_dues[level], most = slots_count(offer->most[level]);
        uint64_t others = offer->slots[level] & SLOTS_ALL & ~free_slots;
        if (free_count >= due)
            break;
        if (most < due || free_count + slots_count(others) < due)
            continue;
        choice.slots |= spread(others, due - free_count, seed);
        choice.due = (uint8_t)due;
        break;
    }
    return choice;
}

bool slots_offer_more(const struct slots_offer *offer, uint64_t own)
{
    return slots_count(slots_choose(offer, 0).slots) > slots_count(own & SLOTS_ALL);
}
