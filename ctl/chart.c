#include "ctl/chart.h"

#include "common/units.h"
#include "ctl/user.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

// ---- Chrome/Perfetto

static double micros(const struct timeline *timeline, uint64_t at_ns)
{
    return (double)(at_ns - timeline->from_ns) / (double)NS_PER_US;
}

static const char *state_name(enum span_state state)
{
    return state == SPAN_SCHEDULED ? "scheduled" : state == SPAN_IDLE ? "idle" : "no limit";
}

enum { JOB_TEXT_MAX = PROTOCOL_JOB_ID_MAX + USER_NAME_MAX + 8 };

static void name_job(const struct recording_job *job, char text[JOB_TEXT_MAX])
{
    char user[USER_NAME_MAX];
    user_name(job->uid, user);
    snprintf(text, JOB_TEXT_MAX, "%s of %s", job->job_id, user);
}

// Returns 0, or -1 when something had no room; so do the two below.
static int add_names(json_t *events, const struct timeline *timeline)
{
    int rc = 0;
    for (size_t i = 0; i < timeline->node_count; i++)
        rc |= json_array_append_new(
            events, json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid",
                              (int)i, "args", "name", timeline->recordings[i].node));
    for (size_t i = 0; i < timeline->lane_count; i++) {
        const struct lane *lane = &timeline->lanes[i];
        char name[JOB_TEXT_MAX];
        name_job(&timeline->jobs[lane->job], name);
        rc |= json_array_append_new(
            events, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M",
                              "pid", (int)lane->node, "tid", (int)lane->job, "args", "name", name));
    }
    return rc;
}

static int add_spans(json_t *events, const struct timeline *timeline)
{
    int rc = 0;
    for (size_t i = 0; i < timeline->lane_count; i++) {
        const struct lane *lane = &timeline->lanes[i];
        for (size_t k = 0; k < lane->span_count; k++) {
            const struct span *span = &lane->spans[k];
            rc |= json_array_append_new(
                events, json_pack("{s:s, s:s, s:i, s:i, s:f, s:f}", "name", state_name(span->state),
                                  "ph", "X", "pid", (int)lane->node, "tid", (int)lane->job, "ts",
                                  micros(timeline, span->from_ns), "dur",
                                  micros(timeline, span->to_ns) - micros(timeline, span->from_ns)));
        }
    }
    return rc;
}

static const char *instant_name(uint32_t kind)
{
    switch ((enum protocol_event_kind)kind) {
    case PROTOCOL_EVENT_GRANTED:
        return "request granted";
    case PROTOCOL_EVENT_DISCARDED:
        return "request discarded";
    case PROTOCOL_EVENT_SWITCH:
        return "switch";
    default:
        return NULL;
    }
}

static int add_instants(json_t *events, const struct timeline *timeline)
{
    int rc = 0;
    for (size_t i = 0; i < timeline->node_count; i++) {
        const struct recording *recording = &timeline->recordings[i];
        for (size_t k = 0; k < recording->event_count; k++) {
            const struct recording_event *event = &recording->events[k];
            const char *name = instant_name(event->kind);
            size_t job = 0;
            while (job < timeline->job_count && timeline->jobs[job].job != event->job)
                job++;
            // Of a job without a name there is no row for it.
            if (name != NULL && (event->job == 0 || job < timeline->job_count))
                rc |= json_array_append_new(
                    events, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f}", "name", name, "ph", "i",
                                      "s", event->job == 0 ? "p" : "t", "pid", (int)i, "tid",
                                      (int)job, "ts", micros(timeline, event->at_ns)));
        }
    }
    return rc;
}

int chart_json(const struct timeline *timeline, FILE *stream, struct error *err)
{
    json_t *events = json_array();
    int left_out =
        add_names(events, timeline) | add_spans(events, timeline) | add_instants(events, timeline);
    json_t *whole = json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
    errno = 0;
    int rc = whole != NULL && left_out == 0
                 ? json_dumpf(whole, stream, JSON_COMPACT | JSON_REAL_PRECISION(15))
                 : -1;
    json_decref(whole);
    if (rc < 0 || fputc('\n', stream) == EOF || fflush(stream) == EOF)
        return error_errno(err, errno != 0 ? errno : ENOMEM, "write the chart");
    return 0;
}

// ---- SVG

enum {
    LABEL_WIDTH = 120,
    PLOT_WIDTH = 900,
    LANE_HEIGHT = 18,
    LANE_GAP = 3,
    TITLE_HEIGHT = 20,
    JOB_GAP = 8,
    TOP = 40,
    BOTTOM = 36,
};

static const char *const colours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                      "#66ccee", "#aa3377", "#777777"};

static const char *colour_of(size_t job)
{
    return colours[job % (sizeof colours / sizeof *colours)];
}

static double x_of(const struct timeline *timeline, uint64_t at_ns)
{
    return LABEL_WIDTH + (double)(at_ns - timeline->from_ns) /
                             (double)(timeline->to_ns - timeline->from_ns) * PLOT_WIDTH;
}

static void draw_text(FILE *stream, double x, double y, const char *anchor, const char *text)
{
    fprintf(stream, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", stream);
        else if (*text == '&')
            fputs("&amp;", stream);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, stream);
    }
    fputs("</text>\n", stream);
}

// Seconds between two marks of the axis: 1, 2 or 5 times a power of ten, some ten of them.
static double mark_interval(double length_s)
{
    double power = pow(10, floor(log10(length_s / 10)));
    double wanted = length_s / 10 / power;
    return power * (wanted <= 1 ? 1 : wanted <= 2 ? 2 : wanted <= 5 ? 5 : 10);
}

static void draw_axis(const struct timeline *timeline, FILE *stream, double bottom)
{
    double length_s = (double)(timeline->to_ns - timeline->from_ns) / (double)NS_PER_SEC;
    double interval_s = mark_interval(length_s);
    for (int i = 0; i * interval_s <= length_s; i++) {
        char text[32];
        double x = LABEL_WIDTH + i * interval_s / length_s * PLOT_WIDTH;
        snprintf(text, sizeof text, "%g s", i * interval_s);
        fprintf(stream, "<path class=\"mark\" d=\"M%.1f %d V%.1f\"/>\n", x, TOP - 6, bottom);
        draw_text(stream, x, bottom + 16, "middle", text);
    }
}

static void draw_lane(const struct timeline *timeline, const struct lane *lane, FILE *stream,
                      double y)
{
    for (size_t i = 0; i < lane->span_count; i++) {
        const struct span *span = &lane->spans[i];
        double from = x_of(timeline, span->from_ns), to = x_of(timeline, span->to_ns);
        double height = span->state == SPAN_IDLE ? 2 : LANE_HEIGHT;
        fprintf(stream,
                "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\" "
                "opacity=\"%s\"/>\n",
                from, y + LANE_HEIGHT - height, to - from, height, colour_of(lane->job),
                span->state == SPAN_FREE ? "0.35" : "1");
    }
}

static double draw_job(struct timeline *timeline, size_t job, FILE *stream, double y)
{
    char name[JOB_TEXT_MAX], text[JOB_TEXT_MAX + 32];
    double fraction;
    name_job(&timeline->jobs[job], name);
    if (timeline_coscheduled(timeline, job, &fraction))
        snprintf(text, sizeof text, "%s: %.1f %% coscheduled", name, 100 * fraction);
    else
        snprintf(text, sizeof text, "%s", name);
    draw_text(stream, LABEL_WIDTH, y + 14, "start", text);
    y += TITLE_HEIGHT;
    for (size_t i = 0; i < timeline->lane_count; i++) {
        const struct lane *lane = &timeline->lanes[i];
        if (lane->job != job)
            continue;
        draw_text(stream, LABEL_WIDTH - 6, y + 13, "end", timeline->recordings[lane->node].node);
        draw_lane(timeline, lane, stream, y);
        y += LANE_HEIGHT + LANE_GAP;
    }
    return y + JOB_GAP;
}

int chart_svg(struct timeline *timeline, FILE *stream, struct error *err)
{
    double bottom = TOP + (double)timeline->lane_count * (LANE_HEIGHT + LANE_GAP) +
                    (double)timeline->job_count * (TITLE_HEIGHT + JOB_GAP);
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\">\n"
            "<style>text{font:12px sans-serif} .mark{stroke:#999;stroke-width:.5}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            LABEL_WIDTH + PLOT_WIDTH + 30, bottom + BOTTOM);
    draw_text(stream, 6, 18, "start",
              "Full: the job holds the node's CPUs. Line: it waits. Pale: nothing is limited.");
    draw_axis(timeline, stream, bottom);
    double y = TOP;
    for (size_t job = 0; job < timeline->job_count; job++)
        y = draw_job(timeline, job, stream, y);
    fputs("</svg>\n", stream);
    if (fflush(stream) == EOF || ferror(stream))
        return error_errno(err, errno != 0 ? errno : EIO, "write the chart");
    return 0;
}
