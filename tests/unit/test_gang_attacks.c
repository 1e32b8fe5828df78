// Protects a job's slots from a neighbour that says whatever it likes, as often as it likes: it
// gives up what it has and takes again, grows wider and narrower, is suspended, comes and goes.
#include "common/slots.h"
#include "tests/unit/gang_node.h"
#include "tests/unit/random.h"

#define VICTIM   A
#define ATTACKER B
#define PART     30
#define ROUND_NS (ENGINE_ROUND * SLOT)
#define OFTEN    40

// As classd has a job of this node alone grow, where it says that it could.
static void grow(struct node *node, engine_job_t job)
{
    struct slots_offer offer = slots_offer_any();
    uint8_t most[SLOTS_LEVELS];
    engine_t *engine = node->caller.engine;
    engine_offer(engine, job, slots_dues, SLOTS_LEVELS, offer.slots, most, node->caller.now_ns);
    for (unsigned i = 0; i < SLOTS_LEVELS; i++)
        offer.most[i] = slots_most(most[i]);
    if (!slots_offer_more(&offer, slots_of(node, job)))
        return;
    struct slots_choice choice = slots_choose(&offer, gang_name(job));
    uint64_t given = promise(node, job, choice.slots, choice.due);
    if (slots_count(given) > slots_count(slots_of(node, job)))
        claim(node, job, given);
}

// What is free at last, whoever had it.
static void take_free(struct node *node, engine_job_t job)
{
    claim(node, job, slots_of(node, job) | offer(node, job, ENGINE_ROUND, NULL));
}

// As somebody who has less: what of it is promised, and one slot of its own.
static void take_from_victim(struct node *node, engine_job_t job)
{
    uint64_t given = promise(node, job, slots_of(node, VICTIM), 1);
    claim(node, job, slots_of(node, job) | given);
}

static void assert_victim_has(struct node *node, unsigned count)
{
    assert_true(count_of(slots_of(node, VICTIM)) >= count);
}

enum drop { BY_CLAIM, BY_NARROW, BY_WIDTH, DROPS };

static void give_up(struct node *node, enum drop how)
{
    uint64_t own = slots_of(node, ATTACKER), one = own & -own;
    if (how == BY_CLAIM)
        claim(node, ATTACKER, one);
    else if (how == BY_NARROW)
        engine_intersect(node->caller.engine, ATTACKER, one, 1);
    else
        engine_drop_slots(node->caller.engine, ATTACKER);
}

// The victim does nothing about it.
static void test_dropping_slots_to_have_less(void **state)
{
    (void)state;
    for (enum drop how = 0; how < DROPS; how++) {
        struct node node = halves(0);
        for (unsigned i = 0; i < OFTEN; i++) {
            give_up(&node, how);
            take_from_victim(&node, ATTACKER);
            take_free(&node, ATTACKER);
            assert_victim_has(&node, PART);
            node.caller.now_ns += i % 2 * SLOT;
        }
        node_close(&node);
    }
}

// A claim that leaves out its own slots, or with which others are reserved at the same time.
static void test_dropping_slots_in_the_claim(void **state)
{
    (void)state;
    struct node node = halves(0);
    for (unsigned i = 0; i < OFTEN; i++) {
        uint64_t given = promise(&node, ATTACKER, slots_of(&node, VICTIM), 1);
        claim(&node, ATTACKER, given);
        take_from_victim(&node, ATTACKER);
        take_free(&node, ATTACKER);
        assert_victim_has(&node, PART);
    }
    node_close(&node);
}

// It has nothing for two rounds each time, which are the victim's, who looks for more meanwhile.
static void test_dropping_slots_for_long(void **state)
{
    (void)state;
    struct node node = halves(0);
    for (unsigned i = 0; i < OFTEN; i++) {
        give_up(&node, BY_CLAIM);
        grow(&node, VICTIM);
        assert_victim_has(&node, 2 * PART - 1);
        node.caller.now_ns += 2 * ROUND_NS;
        take_from_victim(&node, ATTACKER);
        take_free(&node, ATTACKER);
        assert_victim_has(&node, PART - 1);
        grow(&node, VICTIM);
        assert_victim_has(&node, PART);
        grow(&node, ATTACKER);
    }
    node_close(&node);
}

static void become_wide(struct node *node, uint32_t before, uint32_t width)
{
    caller_post(&node->caller,
                (struct engine_event){
                    .kind = ENGINE_WIDTH, .job = ATTACKER, .width = width, .width_before = before});
}

// Beside it, it is given all slots; then it does not fit there any more. Nobody else pays for that.
static void test_growing_wider(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(4), 1, 3);
    enter(&node, ATTACKER, 1);
    assert_int_equal(claim(&node, VICTIM, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    for (unsigned i = 0; i < OFTEN; i++) {
        claim(&node, ATTACKER, slots_of(&node, VICTIM));
        become_wide(&node, 1, 2);
        assert_victim_has(&node, i == 0 ? 2 * PART : PART);
        take_from_victim(&node, ATTACKER);
        assert_victim_has(&node, PART);
        become_wide(&node, 2, 1);
        claim(&node, ATTACKER, ENGINE_ALL_SLOTS);
        assert_int_equal(slots_of(&node, ATTACKER), ENGINE_ALL_SLOTS);
        assert_true(count_of(slots_of(&node, VICTIM)) >= PART);
    }
    grow(&node, VICTIM);
    assert_int_equal(slots_of(&node, VICTIM), ENGINE_ALL_SLOTS);
    node_close(&node);
}

// The same where it is suspended while it grows wider.
static void test_growing_wider_while_suspended(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(4), 1, 3);
    enter(&node, ATTACKER, 1);
    assert_int_equal(claim(&node, VICTIM, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    for (unsigned i = 0; i < OFTEN; i++) {
        claim(&node, ATTACKER, slots_of(&node, VICTIM) & (EVENS << 4));
        caller_event(&node.caller, ENGINE_SUSPEND, ATTACKER, 0, 0);
        become_wide(&node, 1, 2);
        caller_event(&node.caller, ENGINE_RESUME, ATTACKER, 0, 0);
        assert_int_equal(slots_of(&node, VICTIM), ENGINE_ALL_SLOTS);
        become_wide(&node, 2, 1);
    }
    node_close(&node);
}

// A newcomer has less indeed, and may need just these slots. But one after the other, they take
// from the victim once in two rounds, and have no more than a part while it has less.
static void test_coming_and_going(void **state)
{
    (void)state;
    struct node node = halves(0);
    caller_event(&node.caller, ENGINE_EXIT, ATTACKER, 1, 0);
    for (unsigned i = 0; i < OFTEN; i++) {
        unsigned before = count_of(slots_of(&node, VICTIM));
        for (engine_job_t job = C; job < C + OFTEN; job++) {
            enter(&node, job, 1);
            take_from_victim(&node, job);
            take_free(&node, job);
            assert_true(count_of(slots_of(&node, VICTIM)) >= before / 2);
            assert_true(count_of(slots_of(&node, job)) <= PART);
            caller_event(&node.caller, ENGINE_EXIT, job, 1, 0);
        }
        enter(&node, C, 1);
        take_free(&node, C);
        grow(&node, VICTIM);
        assert_victim_has(&node, PART);
        caller_event(&node.caller, ENGINE_EXIT, C, 1, 0);
        node.caller.now_ns += 2 * ROUND_NS;
        claim(&node, VICTIM, EVENS); // and it cannot use the others
    }
    node_close(&node);
}

// Who was taken from is so for a reason, if he is so rarely.
static void test_who_was_spared_gives_again(void **state)
{
    (void)state;
    struct node node = halves(0);
    caller_event(&node.caller, ENGINE_EXIT, ATTACKER, 1, 0);
    enter(&node, C, 1);
    take_from_victim(&node, C);
    assert_int_equal(count_of(slots_of(&node, VICTIM)), 15);
    enter(&node, D, 1);
    node.caller.now_ns += 2 * ROUND_NS - 1;
    assert_int_equal(promise(&node, D, slots_of(&node, VICTIM), 1), 0);
    node.caller.now_ns += 1;
    assert_int_equal(count_of(promise(&node, D, slots_of(&node, VICTIM), 1)), 8);
    node_close(&node);
}

// ---- anything in any order

struct attack {
    struct node node;
    uint64_t random;
    uint32_t width;
    bool suspended;
    char context[64];
};

static void act(struct attack *a)
{
    struct node *node = &a->node;
    uint64_t own = slots_of(node, ATTACKER);
    uint64_t of[] = {own, slots_of(node, VICTIM), ENGINE_ALL_SLOTS,
                     random_below(&a->random, UINT64_MAX)};
    uint64_t set =
        of[random_below(&a->random, 4)] &
        (random_below(&a->random, 2) == 0 ? random_below(&a->random, UINT64_MAX) : UINT64_MAX);
    unsigned kind = (unsigned)random_below(&a->random, 10);
    uint32_t width = 1 + (uint32_t)random_below(&a->random, 4);
    if (kind < 3) {
        promise(node, ATTACKER, set, (uint8_t)random_below(&a->random, 61));
    } else if (kind < 6) {
        claim(node, ATTACKER, set | (random_below(&a->random, 2) == 0 ? own : 0));
    } else if (kind == 6) {
        engine_intersect(node->caller.engine, ATTACKER, set, 1);
    } else if (kind == 7) {
        become_wide(node, a->width, width);
        a->width = width;
    } else if (kind == 8) {
        a->suspended = !a->suspended;
        caller_event(&node->caller, a->suspended ? ENGINE_SUSPEND : ENGINE_RESUME, ATTACKER, 0, 0);
    } else {
        node->caller.now_ns += random_below(&a->random, SLOT);
    }
}

static void run_attack(uint64_t seed)
{
    struct attack a = {.random = seed, .width = 1};
    unsigned cpus = 1 + (unsigned)random_below(&a.random, 4);
    a.node = scene(gang_settings(cpus), 1, cpus < 2 ? 1 : cpus - 1);
    snprintf(a.context, sizeof a.context, "COSCHED_TEST_SEED=%llu", (unsigned long long)seed);
    a.node.caller.context = a.context;
    enter(&a.node, ATTACKER, 1);
    claim(&a.node, VICTIM, EVENS);
    claim(&a.node, ATTACKER, ODDS);
    for (unsigned i = 0; i < 300; i++) {
        act(&a);
        CALLER_CHECK(&a.node.caller, count_of(slots_of(&a.node, VICTIM)) >= PART);
    }
    node_close(&a.node);
}

// It reserves just what the victim has reserved, again and again, and takes nothing. The victim is
// new each time: it has half, and the rest as soon as that is let go.
static void test_contesting_what_is_promised(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct node node = scene(gang_settings(1), 2, 1);
        node.caller.now_ns += 10 * ROUND_NS;
        for (unsigned i = 0; i < OFTEN; i++) {
            uint64_t wish = promise(&node, VICTIM, ENGINE_ALL_SLOTS, 60);
            for (unsigned k = 0; k < 5; k++)
                promise(&node, ATTACKER, wish, k % 2);
            node.caller.now_ns += 10 * MS;
            claim(&node, VICTIM, wish);
            assert_victim_has(&node, PART);
            claim(&node, ATTACKER, 0);
            node.caller.now_ns += later * 10 * MS;
            grow(&node, VICTIM);
            assert_victim_has(&node, ENGINE_ROUND);
            caller_event(&node.caller, ENGINE_EXIT, VICTIM, 1, 0);
            enter(&node, VICTIM, 1);
        }
        node_close(&node);
    }
}

static void test_anything_in_any_order(void **state)
{
    (void)state;
    random_run_histories(run_attack, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropping_slots_to_have_less),
        cmocka_unit_test(test_dropping_slots_in_the_claim),
        cmocka_unit_test(test_dropping_slots_for_long),
        cmocka_unit_test(test_growing_wider),
        cmocka_unit_test(test_growing_wider_while_suspended),
        cmocka_unit_test(test_coming_and_going),
        cmocka_unit_test(test_who_was_spared_gives_again),
        cmocka_unit_test(test_contesting_what_is_promised),
        cmocka_unit_test(test_anything_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
