// Protects the rules of the scheduling engine one by one, by sequences of events with a known
// answer: who comes and goes, turns, accounts, adoption. Shares, requests and suspension are in
// test_engine_shares.c, _requests.c and _suspended.c.
#include "tests/unit/yoo_jette_node.h"

#include <stdlib.h>

static bool memory_is_short;

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_realloc(void *block, size_t size)
{
    return memory_is_short ? NULL : __real_realloc(block, size);
}

static void test_settings(void **state)
{
    (void)state;
    assert_true(engine_policy_known("yoo-jette"));
    assert_true(engine_policy_known("uncoordinated"));
    assert_false(engine_policy_known("fair"));
    assert_false(engine_policy_known(NULL));
    assert_null(engine_new(&(struct engine_settings){.policy = "fair", .cpus = 1}));
    engine_free(NULL);
}

// Pseudo code, CMDREG: "if there are no other job in the system, schedule the newly created job;
// else adjust the CPU time allotment of a scheduled job".
static void test_register(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    struct engine_result result = enter(&node, A, 1);
    assert_int_equal(result.outcome, ENGINE_DONE);
    assert_int_equal(result.decision_count, 1);
    assert_true(result.decisions[0].scheduled);
    assert_false(result.decisions[0].limited);

    result = enter(&node, B, 1);
    assert_int_equal(result.decision_count, 2);
    assert_int_equal(result.decisions[0].job, A);
    assert_int_equal(result.decisions[0].share_ppm, 990000);
    assert_int_equal(result.decisions[1].job, B);
    assert_int_equal(result.decisions[1].share_ppm, 10000);
    assert_scheduled(&node, "A");
    caller_close(&node);
}

static void test_register_more_processes(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    assert_int_equal(enter(&node, A, 1).decision_count, 0);
    assert_int_equal(enter(&node, B, 2).decision_count, 0);
    assert_int_equal(view_of(&node, A).processes, 2);
    assert_int_equal(view_of(&node, B).processes, 2);
    assert_int_equal(view_of(&node, B).width, 3);
    caller_close(&node);
}

// CMDOUT: "if the number of processes is zero, destroy the entry; if the job is currently
// scheduled, schedule the next job in the queue; else adjust the percentage of the scheduled job".
static void test_exit(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    enter(&node, C, 1);
    enter(&node, D, 1);
    served(&node, B, 30);
    served(&node, C, 20);
    served(&node, D, 40);

    assert_int_equal(leave(&node, A, 1).decision_count, 0);
    assert_scheduled(&node, "A");
    struct engine_result result = leave(&node, D, 1);
    assert_int_equal(result.decision_count, 1);
    assert_share(&node, A, 980000);
    leave(&node, A, 1);
    assert_scheduled(&node, "C");
    assert_share(&node, C, 990000);
    leave(&node, C, 1);
    assert_scheduled(&node, "B");
    assert_false(view_of(&node, B).limited);
    leave(&node, B, 1);
    assert_int_equal(engine_job_count(node.engine), 0);
    caller_close(&node);
}

// CMDCSW: "schedule a job that has received the least CPU time".
static void test_switch_to_least_served(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    enter(&node, C, 1);
    served(&node, A, 20);
    served(&node, B, 30);
    served(&node, C, 10);
    tick(&node);
    assert_scheduled(&node, "C");
    served(&node, C, 25);
    tick(&node);
    assert_scheduled(&node, "A");
    caller_close(&node);
}

static void test_switch_order_of_effects(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    run(&node, SLICE);
    struct engine_result result = caller_event(&node, ENGINE_SWITCH, 0, 0, 0);
    assert_int_equal(result.decision_count, 2);
    assert_int_equal(result.decisions[0].job, A);
    assert_false(result.decisions[0].scheduled);
    assert_int_equal(result.decisions[1].job, B);
    assert_true(result.decisions[1].scheduled);
    caller_close(&node);
}

static void test_switch_of_nothing(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    assert_int_equal(caller_event(&node, ENGINE_SWITCH, 0, 0, 0).outcome, ENGINE_DONE);
    enter(&node, A, 1);
    assert_int_equal(caller_event(&node, ENGINE_SWITCH, 0, 0, 0).decision_count, 0);
    caller_close(&node);
}

// Equal to within GMET: the longest waiting goes first, so the order is a rotation in spite of
// noise.
static void test_switch_rotates_equals(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    const char *order[] = {"B", "C", "A", "B", "C", "A"};
    enter(&node, A, 1);
    enter(&node, B, 1);
    enter(&node, C, 1);
    for (size_t i = 0; i < 6; i++) {
        served(&node, A, 100 + (i % 2 == 0 ? 0 : 4));
        served(&node, B, 102);
        served(&node, C, 100 + (i % 3 == 0 ? 4 : 0));
        tick(&node);
        assert_scheduled(&node, order[i]);
    }
    caller_close(&node);
}

static void test_gmet_of_zero_has_equals_too(void **state)
{
    (void)state;
    struct caller node;
    caller_open(
        &node, &(struct engine_settings){.policy = "yoo-jette", .cpus = 1, .time_slice_ns = SLICE});
    enter(&node, A, 1);
    enter(&node, B, 1);
    tick(&node);
    assert_scheduled(&node, "B");
    tick(&node);
    assert_scheduled(&node, "A");
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    assert_share(&node, A, 0);
    assert_share(&node, B, 1000000);
    caller_close(&node);
}

// A job that consumes nothing while it is scheduled is always the least served. The others still
// get their turns: nobody waits more than n slices.
static void test_blocked_job_starves_nobody(void **state)
{
    (void)state;
    for (unsigned jobs = 2; jobs <= 6; jobs++) {
        struct caller node = node_with(1);
        uint64_t seconds[6] = {0};
        unsigned waited[6] = {0};
        for (unsigned i = 0; i < jobs; i++)
            enter(&node, A + i, 1);
        for (unsigned slice = 0; slice < 200; slice++) {
            for (unsigned i = 1; i < jobs; i++) { // job A is the blocked one
                bool scheduled = view_of(&node, A + i).scheduled;
                waited[i] = scheduled ? 0 : waited[i] + 1;
                assert_true(waited[i] <= jobs);
                seconds[i] += scheduled ? 15 : 0;
                served(&node, A + i, seconds[i]);
            }
            tick(&node);
        }
        caller_close(&node);
    }
}

// A classd that hung has not given the node to anybody: timerd had lifted the limits.
static void test_a_hang_is_nobodys_service(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    tick(&node);
    for (int late = 2; late < 40; late += 37) {
        engine_job_t job = view_of(&node, A).scheduled ? A : B;
        uint64_t before_ns = view_of(&node, job).service_ns;
        caller_event(&node, ENGINE_USAGE, job, 0, 0);
        run(&node, late * SLICE);
        caller_event(&node, ENGINE_USAGE, job, 0, 0);
        caller_event(&node, ENGINE_SWITCH, 0, 0, 0);
        uint64_t served_ns = view_of(&node, job).service_ns - before_ns;
        assert_true(late == 2 ? served_ns == 2 * SLICE : served_ns == 0);
    }
    caller_close(&node);
}

static void test_newcomer_starts_as_the_mean(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    served(&node, A, 3600);
    enter(&node, B, 1);
    assert_int_equal(view_of(&node, B).service_ns, 3600 * SECOND);
    served(&node, A, 3620);
    enter(&node, C, 1);
    assert_int_equal(view_of(&node, C).service_ns, 3610 * SECOND);
    caller_close(&node);
}

// Who has run beside all others for long has had what they could not use: newcomers owe nobody
// anything for that, nor does he owe them.
static void test_what_was_had_beside_others_is_forgotten(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 1);
    enter(&node, B, 3);
    enter(&node, C, 3);
    served(&node, A, 7200);
    served(&node, B, 3600);
    served(&node, C, 3610);
    enter(&node, D, 3);
    assert_int_equal(view_of(&node, D).service_ns, 3600 * SECOND + 2 * SLICE);
    assert_int_equal(view_of(&node, A).service_ns, 3600 * SECOND + 6 * SLICE);
    assert_int_equal(view_of(&node, B).service_ns, 3600 * SECOND);
    served(&node, A, 7200);
    caller_event(&node, ENGINE_SUSPEND, C, 0, 0);
    caller_event(&node, ENGINE_RESUME, C, 0, 0);
    assert_int_equal(view_of(&node, C).service_ns, 3600 * SECOND + 2 * SLICE);
    assert_int_equal(view_of(&node, A).service_ns, 3600 * SECOND + 6 * SLICE);
    caller_close(&node);
}

static void test_usage(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    enter(&node, A, 2);
    assert_int_equal(caller_event(&node, ENGINE_USAGE, A, 0, 70 * SECOND).decision_count, 0);
    assert_int_equal(view_of(&node, A).service_ns, 0);
    caller_event(&node, ENGINE_USAGE, A, 0, 80 * SECOND);
    assert_int_equal(view_of(&node, A).service_ns, 5 * SECOND); // two CPUs
    caller_event(&node, ENGINE_USAGE, A, 0, 10 * SECOND);       // the class was made anew
    assert_int_equal(view_of(&node, A).service_ns, 5 * SECOND);
    enter(&node, A, 14);
    caller_event(&node, ENGINE_USAGE, A, 0, 30 * SECOND);
    assert_int_equal(view_of(&node, A).service_ns, 10 * SECOND); // four of sixteen
    caller_close(&node);
}

static void test_accounts_of_time(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    run(&node, 100);
    enter(&node, A, 1);
    enter(&node, B, 1);
    tick(&node);
    tick(&node);
    run(&node, 7);
    caller_event(&node, ENGINE_USAGE, A, 0, 0);
    struct engine_job_view a = view_of(&node, A), b = view_of(&node, B);
    assert_int_equal(a.scheduled_total_ns, SLICE + 7);
    assert_int_equal(a.switches, 2);
    assert_int_equal(a.scheduled_since_ns, 100 + 2 * SLICE);
    assert_int_equal(b.scheduled_total_ns, SLICE);
    assert_int_equal(b.switches, 1);
    caller_close(&node);
}

static void test_time_does_not_go_backwards(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    run(&node, 100 * SECOND);
    enter(&node, A, 1);
    node.now_ns = 1;
    enter(&node, B, 1);
    caller_event(&node, ENGINE_SWITCH, 0, 0, 0);
    assert_int_equal(view_of(&node, B).scheduled_since_ns, 100 * SECOND);
    assert_int_equal(view_of(&node, A).scheduled_total_ns, 0);
    assert_int_equal(request(&node, A), ENGINE_DISCARDED_GMET);
    caller_close(&node);
}

static void test_unknown_jobs(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    struct engine_job_view view;
    enter(&node, A, 1);
    assert_int_equal(leave(&node, B, 1).outcome, ENGINE_UNKNOWN_JOB);
    assert_int_equal(enter(&node, 0, 1).outcome, ENGINE_UNKNOWN_JOB);
    assert_int_equal(caller_event(&node, ENGINE_USAGE, B, 0, 1).outcome, ENGINE_UNKNOWN_JOB);
    assert_false(engine_job_find(node.engine, B, &view));
    assert_false(engine_job_find(node.engine, 0, &view));
    assert_false(engine_job_at(node.engine, 1, &view));
    engine_set_service(node.engine, B, 1);
    assert_int_equal(engine_job_count(node.engine), 1);
    caller_close(&node);
}

static struct engine_result adopt(struct caller *caller, engine_job_t job,
                                  const struct engine_account *account)
{
    struct engine_event event = {.kind = ENGINE_ADOPT, .job = job, .width = 1, .account = account};
    return engine_event(caller->engine, &event, caller->now_ns);
}

// A restarted daemon: each job as another engine knew it, in whatever order.
static void test_adopted_jobs_go_on_where_they_were(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct caller old = node_with(1), new = node_with(1);
        for (engine_job_t job = A; job <= C; job++)
            enter(&old, job, 1);
        tick(&old);
        tick(&old);
        assert_scheduled(&old, "C");
        new.now_ns = old.now_ns;
        for (engine_job_t i = 0; i < 3; i++) {
            struct engine_job_view seen = view_of(&old, order == 0 ? A + i : C - i);
            struct engine_account account = {.service_ns = seen.service_ns,
                                             .scheduled = seen.scheduled,
                                             .scheduled_since_ns = seen.scheduled_since_ns,
                                             .scheduled_total_ns = seen.scheduled_total_ns,
                                             .switches = seen.switches,
                                             .slices_waited = seen.slices_waited,
                                             .most_jobs = seen.most_jobs};
            struct engine_result result = adopt(&new, seen.job, &account);
            assert_int_equal(result.outcome, ENGINE_DONE);
            assert_int_equal(result.decision_count, 0);
        }
        caller_post(&new,
                    (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &new.settings});
        assert_scheduled(&new, "C");
        for (engine_job_t job = A; job <= C; job++) {
            struct engine_job_view was = view_of(&old, job), is = view_of(&new, job);
            assert_int_equal(is.slices_waited, was.slices_waited);
            assert_int_equal(is.switches, was.switches);
            assert_int_equal(is.scheduled_total_ns, was.scheduled_total_ns);
        }
        tick(&new);
        assert_scheduled(&new, "A");
        caller_close(&old);
        caller_close(&new);
    }
}

// Those who are adopted first are no newcomers' debtors.
static void test_adopted_accounts_are_as_they_were(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    struct engine_account ahead = {.service_ns = 7200 * SECOND}, behind = {.service_ns = SECOND};
    adopt(&node, A, &ahead);
    adopt(&node, B, &behind);
    adopt(&node, C, &ahead);
    for (engine_job_t job = A; job <= C; job++)
        assert_int_equal(view_of(&node, job).service_ns, job == B ? SECOND : 7200 * SECOND);
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    caller_close(&node);
}

static void test_accounts_that_cannot_be_are_bent(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    struct engine_account from_the_future = {.scheduled = true, .scheduled_since_ns = UINT64_MAX};
    struct engine_account too_long = {.slices_waited = 10, .most_jobs = 3};
    struct engine_account none = {0};
    run(&node, SECOND);
    adopt(&node, A, &from_the_future);
    adopt(&node, B, &too_long);
    adopt(&node, C, &none);
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    assert_scheduled(&node, "A");
    assert_int_equal(view_of(&node, A).scheduled_since_ns, node.now_ns);
    assert_int_equal(view_of(&node, B).slices_waited, 1);
    assert_int_equal(view_of(&node, C).slices_waited, 1);
    assert_int_equal(request(&node, B), ENGINE_DISCARDED_GMET);
    caller_close(&node);
}

static void test_short_memory_changes_nothing(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    memory_is_short = true;
    assert_int_equal(enter(&node, A, 1).outcome, ENGINE_NO_MEMORY);
    assert_int_equal(engine_job_count(node.engine), 0);
    memory_is_short = false;
    engine_job_t job = A;
    enter(&node, job++, 1);
    size_t before = 0;
    do { // until the room runs out
        before = engine_job_count(node.engine);
        memory_is_short = true;
        run(&node, SECOND);
    } while (enter(&node, job++, 1).outcome != ENGINE_NO_MEMORY);
    job--;
    assert_int_equal(engine_job_count(node.engine), before);
    assert_int_equal(enter(&node, A, 1).outcome, ENGINE_DONE); // needs none
    memory_is_short = false;
    assert_int_equal(enter(&node, job, 1).outcome, ENGINE_DONE);
    assert_int_equal(engine_job_count(node.engine), before + 1);
    assert_int_equal(view_of(&node, A).processes, 2);
    caller_close(&node);
}

static void test_uncoordinated(void **state)
{
    (void)state;
    struct caller node;
    caller_open(&node, &(struct engine_settings){.policy = "uncoordinated",
                                                 .cpus = 1,
                                                 .idle_share_ppm = 10000,
                                                 .time_slice_ns = SLICE,
                                                 .gmet_ns = GMET});
    enter(&node, A, 1);
    enter(&node, B, 4);
    enter(&node, C, 1);
    assert_int_equal(request(&node, C), ENGINE_GRANTED);
    run(&node, SLICE);
    assert_int_equal(caller_event(&node, ENGINE_SWITCH, 0, 0, 0).decision_count, 0);
    assert_scheduled(&node, "ABC");
    assert_false(view_of(&node, A).limited);
    assert_int_equal(view_of(&node, A).scheduled_total_ns, SLICE);
    caller_event(&node, ENGINE_USAGE, A, 0, 10);
    caller_event(&node, ENGINE_USAGE, A, 0, 30);
    assert_int_equal(view_of(&node, A).service_ns, 20);
    leave(&node, A, 1);
    assert_scheduled(&node, "BC");
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_register),
        cmocka_unit_test(test_register_more_processes),
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_switch_to_least_served),
        cmocka_unit_test(test_switch_order_of_effects),
        cmocka_unit_test(test_switch_of_nothing),
        cmocka_unit_test(test_switch_rotates_equals),
        cmocka_unit_test(test_gmet_of_zero_has_equals_too),
        cmocka_unit_test(test_blocked_job_starves_nobody),
        cmocka_unit_test(test_a_hang_is_nobodys_service),
        cmocka_unit_test(test_newcomer_starts_as_the_mean),
        cmocka_unit_test(test_what_was_had_beside_others_is_forgotten),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_accounts_of_time),
        cmocka_unit_test(test_time_does_not_go_backwards),
        cmocka_unit_test(test_unknown_jobs),
        cmocka_unit_test(test_adopted_jobs_go_on_where_they_were),
        cmocka_unit_test(test_adopted_accounts_are_as_they_were),
        cmocka_unit_test(test_accounts_that_cannot_be_are_bent),
        cmocka_unit_test(test_short_memory_changes_nothing),
        cmocka_unit_test(test_uncoordinated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
