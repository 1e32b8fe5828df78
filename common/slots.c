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

void slots_offer_merge(struct slots_offer *offer, const struct slots_offer *other)
{
    for (size_t i = 0; i < SLOTS_LEVELS; i++) {
        offer->slots[i] &= other->slots[i];
        offer->most[i] &= other->most[i];
    }
    offer->cut &= other->cut;
    offer->room &= other->room;
}

uint64_t slots_most(unsigned count)
{
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

unsigned slots_count(uint64_t slots)
{
    return (unsigned)__builtin_popcountll(slots);
}

// The slots from a cut to before the next.
static uint64_t piece_at(uint64_t cut, unsigned slot)
{
    uint64_t later = cut & ~slots_most(slot + 1);
    unsigned end = later != 0 ? (unsigned)__builtin_ctzll(later) : SLOTS_ROUND;
    return slots_most(end) & ~slots_most(slot);
}

static unsigned longest_piece(uint64_t cut)
{
    unsigned longest = 0;
    for (unsigned s = 0; s < SLOTS_ROUND; s++) {
        unsigned length = cut >> s & 1 ? slots_count(piece_at(cut, s)) : 0;
        longest = length > longest ? length : longest;
    }
    return longest;
}

// Those that can be had in whole pieces, beside what is free.
static uint64_t in_whole_pieces(uint64_t slots, uint64_t free_slots, uint64_t cut)
{
    uint64_t whole = 0;
    for (unsigned s = 0; s < SLOTS_ROUND; s++) {
        uint64_t piece = cut >> s & 1 ? piece_at(cut, s) : 0;
        if ((piece & ~(slots | free_slots)) == 0)
            whole |= piece & slots;
    }
    return whole;
}

// At most so many of the slots, whole pieces of them, in the same distances as far as there are
// some.
static uint64_t spread(uint64_t slots, uint64_t cut, unsigned count, uint64_t seed)
{
    unsigned there = slots_count(slots);
    uint64_t chosen = 0;
    if (count >= there)
        return slots;
    unsigned seen = (unsigned)(seed % there), taken = seen * count / there;
    for (unsigned s = 0; s < SLOTS_ROUND; s++) {
        uint64_t piece = cut >> s & 1 ? piece_at(cut, s) & slots : 0;
        seen += slots_count(piece);
        if (taken + slots_count(piece) > seen * count / there)
            continue;
        taken += slots_count(piece);
        chosen |= piece;
    }
    return chosen;
}

// The same in pieces as long as there are any such, and then in shorter ones: less even, but never
// short of the count by a long piece because a short one came first.
static uint64_t spread_by_length(uint64_t slots, uint64_t cut, unsigned count, uint64_t seed)
{
    uint64_t chosen = 0;
    for (unsigned length = longest_piece(cut); length > 0; length--) {
        uint64_t pieces = 0;
        for (unsigned s = 0; s < SLOTS_ROUND; s++) {
            uint64_t piece = cut >> s & 1 ? piece_at(cut, s) & slots : 0;
            pieces |= slots_count(piece) == length ? piece : 0;
        }
        if (pieces != 0)
            chosen |= spread(pieces, cut, count - slots_count(chosen), seed);
    }
    return chosen;
}

// The level's part of the slots that jobs have, as offices reckon it.
static unsigned due_of(const struct slots_offer *offer, size_t level)
{
    unsigned room = offer->room != 0 ? slots_count(offer->room & SLOTS_ALL) : SLOTS_ROUND;
    unsigned due = slots_dues[level] * room / SLOTS_ROUND;
    return due > 0 ? due : 1;
}

// What of others' slots makes up a due beside the free ones, as far as whole pieces do: up to one
// piece less. Not more either, though others might keep their due all the same: no office gives a
// job more than it leaves those from whom it takes, and a wish that is never granted keeps the job
// from a lower level's single slots. Nothing when that cannot be had.
static uint64_t make_up(const struct slots_offer *offer, size_t level, uint64_t cut, uint64_t seed)
{
    uint64_t free_slots = offer->slots[0] & SLOTS_ALL;
    unsigned due = due_of(offer, level), most = slots_count(offer->most[level]);
    unsigned over = longest_piece(cut) - 1, free_count = slots_count(free_slots);
    if (over >= due) {
        cut = SLOTS_ALL;
        over = 0;
    }
    uint64_t others =
        in_whole_pieces(offer->slots[level] & SLOTS_ALL & ~free_slots, free_slots, cut);
    unsigned wanted = most < due ? most : due;
    wanted = wanted > free_count ? wanted - free_count : 0;
    uint64_t taken = spread(others, cut, wanted, seed);
    if (free_count + slots_count(taken) + over < due)
        taken = spread_by_length(others, cut, wanted, seed);
    return free_count + slots_count(taken) + over >= due ? taken : 0;
}

struct slots_choice slots_choose(const struct slots_offer *offer, uint64_t seed)
{
    struct slots_choice choice = {.slots = offer->slots[0] & SLOTS_ALL, .due = SLOTS_ROUND};
    uint64_t cut = offer->cut != 0 ? offer->cut & SLOTS_ALL : SLOTS_ALL;
    for (size_t level = 0; level < SLOTS_LEVELS; level++) {
        if (slots_count(choice.slots) >= due_of(offer, level))
            break;
        uint64_t taken = make_up(offer, level, cut, seed);
        if (taken == 0)
            continue;
        choice.slots |= taken;
        choice.due = slots_dues[level];
        break;
    }
    return choice;
}

bool slots_ask_again(const struct slots_offer *offer, const struct slots_choice *choice,
                     uint64_t agreed, unsigned asked)
{
    bool all_answer = offer->room != 0;
    bool has_all = choice->slots != 0 && (choice->slots & ~agreed) == 0;
    return all_answer && !has_all && asked < SLOTS_TIMES_ASKED;
}

bool slots_offer_more(const struct slots_offer *offer, uint64_t own)
{
    return slots_count(slots_choose(offer, 0).slots) > slots_count(own & SLOTS_ALL);
}

struct slots_heard slots_hear(uint64_t here, uint64_t word)
{
    uint64_t own = slots_of_word(here), said = slots_of_word(word);
    bool same_term = slots_term_of_word(word) == slots_term_of_word(here);
    bool lost = (own & ~said) != 0, unaware = !lost && own != said;
    return (struct slots_heard){.lost = same_term && lost, .unaware = same_term && unaware};
}
