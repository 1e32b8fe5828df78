// Protects what idle jobs keep of the node: few parts for those whose turns come in step with their
// other nodes, all of idle_share for those that have had messages to notice.
#include "classd/policy/shares.h"
#include "tests/unit/engine_caller.h"

#define SECOND 1000000000ull
#define SLICE  (15 * SECOND)

enum { A = 101, C = A + 2 };

static struct engine_settings settings_with(uint32_t idle_ppm, uint32_t total_ppm)
{
    return (struct engine_settings){.policy = "yoo-jette",
                                    .cpus = 1,
                                    .idle_share_ppm = idle_ppm,
                                    .idle_total_ppm = total_ppm,
                                    .interactive_share_ppm = 50000,
                                    .time_slice_ns = SLICE,
                                    .gmet_ns = SLICE / 3};
}

static void enter(struct caller *caller, engine_job_t job)
{
    caller_event(caller, ENGINE_REGISTER, job, 1, 0);
}

static struct engine_job_view view_of(const struct caller *caller, engine_job_t job)
{
    struct engine_job_view view;
    assert_true(engine_job_find(caller->engine, job, &view));
    return view;
}

static uint32_t share_of(const struct caller *caller, engine_job_t job)
{
    return view_of(caller, job).share_ppm;
}

// Jobs come in the order of their numbers.
static bool listens(const struct engine_job_view *view)
{
    return (view->job - A + 1 + view->switches) % SHARES_LISTEN == 0;
}

static void tick(struct caller *caller)
{
    struct engine_job_view view;
    for (size_t i = 0; engine_job_at(caller->engine, i, &view); i++)
        if (view.scheduled)
            engine_set_service(caller->engine, view.job, view.service_ns + SLICE);
    caller->now_ns += SLICE;
    caller_event(caller, ENGINE_SWITCH, 0, 0, 0);
}

// Jobs come to a node where nobody has asked for long, and a slice begins.
static struct caller node_of(unsigned jobs, uint32_t idle_ppm, uint32_t total_ppm)
{
    struct caller caller;
    struct engine_settings settings = settings_with(idle_ppm, total_ppm);
    caller_open(&caller, &settings);
    tick(&caller);
    for (engine_job_t job = A; job < A + jobs; job++)
        enter(&caller, job);
    tick(&caller);
    return caller;
}

// All idle jobs have `share_ppm`, but for those that listen, and who is out the rest.
static void assert_idle_shares(const struct caller *caller, uint32_t share_ppm, uint32_t listen_ppm)
{
    struct engine_job_view view;
    uint32_t rest_ppm = ENGINE_WHOLE_PPM;
    for (size_t i = 0; engine_job_at(caller->engine, i, &view); i++) {
        if (view.scheduled)
            continue;
        assert_int_equal(view.share_ppm, listens(&view) ? listen_ppm : share_ppm);
        rest_ppm -= view.share_ppm;
    }
    for (size_t i = 0; engine_job_at(caller->engine, i, &view); i++)
        if (view.scheduled)
            assert_int_equal(view.share_ppm, rest_ppm);
}

// At the beginning of a slice, within GMET of who is out: discarded.
static void request_in_vain(struct caller *caller, engine_job_t job)
{
    assert_int_equal(caller_event(caller, ENGINE_SCHEDULE, job, 0, 0).outcome,
                     ENGINE_DISCARDED_GMET);
}

// Until it is idle again after so many.
static void let_have_turns(struct caller *caller, engine_job_t job, unsigned turns)
{
    uint64_t enough = view_of(caller, job).switches + turns;
    for (int i = 0; i < 1000 && view_of(caller, job).switches < enough; i++)
        tick(caller);
    tick(caller);
    assert_int_equal(view_of(caller, job).switches, enough);
    assert_false(view_of(caller, job).scheduled);
}

static void two_idle_jobs_keep_idle_share(void **state)
{
    (void)state;
    struct caller node = node_of(3, 10000, 20000);
    assert_idle_shares(&node, 10000, 10000);
    caller_close(&node);
}

static void many_share_the_total(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 20000);
    for (int i = 0; i < 300; i++) {
        assert_idle_shares(&node, 2000, 10000);
        tick(&node);
    }
    caller_close(&node);
}

// One wait of so many, and not all in the same round.
static void each_listens_now_and_then(void **state)
{
    (void)state;
    enum { JOBS = 9, ROUNDS = 10 * SHARES_LISTEN };
    struct caller node = node_of(JOBS, 10000, 16000);
    unsigned waits = 0, most = 0;
    for (unsigned i = 0; i < JOBS * ROUNDS; i++) {
        unsigned listeners = 0;
        for (engine_job_t job = A; job < A + JOBS; job++)
            listeners += !view_of(&node, job).scheduled && share_of(&node, job) == 10000;
        waits += listeners;
        most = listeners > most ? listeners : most;
        tick(&node);
    }
    assert_in_range(waits, (JOBS - 1) * JOBS * 9, (JOBS - 1) * JOBS * 11);
    assert_in_range(most, 1, 3);
    caller_close(&node);
}

// A kernel could not enforce it.
static void nobody_has_less_than_the_least(void **state)
{
    (void)state;
    struct caller node = node_of(CALLER_JOBS, 1500, 1000 * (CALLER_JOBS - 1) / 2);
    assert_idle_shares(&node, SHARES_LEAST_PPM, 1500);
    caller_close(&node);
}

static void a_total_of_less_than_one_share_is_one_share(void **state)
{
    (void)state;
    struct caller node = node_of(2, 50000, 20000);
    assert_idle_shares(&node, 50000, 50000);
    enter(&node, C);
    tick(&node);
    assert_idle_shares(&node, 25000, 50000);
    caller_close(&node);
}

static void without_a_total_nobody_is_cut(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 0);
    assert_idle_shares(&node, 10000, 10000);
    caller_close(&node);
}

// Who comes and goes has nobody else's limit set anew: that gives a whole quota each time.
static void shares_change_at_ticks(void **state)
{
    (void)state;
    enum { JOBS = 4 };
    struct caller node = node_of(JOBS, 10000, 12000);
    for (unsigned i = 0; i < SHARES_QUIET_ROUNDS * JOBS; i++)
        tick(&node);
    assert_idle_shares(&node, 4000, 10000);
    engine_job_t newcomer = A + JOBS;
    struct engine_result result = caller_event(&node, ENGINE_REGISTER, newcomer, 1, 0);
    assert_int_equal(result.decision_count, 2); // it, and who is out
    assert_int_equal(share_of(&node, newcomer), 4000);
    assert_int_equal(caller_event(&node, ENGINE_EXIT, newcomer, 1, 0).decision_count, 1);
    enter(&node, newcomer);
    tick(&node);
    assert_idle_shares(&node, 3000, 10000);
    caller_close(&node);
}

// Without ticks nobody's turns come by them.
static void before_the_first_tick_nobody_is_cut(void **state)
{
    (void)state;
    struct caller node;
    struct engine_settings settings = settings_with(10000, 20000);
    caller_open(&node, &settings);
    for (engine_job_t job = A; job < A + 11; job++)
        enter(&node, job);
    assert_idle_shares(&node, 10000, 10000);
    caller_close(&node);
}

static engine_job_t idle_job(const struct caller *caller)
{
    struct engine_job_view view;
    for (size_t i = 0; engine_job_at(caller->engine, i, &view); i++)
        if (!view.scheduled && !listens(&view))
            return view.job;
    fail();
    return 0;
}

// Its first request, granted or not, tells that there is something to notice.
static void who_asks_keeps_idle_share(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 12000);
    engine_job_t asker = idle_job(&node);
    assert_int_equal(share_of(&node, asker), 4000);
    request_in_vain(&node, asker);
    assert_int_equal(share_of(&node, asker), 10000);
    assert_int_equal(caller_event(&node, ENGINE_SCHEDULE, asker, 0, 0).decision_count, 0);
    assert_int_equal(share_of(&node, asker), 10000);
    caller_close(&node);
}

static void until_so_many_turns_came_unasked(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 12000);
    engine_job_t asker = idle_job(&node);
    request_in_vain(&node, asker);
    let_have_turns(&node, asker, 1); // for which it had asked
    for (unsigned turns = 0; turns < SHARES_IN_STEP; turns++) {
        assert_int_equal(share_of(&node, asker), 10000);
        let_have_turns(&node, asker, 1);
    }
    struct engine_job_view view = view_of(&node, asker);
    assert_int_equal(view.share_ppm, listens(&view) ? 10000 : 4000);
    let_have_turns(&node, asker, 1);
    struct engine_job_view later = view_of(&node, asker);
    assert_int_equal(later.share_ppm, listens(&later) ? 10000 : 4000);
    assert_false(listens(&view) && listens(&later));
    caller_close(&node);
}

// Who is out is not waiting for anything that a message could tell.
static void a_request_of_the_scheduled_changes_nothing(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 12000);
    engine_job_t asker = idle_job(&node);
    while (!view_of(&node, asker).scheduled)
        tick(&node);
    assert_int_equal(caller_event(&node, ENGINE_SCHEDULE, asker, 0, 0).outcome, ENGINE_GRANTED);
    tick(&node);
    assert_idle_shares(&node, 4000, 10000);
    caller_close(&node);
}

// Where somebody has asked of late, it is not known whether a newcomer will have to.
static void a_newcomer_has_idle_share_unless_all_is_quiet(void **state)
{
    (void)state;
    enum { JOBS = 5, LATER = A + JOBS, LATEST };
    struct caller node = node_of(JOBS, 10000, 12000);
    request_in_vain(&node, idle_job(&node));
    for (unsigned i = 0; i < SHARES_QUIET_ROUNDS * JOBS; i++)
        tick(&node);
    enter(&node, LATER);
    assert_int_equal(share_of(&node, LATER), 10000);
    let_have_turns(&node, LATER, SHARES_IN_STEP - 1);
    struct engine_job_view view = view_of(&node, LATER);
    assert_false(listens(&view));
    assert_int_equal(view.share_ppm, 10000);
    let_have_turns(&node, LATER, 1);
    assert_int_equal(share_of(&node, LATER), 12000 / JOBS);
    enter(&node, LATEST);
    assert_int_equal(share_of(&node, LATEST), 12000 / JOBS);
    caller_close(&node);
}

// Else who does both in a loop had a quota each time.
static void suspending_an_idle_job_sets_no_share(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 12000);
    engine_job_t asker = idle_job(&node);
    for (int i = 0; i < 2; i++) {
        uint32_t share_ppm = share_of(&node, asker);
        assert_int_equal(caller_event(&node, ENGINE_SUSPEND, asker, 0, 0).decision_count, 0);
        assert_int_equal(caller_event(&node, ENGINE_RESUME, asker, 0, 0).decision_count, 0);
        assert_int_equal(share_of(&node, asker), share_ppm);
        request_in_vain(&node, asker);
    }
    caller_close(&node);
}

// The sequential class has been promised what it has, whoever else is there.
static void the_sequential_class_is_not_counted(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 12000);
    caller_post(&node, (struct engine_event){
                           .kind = ENGINE_REGISTER, .job = 99, .width = 1, .sequential = true});
    for (int i = 0; i < 20; i++) {
        tick(&node);
        if (view_of(&node, 99).scheduled)
            continue;
        assert_int_equal(share_of(&node, 99), 50000);
        assert_int_equal(share_of(&node, idle_job(&node)), 4000);
    }
    caller_close(&node);
}

static void a_reload_takes_effect_at_once(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 20000);
    struct engine_settings settings = settings_with(10000, 50000);
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings});
    assert_idle_shares(&node, 5000, 10000);
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_idle_jobs_keep_idle_share),
        cmocka_unit_test(many_share_the_total),
        cmocka_unit_test(each_listens_now_and_then),
        cmocka_unit_test(nobody_has_less_than_the_least),
        cmocka_unit_test(a_total_of_less_than_one_share_is_one_share),
        cmocka_unit_test(without_a_total_nobody_is_cut),
        cmocka_unit_test(shares_change_at_ticks),
        cmocka_unit_test(before_the_first_tick_nobody_is_cut),
        cmocka_unit_test(who_asks_keeps_idle_share),
        cmocka_unit_test(until_so_many_turns_came_unasked),
        cmocka_unit_test(a_request_of_the_scheduled_changes_nothing),
        cmocka_unit_test(a_newcomer_has_idle_share_unless_all_is_quiet),
        cmocka_unit_test(suspending_an_idle_job_sets_no_share),
        cmocka_unit_test(the_sequential_class_is_not_counted),
        cmocka_unit_test(a_reload_takes_effect_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
