// Jobs that sleep in the engine: in nobody's way where others compute, as any other where all fit,
// and no gain to anybody.
#include "tests/unit/yoo_jette_node.h"

static struct caller node_of(const char *policy, unsigned cpus)
{
    struct caller caller;
    caller_open(&caller, &(struct engine_settings){.policy = policy,
                                                   .cpus = cpus,
                                                   .idle_share_ppm = 10000,
                                                   .interactive_share_ppm = 50000,
                                                   .time_slice_ns = SLICE,
                                                   .gmet_ns = GMET,
                                                   .dcs.quantum_ns = GMET});
    return caller;
}

static struct engine_result fall_asleep(struct caller *caller, engine_job_t job)
{
    return caller_event(caller, ENGINE_DORMANT, job, 0, 0);
}

static struct engine_result wake(struct caller *caller, engine_job_t job)
{
    return caller_event(caller, ENGINE_ACTIVE, job, 0, 0);
}

static void who_sleeps_is_out_of_sight(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    struct engine_result result = fall_asleep(&node, A);
    assert_int_equal(result.decision_count, 2);
    assert_int_equal(result.decisions[0].job, A); // the loser first
    assert_scheduled(&node, "B");
    assert_true(view_of(&node, A).dormant);
    assert_true(view_of(&node, A).limited);
    assert_share(&node, A, 50000); // for who types
    assert_false(view_of(&node, B).limited);
    for (int i = 0; i < 5; i++) {
        tick(&node);
        assert_scheduled(&node, "B");
    }
    assert_int_equal(view_of(&node, A).slices_waited, 0);
    served(&node, B, 3600);
    tick(&node);
    assert_int_equal(view_of(&node, A).service_ns, 3600 * SECOND); // should classd be restarted
    assert_int_equal(fall_asleep(&node, A).decision_count, 0);

    // Those who are awake share the node.
    enter(&node, C, 1);
    assert_scheduled(&node, "B");
    tick(&node);
    assert_scheduled(&node, "C");
    caller_close(&node);
}

// It was nobody's turn that it missed.
static void who_wakes_waits_for_its_turn_as_a_newcomer(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    fall_asleep(&node, A);
    served(&node, B, 3600);
    wake(&node, A);
    assert_scheduled(&node, "B");
    assert_false(view_of(&node, A).dormant);
    assert_share(&node, A, 50000); // who types waits for it
    assert_int_equal(view_of(&node, A).service_ns, 3600 * SECOND);
    tick(&node);
    assert_scheduled(&node, "A");
    tick(&node);
    assert_scheduled(&node, "B");
    assert_share(&node, A, 10000);
    assert_int_equal(wake(&node, A).decision_count, 0);
    caller_close(&node);
}

static void who_asks_or_grows_is_awake(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    fall_asleep(&node, A);
    assert_int_equal(request(&node, A), ENGINE_DISCARDED_GMET); // B has just begun
    assert_false(view_of(&node, A).dormant);
    fall_asleep(&node, A);
    run(&node, GMET);
    assert_int_equal(request(&node, A), ENGINE_GRANTED);
    assert_scheduled(&node, "A");
    fall_asleep(&node, A);
    assert_scheduled(&node, "B");
    enter(&node, A, 1);
    assert_false(view_of(&node, A).dormant);
    assert_share(&node, A, 50000);
    assert_int_equal(fall_asleep(&node, C).outcome, ENGINE_UNKNOWN_JOB);
    assert_int_equal(wake(&node, C).outcome, ENGINE_UNKNOWN_JOB);
    caller_close(&node);
}

static void where_all_fit_nobody_stands_aside(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 2);
    enter(&node, A, 1);
    enter(&node, B, 1);
    assert_int_equal(fall_asleep(&node, A).decision_count, 0);
    assert_scheduled(&node, "AB");
    uint64_t held_ns = view_of(&node, A).scheduled_total_ns;
    tick(&node);
    assert_int_equal(view_of(&node, A).scheduled_total_ns, held_ns + SLICE);
    enter(&node, C, 1);
    assert_scheduled(&node, "BC"); // which fit without it
    assert_false(view_of(&node, B).limited);
    leave(&node, C, 1);
    assert_scheduled(&node, "AB");
    assert_false(view_of(&node, A).limited);
    assert_int_equal(wake(&node, A).decision_count, 0);
    assert_scheduled(&node, "AB");
    caller_close(&node);
}

static void where_nobody_is_awake_nobody_is_limited(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    fall_asleep(&node, A);
    fall_asleep(&node, B);
    assert_scheduled(&node, "AB");
    assert_false(view_of(&node, A).limited);
    assert_false(view_of(&node, B).limited);
    wake(&node, A);
    assert_scheduled(&node, "A");
    assert_false(view_of(&node, A).limited);
    assert_true(view_of(&node, B).limited);
    wake(&node, B);
    assert_scheduled(&node, "A");
    caller_close(&node);
}

static void they_share_what_is_for_who_types(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 4);
    enter(&node, A, 4);
    enter(&node, B, 1);
    enter(&node, C, 4);
    fall_asleep(&node, A);
    fall_asleep(&node, B);
    assert_share(&node, A, 25000);
    assert_share(&node, B, 6250); // of one CPU of four
    for (engine_job_t job = E; job < E + 8; job++) {
        enter(&node, job, 4);
        fall_asleep(&node, job);
    }
    assert_share(&node, A, 10000); // no less than who is idle
    caller_close(&node);
}

static void who_is_suspended_is_that_and_nothing_else(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    fall_asleep(&node, A);
    caller_event(&node, ENGINE_SUSPEND, A, 0, 0);
    assert_true(view_of(&node, A).suspended);
    assert_false(view_of(&node, A).dormant);
    assert_share(&node, A, 10000);
    assert_int_equal(request(&node, A), ENGINE_SUSPENDED);
    wake(&node, A);
    assert_true(view_of(&node, A).suspended);
    fall_asleep(&node, A);
    caller_event(&node, ENGINE_RESUME, A, 0, 0);
    assert_false(view_of(&node, A).suspended);
    assert_false(view_of(&node, A).dormant);
    tick(&node);
    assert_scheduled(&node, "A");
    caller_close(&node);
}

static void where_nobody_takes_turns_nobody_stands_aside(void **state)
{
    (void)state;
    struct caller node = node_of("yoo-jette", 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    fall_asleep(&node, A);
    node.settings.policy = "uncoordinated";
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    assert_scheduled(&node, "AB");
    assert_false(view_of(&node, A).limited);
    caller_close(&node);
}

enum { JOBS = 6, EVENTS = 10000 };

// Who sleeps, as told.
static void follow(bool asleep[JOBS], enum engine_event_kind kind, size_t job, bool is_there,
                   bool is_suspended)
{
    if (kind == ENGINE_DORMANT)
        asleep[job] = is_there && !is_suspended;
    else if (kind != ENGINE_EXIT || !is_there)
        asleep[job] = false;
}

static void check(struct caller *node, const bool asleep[JOBS])
{
    size_t runnable = 0, awake = 0, scheduled = 0;
    struct engine_job_view view;
    for (size_t k = 0; engine_job_at(node->engine, k, &view); k++) {
        bool sleeps = asleep[view.job - A];
        runnable += !view.suspended;
        awake += !view.suspended && !sleeps;
        scheduled += view.scheduled;
        assert_int_equal(view.dormant, sleeps);
        assert_false(sleeps && view.suspended);
        assert_true(!sleeps || view.scheduled != view.limited);
    }
    assert_int_equal(runnable > 0, scheduled > 0);
    for (size_t k = 0; engine_job_at(node->engine, k, &view); k++)
        assert_true(awake > 0 || view.suspended || !view.limited);
}

static void run_at_random(const char *policy, unsigned cpus)
{
    static const enum engine_event_kind kinds[] = {ENGINE_REGISTER, ENGINE_EXIT,   ENGINE_SCHEDULE,
                                                   ENGINE_SUSPEND,  ENGINE_RESUME, ENGINE_DORMANT,
                                                   ENGINE_ACTIVE};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct caller node = node_of(policy, cpus);
    bool asleep[JOBS] = {false};
    uint64_t random = cpus;
    for (int i = 0; i < EVENTS; i++) {
        struct engine_job_view view;
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t job = (random >> 33) % JOBS;
        enum engine_event_kind kind = kinds[(random >> 40) % KINDS];
        bool was_suspended = engine_job_find(node.engine, A + job, &view) && view.suspended;
        run(&node, SECOND);
        if (random >> 60 == 0) {
            tick(&node);
        } else {
            caller_event(&node, kind, A + job, 1, 0);
            bool is_there = engine_job_find(node.engine, A + job, &view);
            if (kind != ENGINE_RESUME) // who is suspended does not sleep
                follow(asleep, kind, job, is_there, was_suspended);
        }
        check(&node, asleep);
    }
    caller_close(&node);
}

// What must hold whoever sleeps when, and in whatever order jobs come, go, and are suspended.
static void sleepers_at_random(void **state)
{
    (void)state;
    static const char *const policies[] = {"yoo-jette", "dcs", "gang"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        for (unsigned cpus = 1; cpus <= 4; cpus++)
            run_at_random(policies[i], cpus);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_is_out_of_sight),
        cmocka_unit_test(who_wakes_waits_for_its_turn_as_a_newcomer),
        cmocka_unit_test(who_asks_or_grows_is_awake),
        cmocka_unit_test(where_all_fit_nobody_stands_aside),
        cmocka_unit_test(where_nobody_is_awake_nobody_is_limited),
        cmocka_unit_test(they_share_what_is_for_who_types),
        cmocka_unit_test(who_is_suspended_is_that_and_nothing_else),
        cmocka_unit_test(where_nobody_takes_turns_nobody_stands_aside),
        cmocka_unit_test(sleepers_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
