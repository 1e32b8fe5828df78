#include "ctl/trace.h"

#include "common/cleanup.h"
#include "common/units.h"
#include "ctl/chart.h"
#include "ctl/recording.h"
#include "ctl/talk.h"
#include "ctl/user.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 1024 };

static int switch_trace(const struct config *config, bool on, uint64_t capacity, struct error *err)
{
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_trace(fd, on, (uint32_t)capacity, err) < 0)
        return -1;
    puts(on ? "recording" : "stopped");
    return 0;
}

static int fetch(const struct config *config, const char *name, struct recording *recording,
                 struct error *err)
{
    char host[RECORDING_NODE_MAX] = "node";
    gethostname(host, sizeof host - 1);
    cleanup_close int fd = talk_connect(config, err);
    return fd < 0 ? -1 : recording_fetch(fd, name != NULL ? name : host, recording, err);
}

static int dump(const struct config *config, const char *name, struct error *err)
{
    struct recording recording;
    if (fetch(config, name, &recording, err) < 0)
        return -1;
    int rc = recording_write(&recording, stdout, err);
    recording_free(&recording);
    return rc;
}

#define JOB_HEADING "%-40s %-10s"

// The beginning of a line.
static void print_name(const struct recording_job *job)
{
    char user[USER_NAME_MAX];
    user_name(job->uid, user);
    printf(JOB_HEADING, job->job_id, user);
}

static int print_coscheduled(struct timeline *timeline)
{
    for (size_t job = 0; job < timeline->job_count; job++) {
        double fraction;
        print_name(&timeline->jobs[job]);
        if (timeline_coscheduled(timeline, job, &fraction))
            printf(" %.3f\n", fraction);
        else
            puts(" -");
    }
    return 0;
}

static int print_requests(struct timeline *timeline)
{
    printf(JOB_HEADING " %8s %8s %8s\n", "JOB", "USER", "REQUESTS", "GRANTED", "FALSE");
    for (size_t job = 0; job < timeline->job_count; job++) {
        struct timeline_requests requests = timeline_requests(timeline, job);
        print_name(&timeline->jobs[job]);
        printf(" %8zu %8zu %8zu\n", requests.made, requests.granted, requests.false_);
    }
    return 0;
}

// The smallest delay that `part` of the delays do not exceed, in milliseconds.
static double quantile_ms(const struct timeline_delays *delays, double part)
{
    size_t rank = (size_t)ceil(part * (double)delays->count);
    return (double)delays->ns[rank > 0 ? rank - 1 : 0] / (double)NS_PER_MS;
}

static int print_delays(struct timeline *timeline, struct error *err)
{
    printf(JOB_HEADING " %6s %9s %9s %9s %9s %6s\n", "JOB", "USER", "TIMES", "MEDIAN", "P90", "P99",
           "MAX", "NEVER");
    for (size_t job = 0; job < timeline->job_count; job++) {
        struct timeline_delays delays;
        if (timeline_delays(timeline, job, &delays, err) < 0)
            return -1;
        print_name(&timeline->jobs[job]);
        printf(" %6zu", delays.count);
        if (delays.count > 0)
            printf(" %6.1f ms %6.1f ms %6.1f ms %6.1f ms", quantile_ms(&delays, 0.5),
                   quantile_ms(&delays, 0.9), quantile_ms(&delays, 0.99), quantile_ms(&delays, 1));
        else
            printf(" %9s %9s %9s %9s", "-", "-", "-", "-");
        printf(" %6zu\n", delays.never);
        timeline_delays_free(&delays);
    }
    return 0;
}

// On standard error: standard output may be a picture.
static void tell_lost(const struct recording *recordings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (recordings[i].lost > 0)
            fprintf(stderr,
                    "coschedctl: %s: the first %" PRIu64 " events are missing, as more came than "
                    "were kept; see \"trace start EVENTS\"\n",
                    recordings[i].node, recordings[i].lost);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

static size_t count_unnamed(const struct recording *recording, const uint64_t *named, size_t count)
{
    size_t unnamed = 0;
    for (size_t i = 0; i < recording->event_count; i++) {
        const uint64_t *number = &recording->events[i].job;
        unnamed += *number != 0 && (count == 0 || bsearch(number, named, count, sizeof *named,
                                                          compare_numbers) == NULL);
    }
    return unnamed;
}

static int tell_unnamed(const struct timeline *timeline, struct error *err)
{
    uint64_t *named = calloc(timeline->job_count + 1, sizeof *named);
    if (named == NULL)
        return error_errno(err, ENOMEM, "trace");
    for (size_t i = 0; i < timeline->job_count; i++)
        named[i] = timeline->jobs[i].job;
    qsort(named, timeline->job_count, sizeof *named, compare_numbers);
    for (size_t i = 0; i < timeline->node_count; i++) {
        const struct recording *recording = &timeline->recordings[i];
        size_t unnamed = count_unnamed(recording, named, timeline->job_count);
        if (unnamed > 0)
            fprintf(stderr,
                    "coschedctl: %s: %zu events are left out, as they are of jobs that the trace "
                    "has no room to name; start it anew\n",
                    recording->node, unnamed);
    }
    free(named);
    return 0;
}

static int draw(const char *what, const struct recording *recordings, size_t count,
                struct error *err)
{
    struct timeline timeline;
    tell_lost(recordings, count);
    if (timeline_build(recordings, count, &timeline, err) < 0)
        return -1;
    int rc = tell_unnamed(&timeline, err) != 0 ? -1
             : strcmp(what, "json") == 0       ? chart_json(&timeline, stdout, err)
             : strcmp(what, "svg") == 0        ? chart_svg(&timeline, stdout, err)
             : strcmp(what, "delays") == 0     ? print_delays(&timeline, err)
             : strcmp(what, "requests") == 0   ? print_requests(&timeline)
                                               : print_coscheduled(&timeline);
    timeline_free(&timeline);
    return rc;
}

// `what`: json, svg, coscheduled, delays or requests.
static int show(const struct config *config, const char *what, int count, char *const *files,
                struct error *err)
{
    struct recording *recordings = calloc((size_t)count + 1, sizeof *recordings);
    if (recordings == NULL)
        return error_errno(err, ENOMEM, "trace");
    int rc = count == 0 ? fetch(config, NULL, &recordings[0], err) : 0;
    for (int i = 0; i < count && rc == 0; i++)
        rc = recording_read(files[i], &recordings[i], err);
    if (rc == 0)
        rc = draw(what, recordings, count == 0 ? 1 : (size_t)count, err);
    for (int i = 0; i <= count; i++)
        recording_free(&recordings[i]);
    free(recordings);
    return rc;
}

static bool is_picture(const char *word)
{
    return strcmp(word, "json") == 0 || strcmp(word, "svg") == 0;
}

static bool is_report(const char *word)
{
    return strcmp(word, "coscheduled") == 0 || strcmp(word, "delays") == 0 ||
           strcmp(word, "requests") == 0;
}

static int parse_capacity(const char *text, uint64_t *capacity, struct error *err)
{
    if (units_parse_count(text, capacity, err) < 0)
        return -1;
    if (*capacity == 0 || *capacity > PROTOCOL_TRACE_EVENTS_MAX)
        return error_set(err, EINVAL, "%s events cannot be kept; give 1 to %u, or no number", text,
                         PROTOCOL_TRACE_EVENTS_MAX);
    return 0;
}

int trace_check(int count, char *const *arguments, struct error *err)
{
    const char *what = count > 0 ? arguments[0] : "";
    bool draws = strcmp(what, "export") == 0 && count >= 2 && is_picture(arguments[1]);
    uint64_t capacity;
    if (is_report(what) || draws)
        return count - (draws ? 2 : 1) > FILES_MAX
                   ? error_set(err, EINVAL, "more than %d files", FILES_MAX)
                   : 0;
    if (strcmp(what, "start") == 0 && count == 2)
        return parse_capacity(arguments[1], &capacity, err);
    if (strcmp(what, "dump") == 0 && count == 2)
        return recording_check_node(arguments[1], err);
    if ((strcmp(what, "start") == 0 && count == 1) || (strcmp(what, "stop") == 0 && count == 1) ||
        (strcmp(what, "dump") == 0 && count == 1))
        return 0;
    return error_set(err, EINVAL,
                     "trace start [EVENTS], stop, dump [NODE], export json|svg [FILE...], "
                     "coscheduled [FILE...], delays [FILE...] or requests [FILE...]");
}

int trace_command(const struct config *config, int count, char *const *arguments, struct error *err)
{
    uint64_t capacity = 0;
    if (trace_check(count, arguments, err) < 0)
        return -1;
    const char *what = arguments[0];
    if (strcmp(what, "start") == 0)
        return count == 2 && parse_capacity(arguments[1], &capacity, err) < 0
                   ? -1
                   : switch_trace(config, true, capacity, err);
    if (strcmp(what, "stop") == 0)
        return switch_trace(config, false, 0, err);
    if (strcmp(what, "dump") == 0)
        return dump(config, count == 2 ? arguments[1] : NULL, err);
    if (is_report(what))
        return show(config, what, count - 1, arguments + 1, err);
    return show(config, arguments[1], count - 2, arguments + 2, err);
}
