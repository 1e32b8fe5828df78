#include "pmpi/variant/growth.h"

// Another choice each time: what one node cannot give would be wished for for ever.
#define SEED_STEP 7u

static const struct growth_todo nothing = {.way = GROWTH_NOWHERE};

struct growth growth_new(bool leads, unsigned children, uint64_t seed)
{
    return (struct growth){.leads = leads, .children = children, .seed = seed};
}

bool growth_goes_down(enum growth_kind kind)
{
    return kind == GROWTH_BEGIN || kind == GROWTH_WISH || kind == GROWTH_TAKE;
}

static struct growth_todo ask(struct growth *growth)
{
    growth->step = GROWTH_ASKS;
    growth->missing = growth->children + 1;
    growth->offer = slots_offer_any();
    return (struct growth_todo){
        .way = GROWTH_DOWN, .question = GROWTH_ASK, .message = {.kind = GROWTH_BEGIN}};
}

static struct growth_todo reserve(struct growth *growth, uint64_t slots, uint8_t due)
{
    growth->step = GROWTH_RESERVES;
    growth->missing = growth->children + 1;
    growth->given = SLOTS_ALL;
    growth->wish = (struct growth_message){.kind = GROWTH_WISH, .slots = slots, .due = due};
    return (struct growth_todo){
        .way = GROWTH_DOWN, .question = GROWTH_RESERVE, .message = growth->wish};
}

static struct growth_todo claim(struct growth *growth, const struct growth_message *take)
{
    growth->step = GROWTH_RESTS;
    return (struct growth_todo){.way = GROWTH_DOWN, .question = GROWTH_CLAIM, .message = *take};
}

struct growth_todo growth_begin(struct growth *growth, uint64_t word)
{
    if (!growth->leads || growth->step != GROWTH_RESTS)
        return nothing;
    growth->seed += SEED_STEP;
    growth->own = slots_of_word(word);
    growth->term = (uint8_t)(slots_term_of_word(word) % (SLOTS_TERMS - 1) + 1);
    return ask(growth);
}

void growth_has(struct growth *growth, uint64_t word)
{
    growth->own &= slots_of_word(word);
}

// All nodes below have made their offers, and this one.
static struct growth_todo all_offered(struct growth *growth)
{
    if (!growth->leads) {
        growth->step = GROWTH_HAS_OFFERED;
        return (struct growth_todo){.way = GROWTH_UP,
                                    .message = {.kind = GROWTH_OFFER, .offer = growth->offer}};
    }
    struct slots_choice choice = slots_choose(&growth->offer, growth->seed);
    if (slots_count(choice.slots) > slots_count(growth->own))
        return reserve(growth, choice.slots, choice.due);
    growth->step = GROWTH_RESTS;
    return nothing;
}

// Fewer than before are not taken: promises end by themselves.
static struct growth_todo all_given(struct growth *growth)
{
    uint64_t slots = growth->given & growth->wish.slots;
    struct growth_message take = {.kind = growth->leads ? GROWTH_TAKE : GROWTH_GIVEN,
                                  .slots = slots,
                                  .due = growth->wish.due,
                                  .term = growth->term};
    growth->step = GROWTH_RESTS;
    if (!growth->leads)
        return (struct growth_todo){.way = GROWTH_UP, .message = take};
    bool enough = slots != 0 && slots_count(slots) >= slots_count(growth->own);
    return enough ? claim(growth, &take) : nothing;
}

static struct growth_todo merge_offer(struct growth *growth, const struct slots_offer *offer)
{
    if (growth->step != GROWTH_ASKS)
        return nothing;
    slots_offer_merge(&growth->offer, offer);
    return --growth->missing == 0 ? all_offered(growth) : nothing;
}

static struct growth_todo merge_given(struct growth *growth, uint64_t given)
{
    if (growth->step != GROWTH_RESERVES)
        return nothing;
    growth->given &= given;
    return --growth->missing == 0 ? all_given(growth) : nothing;
}

struct growth_todo growth_hear(struct growth *growth, const struct growth_message *message)
{
    if (growth_goes_down((enum growth_kind)message->kind) && growth->leads)
        return nothing;
    switch (message->kind) {
    case GROWTH_BEGIN:
        return ask(growth);
    case GROWTH_OFFER:
        return merge_offer(growth, &message->offer);
    case GROWTH_WISH:
        return growth->step == GROWTH_HAS_OFFERED && message->due <= SLOTS_ROUND
                   ? reserve(growth, message->slots & SLOTS_ALL, message->due)
                   : nothing;
    case GROWTH_GIVEN:
        return merge_given(growth, message->slots);
    case GROWTH_TAKE:
        return message->term < SLOTS_TERMS && message->due <= SLOTS_ROUND ? claim(growth, message)
                                                                          : nothing;
    default:
        return nothing;
    }
}

struct growth_todo growth_offered(struct growth *growth, const struct slots_offer *offer)
{
    return merge_offer(growth, offer);
}

struct growth_todo growth_reserved(struct growth *growth, uint64_t given)
{
    return merge_given(growth, given);
}
