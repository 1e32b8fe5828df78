// What coschedctl gets to know of a running classd: its recording, while that goes on, and how long
// it waits for what takes long. The other end is classd's own ring of events.
#include "classd/trace.h"
#include "common/clock.h"
#include "common/units.h"
#include "ctl/recording.h"
#include "ctl/talk.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { RING = 32, ASKED = 3 }; // the question before which something happens

struct node {
    trace_t *trace;
    int ends[2]; // ours, classd's
    uint32_t recorded;
    // Before the third question about events.
    unsigned more;    // events come
    bool anew;        // the trace is started anew
    uint64_t away_ms; // classd is away for so long
    uint64_t asked_ns;
};

static void record(struct node *node, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        trace_event(node->trace, PROTOCOL_EVENT_GRANTED, 7, node->recorded++, NS_PER_SEC);
}

static void happen(struct node *node)
{
    struct timespec away = {.tv_nsec = (long)(node->away_ms * NS_PER_MS)};
    if (node->anew)
        assert_int_equal(trace_start(node->trace, RING, NULL), 0);
    record(node, node->more);
    node->asked_ns = clock_wall_ns();
    nanosleep(&away, NULL);
}

static void *serve(void *argument)
{
    struct node *node = argument;
    struct protocol_request request;
    unsigned asked = 0;
    while (recv(node->ends[1], &request, sizeof request, 0) == sizeof request) {
        struct protocol_reply reply = protocol_reply_new(&request, 0);
        if (request.query.kind == PROTOCOL_QUERY_TRACE) {
            if (++asked == ASKED)
                happen(node);
            trace_read(node->trace, request.query.index, &reply.events);
        } else if (!trace_job_at(node->trace, request.query.index, &reply.event_job)) {
            reply.header.status = ENOENT;
        }
        send(node->ends[1], &reply, sizeof reply, MSG_NOSIGNAL);
    }
    return NULL;
}

static int set_up(void **state)
{
    struct node *node = calloc(1, sizeof *node);
    node->trace = trace_new();
    assert_int_equal(trace_start(node->trace, RING, NULL), 0);
    trace_job(node->trace, 7, 1000, "a", 1, NS_PER_SEC);
    record(node, RING - 1); // full
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, node->ends), 0);
    *state = node;
    return 0;
}

static int tear_down(void **state)
{
    struct node *node = *state;
    trace_free(node->trace);
    free(node);
    return 0;
}

static int fetch(struct node *node, struct recording *recording, struct error *err)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, serve, node), 0);
    int rc = recording_fetch(node->ends[0], "n", recording, err);
    close(node->ends[0]);
    pthread_join(thread, NULL);
    close(node->ends[1]);
    return rc;
}

// The event before the first one that came was that of the job's coming.
static void assert_without_gaps(const struct recording *recording)
{
    for (size_t i = 0; i < recording->event_count; i++) {
        bool came = recording->lost == 0 && i == 0;
        assert_int_equal(recording->events[i].value, came ? 1 : recording->lost + i - 1);
    }
}

static void a_recording_is_read(void **state)
{
    struct node *node = *state;
    struct recording recording;
    struct error err = {0};
    assert_int_equal(fetch(node, &recording, &err), 0);
    assert_int_equal(recording.event_count, RING);
    assert_int_equal(recording.lost, 0);
    assert_without_gaps(&recording);
    assert_int_equal(recording.job_count, 1);
    assert_string_equal(recording.jobs[0].job_id, "a");
    recording_free(&recording);
}

// What was read before a gap tells nothing about what came in it.
static void events_that_are_kept_have_no_gap(void **state)
{
    struct node *node = *state;
    struct recording recording;
    struct error err = {0};
    node->more = 20; // of which 16 had been read
    assert_int_equal(fetch(node, &recording, &err), 0);
    assert_true(recording.event_count > 0);
    assert_int_equal(recording.lost, 20);
    assert_without_gaps(&recording);
    recording_free(&recording);
}

static void what_comes_meanwhile_is_not_said_to_be_there(void **state)
{
    struct node *node = *state;
    struct recording recording;
    struct error err = {0};
    node->more = 3;
    node->away_ms = 20;
    assert_int_equal(fetch(node, &recording, &err), 0);
    assert_true(recording.until_ns != 0);
    assert_true(recording.until_ns <= node->asked_ns);
    recording_free(&recording);
}

static void a_stopped_recording_ends_with_its_last_event(void **state)
{
    struct node *node = *state;
    struct recording recording;
    struct error err = {0};
    trace_stop(node->trace);
    assert_int_equal(fetch(node, &recording, &err), 0);
    assert_int_equal(recording.event_count, RING);
    assert_true(recording.until_ns == recording.events[RING - 1].at_ns);
    recording_free(&recording);
}

static void half_of_an_old_recording_is_none(void **state)
{
    for (unsigned more = 0; more < RING; more += 20) {
        struct node *node = *state;
        struct recording recording;
        struct error err = {0};
        node->anew = true;
        node->more = more;
        assert_int_equal(fetch(node, &recording, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        assert_null(recording.events);
        tear_down(state);
        set_up(state);
    }
}

// A suspension that fails is undone, and why it failed is told after that.
static void it_waits_for_as_long_as_classd_tries(void **state)
{
    struct config config;
    (void)state;
    config_defaults(&config);
    assert_true(talk_track_timeout_ms(&config) * NS_PER_MS > 2 * config_tracking_limit_ns(&config));
    config.retry_interval_ns = NS_PER_SEC;
    assert_true(config_tracking_limit_ns(&config) >= 20 * NS_PER_SEC);
    assert_true(talk_track_timeout_ms(&config) * NS_PER_MS > 2 * config_tracking_limit_ns(&config));
}

int main(void)
{
#define with_node(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        with_node(a_recording_is_read),
        with_node(events_that_are_kept_have_no_gap),
        with_node(what_comes_meanwhile_is_not_said_to_be_there),
        with_node(a_stopped_recording_ends_with_its_last_event),
        with_node(half_of_an_old_recording_is_none),
        cmocka_unit_test(it_waits_for_as_long_as_classd_tries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
