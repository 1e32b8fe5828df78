// Suspended jobs in the engine: out of sight, in their place, and no gain to anybody.
#include "tests/unit/yoo_jette_node.h"

static struct engine_result suspend(struct caller *caller, engine_job_t job)
{
    return caller_event(caller, ENGINE_SUSPEND, job, 0, 0);
}

static struct engine_result resume(struct caller *caller, engine_job_t job)
{
    return caller_event(caller, ENGINE_RESUME, job, 0, 0);
}

// A suspended job is in nobody's way: no turns, no room, no contention. It keeps the idle share.
static void test_suspended_is_out_of_sight(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    struct engine_result result = suspend(&node, A);
    assert_int_equal(result.decision_count, 2);
    assert_int_equal(result.decisions[0].job, A); // the loser first
    assert_scheduled(&node, "B");
    assert_true(view_of(&node, A).suspended);
    assert_true(view_of(&node, A).limited);
    assert_share(&node, A, 10000);
    assert_false(view_of(&node, B).limited);
    for (int i = 0; i < 5; i++) {
        tick(&node);
        assert_scheduled(&node, "B");
    }
    assert_int_equal(view_of(&node, A).slices_waited, 0);
    assert_int_equal(request(&node, A), ENGINE_SUSPENDED);
    assert_scheduled(&node, "B");

    // Those who can run share what is left.
    enter(&node, C, 1);
    assert_scheduled(&node, "B");
    assert_share(&node, B, 980000);
    assert_share(&node, C, 10000);
    caller_close(&node);
}

static void test_a_lone_job_is_suspended_too(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 1);
    assert_int_equal(suspend(&node, A).decision_count, 1);
    assert_scheduled(&node, "");
    assert_true(view_of(&node, A).limited);
    assert_share(&node, A, 2500); // one CPU of four
    assert_int_equal(suspend(&node, A).decision_count, 0);
    assert_int_equal(resume(&node, A).decision_count, 1);
    assert_scheduled(&node, "A");
    assert_false(view_of(&node, A).limited);
    assert_int_equal(resume(&node, A).decision_count, 0);
    assert_int_equal(suspend(&node, B).outcome, ENGINE_UNKNOWN_JOB);
    assert_int_equal(resume(&node, B).outcome, ENGINE_UNKNOWN_JOB);
    caller_close(&node);
}

// It fills no set, and its going makes room in one.
static void test_suspended_takes_no_room(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 3);
    enter(&node, B, 1);
    enter(&node, C, 2);
    assert_scheduled(&node, "AB");
    suspend(&node, A);
    assert_scheduled(&node, "BC");
    assert_false(view_of(&node, B).limited); // both fit
    resume(&node, A);
    assert_scheduled(&node, "BC"); // as a newcomer, it waits
    assert_true(view_of(&node, B).limited);
    tick(&node);
    assert_scheduled(&node, "AB");
    caller_close(&node);
}

// The place of its registration, and an account that is no claim to what it has missed.
static void test_resumed_in_its_place(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    struct engine_job_view view;
    enter(&node, A, 1);
    enter(&node, B, 1);
    enter(&node, C, 1);
    suspend(&node, B);
    suspend(&node, A);
    for (size_t i = 0; i < 3; i++) {
        assert_true(engine_job_at(node.engine, i, &view));
        assert_int_equal(view.job, A + i);
    }
    assert_false(engine_job_at(node.engine, 3, &view));
    served(&node, C, 3600);
    served(&node, A, 7200);
    resume(&node, A);
    uint64_t of_what_it_had = 3600 * SECOND + 4 * SLICE; // the rest is forgotten
    assert_int_equal(view_of(&node, A).service_ns, of_what_it_had);
    resume(&node, B);
    for (size_t i = 0; i < 3; i++) {
        assert_true(engine_job_at(node.engine, i, &view));
        assert_int_equal(view.job, A + i);
        assert_false(view.suspended);
    }
    assert_int_equal(view_of(&node, B).service_ns, 3600 * SECOND + 2 * SLICE); // a newcomer's
    assert_int_equal(view_of(&node, A).service_ns, of_what_it_had);
    caller_close(&node);
}

// Who runs while all others are suspended starts beside them, and has no claim when they come back.
static void test_nobody_gains_by_anothers_suspension(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    served(&node, A, 3600);
    served(&node, B, 3500);
    suspend(&node, B);
    suspend(&node, A);
    enter(&node, C, 1);
    assert_int_equal(view_of(&node, C).service_ns, 3600 * SECOND);
    served(&node, C, 3700);
    resume(&node, A);
    assert_int_equal(view_of(&node, A).service_ns, 3700 * SECOND);
    leave(&node, C, 1);
    suspend(&node, A);
    resume(&node, B); // the first to come back, with less than the other has had
    assert_int_equal(view_of(&node, B).service_ns, 3700 * SECOND);
    caller_close(&node);
}

// Processes of a suspended job come and go as others do.
static void test_processes_of_a_suspended_job(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    suspend(&node, A);
    enter(&node, A, 2);
    assert_int_equal(view_of(&node, A).width, 3);
    assert_true(view_of(&node, A).suspended);
    caller_event(&node, ENGINE_USAGE, A, 0, SECOND);
    caller_event(&node, ENGINE_USAGE, A, 0, 3 * SECOND);
    leave(&node, A, 1);
    leave(&node, A, 2);
    assert_int_equal(engine_job_count(node.engine), 1);
    assert_scheduled(&node, "B");
    caller_close(&node);
}

static void test_adopted_as_suspended(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    struct engine_account account = {.service_ns = 5 * SECOND, .suspended = true};
    struct engine_event event = {.kind = ENGINE_ADOPT, .job = A, .width = 1, .account = &account};
    engine_event(node.engine, &event, node.now_ns);
    account.suspended = false;
    event.job = B;
    engine_event(node.engine, &event, node.now_ns);
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    assert_scheduled(&node, "B");
    assert_true(view_of(&node, A).suspended);
    resume(&node, A);
    assert_scheduled(&node, "B");
    assert_share(&node, A, 10000);
    caller_close(&node);
}

// What must hold whoever is suspended when, and in whatever order jobs come, go and ask.
static void test_suspensions_at_random(void **state)
{
    (void)state;
    enum { JOBS = 6, EVENTS = 20000 };
    static const enum engine_event_kind kinds[] = {ENGINE_REGISTER, ENGINE_EXIT, ENGINE_SCHEDULE,
                                                   ENGINE_SUSPEND, ENGINE_RESUME};
    struct caller node = node_with(3);
    uint64_t random = 1;
    for (int i = 0; i < EVENTS; i++) {
        struct engine_job_view view;
        bool runnable = false, scheduled = false;
        uint64_t order = 0;
        random = random * 6364136223846793005u + 1442695040888963407u;
        if (random >> 60 == 0)
            tick(&node);
        else
            caller_event(&node, kinds[(random >> 40) % 5], A + (random >> 33) % JOBS, 1, 0);
        run(&node, SECOND);
        for (size_t k = 0; engine_job_at(node.engine, k, &view); k++) {
            assert_false(view.suspended && view.scheduled);
            assert_true(!view.suspended || view.limited);
            runnable |= !view.suspended;
            scheduled |= view.scheduled;
            order++;
        }
        assert_int_equal(order, engine_job_count(node.engine));
        assert_int_equal(runnable, scheduled);
    }
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suspended_is_out_of_sight),
        cmocka_unit_test(test_a_lone_job_is_suspended_too),
        cmocka_unit_test(test_suspended_takes_no_room),
        cmocka_unit_test(test_resumed_in_its_place),
        cmocka_unit_test(test_nobody_gains_by_anothers_suspension),
        cmocka_unit_test(test_processes_of_a_suspended_job),
        cmocka_unit_test(test_adopted_as_suspended),
        cmocka_unit_test(test_suspensions_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
