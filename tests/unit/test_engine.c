// Protects the rules of the scheduling engine one by one: sequences of events with a known answer.
#include "classd/policy/leads.h"
#include "tests/unit/engine_caller.h"

#include <stdlib.h>

#define SECOND 1000000000ull
#define SLICE  (15 * SECOND)
#define GMET   (5 * SECOND)

enum { A = 101, B, C, D, E };

static bool memory_is_short;

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_realloc(void *block, size_t size)
{
    return memory_is_short ? NULL : __real_realloc(block, size);
}

static struct caller node_with(unsigned cpus)
{
    struct caller caller;
    caller_open(&caller, &(struct engine_settings){.policy = "yoo-jette",
                                                   .cpus = cpus,
                                                   .idle_share_ppm = 10000,
                                                   .time_slice_ns = SLICE,
                                                   .gmet_ns = GMET});
    return caller;
}

static struct engine_result enter(struct caller *caller, engine_job_t job, uint32_t width)
{
    return caller_event(caller, ENGINE_REGISTER, job, width, 0);
}

static struct engine_result leave(struct caller *caller, engine_job_t job, uint32_t width)
{
    return caller_event(caller, ENGINE_EXIT, job, width, 0);
}

static enum engine_outcome request(struct caller *caller, engine_job_t job)
{
    return caller_event(caller, ENGINE_SCHEDULE, job, 0, 0).outcome;
}

static struct engine_job_view view_of(struct caller *caller, engine_job_t job)
{
    struct engine_job_view view;
    assert_true(engine_job_find(caller->engine, job, &view));
    return view;
}

// Service as an account, not by way of USAGE: what most tests need.
static void served(struct caller *caller, engine_job_t job, uint64_t seconds)
{
    engine_set_service(caller->engine, job, seconds * SECOND);
}

static void run(struct caller *caller, uint64_t ns)
{
    caller->now_ns += ns;
}

static void tick(struct caller *caller)
{
    run(caller, SLICE);
    caller_event(caller, ENGINE_SWITCH, 0, 0, 0);
}

// The scheduled jobs are exactly these, given as letters.
static void assert_scheduled(struct caller *caller, const char *letters)
{
    char found[CALLER_JOBS + 1] = "";
    size_t length = 0;
    for (engine_job_t job = A; job < A + 26; job++) {
        struct engine_job_view view;
        if (engine_job_find(caller->engine, job, &view) && view.scheduled)
            found[length++] = (char)('A' + (job - A));
    }
    found[length] = '\0';
    assert_string_equal(found, letters);
}

static void assert_share(struct caller *caller, engine_job_t job, uint32_t share_ppm)
{
    assert_int_equal(view_of(caller, job).share_ppm, share_ppm);
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

// Idle shares so large that a loser's share goes up and a winner's down: the order is then by
// share.
static void test_shares_upside_down(void **state)
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
    assert_share(&node, A, 75000);
    assert_share(&node, A + 11, 100000);
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

static void test_newcomer_starts_as_the_mean(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    served(&node, A, 3600);
    enter(&node, B, 1);
    assert_int_equal(view_of(&node, B).service_ns, 3600 * SECOND);
    served(&node, A, 3700);
    enter(&node, C, 1);
    assert_int_equal(view_of(&node, C).service_ns, 3650 * SECOND);
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
    assert_share(&node, B, 990000);
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
    assert_share(&node, A, 990000);
    leave(&node, A, UINT32_MAX);
    leave(&node, A, UINT32_MAX);
    leave(&node, A, UINT32_MAX);
    assert_scheduled(&node, "B");
    caller_close(&node);
}

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

// Who leaves and comes back under another name is as far ahead as he was, but for two slices at
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

static void test_a_lead_is_two_slices_at_most(void **state)
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
    assert_int_equal(view_of(&node, C).service_ns, 2 * SLICE);
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
    assert_share(&node, A, 10000);
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
    resume(&node, B);
    for (size_t i = 0; i < 3; i++) {
        assert_true(engine_job_at(node.engine, i, &view));
        assert_int_equal(view.job, A + i);
        assert_false(view.suspended);
    }
    assert_int_equal(view_of(&node, B).service_ns, 5400 * SECOND); // a newcomer's
    assert_int_equal(view_of(&node, A).service_ns, 7200 * SECOND); // what it had had
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
        cmocka_unit_test(test_shares_one_at_a_time),
        cmocka_unit_test(test_shares_of_a_crowd),
        cmocka_unit_test(test_shares_by_width),
        cmocka_unit_test(test_shares_upside_down),
        cmocka_unit_test(test_nothing_limited_while_all_fit),
        cmocka_unit_test(test_newcomer_starts_as_the_mean),
        cmocka_unit_test(test_newcomer_takes_free_room),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_packing_on_4),
        cmocka_unit_test(test_packing_on_8),
        cmocka_unit_test(test_wider_than_the_node),
        cmocka_unit_test(test_growth_drops_the_most_served),
        cmocka_unit_test(test_growth_disturbs_as_few_as_it_must),
        cmocka_unit_test(test_shrinking_makes_room),
        cmocka_unit_test(test_exit_with_wrong_width),
        cmocka_unit_test(test_huge_widths),
        cmocka_unit_test(test_request_and_gmet),
        cmocka_unit_test(test_request_and_fairness),
        cmocka_unit_test(test_leaving_loses_no_lead),
        cmocka_unit_test(test_a_lead_is_two_slices_at_most),
        cmocka_unit_test(test_an_empty_node_remembers_no_lead),
        cmocka_unit_test(test_the_furthest_ahead_are_remembered),
        cmocka_unit_test(test_request_displaces_only_who_had_gmet),
        cmocka_unit_test(test_request_displaces_the_most_served),
        cmocka_unit_test(test_request_disturbs_as_few_as_it_must),
        cmocka_unit_test(test_request_leaves_room_to_others),
        cmocka_unit_test(test_request_of_a_job_wider_than_the_node),
        cmocka_unit_test(test_gmet_counts_from_the_unlimited_time),
        cmocka_unit_test(test_accounts_of_time),
        cmocka_unit_test(test_time_does_not_go_backwards),
        cmocka_unit_test(test_unknown_jobs),
        cmocka_unit_test(test_adopted_jobs_go_on_where_they_were),
        cmocka_unit_test(test_accounts_that_cannot_be_are_bent),
        cmocka_unit_test(test_short_memory_changes_nothing),
        cmocka_unit_test(test_uncoordinated),
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
