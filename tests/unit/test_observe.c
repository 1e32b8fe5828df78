// The daemon's ring of scheduling events.
#include "classd/trace.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static struct error err;

static void nothing_is_recorded_before_the_start(void **state)
{
    (void)state;
    struct protocol_events events = {0};
    struct protocol_event_job job;
    trace_t *trace = trace_new();
    trace_event(trace, PROTOCOL_EVENT_IDLE, 1, 2, 3);
    trace_job(trace, 1, 0, "a", 1, 3);
    trace_read(trace, 0, &events);
    assert_int_equal(events.count, 0);
    assert_int_equal(events.recording, 0);
    assert_false(trace_job_at(trace, 0, &job));
    trace_free(trace);
}

static void the_newest_events_are_kept(void **state)
{
    (void)state;
    struct protocol_events events;
    trace_t *trace = trace_new();
    assert_int_equal(trace_start(trace, 20, &err), 0);
    for (uint32_t i = 0; i < 50; i++)
        trace_event(trace, PROTOCOL_EVENT_GRANTED, 7, i, i * SECOND);
    uint32_t next = 0, seen = 30; // 0 to 29 are gone
    do {
        trace_read(trace, next, &events);
        assert_true(next == 0 ? events.first == 30 : events.first == next);
        for (uint32_t i = 0; i < events.count; i++, seen++) {
            assert_int_equal(events.events[i].value, seen);
            assert_true(events.events[i].at_ns == seen * SECOND);
            assert_true(events.events[i].job == 7);
        }
        next = (uint32_t)(events.first + events.count);
    } while (events.count > 0);
    assert_int_equal(seen, 50);
    assert_int_equal(events.end, 50);
    trace_stop(trace);
    trace_event(trace, PROTOCOL_EVENT_GRANTED, 7, 99, 99 * SECOND);
    trace_read(trace, 45, &events);
    assert_int_equal(events.end, 50);
    assert_int_equal(events.count, 5);
    trace_free(trace);
}

// A reader names events by the low 32 bits of their numbers.
static void numbers_of_events_go_on_beyond_32_bits(void **state)
{
    (void)state;
    const uint64_t turn = UINT64_C(1) << 32, oldest = 3 * turn - 10, end = 3 * turn + 10;
    assert_true(trace_number(0, 0, 50) == 0);
    assert_true(trace_number(60, 0, 50) == 60); // of a recording before the last start
    assert_true(trace_number(0, turn + 10, turn + 50) == turn + 10);
    assert_true(trace_number(45, turn + 10, turn + 50) == turn + 45);
    assert_true(trace_number((uint32_t)oldest, oldest, end) == oldest);
    assert_true(trace_number((uint32_t)oldest - 1, oldest, end) == oldest);
    assert_true(trace_number(UINT32_MAX, oldest, end) == 3 * turn - 1);
    assert_true(trace_number(4, oldest, end) == 3 * turn + 4);
    assert_true(trace_number(UINT32_MAX - 20, 3 * turn + 5, end) == 3 * turn + 5);
}

// There is room for so many names only, and of those whose events are gone some are done with.
static void names_of_jobs_make_room(void **state)
{
    (void)state;
    struct protocol_event_job job;
    trace_t *trace = trace_new();
    assert_int_equal(trace_start(trace, 10, &err), 0);
    for (uint64_t number = 1; number <= TRACE_JOBS_MAX; number++) {
        trace_job(trace, number, 1000, "old", 1, SECOND);
        if (number > 1) // the first one lives
            trace_event(trace, PROTOCOL_EVENT_LEFT, number, 0, SECOND);
    }
    for (uint64_t number = 1; number <= 3; number++)
        trace_job(trace, TRACE_JOBS_MAX + number, 1000, "new", 1, SECOND);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(trace_job_at(trace, i, &job));
        assert_true(job.job == (i == 0 ? 1 : TRACE_JOBS_MAX + i));
        assert_string_equal(job.job_id, i == 0 ? "old" : "new");
    }
    assert_false(trace_job_at(trace, TRACE_JOBS_MAX, &job));
    trace_free(trace);
}

static void a_start_forgets_and_a_failed_one_does_not(void **state)
{
    (void)state;
    struct protocol_events events;
    struct protocol_event_job job;
    trace_t *trace = trace_new();
    assert_int_equal(trace_start(trace, 0, &err), 0);
    trace_job(trace, 5, 1000, "job-a", 3, SECOND);
    trace_job(trace, 5, 1000, "job-a", 3, SECOND);
    assert_true(trace_job_at(trace, 0, &job));
    assert_string_equal(job.job_id, "job-a");
    assert_int_equal(job.uid, 1000);
    assert_false(trace_job_at(trace, 1, &job));
    assert_int_equal(trace_start(trace, TRACE_CAPACITY_MAX + 1, &err), -1);
    assert_int_equal(err.code, EINVAL);
    trace_read(trace, 0, &events);
    assert_int_equal(events.end, 2);
    assert_int_equal(trace_start(trace, 10, &err), 0);
    trace_read(trace, 0, &events);
    assert_int_equal(events.end, 0);
    assert_false(trace_job_at(trace, 0, &job));
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_recorded_before_the_start),
        cmocka_unit_test(the_newest_events_are_kept),
        cmocka_unit_test(numbers_of_events_go_on_beyond_32_bits),
        cmocka_unit_test(names_of_jobs_make_room),
        cmocka_unit_test(a_start_forgets_and_a_failed_one_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
