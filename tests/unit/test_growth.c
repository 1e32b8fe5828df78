// Protects how the nodes of a job agree on more slots: one node's steps, the others played by the
// test. Whole clusters, with delays and deaths, are test_gang_nodes.c's.
#include "pmpi/variant/growth.h"
#include "tests/unit/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SEED = 7, TERM = 3 };

static struct growth_todo hear(struct growth *growth, struct growth_message message)
{
    return growth_hear(growth, &message);
}

static struct growth_todo offered(struct growth *growth, uint64_t free_slots)
{
    struct slots_offer offer = offer_of(free_slots);
    return growth_offered(growth, &offer);
}

static void assert_todo(struct growth_todo todo, enum growth_way way, enum growth_question question)
{
    assert_int_equal(todo.way, way);
    assert_int_equal(todo.question, question);
}

// A root with so many children that has 30 slots.
static struct growth begun(unsigned children)
{
    struct growth growth = growth_new(true, children, SEED);
    struct growth_todo todo = growth_begin(&growth, slots_word(slots_most(30), TERM));
    assert_todo(todo, GROWTH_DOWN, GROWTH_ASK);
    assert_int_equal(todo.message.kind, GROWTH_BEGIN);
    return growth;
}

// What all nodes give is taken, under the next number.
static void the_root_takes_what_all_give(void **state)
{
    (void)state;
    struct growth root = begun(2);
    struct growth_message offer = {.kind = GROWTH_OFFER, .offer = offer_of(slots_most(50))};
    struct growth_message given = {.kind = GROWTH_GIVEN, .slots = slots_most(40)};
    assert_todo(hear(&root, offer), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    assert_todo(offered(&root, SLOTS_ALL), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    struct growth_todo todo = hear(&root, offer);
    assert_todo(todo, GROWTH_DOWN, GROWTH_RESERVE);
    assert_int_equal(todo.message.kind, GROWTH_WISH);
    assert_int_equal(todo.message.slots, slots_most(50));
    assert_todo(growth_reserved(&root, slots_most(50)), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    assert_todo(hear(&root, given), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    given.slots = slots_most(45);
    todo = hear(&root, given);
    assert_todo(todo, GROWTH_DOWN, GROWTH_CLAIM);
    assert_int_equal(todo.message.kind, GROWTH_TAKE);
    assert_int_equal(todo.message.slots, slots_most(40));
    assert_int_equal(todo.message.term, TERM + 1);
    assert_int_equal(root.step, GROWTH_RESTS);
}

static void nothing_more_is_the_end_of_it(void **state)
{
    (void)state;
    struct growth root = begun(0);
    assert_todo(offered(&root, slots_most(30)), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    assert_int_equal(root.step, GROWTH_RESTS);
    growth_begin(&root, slots_word(slots_most(30), TERM));
    assert_todo(offered(&root, slots_most(31)), GROWTH_DOWN, GROWTH_RESERVE);
}

// Somebody else was faster: what the job has it keeps.
static void less_is_not_taken(void **state)
{
    (void)state;
    for (unsigned given = 0; given <= 31; given++) {
        struct growth root = begun(0);
        offered(&root, SLOTS_ALL);
        struct growth_todo todo = growth_reserved(&root, slots_most(given));
        assert_int_equal(todo.question, given < 30 ? GROWTH_NO_QUESTION : GROWTH_CLAIM);
        assert_int_equal(root.step, GROWTH_RESTS);
    }
}

// Nor is it less where the job has lost some of its own meanwhile.
static void what_is_more_than_is_left_is_taken(void **state)
{
    (void)state;
    for (unsigned left = 0; left <= 30; left += 10) {
        struct growth root = begun(0);
        offered(&root, SLOTS_ALL);
        growth_has(&root, slots_word(slots_most(left), TERM));
        growth_has(&root, slots_word(slots_most(60), TERM)); // others than it began with
        struct growth_todo todo = growth_reserved(&root, slots_most(25));
        assert_int_equal(todo.question, left <= 20 ? GROWTH_CLAIM : GROWTH_NO_QUESTION);
    }
}

static void nothing_is_taken_but_what_was_wished(void **state)
{
    (void)state;
    struct growth root = begun(0);
    offered(&root, slots_most(40));
    assert_int_equal(growth_reserved(&root, UINT64_MAX).message.slots, slots_most(40));
}

// What one node cannot give is not wished for again and again.
static void others_are_wished_for_the_next_time(void **state)
{
    (void)state;
    struct growth root = growth_new(true, 0, SEED);
    struct slots_offer offer = offer_of(SLOTS_ALL);
    uint64_t wishes[2];
    offer.slots[0] = 0;
    for (unsigned i = 0; i < 2; i++) {
        growth_begin(&root, slots_word(0, TERM));
        wishes[i] = growth_offered(&root, &offer).message.slots;
        assert_int_equal(slots_count(wishes[i]), 30);
        growth_reserved(&root, 0);
    }
    assert_int_not_equal(wishes[0], wishes[1]);
}

static void one_at_a_time(void **state)
{
    (void)state;
    struct growth root = begun(1), other = growth_new(false, 1, SEED);
    assert_todo(growth_begin(&root, slots_word(1, 1)), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    assert_todo(growth_begin(&other, slots_word(1, 1)), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
}

static void terms_go_round(void **state)
{
    (void)state;
    struct growth root = growth_new(true, 0, SEED);
    growth_begin(&root, slots_word(1, SLOTS_TERMS - 1));
    offered(&root, SLOTS_ALL);
    assert_int_equal(growth_reserved(&root, SLOTS_ALL).message.term, 1); // 0 is no agreement
}

// In the middle of the tree.
static void offers_and_gifts_are_merged_upwards(void **state)
{
    (void)state;
    struct growth node = growth_new(false, 1, SEED);
    struct growth_message child = {.kind = GROWTH_OFFER, .offer = offer_of(0xff0)};
    struct growth_message wish = {.kind = GROWTH_WISH, .slots = 0x0f0, .due = 20};
    assert_todo(hear(&node, (struct growth_message){.kind = GROWTH_BEGIN}), GROWTH_DOWN,
                GROWTH_ASK);
    assert_todo(hear(&node, child), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    struct growth_todo todo = offered(&node, 0x0ff);
    assert_todo(todo, GROWTH_UP, GROWTH_NO_QUESTION);
    assert_int_equal(todo.message.kind, GROWTH_OFFER);
    assert_int_equal(todo.message.offer.slots[0], 0x0f0);
    todo = hear(&node, wish);
    assert_todo(todo, GROWTH_DOWN, GROWTH_RESERVE);
    assert_int_equal(todo.message.due, 20);
    assert_todo(growth_reserved(&node, 0x070), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    todo = hear(&node, (struct growth_message){.kind = GROWTH_GIVEN, .slots = 0x0e0});
    assert_todo(todo, GROWTH_UP, GROWTH_NO_QUESTION);
    assert_int_equal(todo.message.kind, GROWTH_GIVEN);
    assert_int_equal(todo.message.slots, 0x060);
    todo = hear(&node, (struct growth_message){.kind = GROWTH_TAKE, .slots = 0x040, .term = 4});
    assert_todo(todo, GROWTH_DOWN, GROWTH_CLAIM);
    assert_int_equal(todo.message.slots, 0x040);
    assert_int_equal(todo.message.term, 4);
}

// The root has given up, or begun anew, while this node was silent.
static void a_new_beginning_ends_the_old(void **state)
{
    (void)state;
    struct growth node = growth_new(false, 0, SEED);
    struct growth_message begin = {.kind = GROWTH_BEGIN};
    hear(&node, begin);
    offered(&node, 1);
    assert_todo(hear(&node, begin), GROWTH_DOWN, GROWTH_ASK);
    assert_todo(offered(&node, 3), GROWTH_UP, GROWTH_NO_QUESTION);
}

static void what_does_not_belong_is_forgotten(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 256; kind++) {
        struct growth rests = growth_new(false, 1, SEED), root = begun(1);
        struct growth_message message = {.kind = (uint8_t)kind, .slots = UINT64_MAX};
        if (kind != GROWTH_BEGIN && kind != GROWTH_TAKE)
            assert_todo(hear(&rests, message), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
        if (kind != GROWTH_OFFER)
            assert_todo(hear(&root, message), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
        message.term = SLOTS_TERMS;
        if (kind != GROWTH_BEGIN)
            assert_todo(hear(&rests, message), GROWTH_NOWHERE, GROWTH_NO_QUESTION);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_takes_what_all_give),
        cmocka_unit_test(nothing_more_is_the_end_of_it),
        cmocka_unit_test(less_is_not_taken),
        cmocka_unit_test(what_is_more_than_is_left_is_taken),
        cmocka_unit_test(nothing_is_taken_but_what_was_wished),
        cmocka_unit_test(others_are_wished_for_the_next_time),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(terms_go_round),
        cmocka_unit_test(offers_and_gifts_are_merged_upwards),
        cmocka_unit_test(a_new_beginning_ends_the_old),
        cmocka_unit_test(what_does_not_belong_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
