#include "ctl/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t find_job(const struct timeline *timeline, uint64_t number)
{
    size_t i = 0;
    while (i < timeline->job_count && timeline->jobs[i].job != number)
        i++;
    return i;
}

static int merge_jobs(struct timeline *timeline, struct error *err)
{
    size_t room = 0;
    for (size_t i = 0; i < timeline->node_count; i++)
        room += timeline->recordings[i].job_count;
    timeline->jobs = calloc(room + 1, sizeof *timeline->jobs);
    timeline->lanes = calloc(room + 1, sizeof *timeline->lanes);
    if (timeline->jobs == NULL || timeline->lanes == NULL)
        return error_errno(err, ENOMEM, "timeline");
    for (size_t i = 0; i < timeline->node_count; i++) {
        const struct recording *recording = &timeline->recordings[i];
        for (size_t k = 0; k < recording->job_count; k++) {
            if (find_job(timeline, recording->jobs[k].job) == timeline->job_count)
                timeline->jobs[timeline->job_count++] = recording->jobs[k];
        }
    }
    return 0;
}

static void find_ends(struct timeline *timeline)
{
    timeline->from_ns = UINT64_MAX;
    for (size_t i = 0; i < timeline->node_count; i++) {
        const struct recording *recording = &timeline->recordings[i];
        if (recording->event_count == 0)
            continue;
        if (recording->events[0].at_ns < timeline->from_ns)
            timeline->from_ns = recording->events[0].at_ns;
        if (recording->events[recording->event_count - 1].at_ns > timeline->to_ns)
            timeline->to_ns = recording->events[recording->event_count - 1].at_ns;
    }
}

static bool state_of(uint32_t kind, enum span_state *state)
{
    switch ((enum protocol_event_kind)kind) {
    case PROTOCOL_EVENT_SCHEDULED:
        *state = SPAN_SCHEDULED;
        return true;
    case PROTOCOL_EVENT_IDLE:
        *state = SPAN_IDLE;
        return true;
    case PROTOCOL_EVENT_FREE:
        *state = SPAN_FREE;
        return true;
    default:
        return false;
    }
}

static void end_span(struct lane *lane, uint64_t at_ns)
{
    struct span *last = &lane->spans[lane->span_count - 1];
    last->to_ns = at_ns;
    if (last->to_ns == last->from_ns)
        lane->span_count--;
}

// The spans of one job in one node's events.
static int fill_lane(struct lane *lane, const struct recording *recording, uint64_t job,
                     uint64_t to_ns, struct error *err)
{
    size_t room = 0;
    bool open = false;
    for (size_t i = 0; i < recording->event_count; i++)
        room += recording->events[i].job == job;
    lane->spans = calloc(room + 1, sizeof *lane->spans);
    if (lane->spans == NULL)
        return error_errno(err, ENOMEM, "timeline");
    for (size_t i = 0; i < recording->event_count; i++) {
        const struct recording_event *event = &recording->events[i];
        enum span_state state = SPAN_FREE;
        bool begins = state_of(event->kind, &state);
        if (event->job != job || (!begins && event->kind != PROTOCOL_EVENT_LEFT))
            continue;
        if (open && begins && lane->spans[lane->span_count - 1].state == state)
            continue;
        if (open)
            end_span(lane, event->at_ns);
        open = begins;
        if (begins)
            lane->spans[lane->span_count++] =
                (struct span){.from_ns = event->at_ns, .state = state};
    }
    if (open)
        end_span(lane, to_ns);
    return 0;
}

static int fill_lanes(struct timeline *timeline, struct error *err)
{
    for (size_t job = 0; job < timeline->job_count; job++) {
        for (size_t node = 0; node < timeline->node_count; node++) {
            struct lane *lane = &timeline->lanes[timeline->lane_count];
            *lane = (struct lane){.node = node, .job = job};
            if (fill_lane(lane, &timeline->recordings[node], timeline->jobs[job].job,
                          timeline->to_ns, err) < 0)
                return -1;
            if (lane->span_count > 0)
                timeline->lane_count++;
            else
                free(lane->spans);
        }
    }
    return 0;
}

int timeline_build(const struct recording *recordings, size_t count, struct timeline *timeline,
                   struct error *err)
{
    *timeline = (struct timeline){.recordings = recordings, .node_count = count};
    find_ends(timeline);
    if (timeline->from_ns >= timeline->to_ns)
        return error_set(err, ENODATA,
                         "nothing was recorded: run \"coschedctl trace start\", let jobs run, then "
                         "\"coschedctl trace dump\"");
    if (merge_jobs(timeline, err) == 0 && fill_lanes(timeline, err) == 0)
        return 0;
    timeline_free(timeline);
    return -1;
}

void timeline_free(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->lane_count; i++)
        free(timeline->lanes[i].spans);
    free(timeline->lanes);
    free(timeline->jobs);
    *timeline = (struct timeline){0};
}

// What a job's lanes say from one moment to the next.
struct sweep {
    uint64_t any_ns; // scheduled on a node at least
    uint64_t all_ns; // on all of them
};

// The span at this moment or the first after it; moments must not go back.
static const struct span *span_from(struct lane *lane, uint64_t at_ns)
{
    while (lane->cursor < lane->span_count && lane->spans[lane->cursor].to_ns <= at_ns)
        lane->cursor++;
    return lane->cursor < lane->span_count ? &lane->spans[lane->cursor] : NULL;
}

// Counts from `at_ns` to the next moment at which something changes, and returns that.
static uint64_t count_interval(struct timeline *timeline, size_t job, uint64_t at_ns,
                               struct sweep *sweep)
{
    uint64_t next_ns = timeline->to_ns;
    size_t lanes = 0, scheduled = 0, idle = 0, unlimited = 0;
    for (size_t i = 0; i < timeline->lane_count; i++) {
        if (timeline->lanes[i].job != job)
            continue;
        const struct span *span = span_from(&timeline->lanes[i], at_ns);
        bool here = span != NULL && span->from_ns <= at_ns;
        uint64_t boundary_ns = span == NULL ? next_ns : here ? span->to_ns : span->from_ns;
        if (boundary_ns < next_ns)
            next_ns = boundary_ns;
        lanes++;
        scheduled += here && span->state == SPAN_SCHEDULED;
        idle += here && span->state == SPAN_IDLE;
        unlimited += here && span->state == SPAN_FREE;
    }
    // A node that limits nobody agrees with any other.
    if (scheduled > 0 && scheduled + idle + unlimited == lanes) {
        sweep->any_ns += next_ns - at_ns;
        sweep->all_ns += idle == 0 ? next_ns - at_ns : 0;
    }
    return next_ns;
}

bool timeline_coscheduled(struct timeline *timeline, size_t job, double *fraction)
{
    struct sweep sweep = {0};
    size_t lanes = 0;
    for (size_t i = 0; i < timeline->lane_count; i++) {
        timeline->lanes[i].cursor = 0;
        lanes += timeline->lanes[i].job == job;
    }
    if (lanes < 2)
        return false;
    for (uint64_t at_ns = timeline->from_ns; at_ns < timeline->to_ns;)
        at_ns = count_interval(timeline, job, at_ns, &sweep);
    if (sweep.any_ns == 0)
        return false;
    *fraction = (double)sweep.all_ns / (double)sweep.any_ns;
    return true;
}
