// The node's office: what is offered, promised, taken and kept.
#include "tests/unit/gang_node.h"

static void test_offers(void **state)
{
    (void)state;
    unsigned most = 0;
    struct node node = halves(0);
    claim(&node, B, 0);
    node.caller.now_ns += 2 * ENGINE_ROUND * SLOT;                // its own no more
    assert_int_equal(offer(&node, B, ENGINE_ROUND, &most), ODDS); // free
    assert_int_equal(most, 30);
    assert_int_equal(offer(&node, B, 20, &most), ENGINE_ALL_SLOTS);
    assert_int_equal(most, 40);
    assert_int_equal(offer(&node, B, 30, &most), ODDS);                       // A keeps its due
    assert_int_equal(offer(&node, A, ENGINE_ROUND, &most), ENGINE_ALL_SLOTS); // its own are
    assert_int_equal(offer(&node, D, ENGINE_ROUND, &most), 0);                // nobody here
    assert_int_equal(most, 0);
    node_close(&node);
}

static void test_promises(void **state)
{
    (void)state;
    struct node node = halves(1);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 20);
    assert_int_equal(count_of(given), 20);
    assert_int_equal(slots_of(&node, A), EVENS); // as long as nothing is claimed
    assert_int_equal(claim(&node, C, given), given);
    assert_int_equal(slots_of(&node, A), EVENS & ~given);
    assert_int_equal(slots_of(&node, B), ODDS & ~given);
    assert_int_equal(count_of(slots_of(&node, A)), 20);
    assert_int_equal(count_of(slots_of(&node, B)), 20);
    node_close(&node);
}

// Nothing is claimed yet, so who comes to the office first has no more than who comes last.
static void test_newcomers_share_what_is_free(void **state)
{
    (void)state;
    for (engine_job_t first = A; first <= B; first++) {
        engine_job_t second = first == A ? B : A;
        struct node node = scene(gang_settings(1), 2, 1);
        assert_int_equal(promise(&node, first, ENGINE_ALL_SLOTS, 60), ENGINE_ALL_SLOTS);
        uint64_t won = offer(&node, second, 60, NULL);
        assert_int_equal(count_of(won), 30);
        assert_int_equal(promise(&node, second, ENGINE_ALL_SLOTS, 60), won);
        assert_int_equal(offer(&node, first, 60, NULL), ENGINE_ALL_SLOTS & ~won);
        assert_int_equal(won, (gang_name(second) < gang_name(first)) ? EVENS : ODDS);
        assert_int_equal(claim(&node, first, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS & ~won);
        assert_int_equal(claim(&node, second, won), won);
        node_close(&node);
    }
}

// What was promised to a job that has less is not won from it, nor more than makes both equal.
static void test_nobody_wins_from_who_has_less(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 2, 1);
    uint64_t most = ENGINE_ALL_SLOTS & ~UINT64_C(0xff);
    assert_int_equal(claim(&node, A, most), most);
    assert_int_equal(promise(&node, B, 0xff, 60), 0xff);
    assert_int_equal(offer(&node, A, 1, NULL), most);
    assert_int_equal(promise(&node, A, ENGINE_ALL_SLOTS, 0), most);
    assert_int_equal(claim(&node, B, 0xff), 0xff);
    node_close(&node);
}

// A wish that is not granted costs nobody his promise.
static void test_a_contest_in_vain_costs_nothing(void **state)
{
    (void)state;
    struct node node = halves(2);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 20);
    // Of what A and B have, D would leave them less than they are to keep.
    uint64_t won = promise(&node, D, given, 60);
    assert_int_equal(won, 0);
    assert_int_equal(claim(&node, C, given), given);
    node_close(&node);
}

static void test_promises_end(void **state)
{
    (void)state;
    struct node node = halves(2);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
    node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
    assert_true(count_of(offer(&node, D, 1, NULL) & given) <= count_of(given) / 2);
    assert_int_not_equal(promise(&node, C, given, 15), 0); // again, but not for longer
    node.caller.now_ns += 1;
    assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
    assert_int_equal(promise(&node, C, given, 15), 0);
    assert_int_equal(offer(&node, C, 15, NULL), 0); // so that it asks no other node either
    assert_int_equal(claim(&node, C, given), 0);    // too late, which makes nothing good
    assert_int_equal(promise(&node, C, given, 15), 0);
    node.caller.now_ns += 2 * ENGINE_ROUND * SLOT;
    assert_int_not_equal(promise(&node, C, given, 15), 0);
    node_close(&node);
}

// A wish for nothing, a clock that is off, or a process more do not make it good either.
static void test_promises_end_whatever_is_said(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct node node = halves(2);
        uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
        node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
        if (kind == 0)
            assert_int_equal(promise(&node, C, 0, 15), 0);
        else if (kind == 1)
            engine_drop_slots(node.caller.engine, C);
        else
            enter(&node, C, 1);
        assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
        assert_int_equal(promise(&node, C, given, 15), given); // but not for longer
        node.caller.now_ns += 1;
        assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
        assert_int_equal(promise(&node, C, given, 15), 0);
        node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
        assert_int_equal(promise(&node, C, given, 15), 0);
        node.caller.now_ns += 1;
        assert_int_equal(promise(&node, C, given, 15), given);
        node_close(&node);
    }
}

// Nor is that so where it was given back before the claim.
static void test_promises_given_back(void **state)
{
    (void)state;
    struct node node = halves(1);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
    node.caller.now_ns += 10 * SLOT;
    assert_int_equal(promise(&node, C, 0, 15), 0);
    assert_int_equal(claim(&node, C, 0), 0);
    node.caller.now_ns += 10 * SLOT - 1;
    assert_int_equal(promise(&node, C, given, 15), 0);
    node.caller.now_ns += 1;
    assert_int_equal(promise(&node, C, given, 15), given);
    assert_int_equal(claim(&node, C, given), given); // which is what promises are for
    assert_int_equal(promise(&node, C, given, 15), given);
    node_close(&node);
}

// Who claims nothing of what is kept for him keeps others off by it for half of the time at most.
static void test_promises_given_up(void **state)
{
    (void)state;
    struct node node = halves(0);
    node.caller.now_ns += 10 * ENGINE_ROUND * SLOT;
    enter(&node, C, 1);
    enter(&node, D, 1);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
    assert_int_not_equal(given, 0);
    node.caller.now_ns += 10 * SLOT;
    assert_int_equal(claim(&node, C, 0), 0);
    assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
    node.caller.now_ns += 10 * SLOT - 1;
    assert_int_equal(promise(&node, C, given, 15), 0);
    node.caller.now_ns += 1;
    assert_int_not_equal(promise(&node, C, given, 15), 0);
    node_close(&node);
}

// What a job has it need not reserve, so a newcomer can be given of it all the same.
static void test_nobody_reserves_his_own(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 1, 1);
    assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    enter(&node, B, 1);
    for (int i = 0; i < 3; i++) {
        promise(&node, A, ENGINE_ALL_SLOTS, 60);
        assert_true(count_of(offer(&node, B, 30, NULL)) >= 30);
        node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
        assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    }
    node_close(&node);
}

// Whatever a client says, nobody ends with less than it has itself.
static void test_greed(void **state)
{
    (void)state;
    struct node node = halves(1);
    uint64_t given = promise(&node, C, UINT64_MAX, 0);
    assert_int_equal(claim(&node, C, UINT64_MAX), given);
    assert_in_range(count_of(given), 19, 21);
    assert_in_range(count_of(slots_of(&node, A)), 19, 21);
    assert_int_equal(claim(&node, C, UINT64_MAX), given); // without a promise only what is free
    node_close(&node);
}

// What it has counts, too, when it wishes for others' slots alone.
static void test_what_a_job_has_counts(void **state)
{
    (void)state;
    struct node node = halves(0);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t given = promise(&node, B, slots_of(&node, A), 0);
        assert_int_equal(given, 0);
        claim(&node, B, ODDS | given);
        assert_true(count_of(slots_of(&node, A)) >= 29);
    }
    node_close(&node);
}

// Neither does a claim cost others more for what the job gave up before it reserved.
static void test_a_claim_is_weighed_again(void **state)
{
    (void)state;
    struct node node = halves(0);
    claim(&node, B, 0);
    node.caller.now_ns += 2 * ENGINE_ROUND * SLOT;
    uint64_t given = promise(&node, B, EVENS, 0);
    assert_int_equal(count_of(given), 15);
    claim(&node, B, ODDS | given);
    assert_true(count_of(slots_of(&node, A)) >= 29);
    node_close(&node);
}

// B was promised all, as that was free then; A has it, and is to keep half.
static void assert_promised_in_vain(struct node *node)
{
    assert_int_equal(claim(node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS); // nobody else's
    claim(node, B, ENGINE_ALL_SLOTS & ~UINT64_C(1));
    assert_true(count_of(slots_of(node, A)) >= 29);
}

// Beside A it was free. Then there is another process, or the one has another width: together they
// no longer fit.
static void test_a_promise_to_a_narrower_job(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct node node = scene(gang_settings(2), 1, 1);
        assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
        enter(&node, B, 1);
        assert_int_equal(promise(&node, B, ENGINE_ALL_SLOTS, 60), ENGINE_ALL_SLOTS);
        if (same)
            caller_post(&node.caller,
                        (struct engine_event){
                            .kind = ENGINE_WIDTH, .job = B, .width = 2, .width_before = 1});
        else
            enter(&node, B, 1);
        assert_int_equal(view_of(&node, B).width, 2);
        assert_promised_in_vain(&node);
        node_close(&node);
    }
}

// All was free as nobody else was there yet.
static void test_a_promise_to_a_suspended_job(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 0, 0);
    enter(&node, B, 1);
    assert_int_equal(promise(&node, B, ENGINE_ALL_SLOTS, 60), ENGINE_ALL_SLOTS);
    caller_event(&node.caller, ENGINE_SUSPEND, B, 0, 0);
    enter(&node, A, 1);
    assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    caller_event(&node.caller, ENGINE_RESUME, B, 0, 0);
    assert_promised_in_vain(&node);
    node_close(&node);
}

// Whoever has more, and whatever its name: who grows does not fit any more, and nobody else pays.
static void test_growing_wider_costs_slots(void **state)
{
    (void)state;
    for (engine_job_t grows = A; grows <= B; grows++) {
        engine_job_t other = grows == A ? B : A;
        struct node node = scene(gang_settings(2), 2, 1);
        claim(&node, grows, 0xff);
        claim(&node, other, 0xfff0);
        enter(&node, grows, 1);
        assert_int_equal(slots_of(&node, grows), 0x0f);
        assert_int_equal(slots_of(&node, other), 0xfff0);
        assert_int_equal(view_of(&node, grows).term, 1);
        node_close(&node);
    }
}

// It asks for its part again, as others do who have less.
static void test_who_grew_wider_has_a_part(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(2), 2, 1);
    claim(&node, A, ENGINE_ALL_SLOTS);
    claim(&node, B, ENGINE_ALL_SLOTS);
    enter(&node, B, 1);
    assert_int_equal(slots_of(&node, B), 0);
    assert_int_equal(count_of(promise(&node, B, EVENS, 30)), 30);
    assert_int_equal(claim(&node, B, EVENS), EVENS);
    assert_int_equal(slots_of(&node, A), ODDS);
    node_close(&node);
}

static void test_intersection(void **state)
{
    (void)state;
    struct node node = halves(0);
    engine_t *engine = node.caller.engine;
    assert_false(engine_intersect(engine, A, 0x5, 0)); // of an older agreement
    assert_false(engine_intersect(engine, A, 0x5, 2));
    assert_int_equal(slots_of(&node, A), EVENS);
    assert_true(engine_intersect(engine, A, 0x7, 1));
    assert_false(engine_intersect(engine, A, 0x7, 1));
    assert_int_equal(slots_of(&node, A), 0x5);
    assert_false(engine_intersect(engine, D, 0x7, 1));
    node_close(&node);
}

static void test_adoption(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 0, 0);
    struct engine_account accounts[] = {{.slots = EVENS, .term = 3},
                                        {.slots = UINT64_MAX, .term = 4}};
    for (unsigned i = 0; i < 2; i++) {
        struct engine_event event = {
            .kind = ENGINE_ADOPT, .job = A + i, .width = 1, .name = i + 1, .account = &accounts[i]};
        engine_event(node.caller.engine, &event, 0);
    }
    assert_int_equal(slots_of(&node, B), ENGINE_ALL_SLOTS);
    caller_post(&node.caller,
                (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.caller.settings});
    assert_int_equal(slots_of(&node, A), EVENS); // A file cannot make them overlap
    assert_int_equal(slots_of(&node, B), ODDS);
    assert_int_equal(view_of(&node, B).term, 4);
    node_close(&node);
}

static void test_suspended_jobs_are_offered_nothing(void **state)
{
    (void)state;
    struct node node = halves(0);
    caller_event(&node.caller, ENGINE_SUSPEND, B, 0, 0);
    assert_int_equal(offer(&node, B, 1, NULL), 0);
    assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    caller_event(&node.caller, ENGINE_RESUME, B, 0, 0);
    assert_int_equal(slots_of(&node, A) & slots_of(&node, B), 0);
    node_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_newcomers_share_what_is_free),
        cmocka_unit_test(test_nobody_wins_from_who_has_less),
        cmocka_unit_test(test_a_contest_in_vain_costs_nothing),
        cmocka_unit_test(test_promises_end),
        cmocka_unit_test(test_promises_end_whatever_is_said),
        cmocka_unit_test(test_promises_given_back),
        cmocka_unit_test(test_promises_given_up),
        cmocka_unit_test(test_nobody_reserves_his_own),
        cmocka_unit_test(test_greed),
        cmocka_unit_test(test_what_a_job_has_counts),
        cmocka_unit_test(test_a_claim_is_weighed_again),
        cmocka_unit_test(test_a_promise_to_a_narrower_job),
        cmocka_unit_test(test_a_promise_to_a_suspended_job),
        cmocka_unit_test(test_growing_wider_costs_slots),
        cmocka_unit_test(test_who_grew_wider_has_a_part),
        cmocka_unit_test(test_intersection),
        cmocka_unit_test(test_adoption),
        cmocka_unit_test(test_suspended_jobs_are_offered_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
