// Requests for the CPUs: the guaranteed minimum, fairness, leads that are not forgotten, and who
// goes for whom.
#include "classd/policy/leads.h"
#include "tests/unit/yoo_jette_node.h"

// CMDSCH: "if currently scheduled job has run at least for the GMET, schedule the requesting job".
static void test_request_and_gmet(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    run(&node, GMET - 1);
    assert_int_equal(request(&node, A), ENGINE_GRANTED);
    assert_int_equal(request(&node, B), ENGINE_DISCARDED_GMET);
    assert_scheduled(&node, "A");
    run(&node, 1);
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    assert_scheduled(&node, "B");
    assert_int_equal(view_of(&node, B).scheduled_since_ns, GMET);
    assert_int_equal(request(&node, A), ENGINE_DISCARDED_GMET);
    assert_int_equal(request(&node, C), ENGINE_UNKNOWN_JOB);
    caller_close(&node);
}

static void test_request_and_fairness(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    run(&node, GMET);
    served(&node, A, 10);
    served(&node, B, 26);
    assert_int_equal(request(&node, B), ENGINE_DISCARDED_FAIR);
    assert_scheduled(&node, "A");
    served(&node, B, 25); // a slice ahead, not more
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    caller_close(&node);
}

static void enter_of(struct caller *caller, engine_job_t job, uint64_t owner)
{
    caller_post(caller, (struct engine_event){.kind = ENGINE_REGISTER, .job = job, .owner = owner});
}

// Who leaves and comes back under another name is as far ahead as he was, but for four slices at
// most.
static void test_leaving_loses_no_lead(void **state)
{
    enum { VICTIM = 1, RETURNS, STRANGER };
    (void)state;
    struct caller node = node_with(1);
    enter_of(&node, A, VICTIM);
    enter_of(&node, B, RETURNS);
    run(&node, GMET);
    served(&node, A, 10);
    served(&node, B, 26);
    leave(&node, B, 1);
    enter_of(&node, C, RETURNS);
    assert_int_equal(request(&node, C), ENGINE_DISCARDED_FAIR);
    leave(&node, C, 1);
    enter_of(&node, D, RETURNS); // the second time, too
    assert_int_equal(request(&node, D), ENGINE_DISCARDED_FAIR);
    served(&node, A, 11); // a slice ahead, not more
    assert_int_equal(request(&node, D), ENGINE_GRANTED);
    run(&node, GMET);
    assert_int_equal(request(&node, A), ENGINE_GRANTED); // it counts on both sides
    run(&node, GMET);
    enter_of(&node, E, STRANGER);
    assert_int_equal(view_of(&node, E).service_ns, (11 + 26) * SECOND / 2);
    assert_int_equal(request(&node, E), ENGINE_GRANTED);
    caller_close(&node);
}

static void test_a_lead_is_four_slices_at_most(void **state)
{
    enum { VICTIM = 1, RETURNS };
    (void)state;
    struct caller node = node_with(1);
    enter_of(&node, A, VICTIM);
    enter_of(&node, B, RETURNS);
    run(&node, GMET);
    served(&node, B, 1000);
    leave(&node, B, 1);
    enter_of(&node, C, RETURNS);
    assert_int_equal(view_of(&node, C).service_ns, 4 * SLICE);
    leave(&node, C, 1);
    served(&node, A, 100); // what was cut is not remembered
    enter_of(&node, D, RETURNS);
    assert_int_equal(view_of(&node, D).service_ns, 100 * SECOND);
    caller_close(&node);
}

// Accounts begin at 0 there, so what somebody had before would be a lead over nobody.
static void test_an_empty_node_remembers_no_lead(void **state)
{
    enum { FIRST = 1, SECOND_ONE };
    (void)state;
    struct caller node = node_with(1);
    enter_of(&node, A, FIRST);
    enter_of(&node, B, SECOND_ONE);
    served(&node, A, 1000);
    leave(&node, A, 1);
    leave(&node, B, 1);
    enter_of(&node, B, SECOND_ONE);
    enter_of(&node, A, FIRST);
    run(&node, GMET);
    assert_int_equal(request(&node, A), ENGINE_GRANTED);
    caller_close(&node);
}

// Memory for it is bounded, and those who are the furthest ahead have it.
static void test_the_furthest_ahead_are_remembered(void **state)
{
    (void)state;
    struct leads leads = {0};
    for (uint64_t owner = 1; owner <= LEADS_OWNERS + 1; owner++)
        leads_note(&leads, owner, owner * SECOND);
    leads_note(&leads, 0, 1000 * SECOND);
    leads_note(&leads, 3, SECOND);
    assert_int_equal(leads_account_ns(&leads, 0, 7), 7);
    assert_int_equal(leads_account_ns(&leads, 1, 7), 7);
    assert_int_equal(leads_account_ns(&leads, 3, SECOND), 3 * SECOND);
    assert_int_equal(leads_account_ns(&leads, 3, 4 * SECOND), 4 * SECOND);
    assert_int_equal(leads_account_ns(&leads, LEADS_OWNERS + 1, 0), (LEADS_OWNERS + 1) * SECOND);
}

static void test_request_displaces_only_who_had_gmet(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 2);
    run(&node, GMET);
    enter(&node, B, 2);
    enter(&node, C, 2);
    enter(&node, D, 4);
    served(&node, A, 2);
    served(&node, B, 9);
    assert_scheduled(&node, "AB");
    assert_int_equal(request(&node, D), ENGINE_DISCARDED_GMET);
    assert_int_equal(request(&node, C), ENGINE_GRANTED); // not B, though it has had more
    assert_scheduled(&node, "BC");
    caller_close(&node);
}

static void test_request_displaces_the_most_served(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 2);
    enter(&node, B, 2);
    enter(&node, C, 1);
    run(&node, GMET);
    served(&node, A, 20);
    served(&node, B, 30);
    served(&node, C, 30);
    assert_int_equal(request(&node, C), ENGINE_GRANTED);
    assert_scheduled(&node, "AC");
    caller_close(&node);
}

static void test_request_disturbs_as_few_as_it_must(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 1);
    enter(&node, B, 3);
    enter(&node, C, 3);
    run(&node, GMET);
    served(&node, A, 0); // far behind C, but it is not displaced in the end
    served(&node, B, 30);
    served(&node, C, 30);
    assert_int_equal(request(&node, C), ENGINE_GRANTED);
    assert_scheduled(&node, "AC");
    assert_int_equal(view_of(&node, A).scheduled_since_ns, 0);
    run(&node, GMET);
    served(&node, A, 90);
    assert_int_equal(request(&node, B),
                     ENGINE_GRANTED); // A goes first, is not enough, and comes back
    assert_scheduled(&node, "AB");
    assert_int_equal(view_of(&node, A).switches, 1);

    enter(&node, D, 1); // less served than A, but A is there
    served(&node, D, 0);
    run(&node, GMET);
    assert_int_equal(request(&node, C), ENGINE_GRANTED);
    assert_scheduled(&node, "AC");
    caller_close(&node);
}

static void test_request_leaves_room_to_others(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 4);
    enter(&node, B, 2);
    enter(&node, C, 3);
    enter(&node, D, 1);
    run(&node, GMET);
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    assert_scheduled(&node, "BD");
    caller_close(&node);
}

static void test_request_of_a_job_wider_than_the_node(void **state)
{
    (void)state;
    struct caller node = node_with(2);
    enter(&node, A, 1);
    run(&node, GMET);
    enter(&node, B, 1);
    enter(&node, C, 3);
    assert_scheduled(&node, "AB");
    assert_int_equal(request(&node, C), ENGINE_DISCARDED_GMET);
    run(&node, GMET);
    assert_int_equal(request(&node, C), ENGINE_GRANTED);
    assert_scheduled(&node, "C");
    run(&node, GMET);
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    assert_scheduled(&node, "AB");
    caller_close(&node);
}

// A job keeps its guarantee through the time in which nothing was limited.
static void test_gmet_counts_from_the_unlimited_time(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    run(&node, GMET);
    enter(&node, B, 1);
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_and_gmet),
        cmocka_unit_test(test_request_and_fairness),
        cmocka_unit_test(test_leaving_loses_no_lead),
        cmocka_unit_test(test_a_lead_is_four_slices_at_most),
        cmocka_unit_test(test_an_empty_node_remembers_no_lead),
        cmocka_unit_test(test_the_furthest_ahead_are_remembered),
        cmocka_unit_test(test_request_displaces_only_who_had_gmet),
        cmocka_unit_test(test_request_displaces_the_most_served),
        cmocka_unit_test(test_request_disturbs_as_few_as_it_must),
        cmocka_unit_test(test_request_leaves_room_to_others),
        cmocka_unit_test(test_request_of_a_job_wider_than_the_node),
        cmocka_unit_test(test_gmet_counts_from_the_unlimited_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
