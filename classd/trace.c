#include "classd/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace {
    struct protocol_event *ring;
    uint32_t capacity;
    uint64_t end; // number of the next event
    bool recording;
    struct protocol_event_job jobs[TRACE_JOBS_MAX];
    uint64_t last[TRACE_JOBS_MAX]; // number of the last event of each
    bool left[TRACE_JOBS_MAX];     // that event says that it has left
    uint32_t job_count;
};

trace_t *trace_new(void)
{
    return calloc(1, sizeof(struct trace));
}

void trace_free(trace_t *trace)
{
    if (trace != NULL)
        free(trace->ring);
    free(trace);
}

int trace_start(trace_t *trace, uint32_t capacity, struct error *err)
{
    if (capacity == 0)
        capacity = TRACE_CAPACITY_DEFAULT;
    if (capacity > TRACE_CAPACITY_MAX)
        return error_set(err, EINVAL, "a trace keeps at most %d events", TRACE_CAPACITY_MAX);
    struct protocol_event *ring = malloc(capacity * sizeof *ring);
    if (ring == NULL)
        return error_errno(err, ENOMEM, "trace of %u events", capacity);
    free(trace->ring);
    trace->ring = ring;
    trace->capacity = capacity;
    trace->end = 0;
    trace->job_count = 0;
    trace->recording = true;
    return 0;
}

void trace_stop(trace_t *trace)
{
    trace->recording = false;
}

bool trace_recording(const trace_t *trace)
{
    return trace->recording;
}

static uint32_t find_name(const struct trace *trace, uint64_t job)
{
    uint32_t i = 0;
    while (i < trace->job_count && trace->jobs[i].job != job)
        i++;
    return i;
}

void trace_event(trace_t *trace, enum protocol_event_kind kind, uint64_t job, uint32_t value,
                 uint64_t now_ns)
{
    if (!trace->recording)
        return;
    uint32_t name = job != 0 ? find_name(trace, job) : trace->job_count;
    if (name < trace->job_count) {
        trace->last[name] = trace->end;
        trace->left[name] = kind == PROTOCOL_EVENT_LEFT;
    }
    trace->ring[trace->end++ % trace->capacity] = (struct protocol_event){
        .at_ns = now_ns, .job = job, .kind = (uint32_t)kind, .value = value};
}

static uint64_t oldest_of(const struct trace *trace)
{
    return trace->end > trace->capacity ? trace->end - trace->capacity : 0;
}

// Where the name goes: in place of one that no event needs any more, when there is no more room. Of
// those who have left, if there are any: of others there may be events yet.
static struct protocol_event_job *place_name(struct trace *trace)
{
    struct protocol_event_job *place = NULL;
    if (trace->job_count < TRACE_JOBS_MAX)
        return &trace->jobs[trace->job_count++];
    for (uint32_t i = 0; i < trace->job_count; i++) {
        if (trace->last[i] >= oldest_of(trace))
            continue;
        if (trace->left[i])
            return &trace->jobs[i];
        place = place != NULL ? place : &trace->jobs[i];
    }
    return place;
}

void trace_job(trace_t *trace, uint64_t job, uid_t uid, const char *job_id, uint32_t width,
               uint64_t now_ns)
{
    if (!trace->recording)
        return;
    struct protocol_event_job *named =
        find_name(trace, job) == trace->job_count ? place_name(trace) : NULL;
    if (named != NULL) {
        *named = (struct protocol_event_job){.job = job, .uid = (uint32_t)uid};
        snprintf(named->job_id, sizeof named->job_id, "%s", job_id);
    }
    trace_event(trace, PROTOCOL_EVENT_CAME, job, width, now_ns);
}

uint64_t trace_number(uint32_t low, uint64_t oldest, uint64_t end)
{
    const uint64_t turn = UINT64_C(1) << 32;
    uint64_t number = oldest / turn * turn + low;
    if (number < oldest)
        number = number + turn < end ? number + turn : oldest;
    // Below the last multiple, from which on the oldest are: gone as well.
    return number > end && oldest >= turn ? oldest : number;
}

void trace_read(const trace_t *trace, uint32_t low, struct protocol_events *events)
{
    uint64_t first = trace_number(low, oldest_of(trace), trace->end);
    events->first = first;
    events->end = trace->end;
    events->count = 0;
    events->recording = trace->recording;
    for (; first < trace->end && events->count < PROTOCOL_EVENTS_MAX; first++)
        events->events[events->count++] = trace->ring[first % trace->capacity];
}

bool trace_job_at(const trace_t *trace, uint32_t index, struct protocol_event_job *job)
{
    if (index >= trace->job_count)
        return false;
    *job = trace->jobs[index];
    return true;
}
