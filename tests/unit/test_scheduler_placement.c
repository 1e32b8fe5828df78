// Jobs in a group of their own, over the backend in memory: which are classed in place, and what
// makes them move.
#include "classd/scheduler_state.h"
#include "tests/unit/scheduler_jobs.h"

#include <errno.h>

static void a_job_with_a_group_of_its_own_is_classed_in_place(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    clear(node);
    struct process *a = come(node, "a", A);
    assert_string_equal(test_backend_log(node->backend), "in-place job-0-a\nshare job-0-a max\n"
                                                         "check job-0-a 5000001\n"
                                                         "share job-0-a max\n");
    come(node, "a", A2);
    clear(node);
    scheduler_exit(node->scheduler, a, node->now_ns); // it stays where it is
    assert_null(strstr(test_backend_log(node->backend), "expel"));
}

static void placement_move_does_not_ask(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    strcpy(node->config.placement, "move");
    clear(node);
    come(node, "a", A);
    assert_null(strstr(test_backend_log(node->backend), "in-place"));
    assert_non_null(strstr(test_backend_log(node->backend), "place job-0-a 5000001\n"));
}

static void placement_in_place_never_moves(void **state)
{
    struct node *node = *state;
    struct process *process;
    strcpy(node->config.placement, "in-place");
    clear(node);
    assert_int_equal(try(node, "a", A, &process), EXDEV);
    assert_string_equal(test_backend_log(node->backend), "");
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    // A stranger in whichever is limited: it is freed, and stays where it is.
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    next_slice(node);
    assert_non_null(strstr(effects.text, "a 10000 while idle\na max while idle\n"));
    assert_null(strstr(test_backend_log(node->backend), "displace"));
    // Nor is a rank that lives elsewhere taken in.
    test_backend_fail(node->backend, "check", EXDEV, 1);
    assert_int_equal(try(node, "a", A2, &process), EXDEV);
}

// Slurm would not find it any more.
static void whom_his_manager_keeps_is_not_moved(void **state)
{
    struct node *node = *state;
    struct process *process;
    test_backend_keep(node->backend, true);
    clear(node);
    assert_int_equal(try(node, "a", A, &process), EXDEV);
    assert_string_equal(test_backend_log(node->backend), "");
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    next_slice(node);
    assert_non_null(strstr(effects.text, "a 10000 while idle\na max while idle\n"));
    assert_null(strstr(test_backend_log(node->backend), "displace"));
    test_backend_fail(node->backend, "check", EXDEV, 1);
    assert_int_equal(try(node, "a", A2, &process), EXDEV);
}

static void nor_into_the_class_of_a_job_that_was_moved(void **state)
{
    struct node *node = *state;
    struct process *process;
    come(node, "a", A);
    test_backend_keep(node->backend, true);
    clear(node);
    assert_int_equal(try(node, "a", A2, &process), EXDEV);
    assert_null(strstr(test_backend_log(node->backend), "place"));
}

static void a_stranger_makes_it_move(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    struct process *a = come(node, "a", A);
    come(node, "a", A2);
    test_backend_set_usage(node->backend, "job-0-a", 5 * NS_PER_SEC);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    next_slice(node);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nplace job-0-a 5000002\n"
                           "share job-0-a 10000\nshare job-0-b 990000\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
    assert_int_equal(flags_of(node, "a"), STATUS_CONTENDED);
    // What it has consumed stays counted, and what it consumes from now on is added.
    assert_int_equal(a->job->page->service_ns, 5 * NS_PER_SEC);
    test_backend_set_usage(node->backend, "job-0-a", 2 * NS_PER_SEC);
    next_slice(node);
    assert_int_equal(a->job->page->service_ns, 7 * NS_PER_SEC);
}

// With one bound for all of them, as a tick serves others, too: each alone would be followed with
// its own.
static void ranks_are_placed_though_one_had_too_many_descendants(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "a", A2);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    test_backend_fail(node->backend, "place", E2BIG, 1);
    next_slice(node);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nplace job-0-a 5000002\n"
                           "share job-0-a 10000\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
}

// To move it would be to let it run, beside whom it was frozen for.
static void who_is_frozen_by_its_manager_stays_until_the_thaw(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    test_backend_stop_in_place(node->backend, true);
    next_slice(node);
    clear(node);
    test_backend_fail(node->backend, "share", ENODEV, 2);
    next_slice(node);
    next_slice(node);
    assert_null(strstr(test_backend_log(node->backend), "displace"));
    test_backend_stop_in_place(node->backend, false);
    test_backend_fail(node->backend, "share", ENODEV, 2);
    next_slice(node);
    next_slice(node);
    assert_non_null(strstr(test_backend_log(node->backend), "displace"));
}

// On cgroup v2 it goes when the group above does not pass cpu on any more.
static void a_group_without_a_limit_makes_it_move(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", ENODEV, 1);
    next_slice(node);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nshare job-0-a 10000\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
}

static void a_rank_that_lives_elsewhere_makes_it_move(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    clear(node);
    test_backend_fail(node->backend, "check", EXDEV, 1);
    struct process *second = come(node, "a", A2);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nplace job-0-a 5000002\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
    assert_int_equal(second->job->process_count, 2);
}

// Its new class is as limited as it was, whether the rank comes into it or not.
static void who_moves_for_a_rank_while_idle_stays_limited(void **state)
{
    struct node *node = *state;
    struct process *process;
    const char *limited = "share job-0-b 10000\n";
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "check", EXDEV, 1);
    come(node, "b", B2);
    const char *moved = strstr(test_backend_log(node->backend), "displace job-0-b\n");
    assert_non_null(moved);
    assert_non_null(strstr(moved, limited));
    come(node, "c", C);
    clear(node);
    test_backend_fail(node->backend, "check", EXDEV, 1);
    test_backend_fail(node->backend, "place", E2BIG, 9);
    assert_int_equal(try(node, "c", D, &process), E2BIG);
    test_backend_fail(node->backend, "place", E2BIG, 0);
    assert_non_null(strstr(test_backend_log(node->backend), "displace job-0-c\n"));
    assert_non_null(strstr(test_backend_log(node->backend), "share job-0-c 10000\n"));
}

static void what_cannot_move_is_not_limited(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    test_backend_fail(node->backend, "displace", ENOSPC, 1);
    next_slice(node);
    assert_non_null(strstr(effects.text, "a 10000 while idle\na max while idle\n"));
}

// Whether a stranger has come is looked at every turn, not only when the job's own turn changes.
static void an_idle_job_in_place_is_looked_at_every_turn(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    test_backend_offer_place(node->backend, false);
    come(node, "b", B);
    come(node, "c", C);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    for (int turn = 0; turn < 6; turn++) {
        bool idle = !(flags_of(node, "a") & STATUS_SCHEDULED);
        clear(node);
        next_slice(node);
        if (idle && !(flags_of(node, "a") & STATUS_SCHEDULED))
            assert_non_null(strstr(effects.text, "a 10000 while idle\n"));
    }
}

// As Slurm does with a job that another one has displaced: its turns would be nobody's.
static void whom_his_manager_has_frozen_has_no_turns(void **state)
{
    struct node *node = *state;
    uid_t uid;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    test_backend_offer_place(node->backend, false);
    come(node, "b", B);
    test_backend_stop_in_place(node->backend, true);
    next_slice(node);
    for (int turn = 0; turn < 4; turn++) {
        next_slice(node);
        assert_true(flags_of(node, "b") & STATUS_SCHEDULED);
        assert_false(flags_of(node, "b") & STATUS_CONTENDED);
    }
    assert_false(scheduler_track_on(node->scheduler, node->now_ns, &uid));
    node->now_ns += NS_PER_SEC;
    assert_true(scheduler_track_on(node->scheduler, node->now_ns, &uid));
    assert_false(flags_of(node, "b") & STATUS_CONTENDED);
    test_backend_stop_in_place(node->backend, false);
    node->now_ns += NS_PER_SEC;
    assert_true(scheduler_track_on(node->scheduler, node->now_ns, &uid));
    assert_true(flags_of(node, "b") & STATUS_CONTENDED);
    assert_false(scheduler_track_on(node->scheduler, node->now_ns + NS_PER_SEC, &uid));
    unsigned slices = 0;
    for (int turn = 0; turn < 6; turn++) {
        next_slice(node);
        slices += (flags_of(node, "a") & STATUS_SCHEDULED) != 0;
    }
    assert_in_range(slices, 2, 4);
}

static void who_is_suspended_and_frozen_runs_when_neither_holds(void **state)
{
    struct node *node = *state;
    struct error err = {0};
    uid_t uid;
    test_backend_offer_place(node->backend, true);
    struct process *a = come(node, "a", A);
    test_backend_offer_place(node->backend, false);
    come(node, "b", B);
    test_backend_stop_in_place(node->backend, true);
    next_slice(node);
    assert_true(a->job->suspended);
    tracking_tell_engine(node->scheduler, a->job, false, node->now_ns); // as coschedctl resume
    assert_true(a->job->suspended);
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SHARE};
    assert_int_equal(tracking_begin(node->scheduler, a->job, &order, node->now_ns, &err), 0);
    scheduler_track_on(node->scheduler, node->now_ns, &uid);
    test_backend_stop_in_place(node->backend, false);
    next_slice(node);
    assert_false(a->job->stopped);
    assert_true(a->job->suspended);
}

static void a_restart_keeps_it_in_place(void **state)
{
    struct node *node = *state;
    pid_t pid = sleeper();
    test_backend_offer_place(node->backend, true);
    come(node, "a", pid);
    adopt_anew(node, false);
    struct process *a = come(node, "a", pid);
    assert_true(class_is_in_place(a->job->class_));
    scheduler_exit(node->scheduler, a, node->now_ns);
    end(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_with_a_group_of_its_own_is_classed_in_place),
        TEST(placement_move_does_not_ask),
        TEST(placement_in_place_never_moves),
        TEST(whom_his_manager_keeps_is_not_moved),
        TEST(nor_into_the_class_of_a_job_that_was_moved),
        TEST(a_stranger_makes_it_move),
        TEST(ranks_are_placed_though_one_had_too_many_descendants),
        TEST(who_is_frozen_by_its_manager_stays_until_the_thaw),
        TEST(a_group_without_a_limit_makes_it_move),
        TEST(a_rank_that_lives_elsewhere_makes_it_move),
        TEST(who_moves_for_a_rank_while_idle_stays_limited),
        TEST(what_cannot_move_is_not_limited),
        TEST(an_idle_job_in_place_is_looked_at_every_turn),
        TEST(whom_his_manager_has_frozen_has_no_turns),
        TEST(who_is_suspended_and_frozen_runs_when_neither_holds),
        TEST(a_restart_keeps_it_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
