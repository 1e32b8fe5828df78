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

void trace_event(trace_t *trace, enum protocol_event_kind kind, uint64_t job, uint32_t value,
                 uint64_t now_ns)
{
    if (!trace->recording)
        return;
    trace->ring[trace->end++ % trace->capacity] = (struct protocol_event){
        .at_ns = now_ns, .job = job, .kind = (uint32_t)kind, .value = value};
}

static bool is_named(const struct trace *trace, uint64_t job)
{
    for (uint32_t i = 0; i < trace->job_count; i++) {
        if (trace->jobs[i].job == job)
            return true;
    }
    return false;
}

void trace_job(trace_t *trace, uint64_t job, uid_t uid, const char *job_id, uint32_t width,
               uint64_t now_ns)
{
    if (!trace->recording)
        return;
    if (trace->job_count < TRACE_JOBS_MAX && !is_named(trace, job)) {
        struct protocol_event_job *named = &trace->jobs[trace->job_count++];
        *named = (struct protocol_event_job){.job = job, .uid = (uint32_t)uid};
        snprintf(named->job_id, sizeof named->job_id, "%s", job_id);
    }
    trace_event(trace, PROTOCOL_EVENT_CAME, job, width, now_ns);
}

void trace_read(const trace_t *trace, uint64_t first, struct protocol_events *events)
{
    uint64_t oldest = trace->end > trace->capacity ? trace->end - trace->capacity : 0;
    if (first < oldest)
        first = oldest;
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
