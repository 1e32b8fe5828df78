// Protects what ranks make of offers: merging, and the choice that all of them make alike.
#include "common/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EVENS UINT64_C(0x555555555555555)

static struct slots_offer merged(struct slots_offer one, const struct slots_offer *other)
{
    uint64_t *words = (uint64_t *)&one;
    for (size_t i = 0; i < SLOTS_OFFER_WORDS; i++)
        words[i] &= ((const uint64_t *)other)[i];
    return one;
}

// Of a node where somebody has `held`, and everything else is free.
static struct slots_offer offer_beside(uint64_t held)
{
    struct slots_offer offer = slots_offer_any();
    unsigned there = slots_count(held), free_count = SLOTS_ROUND - there;
    for (size_t i = 0; i < SLOTS_LEVELS; i++) {
        bool gives = there > slots_dues[i];
        offer.slots[i] = gives ? SLOTS_ALL : SLOTS_ALL & ~held;
        offer.most[i] = slots_most(free_count + (gives ? there - slots_dues[i] : 0));
    }
    return offer;
}

static unsigned longest_gap(uint64_t slots)
{
    unsigned gap = 0, longest = 0;
    for (unsigned s = 0; s < 2 * SLOTS_ROUND; s++) {
        gap = slots >> s % SLOTS_ROUND & 1 ? 0 : gap + 1;
        longest = gap > longest ? gap : longest;
    }
    return longest;
}

static void test_dues(void **state)
{
    (void)state;
    for (unsigned jobs = 1, level = 0; jobs <= SLOTS_ROUND; jobs++) {
        while (level < SLOTS_LEVELS && slots_dues[level] != SLOTS_ROUND / jobs)
            level++;
        assert_true(level < SLOTS_LEVELS);
    }
}

static void test_most(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= 64; i++) {
        assert_int_equal(slots_count(slots_most(i)), i);
        assert_int_equal(slots_count(slots_most(i) & slots_most(17)), i < 17 ? i : 17);
    }
}

static void test_neutral_offers(void **state)
{
    (void)state;
    struct slots_offer one = offer_beside(EVENS), any = slots_offer_any();
    struct slots_offer nothing = slots_offer_nothing(), same = merged(any, &one);
    assert_memory_equal(&same, &one, sizeof one);
    same = merged(nothing, &one);
    assert_int_equal(slots_choose(&same, 5).slots, 0);
}

static void test_an_empty_node_is_taken_whole(void **state)
{
    (void)state;
    struct slots_offer offer = offer_beside(0);
    assert_int_equal(slots_choose(&offer, 0).slots, SLOTS_ALL);
    offer = offer_beside(EVENS); // half is free: nothing is taken, all that is free is used
    assert_int_equal(slots_choose(&offer, 0).slots, SLOTS_ALL & ~EVENS);
}

static void test_the_second_takes_every_other(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 7; seed++) {
        struct slots_offer offer = offer_beside(SLOTS_ALL);
        struct slots_choice choice = slots_choose(&offer, seed);
        assert_int_equal(choice.due, 30);
        assert_int_equal(slots_count(choice.slots), 30);
        assert_int_equal(longest_gap(choice.slots), 1);
    }
}

static void test_free_slots_first(void **state)
{
    (void)state;
    uint64_t held = SLOTS_ALL & ~UINT64_C(0x3f0);
    struct slots_offer offer = offer_beside(held);
    struct slots_choice choice = slots_choose(&offer, 1);
    assert_int_equal(choice.due, 30);
    assert_int_equal(slots_count(choice.slots), 30);
    assert_int_equal(choice.slots & 0x3f0, 0x3f0);
}

// The first slots of all runs of four.
#define FOURS UINT64_C(0x111111111111111)

static bool in_fours(uint64_t slots)
{
    uint64_t firsts = slots & slots >> 1 & slots >> 2 & slots >> 3 & FOURS;
    return slots_count(firsts) * 4 == slots_count(slots);
}

static void test_whole_pieces(void **state)
{
    (void)state;
    struct slots_offer offer = offer_beside(SLOTS_ALL);
    offer.cut = FOURS;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct slots_choice choice = slots_choose(&offer, seed);
        assert_int_equal(choice.due, 30);
        assert_int_equal(slots_count(choice.slots), 28);
        assert_true(in_fours(choice.slots));
        assert_in_range(longest_gap(choice.slots), 4, 8);
    }
}

// Of nodes that cut differently, what all of them cut; where that is not all there, nothing.
static void test_cuts_of_several_nodes(void **state)
{
    (void)state;
    struct slots_offer other = offer_beside(SLOTS_ALL), offer = other;
    offer.cut = UINT64_C(0x555555555555555);
    other.cut = FOURS | 0x8;
    offer = merged(offer, &other);
    assert_true(in_fours(slots_choose(&offer, 1).slots));
    for (unsigned i = 0; i < SLOTS_LEVELS; i++)
        offer.slots[i] &= ~UINT64_C(2); // of the first piece a slot is missing
    assert_true(in_fours(slots_choose(&offer, 1).slots));
    assert_int_equal(slots_choose(&offer, 1).slots & 0xf, 0);
}

static void test_free_slots_are_taken_in_any_pieces(void **state)
{
    (void)state;
    struct slots_offer offer = offer_beside(SLOTS_ALL & ~UINT64_C(0x3));
    offer.cut = FOURS;
    struct slots_choice choice = slots_choose(&offer, 0);
    assert_int_equal(choice.slots & 0x3, 0x3);
    assert_in_range(slots_count(choice.slots), 27, 30);
    assert_true(in_fours(choice.slots & ~UINT64_C(0xf)));
    assert_true((choice.slots & 0xf) == 0x3 || (choice.slots & 0xf) == 0xf);
}

static void test_parts_shorter_than_a_piece(void **state)
{
    (void)state;
    struct slots_offer offer = slots_offer_nothing();
    offer.cut = FOURS;
    offer.room = SLOTS_ALL;
    offer.slots[SLOTS_LEVELS - 2] = offer.slots[SLOTS_LEVELS - 1] = 0x9; // others keep 2
    offer.most[SLOTS_LEVELS - 2] = offer.most[SLOTS_LEVELS - 1] = slots_most(2);
    assert_int_equal(slots_choose(&offer, 0).slots, 0x9);
    assert_int_equal(slots_choose(&offer, 0).due, 2);
}

// With a piece the job would have more than it leaves whom it takes it from, which no office
// grants: a wish for that would be in vain each time.
static void test_no_piece_that_is_more_than_the_due(void **state)
{
    (void)state;
    struct slots_offer offer = slots_offer_nothing();
    offer.cut = UINT64_C(0x4010040100401); // every tenth
    offer.room = SLOTS_ALL;
    for (size_t i = 0; i < SLOTS_LEVELS; i++) {
        bool gives = slots_dues[i] <= 10; // of somebody's 20, a piece
        offer.slots[i] = slots_most(gives ? 27 : 7);
        offer.most[i] = slots_most(gives ? 17 : 7);
    }
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct slots_choice choice = slots_choose(&offer, seed);
        assert_int_equal(choice.due, 8);
        assert_int_equal(slots_count(choice.slots), 8);
    }
}

// Between slots of the sequential class there are pieces of five and what is left of one; a job
// that can be given five has five, whatever it begins to choose with.
static void test_a_short_piece_is_not_in_the_way(void **state)
{
    (void)state;
    enum { RUN = 0x1f, FREE = 10 };
    struct slots_offer offer = slots_offer_nothing();
    uint64_t others = 0, firsts = 0;
    for (unsigned piece = 0; piece < 5; piece++) {
        firsts |= UINT64_C(1) << 5 * piece;
        others |= (uint64_t)RUN << 5 * piece;
    }
    offer.cut = firsts | UINT64_C(1) << 25 | (SLOTS_ALL & ~slots_most(28));
    others |= (uint64_t)0x7 << 25;
    offer.room = slots_most(38);
    offer.slots[0] = slots_most(FREE) << 45;
    offer.most[0] = slots_most(FREE);
    offer.slots[1] = others | offer.slots[0];
    offer.most[1] = slots_most(FREE + 5);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct slots_choice choice = slots_choose(&offer, seed);
        assert_int_equal(slots_count(choice.slots), FREE + 5);
        assert_int_equal(choice.due, 30);
    }
}

// The sequential class has a quarter of the round: half of the rest is 22.
static void test_parts_of_what_jobs_have(void **state)
{
    (void)state;
    struct slots_offer offer = offer_beside(SLOTS_ALL);
    offer.room = slots_most(45);
    struct slots_choice choice = slots_choose(&offer, 0);
    assert_int_equal(choice.due, 30);
    assert_int_equal(slots_count(choice.slots), 22);
}

// Two nodes where different jobs have different halves: there is a third for each, and not a half.
static void test_a_triangle(void **state)
{
    (void)state;
    struct slots_offer other = offer_beside(SLOTS_ALL & ~EVENS);
    struct slots_offer offer = merged(offer_beside(EVENS), &other);
    struct slots_choice choice = slots_choose(&offer, 3);
    assert_int_equal(choice.due, 20);
    assert_int_equal(slots_count(choice.slots), 20);
    assert_in_range(slots_count(choice.slots & EVENS), 9, 11);
    assert_in_range(longest_gap(choice.slots), 2, 2);
}

static void test_no_common_slot(void **state)
{
    (void)state;
    struct slots_offer offer = offer_beside(0);
    for (size_t i = 0; i < SLOTS_LEVELS; i++)
        offer.slots[i] = 0;
    assert_int_equal(slots_choose(&offer, 0).slots, 0);
    offer.slots[SLOTS_LEVELS - 1] = 6; // one
    assert_int_equal(slots_count(slots_choose(&offer, 0).slots), 1);
}

// What is lost on either side is known on both in the end, whoever speaks first, and of two that
// hear each other never both answer. Of another agreement nothing is heard.
static void test_what_is_heard(void **state)
{
    (void)state;
    struct {
        uint64_t here, said;
        bool lost, unaware;
    } cases[] = {
        {slots_word(7, 2), slots_word(7, 2), false, false},
        {slots_word(7, 2), slots_word(6, 2), true, false},
        {slots_word(6, 2), slots_word(7, 2), false, true},
        {slots_word(6, 2), slots_word(5, 2), true, false},
        {slots_word(7, 2), slots_word(0, 2), true, false},
        {slots_word(7, 2), slots_word(6, 3), false, false},
        {slots_word(6, 3), slots_word(7, 2), false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slots_heard heard = slots_hear(cases[i].here, cases[i].said);
        assert_int_equal(heard.lost, cases[i].lost);
        assert_int_equal(heard.unaware, cases[i].unaware);
        assert_false(heard.unaware && slots_hear(cases[i].said, cases[i].here).unaware);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dues),
        cmocka_unit_test(test_most),
        cmocka_unit_test(test_neutral_offers),
        cmocka_unit_test(test_an_empty_node_is_taken_whole),
        cmocka_unit_test(test_the_second_takes_every_other),
        cmocka_unit_test(test_free_slots_first),
        cmocka_unit_test(test_a_triangle),
        cmocka_unit_test(test_whole_pieces),
        cmocka_unit_test(test_cuts_of_several_nodes),
        cmocka_unit_test(test_free_slots_are_taken_in_any_pieces),
        cmocka_unit_test(test_parts_shorter_than_a_piece),
        cmocka_unit_test(test_no_piece_that_is_more_than_the_due),
        cmocka_unit_test(test_a_short_piece_is_not_in_the_way),
        cmocka_unit_test(test_parts_of_what_jobs_have),
        cmocka_unit_test(test_no_common_slot),
        cmocka_unit_test(test_what_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
