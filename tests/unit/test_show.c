// What coschedctl says of a node: what decides when a message preempts under its policy, and only
// that.
#include "ctl/show.h"

#include "common/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct protocol_node_record record_of(const char *policy)
{
    struct protocol_node_record node = {.time_slice_ns = NS_PER_SEC, .gmet_ns = 250 * NS_PER_MS};
    strcpy(node.policy, policy);
    return node;
}

static struct protocol_node_record record_of_dcs(void)
{
    struct protocol_node_record node = record_of("dcs");
    node.dcs_quantum_ns = 20 * NS_PER_MS;
    node.dcs_constant_ns = 100 * NS_PER_MS;
    node.dcs_exponent = -1;
    return node;
}

static void people_read_gmet_where_it_decides(void **state)
{
    (void)state;
    char text[SHOW_PREEMPTION_MAX];
    struct protocol_node_record node = record_of("yoo-jette");
    show_preemption(&node, text);
    assert_string_equal(text, "GMET 250ms");
}

static void people_read_the_terms_of_dcs(void **state)
{
    (void)state;
    char text[SHOW_PREEMPTION_MAX];
    struct protocol_node_record node = record_of_dcs();
    show_preemption(&node, text);
    assert_string_equal(text, "exponent -1, constant 100ms, quantum 20ms, calibrate no");
    node.dcs_calibrate = 1;
    show_preemption(&node, text);
    assert_non_null(strstr(text, "calibrate yes"));
}

// An older classd, or one that means harm.
static void any_reply_can_be_shown(void **state)
{
    (void)state;
    char text[SHOW_PREEMPTION_MAX];
    struct protocol_node_record node = record_of("dcs");
    show_preemption(&node, text);
    assert_string_equal(text, "GMET 250ms");
    node.dcs_quantum_ns = node.dcs_constant_ns = UINT64_MAX;
    node.dcs_exponent = INT32_MIN;
    node.dcs_calibrate = UINT32_MAX;
    show_preemption(&node, text);
    assert_string_equal(text + strlen(text) - strlen("calibrate yes"), "calibrate yes");
}

static void people_read_when_timerd_was_heard(void **state)
{
    (void)state;
    char text[SHOW_TIMER_MAX];
    struct protocol_node_record node = record_of("yoo-jette");
    show_timer(&node, text); // of an older classd
    assert_string_equal(text, "");
    assert_false(show_timer_is_late(&node));
    node.timer_silent_ns = 1;
    show_timer(&node, text);
    assert_string_equal(text, "not heard of yet, for 0.0 s");
    node.switches = 7;
    node.timer_silent_ns = 1300 * NS_PER_MS;
    show_timer(&node, text);
    assert_string_equal(text, "heard 1.3 s ago");
    assert_false(show_timer_is_late(&node));
    node.timer_silent_ns = 2500 * NS_PER_MS;
    show_timer(&node, text);
    assert_string_equal(text, "not heard of for 2.5 s");
    assert_true(show_timer_is_late(&node));
    node.timer_silent_ns = UINT64_MAX;
    show_timer(&node, text);
    assert_true(show_timer_is_late(&node));
}

static void programs_read_when_timerd_was_heard(void **state)
{
    (void)state;
    struct protocol_node_record node = record_of("yoo-jette");
    json_t *object = show_node_json(&node);
    assert_true(json_is_null(json_object_get(object, "timer_silent_s")));
    json_decref(object);
    node.timer_silent_ns = 2500 * NS_PER_MS;
    object = show_node_json(&node);
    assert_float_equal(json_real_value(json_object_get(object, "timer_silent_s")), 2.5, 1e-9);
    json_decref(object);
}

static void programs_read_gmet_where_it_decides(void **state)
{
    (void)state;
    struct protocol_node_record node = record_of("yoo-jette");
    json_t *object = show_node_json(&node);
    assert_float_equal(json_real_value(json_object_get(object, "gmet_s")), 0.25, 1e-9);
    assert_null(json_object_get(object, "exponent"));
    json_decref(object);
}

static void programs_read_the_terms_of_dcs(void **state)
{
    (void)state;
    struct protocol_node_record node = record_of_dcs();
    json_t *object = show_node_json(&node);
    assert_string_equal(json_string_value(json_object_get(object, "policy")), "dcs");
    assert_null(json_object_get(object, "gmet_s"));
    assert_int_equal(json_integer_value(json_object_get(object, "exponent")), -1);
    assert_float_equal(json_real_value(json_object_get(object, "constant_s")), 0.1, 1e-9);
    assert_float_equal(json_real_value(json_object_get(object, "quantum_s")), 0.02, 1e-9);
    assert_true(json_is_false(json_object_get(object, "calibrate")));
    json_decref(object);
}

static void numbers_of_any_size_keep_their_sign(void **state)
{
    (void)state;
    struct protocol_job_record job = {.job_id = "a"};
    job.ranks = job.width = job.processes = UINT32_MAX;
    json_t *object = show_job_json(&job);
    assert_int_equal(json_integer_value(json_object_get(object, "ranks")), UINT32_MAX);
    assert_int_equal(json_integer_value(json_object_get(object, "width")), UINT32_MAX);
    assert_int_equal(json_integer_value(json_object_get(object, "processes")), UINT32_MAX);
    json_decref(object);
    struct protocol_node_record node = record_of("yoo-jette");
    node.processes = node.clock_off_jobs = node.refused = UINT32_MAX;
    object = show_node_json(&node);
    assert_int_equal(json_integer_value(json_object_get(object, "processes")), UINT32_MAX);
    assert_int_equal(json_integer_value(json_object_get(object, "clock_off_jobs")), UINT32_MAX);
    assert_int_equal(json_integer_value(json_object_get(object, "registrations_refused")),
                     UINT32_MAX);
    json_decref(object);
}

static void slots_are_shown_where_there_are_some(void **state)
{
    (void)state;
    char text[SHOW_SLOTS_MAX];
    struct protocol_job_record job = {.job_id = "a"};
    json_t *object = show_job_json(&job);
    show_slots(&job, text);
    assert_string_equal(text, "-");
    assert_true(json_is_null(json_object_get(object, "slots")));
    json_decref(object);
    job.slots_agreed = 1;
    job.slots = UINT64_C(1) << 59 | UINT64_C(1) << 63 | 5; // a classd that means harm
    object = show_job_json(&job);
    show_slots(&job, text);
    assert_string_equal(text, "3/60");
    json_t *slots = json_object_get(object, "slots");
    assert_int_equal(json_array_size(slots), 3);
    assert_int_equal(json_integer_value(json_array_get(slots, 2)), 59);
    json_decref(object);
}

static void a_clock_that_is_off_is_shown(void **state)
{
    (void)state;
    char text[SHOW_CLOCK_MAX];
    struct protocol_job_record job = {.job_id = "a"};
    json_t *object = show_job_json(&job);
    show_clock(&job, text);
    assert_string_equal(text, "");
    assert_true(json_is_null(json_object_get(object, "clock_ahead_s")));
    json_decref(object);
    job.clock =
        (struct protocol_clock){.ahead_ns = -2500 * (int64_t)NS_PER_MS, .nodes = 3, .agreeing = 2};
    show_clock(&job, text);
    assert_string_equal(text,
                        "job a found the node's clock 2.5 s behind those of 2 of its 3 nodes");
    object = show_job_json(&job);
    assert_float_equal(json_real_value(json_object_get(object, "clock_ahead_s")), -2.5, 1e-9);
    json_decref(object);
    job.clock.agreeing = 0;
    show_clock(&job, text);
    assert_non_null(strstr(text, "no majority"));
    job.clock.nodes = 0;
    show_clock(&job, text);
    assert_string_equal(text,
                        "job a had agreed on slots before the node's clock was set by -2.5 s");
    memset(&job.clock, 0x80, sizeof job.clock); // a classd that means harm
    memset(job.job_id, 'x', sizeof job.job_id - 1);
    show_clock(&job, text);
    assert_in_range(strlen(text), 1, SHOW_CLOCK_MAX - 1);
}

static void the_state_of_a_job_is_a_word(void **state)
{
    (void)state;
    struct protocol_job_record job = {.job_id = "a"};
    assert_string_equal(show_state(&job), "idle");
    job.dormant = 1;
    assert_string_equal(show_state(&job), "dormant");
    json_t *object = show_job_json(&job);
    assert_true(json_is_true(json_object_get(object, "dormant")));
    json_decref(object);
    job.suspended = PROTOCOL_MEANS_SHARE;
    assert_string_equal(show_state(&job), "suspended");
    job = (struct protocol_job_record){.job_id = "a", .scheduled = 1};
    assert_string_equal(show_state(&job), "scheduled");
}

static void who_takes_turns_is_counted(void **state)
{
    (void)state;
    struct protocol_node_record node = {.jobs = 3};
    struct protocol_job_record jobs[] = {
        {.job_id = "a", .processes = 2, .registered_ns = NS_PER_SEC},
        {.job_id = "b", .processes = 1, .registered_ns = NS_PER_SEC},
        {.job_id = "sequential"}, // nobody computes there
    };
    assert_int_equal(show_turn_takers(&node, jobs, 3), 3); // one is not shown to this user
    jobs[2].registered_ns = NS_PER_SEC;
    assert_int_equal(show_turn_takers(&node, jobs, 3), 4);
    jobs[1].suspended = PROTOCOL_MEANS_FREEZER;
    assert_int_equal(show_turn_takers(&node, jobs, 3), 3);
    jobs[0].dormant = 1;
    assert_int_equal(show_turn_takers(&node, jobs, 3), 2);
    node.jobs = 0; // it was asked a moment before
    assert_int_equal(show_turn_takers(&node, jobs, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_read_gmet_where_it_decides),
        cmocka_unit_test(people_read_the_terms_of_dcs),
        cmocka_unit_test(any_reply_can_be_shown),
        cmocka_unit_test(people_read_when_timerd_was_heard),
        cmocka_unit_test(programs_read_when_timerd_was_heard),
        cmocka_unit_test(programs_read_gmet_where_it_decides),
        cmocka_unit_test(programs_read_the_terms_of_dcs),
        cmocka_unit_test(numbers_of_any_size_keep_their_sign),
        cmocka_unit_test(slots_are_shown_where_there_are_some),
        cmocka_unit_test(a_clock_that_is_off_is_shown),
        cmocka_unit_test(the_state_of_a_job_is_a_word),
        cmocka_unit_test(who_takes_turns_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
