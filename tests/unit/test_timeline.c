// What coschedctl makes of recordings of several nodes: spans, the coscheduled fraction, files and
// pictures.
#include "ctl/chart.h"
#include "ctl/recording.h"
#include "ctl/timeline.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define SECOND UINT64_C(1000000000)

enum { A = 17, B = 4 };

// Users that no machine knows.
static struct recording_job jobs[] = {{.job = A, .uid = 2000000001, .job_id = "a"},
                                      {.job = B, .uid = 2000000002, .job_id = "b"}};
static struct error err;

#define RECORDING(name, list)                                                                      \
    {                                                                                              \
        .node = (name), .jobs = jobs, .job_count = 2, .events = (list),                            \
        .event_count = sizeof(list) / sizeof *(list),                                              \
    }

static struct recording_event on_node0[] = {
    {10 * SECOND, A, PROTOCOL_EVENT_CAME, 1},
    {10 * SECOND, A, PROTOCOL_EVENT_FREE, 1000000},
    {12 * SECOND, B, PROTOCOL_EVENT_CAME, 1},
    {12 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {12 * SECOND, B, PROTOCOL_EVENT_IDLE, 10000},
    {14 * SECOND, 0, PROTOCOL_EVENT_SWITCH, 0},
    {14 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {14 * SECOND, B, PROTOCOL_EVENT_SCHEDULED, 990000},
    {15 * SECOND, A, PROTOCOL_EVENT_DISCARDED, 0},
    {16 * SECOND, A, PROTOCOL_EVENT_LEFT, 0},
    {16 * SECOND, B, PROTOCOL_EVENT_FREE, 1000000},
    {20 * SECOND, B, PROTOCOL_EVENT_LEFT, 0},
};

// The same, but it switches half a second later.
static struct recording_event on_node1[] = {
    {10 * SECOND, A, PROTOCOL_EVENT_FREE, 1000000},
    {12 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {12 * SECOND, B, PROTOCOL_EVENT_IDLE, 10000},
    {14 * SECOND + SECOND / 2, A, PROTOCOL_EVENT_IDLE, 10000},
    {14 * SECOND + SECOND / 2, B, PROTOCOL_EVENT_SCHEDULED, 990000},
    {16 * SECOND, A, PROTOCOL_EVENT_LEFT, 0},
    {16 * SECOND, B, PROTOCOL_EVENT_FREE, 1000000},
    {20 * SECOND, B, PROTOCOL_EVENT_LEFT, 0},
};

static const struct recording nodes[] = {RECORDING("node0", on_node0),
                                         RECORDING("node1", on_node1)};

static void assert_span(const struct lane *lane, size_t index, double from_s, double to_s,
                        enum span_state state)
{
    assert_true(index < lane->span_count);
    assert_float_equal((double)lane->spans[index].from_ns / SECOND, from_s, 1e-9);
    assert_float_equal((double)lane->spans[index].to_ns / SECOND, to_s, 1e-9);
    assert_int_equal(lane->spans[index].state, state);
}

static void events_become_spans(void **state)
{
    (void)state;
    struct timeline timeline;
    assert_int_equal(timeline_build(nodes, 2, &timeline, &err), 0);
    assert_int_equal(timeline.job_count, 2);
    assert_int_equal(timeline.lane_count, 4);
    const struct lane *lane = &timeline.lanes[0];
    assert_int_equal(lane->node, 0);
    assert_string_equal(timeline.jobs[lane->job].job_id, "a");
    assert_int_equal(lane->span_count, 3);
    assert_span(lane, 0, 10, 12, SPAN_FREE);
    assert_span(lane, 1, 12, 14, SPAN_SCHEDULED);
    assert_span(lane, 2, 14, 16, SPAN_IDLE);
    assert_span(&timeline.lanes[3], 2, 16, 20, SPAN_FREE);
    timeline_free(&timeline);
}

static void the_coscheduled_fraction_is_what_nodes_have_in_common(void **state)
{
    (void)state;
    struct timeline timeline;
    double fraction = -1;
    assert_int_equal(timeline_build(nodes, 2, &timeline, &err), 0);
    // a held a node from 12 to 14.5 and both from 12 to 14; b 14 to 16, and 14.5 to 16.
    assert_true(timeline_coscheduled(&timeline, 0, &fraction));
    assert_float_equal(fraction, 2 / 2.5, 1e-9);
    assert_true(timeline_coscheduled(&timeline, 1, &fraction));
    assert_float_equal(fraction, 1.5 / 2, 1e-9);
    timeline_free(&timeline);

    assert_int_equal(timeline_build(nodes, 1, &timeline, &err), 0); // one node agrees with nobody
    assert_false(timeline_coscheduled(&timeline, 0, &fraction));
    timeline_free(&timeline);
}

// On node 1 from 2 to 5, while the job is out on node 0 from 1 to 3.
static struct recording_event out_on_node0[] = {
    {0 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {1 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {3 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {9 * SECOND, A, PROTOCOL_EVENT_LEFT, 0},
};

static struct recording_event asks_on_node1[] = {
    {0 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},     {2 * SECOND, A, PROTOCOL_EVENT_DISCARDED, 0},
    {4 * SECOND, A, PROTOCOL_EVENT_DISCARDED, 0},    {4 * SECOND, B, PROTOCOL_EVENT_GRANTED, 0},
    {5 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 9900}, {5 * SECOND, A, PROTOCOL_EVENT_GRANTED, 0},
    {9 * SECOND, A, PROTOCOL_EVENT_LEFT, 0},
};

static void a_request_is_false_where_no_other_node_runs_the_job(void **state)
{
    (void)state;
    static const struct recording both[] = {RECORDING("node0", out_on_node0),
                                            RECORDING("node1", asks_on_node1)};
    struct timeline timeline;
    assert_int_equal(timeline_build(both, 2, &timeline, &err), 0);
    struct timeline_requests requests = timeline_requests(&timeline, 0);
    assert_int_equal(requests.made, 3);
    assert_int_equal(requests.granted, 1);
    assert_int_equal(requests.false_, 2);
    timeline_free(&timeline);
}

// node1's recording goes on for a minute after node0's has been read.
static struct recording_event for_a_minute[] = {
    {0 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {4 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {9 * SECOND, A, PROTOCOL_EVENT_DISCARDED, 0},
    {60 * SECOND, A, PROTOCOL_EVENT_DISCARDED, 0},
};

static struct recording_event for_five_seconds[] = {
    {0 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {2 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {5 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
};

static void what_came_after_a_recording_is_not_known(void **state)
{
    (void)state;
    struct recording both[] = {RECORDING("node0", for_five_seconds),
                               RECORDING("node1", for_a_minute)};
    struct timeline timeline;
    double fraction = -1;
    both[0].until_ns = 10 * SECOND;
    both[1].until_ns = 61 * SECOND;
    assert_int_equal(timeline_build(both, 2, &timeline, &err), 0);
    assert_span(&timeline.lanes[0], 2, 5, 10, SPAN_IDLE);
    assert_span(&timeline.lanes[1], 1, 4, 60, SPAN_IDLE); // up to the last event of all
    // Somewhere from 0 to 5, everywhere from 2 to 4.
    assert_true(timeline_coscheduled(&timeline, 0, &fraction));
    assert_float_equal(fraction, 2.0 / 5, 1e-9);
    struct timeline_requests requests = timeline_requests(&timeline, 0);
    assert_int_equal(requests.made, 2);
    assert_int_equal(requests.false_, 1); // the one at 9 s
    timeline_free(&timeline);

    both[0].until_ns = 0; // written before recordings had an end
    assert_int_equal(timeline_build(both, 2, &timeline, &err), 0);
    assert_span(&timeline.lanes[0], 2, 5, 60, SPAN_IDLE);
    timeline_free(&timeline);
}

static void of_what_was_lost_no_request_is_false(void **state)
{
    (void)state;
    struct recording both[] = {RECORDING("node0", for_five_seconds),
                               RECORDING("node1", asks_on_node1)};
    struct timeline timeline;
    both[0].events = for_five_seconds + 2; // from 5 s on
    both[0].event_count = 1;
    for (uint64_t lost = 0; lost < 2; lost++) {
        both[0].lost = lost;
        assert_int_equal(timeline_build(both, 2, &timeline, &err), 0);
        // At 2, 4 and 5 s.
        assert_int_equal(timeline_requests(&timeline, 0).false_, lost == 0 ? 3 : 1);
        timeline_free(&timeline);
    }
}

static struct recording_event of_b_alone[] = {
    {0 * SECOND, B, PROTOCOL_EVENT_IDLE, 10000},
    {9 * SECOND, B, PROTOCOL_EVENT_LEFT, 0},
};

// Nor beside a node on which the job is not.
static void of_one_node_alone_no_request_is_false(void **state)
{
    (void)state;
    static const struct recording both[] = {RECORDING("node1", asks_on_node1),
                                            RECORDING("node2", of_b_alone)};
    struct timeline timeline;
    for (size_t count = 1; count <= 2; count++) {
        assert_int_equal(timeline_build(both, count, &timeline, &err), 0);
        struct timeline_requests requests = timeline_requests(&timeline, 0);
        assert_int_equal(requests.made, 3);
        assert_int_equal(requests.false_, 0);
        timeline_free(&timeline);
    }
}

static void delays_are_from_the_first_node_to_the_last(void **state)
{
    (void)state;
    struct timeline timeline;
    struct timeline_delays delays;
    assert_int_equal(timeline_build(nodes, 2, &timeline, &err), 0);
    assert_int_equal(timeline_delays(&timeline, 0, &delays, &err), 0); // was never idle everywhere
    assert_int_equal(delays.count, 0);
    assert_int_equal(delays.never, 0);
    timeline_delays_free(&delays);
    assert_int_equal(timeline_delays(&timeline, 1, &delays, &err), 0);
    assert_int_equal(delays.count, 1);
    assert_int_equal(delays.ns[0], SECOND / 2);
    assert_int_equal(delays.never, 0);
    timeline_delays_free(&delays);
    timeline_free(&timeline);

    assert_int_equal(timeline_build(nodes, 1, &timeline, &err), 0);
    assert_int_equal(timeline_delays(&timeline, 1, &delays, &err), 0);
    assert_int_equal(delays.count + delays.never, 0);
    timeline_delays_free(&delays);
    timeline_free(&timeline);
}

// a is idle on both nodes from 1 to 3, and again from 4 on.
static struct recording_event swaps_on_node0[] = {
    {1 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000}, {3 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {4 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000}, {5 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {6 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000}, {7 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {8 * SECOND, A, PROTOCOL_EVENT_LEFT, 0},
};
static struct recording_event swaps_on_node1[] = {
    {1 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {5 * SECOND, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {6 * SECOND, A, PROTOCOL_EVENT_IDLE, 10000},
    {7 * SECOND + 7, A, PROTOCOL_EVENT_SCHEDULED, 990000},
    {8 * SECOND, A, PROTOCOL_EVENT_LEFT, 0},
};
static const struct recording swaps[] = {RECORDING("node0", swaps_on_node0),
                                         RECORDING("node1", swaps_on_node1)};

static void turns_that_end_on_one_node_are_counted_apart(void **state)
{
    (void)state;
    struct timeline timeline;
    struct timeline_delays delays;
    assert_int_equal(timeline_build(swaps, 2, &timeline, &err), 0);
    assert_int_equal(timeline_delays(&timeline, 0, &delays, &err), 0);
    assert_int_equal(delays.count, 2);
    assert_int_equal(delays.ns[0], 0);
    assert_int_equal(delays.ns[1], 7);
    assert_int_equal(delays.never, 1);
    timeline_delays_free(&delays);
    timeline_free(&timeline);
}

// A file may name fewer jobs than it has events of.
static void a_job_has_a_lane_also_where_it_has_no_name(void **state)
{
    enum { NODES = 100 };
    struct recording many[NODES];
    struct timeline timeline;
    (void)state;
    for (size_t i = 0; i < NODES; i++) {
        many[i] = nodes[0];
        many[i].job_count = i == 0 ? nodes[0].job_count : 0;
    }
    assert_int_equal(timeline_build(many, NODES, &timeline, &err), 0);
    assert_int_equal(timeline.job_count, 2);
    assert_int_equal(timeline.lane_count, 2 * NODES);
    assert_int_equal(timeline.lanes[2 * NODES - 1].node, NODES - 1);
    timeline_free(&timeline);
}

static void nothing_recorded_is_said(void **state)
{
    (void)state;
    struct timeline timeline;
    struct recording empty = {.node = "node0"};
    assert_int_equal(timeline_build(&empty, 1, &timeline, &err), -1);
    assert_int_equal(err.code, ENODATA);
}

static char *written(int (*write)(void *user, FILE *stream), void *user)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(write(user, stream), 0);
    fclose(stream);
    return text;
}

static int write_recording(void *user, FILE *stream)
{
    return recording_write(user, stream, &err);
}

static int read_text(const char *text, struct recording *recording)
{
    char path[] = "/tmp/cosched-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    int rc = recording_read(path, recording, &err);
    unlink(path);
    return rc;
}

static void a_file_gives_back_what_was_written(void **state)
{
    (void)state;
    struct recording again, first = nodes[0];
    first.until_ns = 21 * SECOND;
    first.lost = 3;
    char *text = written(write_recording, &first);
    assert_int_equal(read_text(text, &again), 0);
    assert_true(again.until_ns == 21 * SECOND && again.lost == 3);
    assert_string_equal(again.node, "node0");
    assert_int_equal(again.job_count, 2);
    assert_string_equal(again.jobs[1].job_id, "b");
    assert_int_equal(again.event_count, nodes[0].event_count);
    for (size_t i = 0; i < again.event_count; i++) {
        assert_true(again.events[i].at_ns == on_node0[i].at_ns);
        assert_true(again.events[i].job == on_node0[i].job);
        assert_int_equal(again.events[i].kind, on_node0[i].kind);
        assert_int_equal(again.events[i].value, on_node0[i].value);
    }
    recording_free(&again);
    free(text);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
#define FILE_OF_NODE(node, jobs, events)                                                           \
    "{\"format\":\"cosched trace\",\"version\":1,\"node\":\"" node "\",\"lost\":0,\"jobs\":[" jobs \
    "],\"events\":[" events "]}"
#define FILE_WITH(jobs, events) FILE_OF_NODE("n", jobs, events)
    static const char *const bad[] = {
        "",
        "{}",
        "[1]",
        "{\"format\":\"other\",\"version\":1,\"node\":\"n\",\"lost\":0,\"jobs\":[],\"events\":[]}",
        "{\"format\":\"cosched trace\",\"version\":2,\"node\":\"n\",\"lost\":0,\"jobs\":[],"
        "\"events\":[]}",
        FILE_WITH("{\"job\":\"1\",\"uid\":1,\"job_id\":\"../x\"}", ""),
        FILE_WITH("{\"job\":\"zz\",\"uid\":1,\"job_id\":\"x\"}", ""),
        FILE_WITH("{\"job\":\"1\",\"uid\":-1,\"job_id\":\"x\"}", ""),
        FILE_WITH("", "[1,\"0\",99,0]"),
        FILE_WITH("", "[1,\"0\",8]"),
        FILE_WITH("", "[-1,\"0\",8,0]"),
        FILE_WITH("", "[2,\"0\",8,0],[1,\"0\",8,0]"),
        "{\"format\":\"cosched "
        "trace\",\"version\":1,\"node\":\"n\",\"lost\":0,\"until\":1,\"jobs\":[],"
        "\"events\":[[2,\"0\",8,0]]}",
        FILE_OF_NODE("\\u001b[2J", "", ""), // which would clear the terminal that it is named on
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct recording recording;
        assert_int_equal(read_text(bad[i], &recording), -1);
        assert_int_equal(err.code, EBADMSG);
        assert_null(recording.events);
    }
}

static void names_of_nodes_fit_into_files(void **state)
{
    (void)state;
    char longest[RECORDING_NODE_MAX + 1] = {0};
    memset(longest, 'n', RECORDING_NODE_MAX - 1);
    assert_int_equal(recording_check_node("node0", &err), 0);
    assert_int_equal(recording_check_node(longest, &err), 0);
    longest[RECORDING_NODE_MAX - 1] = 'n';
    assert_int_equal(recording_check_node(longest, &err), -1);
    assert_int_equal(recording_check_node("\xe9", &err), -1); // not UTF-8
    assert_int_equal(recording_check_node("Knoten-\xc3\xa4\xc2\xa0", &err), 0);
    static const char *const controls[] = {"\x1b[2J",  "a\n",       "\x7f",
                                           "\xc2\x80", "a\xc2\x9b", "\xc2"};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        assert_int_equal(recording_check_node(controls[i], &err), -1);
}

static int write_json(void *user, FILE *stream)
{
    return chart_json(user, stream, &err);
}

static int write_svg(void *user, FILE *stream)
{
    return chart_svg(user, stream, &err);
}

static void the_json_chart_has_every_span_and_request(void **state)
{
    (void)state;
    struct timeline timeline;
    assert_int_equal(timeline_build(nodes, 2, &timeline, &err), 0);
    char *text = written(write_json, &timeline);
    json_t *whole = json_loads(text, 0, NULL), *event;
    size_t index, spans = 0, discarded = 0;
    assert_non_null(whole);
    assert_non_null(strstr(text, "\"a of 2000000001\""));
    json_array_foreach(json_object_get(whole, "traceEvents"), index, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        const char *name = json_string_value(json_object_get(event, "name"));
        spans += strcmp(phase, "X") == 0;
        discarded += strcmp(name, "request discarded") == 0;
        if (strcmp(phase, "X") == 0 && strcmp(name, "idle") == 0 &&
            json_integer_value(json_object_get(event, "tid")) == 0 &&
            json_integer_value(json_object_get(event, "pid")) == 0) {
            assert_float_equal(json_number_value(json_object_get(event, "ts")), 4e6, 1);
            assert_float_equal(json_number_value(json_object_get(event, "dur")), 2e6, 1);
        }
    }
    assert_int_equal(spans, 12);
    assert_int_equal(discarded, 1);
    json_decref(whole);
    free(text);
    timeline_free(&timeline);
}

static void the_svg_chart_shows_lanes_and_fractions(void **state)
{
    (void)state;
    struct timeline timeline;
    size_t rectangles = 0;
    assert_int_equal(timeline_build(nodes, 2, &timeline, &err), 0);
    char *text = written(write_svg, &timeline);
    for (const char *at = text; (at = strstr(at, "<rect x=")) != NULL; at++)
        rectangles++;
    assert_int_equal(rectangles, 12);
    assert_non_null(strstr(text, "a of 2000000001: 80.0 % coscheduled"));
    assert_non_null(strstr(text, "b of 2000000002: 75.0 % coscheduled"));
    assert_non_null(strstr(text, "</svg>"));
    free(text);
    timeline_free(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_become_spans),
        cmocka_unit_test(the_coscheduled_fraction_is_what_nodes_have_in_common),
        cmocka_unit_test(a_request_is_false_where_no_other_node_runs_the_job),
        cmocka_unit_test(what_came_after_a_recording_is_not_known),
        cmocka_unit_test(of_what_was_lost_no_request_is_false),
        cmocka_unit_test(of_one_node_alone_no_request_is_false),
        cmocka_unit_test(delays_are_from_the_first_node_to_the_last),
        cmocka_unit_test(turns_that_end_on_one_node_are_counted_apart),
        cmocka_unit_test(a_job_has_a_lane_also_where_it_has_no_name),
        cmocka_unit_test(nothing_recorded_is_said),
        cmocka_unit_test(a_file_gives_back_what_was_written),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(names_of_nodes_fit_into_files),
        cmocka_unit_test(the_json_chart_has_every_span_and_request),
        cmocka_unit_test(the_svg_chart_shows_lanes_and_fractions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
