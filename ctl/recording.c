#include "ctl/recording.h"

#include "common/client.h"
#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 3000, EVENTS_MAX = 1 << 22, JOBS_MAX = 1 << 16, JOB_TEXT_MAX = 24 };

// Of UTF-8, in which U+0080 to U+009F are two bytes each.
static bool moves_no_cursor(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at < ' ' || *at == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0))
            return false;
    }
    return true;
}

int recording_check_node(const char *node, struct error *err)
{
    bool fits = strlen(node) < RECORDING_NODE_MAX && moves_no_cursor(node);
    json_t *text = fits ? json_string(node) : NULL; // UTF-8 only
    json_decref(text);
    if (text != NULL)
        return 0;
    return error_set(err, EINVAL,
                     "the node's name must be UTF-8 of at most %d bytes, without control "
                     "characters",
                     RECORDING_NODE_MAX - 1);
}

void recording_free(struct recording *recording)
{
    free(recording->jobs);
    free(recording->events);
    *recording = (struct recording){0};
}

static int add_event(struct recording *recording, size_t *room, const struct recording_event *event,
                     struct error *err)
{
    if (recording->event_count == *room) {
        *room = *room > 0 ? 2 * *room : 1024;
        void *longer = realloc(recording->events, *room * sizeof *recording->events);
        if (longer == NULL)
            return error_errno(err, ENOMEM, "events of %s", recording->node);
        recording->events = longer;
    }
    recording->events[recording->event_count++] = *event;
    return 0;
}

static int add_job(struct recording *recording, const struct recording_job *job, struct error *err)
{
    void *longer = realloc(recording->jobs, (recording->job_count + 1) * sizeof *recording->jobs);
    if (longer == NULL)
        return error_errno(err, ENOMEM, "jobs of %s", recording->node);
    recording->jobs = longer;
    recording->jobs[recording->job_count++] = *job;
    return 0;
}

// ---- from classd

static int ask(int fd, enum protocol_query kind, uint32_t index, struct protocol_reply *reply,
               struct error *err)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, index + 1);
    request.query.kind = kind;
    request.query.index = index;
    if (client_transact(fd, &request, reply, NULL, TIMEOUT_MS, err) == 0)
        return 0;
    if (reply->header.status == EPERM)
        error_set(err, EPERM, "only root and [daemon] service_user may read the trace");
    return -1;
}

// One offset for all, as classd reads the clocks anew for each reply.
static struct recording_event event_of(const struct protocol_event *event, int64_t wall_offset_ns)
{
    return (struct recording_event){.at_ns = event->at_ns + (uint64_t)wall_offset_ns,
                                    .job = event->job,
                                    .kind = event->kind,
                                    .value = event->value};
}

// What was overwritten while it was read is lost with all that came before: an event is followed by
// the one that came next.
static void drop_before(struct recording *recording, uint64_t next, uint64_t first)
{
    if (first == next)
        return;
    recording->lost += first - next + recording->event_count;
    recording->event_count = 0;
}

static int fetch_events(int fd, struct recording *recording, bool *goes_on, struct error *err)
{
    size_t room = 0;
    uint64_t next = 0, end = UINT64_MAX; // what is added meanwhile is left for the next time
    int64_t wall_offset_ns = 0;
    while (next < end) {
        struct protocol_reply reply;
        if (ask(fd, PROTOCOL_QUERY_TRACE, (uint32_t)next, &reply, err) < 0)
            return -1;
        const struct protocol_events *events = &reply.events;
        if (end == UINT64_MAX) {
            end = events->end;
            wall_offset_ns = events->wall_offset_ns;
            *goes_on = events->recording != 0;
        }
        if (events->end < end || (events->count == 0 && next < end))
            return error_set(err, EAGAIN,
                             "the trace was started anew while it was read: read it again");
        if (events->first < next)
            return error_set(err, EPROTO, "classd's trace is not in order");
        drop_before(recording, next, events->first);
        for (uint32_t i = 0; i < events->count; i++) {
            struct recording_event event = event_of(&events->events[i], wall_offset_ns);
            if (add_event(recording, &room, &event, err) < 0)
                return -1;
        }
        next = events->first + events->count;
    }
    return 0;
}

static int fetch_jobs(int fd, struct recording *recording, struct error *err)
{
    for (uint32_t i = 0; i < JOBS_MAX; i++) {
        struct protocol_reply reply;
        if (ask(fd, PROTOCOL_QUERY_TRACE_JOB, i, &reply, err) < 0)
            return reply.header.status == ENOENT ? 0 : -1;
        struct recording_job job = {.job = reply.event_job.job, .uid = reply.event_job.uid};
        memcpy(job.job_id, reply.event_job.job_id, sizeof job.job_id);
        if (add_job(recording, &job, err) < 0)
            return -1;
    }
    return 0;
}

// What came after the first question is not all there. A stopped recording knows of nothing after
// its last event, and no recording ends before that, whatever has become of the clock.
static uint64_t known_until_ns(const struct recording *recording, uint64_t asked_ns, bool goes_on)
{
    uint64_t last_ns =
        recording->event_count > 0 ? recording->events[recording->event_count - 1].at_ns : 0;
    return goes_on && asked_ns > last_ns ? asked_ns : last_ns;
}

int recording_fetch(int fd, const char *node, struct recording *recording, struct error *err)
{
    *recording = (struct recording){0};
    if (recording_check_node(node, err) < 0)
        return -1;
    snprintf(recording->node, sizeof recording->node, "%s", node);
    uint64_t asked_ns = clock_wall_ns();
    bool goes_on = false;
    if (fetch_events(fd, recording, &goes_on, err) == 0 && fetch_jobs(fd, recording, err) == 0) {
        recording->until_ns = known_until_ns(recording, asked_ns, goes_on);
        return 0;
    }
    recording_free(recording);
    return -1;
}

// ---- files

// All 64 bits, more than many JSON readers keep of a number.
static json_t *json_number(uint64_t number)
{
    char text[JOB_TEXT_MAX];
    snprintf(text, sizeof text, "%016" PRIx64, number);
    return json_string(text);
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 16);
    return errno == 0 && end != text && *end == '\0';
}

int recording_write(const struct recording *recording, FILE *stream, struct error *err)
{
    json_t *jobs = json_array(), *events = json_array();
    int left_out = 0;
    for (size_t i = 0; i < recording->job_count; i++) {
        const struct recording_job *job = &recording->jobs[i];
        left_out |= json_array_append_new(
            jobs, json_pack("{s:o, s:I, s:s}", "job", json_number(job->job), "uid",
                            (json_int_t)job->uid, "job_id", job->job_id));
    }
    for (size_t i = 0; i < recording->event_count; i++) {
        const struct recording_event *event = &recording->events[i];
        left_out |= json_array_append_new(
            events, json_pack("[I, o, I, I]", (json_int_t)event->at_ns, json_number(event->job),
                              (json_int_t)event->kind, (json_int_t)event->value));
    }
    json_t *whole =
        json_pack("{s:s, s:i, s:s, s:I, s:I, s:o, s:o}", "format", "cosched trace", "version", 1,
                  "node", recording->node, "lost", (json_int_t)recording->lost, "until",
                  (json_int_t)recording->until_ns, "jobs", jobs, "events", events);
    errno = 0;
    int rc = whole != NULL && left_out == 0 ? json_dumpf(whole, stream, JSON_COMPACT) : -1;
    json_decref(whole);
    if (rc < 0 || fputc('\n', stream) == EOF || fflush(stream) == EOF)
        return error_errno(err, errno != 0 ? errno : ENOMEM, "write the trace");
    return 0;
}

static int read_jobs(const json_t *list, struct recording *recording, struct error *err)
{
    size_t index;
    json_t *entry;
    json_array_foreach(list, index, entry)
    {
        struct recording_job job = {0};
        const char *number = NULL, *job_id = NULL;
        json_int_t uid = 0;
        if (json_unpack(entry, "{s:s, s:I, s:s}", "job", &number, "uid", &uid, "job_id", &job_id) <
                0 ||
            !parse_number(number, &job.job) || strlen(job_id) >= sizeof job.job_id || uid < 0 ||
            uid > UINT32_MAX || index >= JOBS_MAX)
            return error_set(err, EBADMSG, "job %zu is not one", index);
        job.uid = (uint32_t)uid;
        snprintf(job.job_id, sizeof job.job_id, "%s", job_id);
        if (!protocol_job_id_valid(job.job_id))
            return error_set(err, EBADMSG, "job %zu has an invalid id", index);
        if (add_job(recording, &job, err) < 0)
            return -1;
    }
    return 0;
}

static int read_events(const json_t *list, struct recording *recording, struct error *err)
{
    size_t index, room = 0;
    json_t *entry;
    json_array_foreach(list, index, entry)
    {
        struct recording_event event = {0};
        const char *number = NULL;
        json_int_t at = 0, kind = 0, value = 0;
        if (json_unpack(entry, "[I, s, I, I]", &at, &number, &kind, &value) < 0 ||
            !parse_number(number, &event.job) || at < 0 || kind < PROTOCOL_EVENT_CAME ||
            kind > PROTOCOL_EVENT_SWITCH || value < 0 || value > UINT32_MAX || index >= EVENTS_MAX)
            return error_set(err, EBADMSG, "event %zu is not one", index);
        event.at_ns = (uint64_t)at;
        event.kind = (uint32_t)kind;
        event.value = (uint32_t)value;
        if (index > 0 && event.at_ns < recording->events[index - 1].at_ns)
            return error_set(err, EBADMSG, "event %zu is earlier than the one before", index);
        if (add_event(recording, &room, &event, err) < 0)
            return -1;
    }
    return 0;
}

static int read_whole(const json_t *whole, struct recording *recording, struct error *err)
{
    const char *format = NULL, *node = NULL;
    json_int_t version = 0, lost = 0, until = 0;
    json_t *jobs = NULL, *events = NULL;
    struct error fault = {0};
    if (json_unpack((json_t *)whole, "{s:s, s:I, s:s, s:I, s?I, s:o, s:o}", "format", &format,
                    "version", &version, "node", &node, "lost", &lost, "until", &until, "jobs",
                    &jobs, "events", &events) < 0 ||
        strcmp(format, "cosched trace") != 0)
        return error_set(err, EBADMSG, "not a trace of \"coschedctl trace dump\"");
    if (version != 1)
        return error_set(err, EBADMSG, "trace of version %d; this program reads version 1",
                         (int)version);
    if (recording_check_node(node, &fault) < 0) // it may have been written by anybody
        return error_set(err, EBADMSG, "%s", fault.text);
    snprintf(recording->node, sizeof recording->node, "%s", node);
    recording->lost = lost > 0 ? (uint64_t)lost : 0;
    recording->until_ns = until > 0 ? (uint64_t)until : 0;
    if (read_jobs(jobs, recording, err) < 0 || read_events(events, recording, err) < 0)
        return -1;
    if (until != 0 && recording->event_count > 0 &&
        recording->until_ns < recording->events[recording->event_count - 1].at_ns)
        return error_set(err, EBADMSG, "it has events that are later than its end");
    return 0;
}

int recording_read(const char *path, struct recording *recording, struct error *err)
{
    json_error_t fault;
    *recording = (struct recording){0};
    json_t *whole = json_load_file(path, 0, &fault);
    if (whole == NULL)
        return error_set(err, EBADMSG, "%s: %s", path, fault.text);
    int rc = read_whole(whole, recording, err);
    json_decref(whole);
    if (rc == 0)
        return 0;
    recording_free(recording);
    return error_context(err, "%s", path);
}
