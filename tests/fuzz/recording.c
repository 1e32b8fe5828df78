// Dumps of other nodes, one in each line of the input, as coschedctl trace reads and draws them.
// What is taken must be the same again when it is written and read back, and whatever is made of
// all of them together must be in order.
#include "ctl/recording.h"

#include "common/cleanup.h"
#include "ctl/chart.h"
#include "ctl/timeline.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

enum { NODES_MAX = 8, PATH_ROOM = 128 };

static int read_back(int directory, const void *bytes, size_t size, struct recording *recording,
                     struct error *err)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/dump", scratch_path());
    scratch_write(directory, "dump", bytes, size);
    return recording_read(path, recording, err);
}

static void check_printable(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        REQUIRE(*at >= ' ' && *at != 0x7f && (at[0] != 0xc2 || at[1] >= 0xa0));
}

static void check_recording(const struct recording *recording)
{
    REQUIRE(memchr(recording->node, '\0', sizeof recording->node) != NULL);
    check_printable(recording->node);
    for (size_t i = 0; i < recording->job_count; i++)
        REQUIRE(protocol_job_id_valid(recording->jobs[i].job_id));
    for (size_t i = 0; i < recording->event_count; i++) {
        const struct recording_event *event = &recording->events[i];
        REQUIRE(event->kind >= PROTOCOL_EVENT_CAME && event->kind <= PROTOCOL_EVENT_SWITCH);
        REQUIRE(i == 0 || event->at_ns >= event[-1].at_ns);
        REQUIRE(recording->until_ns == 0 || event->at_ns <= recording->until_ns);
    }
}

static void check_written(int directory, const struct recording *recording)
{
    struct recording again;
    struct error err = {0};
    cleanup_free char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    REQUIRE(stream != NULL && recording_write(recording, stream, &err) == 0);
    fclose(stream);
    REQUIRE(read_back(directory, text, size, &again, &err) == 0);
    REQUIRE(strcmp(again.node, recording->node) == 0);
    REQUIRE(again.lost == recording->lost && again.until_ns == recording->until_ns);
    REQUIRE(again.job_count == recording->job_count);
    for (size_t i = 0; i < again.job_count; i++) {
        REQUIRE(again.jobs[i].job == recording->jobs[i].job);
        REQUIRE(again.jobs[i].uid == recording->jobs[i].uid);
        REQUIRE(strcmp(again.jobs[i].job_id, recording->jobs[i].job_id) == 0);
    }
    REQUIRE(again.event_count == recording->event_count);
    REQUIRE(again.event_count == 0 ||
            memcmp(again.events, recording->events, again.event_count * sizeof *again.events) == 0);
    recording_free(&again);
}

static void check_lanes(const struct timeline *timeline)
{
    REQUIRE(timeline->from_ns < timeline->to_ns);
    for (size_t i = 0; i < timeline->lane_count; i++) {
        const struct lane *lane = &timeline->lanes[i];
        uint64_t free_from_ns = timeline->from_ns;
        REQUIRE(lane->node < timeline->node_count && lane->job < timeline->job_count);
        REQUIRE(lane->span_count > 0);
        for (size_t k = 0; k < lane->span_count; k++) {
            REQUIRE(lane->spans[k].from_ns >= free_from_ns);
            REQUIRE(lane->spans[k].from_ns < lane->spans[k].to_ns);
            free_from_ns = lane->spans[k].to_ns;
        }
        REQUIRE(free_from_ns <= timeline->to_ns);
    }
}

static void check_figures(struct timeline *timeline)
{
    for (size_t job = 0; job < timeline->job_count; job++) {
        double fraction = 0;
        timeline_coscheduled(timeline, job, &fraction);
        REQUIRE(fraction >= 0 && fraction <= 1);
        struct timeline_requests requests = timeline_requests(timeline, job);
        REQUIRE(requests.granted <= requests.made && requests.false_ <= requests.made);
        struct timeline_delays delays;
        REQUIRE(timeline_delays(timeline, job, &delays, NULL) == 0);
        for (size_t i = 0; i < delays.count; i++) {
            REQUIRE(delays.ns[i] <= timeline->to_ns - timeline->from_ns);
            REQUIRE(i == 0 || delays.ns[i] >= delays.ns[i - 1]);
        }
        timeline_delays_free(&delays);
    }
}

static void check_charts(struct timeline *timeline)
{
    cleanup_free char *json = NULL, *svg = NULL;
    size_t json_size = 0, svg_size = 0;
    FILE *stream = open_memstream(&json, &json_size);
    REQUIRE(stream != NULL && chart_json(timeline, stream, NULL) == 0);
    fclose(stream);
    json_t *whole = json_loadb(json, json_size, 0, NULL);
    REQUIRE(json_array_size(json_object_get(whole, "traceEvents")) >= timeline->node_count);
    json_decref(whole);
    stream = open_memstream(&svg, &svg_size);
    REQUIRE(stream != NULL && chart_svg(timeline, stream, NULL) == 0);
    fclose(stream);
    REQUIRE(strlen(svg) == svg_size && svg_size > strlen("</svg>\n"));
    REQUIRE(strcmp(svg + svg_size - strlen("</svg>\n"), "</svg>\n") == 0);
}

static void check_together(const struct recording *recordings, size_t count)
{
    struct timeline timeline;
    struct error err = {0};
    if (timeline_build(recordings, count, &timeline, &err) < 0) {
        REQUIRE(err.code == ENODATA && err.text[0] != '\0');
        return;
    }
    check_lanes(&timeline);
    check_figures(&timeline);
    check_charts(&timeline);
    timeline_free(&timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recordings[NODES_MAX];
    struct input input = {data, size};
    size_t count = 0;
    cleanup_close int directory = scratch_open();
    while (input.left > 0 && count < NODES_MAX) {
        const uint8_t *end = memchr(input.at, '\n', input.left);
        size_t length = end != NULL ? (size_t)(end - input.at) : input.left;
        const uint8_t *line = input_bytes(&input, &length);
        struct error err = {0};
        input_byte(&input); // its end
        if (read_back(directory, line, length, &recordings[count], &err) == 0) {
            check_recording(&recordings[count]);
            check_written(directory, &recordings[count]);
            count++;
        } else {
            REQUIRE(err.code != 0 && err.text[0] != '\0');
        }
    }
    check_together(recordings, count);
    for (size_t i = 0; i < count; i++)
        recording_free(&recordings[i]);
    scratch_wipe(directory);
    return 0;
}
