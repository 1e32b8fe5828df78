// Offers of slots for tests.
#ifndef COSCHED_TESTS_UNIT_OFFERS_H
#define COSCHED_TESTS_UNIT_OFFERS_H

#include "common/slots.h"

// At every level these slots, and no others.
static inline struct slots_offer offer_of(uint64_t free_slots)
{
    struct slots_offer offer = slots_offer_any();
    for (unsigned i = 0; i < SLOTS_LEVELS; i++) {
        offer.slots[i] = free_slots;
        offer.most[i] = slots_most(slots_count(free_slots));
    }
    return offer;
}

#endif
