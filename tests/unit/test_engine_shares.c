// Shares and sets of scheduled jobs, by width: who is limited to what, and who fits beside whom.
#include "tests/unit/yoo_jette_node.h"

static void test_shares_one_at_a_time(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    for (engine_job_t job = B; job < A + 8; job++)
        enter(&node, job, 1);
    assert_share(&node, A, 930000);
    for (engine_job_t job = B; job < A + 8; job++)
        assert_share(&node, job, 10000);
    for (engine_job_t job = E; job < A + 8; job++)
        leave(&node, job, 1);
    assert_share(&node, A, 970000);
    leave(&node, D, 1);
    leave(&node, C, 1);
    assert_share(&node, A, 990000);
    leave(&node, B, 1);
    assert_share(&node, A, 1000000);
    caller_close(&node);
}

static void test_shares_of_a_crowd(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    for (engine_job_t job = A; job < A + 101; job++)
        enter(&node, job, 1);
    assert_share(&node, A, 500000);
    assert_share(&node, B, 5000);
    caller_close(&node);
}

static void test_shares_by_width(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 3);
    enter(&node, B, 1);
    assert_false(view_of(&node, A).limited);
    enter(&node, C, 4);
    assert_scheduled(&node, "AB");
    assert_share(&node, A, 742500);
    assert_share(&node, B, 247500);
    assert_share(&node, C, 10000);
    caller_close(&node);
}

// However large the idle share is: it is of the CPUs that a job can use, and nobody gets more idle
// than scheduled.
static void test_large_idle_shares(void **state)
{
    (void)state;
    struct caller node;
    caller_open(&node, &(struct engine_settings){.policy = "yoo-jette",
                                                 .cpus = 8,
                                                 .idle_share_ppm = 100000,
                                                 .time_slice_ns = SLICE,
                                                 .gmet_ns = GMET});
    for (engine_job_t job = A; job < A + 12; job++)
        enter(&node, job, 1);
    assert_share(&node, A, 118750);
    assert_share(&node, A + 11, 12500);
    for (int i = 0; i < 5; i++)
        tick(&node); // the checks are in the caller
    caller_close(&node);
}

static void test_nothing_limited_while_all_fit(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 2);
    enter(&node, B, 2);
    assert_scheduled(&node, "AB");
    assert_int_equal(request(&node, A), ENGINE_GRANTED);
    tick(&node);
    assert_scheduled(&node, "AB");
    enter(&node, C, 1);
    assert_true(view_of(&node, A).limited);
    assert_scheduled(&node, "AB");
    leave(&node, A, 2);
    assert_scheduled(&node, "BC");
    assert_false(view_of(&node, B).limited);
    caller_close(&node);

    node = node_with(4);
    enter(&node, A, 9);
    assert_false(view_of(&node, A).limited);
    caller_close(&node);
}

static void test_newcomer_takes_free_room(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 3);
    enter(&node, B, 2);
    assert_scheduled(&node, "A");
    enter(&node, C, 1);
    assert_scheduled(&node, "AC");
    enter(&node, D, 1);
    assert_scheduled(&node, "AC");
    caller_close(&node);
}

static void test_packing_on_4(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 4);
    enter(&node, B, 2);
    enter(&node, C, 1);
    enter(&node, D, 1);
    assert_scheduled(&node, "A");
    served(&node, A, 15);
    tick(&node);
    assert_scheduled(&node, "BCD");
    assert_share(&node, B, 495000);
    assert_share(&node, C, 247500);
    served(&node, B, 30);
    served(&node, C, 30);
    served(&node, D, 30);
    tick(&node);
    assert_scheduled(&node, "A");
    caller_close(&node);
}

static void test_packing_on_8(void **state)
{
    (void)state;
    struct caller node = node_with(8);
    enter(&node, A, 6);
    enter(&node, B, 5);
    enter(&node, C, 3);
    enter(&node, D, 2);
    assert_scheduled(&node, "AD");
    served(&node, A, 30);
    served(&node, B, 0);
    served(&node, C, 20);
    served(&node, D, 10);
    tick(&node);
    assert_scheduled(&node, "BD"); // D before C; then C does not fit
    served(&node, D, 100);
    served(&node, B, 40);
    served(&node, A, 35);
    tick(&node);
    assert_scheduled(&node, "BC"); // C leads, A (35) is too wide, B (40) is the next that fits
    caller_close(&node);
}

static void test_wider_than_the_node(void **state)
{
    (void)state;
    struct caller node = node_with(2);
    enter(&node, A, 1);
    enter(&node, B, 5);
    assert_scheduled(&node, "A");
    tick(&node);
    assert_scheduled(&node, "B");
    assert_share(&node, B, 995000);
    tick(&node);
    assert_scheduled(&node, "A");
    caller_close(&node);
}

static void test_growth_drops_the_most_served(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 2);
    enter(&node, B, 1);
    enter(&node, C, 1);
    served(&node, A, 10);
    served(&node, B, 40);
    served(&node, C, 20);
    enter(&node, A, 1);
    assert_scheduled(&node, "AC");
    enter(&node, A, 4);
    assert_scheduled(&node, "A"); // wider than the node: alone
    caller_close(&node);

    node = node_with(4);
    enter(&node, A, 2);
    enter(&node, B, 1);
    enter(&node, C, 1);
    served(&node, A, 50);
    enter(&node, A, 1);
    assert_scheduled(&node, "BC"); // the grown one itself
    caller_close(&node);
}

static void test_growth_disturbs_as_few_as_it_must(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 1);
    enter(&node, B, 2);
    enter(&node, C, 1);
    served(&node, A, 90);
    served(&node, B, 50);
    enter(&node, D, 1);
    served(&node, D, 0);
    enter(&node, C, 2); // 1 + 2 + 3: A must go, then B; then A fits again, before D
    assert_scheduled(&node, "AC");
    assert_int_equal(view_of(&node, A).switches, 1);
    caller_close(&node);
}

static void test_shrinking_makes_room(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 2);
    enter(&node, A, 2);
    enter(&node, B, 2);
    enter(&node, C, 2);
    served(&node, B, 20);
    assert_scheduled(&node, "A");
    leave(&node, A, 2);
    assert_scheduled(&node, "AC");
    caller_close(&node);
}

static void test_exit_with_wrong_width(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 0);
    enter(&node, A, 3);
    enter(&node, A, 3);
    assert_int_equal(view_of(&node, A).width, 7);
    leave(&node, A, 1000);
    assert_int_equal(view_of(&node, A).width, 2);
    caller_close(&node);
}

static void test_huge_widths(void **state)
{
    (void)state;
    struct caller node = node_with(2);
    for (int i = 0; i < 3; i++)
        enter(&node, A, UINT32_MAX);
    enter(&node, B, 1);
    assert_int_equal(view_of(&node, A).width, UINT32_MAX);
    assert_share(&node, A, 995000);
    leave(&node, A, UINT32_MAX);
    leave(&node, A, UINT32_MAX);
    leave(&node, A, UINT32_MAX);
    assert_scheduled(&node, "B");
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_one_at_a_time),
        cmocka_unit_test(test_shares_of_a_crowd),
        cmocka_unit_test(test_shares_by_width),
        cmocka_unit_test(test_large_idle_shares),
        cmocka_unit_test(test_nothing_limited_while_all_fit),
        cmocka_unit_test(test_newcomer_takes_free_room),
        cmocka_unit_test(test_packing_on_4),
        cmocka_unit_test(test_packing_on_8),
        cmocka_unit_test(test_wider_than_the_node),
        cmocka_unit_test(test_growth_drops_the_most_served),
        cmocka_unit_test(test_growth_disturbs_as_few_as_it_must),
        cmocka_unit_test(test_shrinking_makes_room),
        cmocka_unit_test(test_exit_with_wrong_width),
        cmocka_unit_test(test_huge_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
