// The recording of scheduling events: a ring of bounded size, off until it is asked for. Readers go
// by event number and may fall behind; what they missed is gone, and the scheduler never waits.
#ifndef COSCHED_CLASSD_TRACE_H
#define COSCHED_CLASSD_TRACE_H

#include "common/error.h"
#include "common/protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TRACE_CAPACITY_DEFAULT = 1 << 15, // 768 KiB: a quarter of an hour of a hundred events a second
    TRACE_CAPACITY_MAX = PROTOCOL_TRACE_EVENTS_MAX,
    // That events can name. One whose events are all overwritten makes room for another; where none
    // is, the events of a later one have a number only.
    TRACE_JOBS_MAX = 1024,
};

typedef struct trace trace_t;

// An empty trace that records nothing, or null when memory is short.
trace_t *trace_new(void);
void trace_free(trace_t *trace);

// Starts anew with room for `capacity` events, 0 for the default. On error (ENOMEM, EINVAL for more
// than TRACE_CAPACITY_MAX) the old recording is as it was.
int trace_start(trace_t *trace, uint32_t capacity, struct error *err);
void trace_stop(trace_t *trace);
bool trace_recording(const trace_t *trace);

// Adds an event while recording.
void trace_event(trace_t *trace, enum protocol_event_kind kind, uint64_t job, uint32_t value,
                 uint64_t now_ns);

// The same for PROTOCOL_EVENT_CAME, and says who the job is.
void trace_job(trace_t *trace, uint64_t job, uid_t uid, const char *job_id, uint32_t width,
               uint64_t now_ns);

// Fills in everything but wall_offset_ns. Events are numbered from 0 at each start; `low` is the
// low 32 bits of the first one wanted: it means one that is kept where it can, else the oldest.
void trace_read(const trace_t *trace, uint32_t low, struct protocol_events *events);

// The number that trace_read() begins with when those from `oldest` on are kept and `end` is next.
uint64_t trace_number(uint32_t low, uint64_t oldest, uint64_t end);

// The job at `index` of those that were named; false behind the last.
bool trace_job_at(const trace_t *trace, uint32_t index, struct protocol_event_job *job);

#endif
