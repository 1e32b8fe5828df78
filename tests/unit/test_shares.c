// Protects what idle jobs keep of the node: few parts for those whose turns come in step with their
// other nodes, all of idle_share for those that have had messages to notice.
#include "classd/policy/shares.h"
#include "tests/unit/engine_caller.h"

#define SECOND 1000000000ull
#define SLICE  (15 * SECOND)

enum { A = 101, B, C, D };

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

static struct caller node_of(unsigned jobs, uint32_t idle_ppm, uint32_t total_ppm)
{
    struct caller caller;
    struct engine_settings settings = settings_with(idle_ppm, total_ppm);
    caller_open(&caller, &settings);
    for (engine_job_t job = A; job < A + jobs; job++)
        caller_event(&caller, ENGINE_REGISTER, job, 1, 0);
    return caller;
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

static void tick(struct caller *caller)
{
    caller->now_ns += SLICE;
    caller_event(caller, ENGINE_SWITCH, 0, 0, 0);
}

// At the beginning of a slice, within GMET of who is out: discarded.
static void request_in_vain(struct caller *caller, engine_job_t job)
{
    assert_int_equal(caller_event(caller, ENGINE_SCHEDULE, job, 0, 0).outcome,
                     ENGINE_DISCARDED_GMET);
}

static void let_have_turns(struct caller *caller, engine_job_t job, unsigned turns)
{
    uint64_t enough = view_of(caller, job).switches + turns;
    for (int i = 0; i < 100 && view_of(caller, job).switches < enough; i++) {
        struct engine_job_view view;
        for (size_t k = 0; engine_job_at(caller->engine, k, &view); k++)
            if (view.scheduled)
                engine_set_service(caller->engine, view.job, view.service_ns + SLICE);
        tick(caller);
    }
    assert_int_equal(view_of(caller, job).switches, enough);
    assert_true(view_of(caller, job).scheduled);
    engine_set_service(caller->engine, job, view_of(caller, job).service_ns + SLICE);
    tick(caller);
    assert_false(view_of(caller, job).scheduled);
}

static void few_idle_jobs_keep_idle_share(void **state)
{
    (void)state;
    struct caller node = node_of(3, 10000, 20000);
    assert_int_equal(share_of(&node, B), 10000);
    assert_int_equal(share_of(&node, C), 10000);
    assert_int_equal(share_of(&node, A), 980000);
    caller_close(&node);
}

static void many_share_the_total(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 20000);
    for (engine_job_t job = B; job < A + 11; job++)
        assert_int_equal(share_of(&node, job), 2000);
    assert_int_equal(share_of(&node, A), 980000);
    caller_close(&node);
}

// A kernel could not enforce it.
static void nobody_has_less_than_the_least(void **state)
{
    (void)state;
    struct caller node = node_of(CALLER_JOBS, 10000, 1000 * (CALLER_JOBS - 1) / 2);
    assert_int_equal(share_of(&node, B), SHARES_LEAST_PPM);
    caller_close(&node);
}

static void a_total_of_less_than_one_share_is_one_share(void **state)
{
    (void)state;
    struct caller node = node_of(2, 50000, 20000);
    assert_int_equal(share_of(&node, B), 50000);
    caller_event(&node, ENGINE_REGISTER, C, 1, 0);
    assert_int_equal(share_of(&node, B), 25000);
    caller_close(&node);
}

static void without_a_total_nobody_is_cut(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 0);
    assert_int_equal(share_of(&node, B), 10000);
    assert_int_equal(share_of(&node, A), 900000);
    caller_close(&node);
}

// Its first request, granted or not, tells that there is something to notice.
static void who_asks_keeps_idle_share(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 20000);
    request_in_vain(&node, B);
    assert_int_equal(share_of(&node, B), 10000);
    assert_int_equal(share_of(&node, C), 2000);
    assert_int_equal(share_of(&node, A), 1000000 - 10000 - 9 * 2000);
    request_in_vain(&node, B);
    assert_int_equal(share_of(&node, B), 10000);
    caller_close(&node);
}

static void until_so_many_turns_came_unasked(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 9000);
    request_in_vain(&node, B);
    let_have_turns(&node, B, 1); // for which it had asked
    assert_int_equal(share_of(&node, B), 10000);
    let_have_turns(&node, B, SHARES_IN_STEP - 1);
    assert_int_equal(share_of(&node, B), 10000);
    let_have_turns(&node, B, 1);
    assert_int_equal(share_of(&node, B), 3333);
    request_in_vain(&node, B);
    assert_int_equal(share_of(&node, B), 10000);
    caller_close(&node);
}

// Who is out is not waiting for anything that a message could tell.
static void a_request_of_the_scheduled_changes_nothing(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 9000);
    assert_int_equal(caller_event(&node, ENGINE_SCHEDULE, A, 0, 0).outcome, ENGINE_GRANTED);
    let_have_turns(&node, B, 1);
    assert_false(view_of(&node, A).scheduled);
    assert_int_equal(share_of(&node, A), 3333);
    caller_close(&node);
}

static void who_is_suspended_has_nothing_to_notice(void **state)
{
    (void)state;
    struct caller node = node_of(4, 10000, 9000);
    request_in_vain(&node, B);
    caller_event(&node, ENGINE_SUSPEND, B, 0, 0);
    assert_int_equal(share_of(&node, B), 3333);
    assert_int_equal(share_of(&node, A), 1000000 - 3 * 3333);
    caller_event(&node, ENGINE_RESUME, B, 0, 0);
    assert_int_equal(share_of(&node, B), 10000);
    caller_close(&node);
}

// The sequential class has been promised what it has, whoever else is there.
static void the_sequential_class_is_not_counted(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 20000);
    caller_post(&node, (struct engine_event){
                           .kind = ENGINE_REGISTER, .job = 99, .width = 1, .sequential = true});
    assert_int_equal(share_of(&node, 99), 50000);
    assert_int_equal(share_of(&node, B), 2000);
    assert_int_equal(share_of(&node, A), 1000000 - 50000 - 20000);
    caller_close(&node);
}

static void a_reload_takes_effect_at_once(void **state)
{
    (void)state;
    struct caller node = node_of(11, 10000, 20000);
    struct engine_settings settings = settings_with(10000, 50000);
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings});
    assert_int_equal(share_of(&node, B), 5000);
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_idle_jobs_keep_idle_share),
        cmocka_unit_test(many_share_the_total),
        cmocka_unit_test(nobody_has_less_than_the_least),
        cmocka_unit_test(a_total_of_less_than_one_share_is_one_share),
        cmocka_unit_test(without_a_total_nobody_is_cut),
        cmocka_unit_test(who_asks_keeps_idle_share),
        cmocka_unit_test(until_so_many_turns_came_unasked),
        cmocka_unit_test(a_request_of_the_scheduled_changes_nothing),
        cmocka_unit_test(who_is_suspended_has_nothing_to_notice),
        cmocka_unit_test(the_sequential_class_is_not_counted),
        cmocka_unit_test(a_reload_takes_effect_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
