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
    if (timeline->jobs == NULL)
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
    // What became of it after the recording was read is not known, though other nodes' may go on.
    if (open)
        end_span(lane, recording->until_ns != 0 && recording->until_ns < to_ns ? recording->until_ns
                                                                               : to_ns);
    return 0;
}

// Null with ENOMEM. There may be more lanes than the recordings name jobs: a file may have events
// of a job that only another one names.
static struct lane *add_lane(struct timeline *timeline, size_t *room, struct error *err)
{
    if (timeline->lane_count == *room) {
        *room = *room > 0 ? 2 * *room : 64;
        void *longer = realloc(timeline->lanes, *room * sizeof *timeline->lanes);
        if (longer == NULL) {
            error_errno(err, ENOMEM, "timeline");
            return NULL;
        }
        timeline->lanes = longer;
    }
    return &timeline->lanes[timeline->lane_count++];
}

static int fill_lanes(struct timeline *timeline, struct error *err)
{
    size_t room = 0;
    for (size_t job = 0; job < timeline->job_count; job++) {
        for (size_t node = 0; node < timeline->node_count; node++) {
            struct lane *lane = add_lane(timeline, &room, err);
            if (lane == NULL)
                return -1;
            *lane = (struct lane){.node = node, .job = job};
            if (fill_lane(lane, &timeline->recordings[node], timeline->jobs[job].job,
                          timeline->to_ns, err) < 0)
                return -1;
            if (lane->span_count > 0)
                continue;
            free(lane->spans);
            timeline->lane_count--;
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

// What a job's lanes say from one moment to the next, at which something changes.
struct moment {
    uint64_t next_ns;
    bool everywhere;                   // the job has begun on all of its nodes and left none
    size_t scheduled, idle, unlimited; // nodes
};

// The span at this moment or the first after it; moments must not go back.
static const struct span *span_from(struct lane *lane, uint64_t at_ns)
{
    while (lane->cursor < lane->span_count && lane->spans[lane->cursor].to_ns <= at_ns)
        lane->cursor++;
    return lane->cursor < lane->span_count ? &lane->spans[lane->cursor] : NULL;
}

static struct moment look(struct timeline *timeline, size_t job, uint64_t at_ns)
{
    struct moment moment = {.next_ns = timeline->to_ns};
    size_t lanes = 0;
    for (size_t i = 0; i < timeline->lane_count; i++) {
        if (timeline->lanes[i].job != job)
            continue;
        const struct span *span = span_from(&timeline->lanes[i], at_ns);
        bool here = span != NULL && span->from_ns <= at_ns;
        uint64_t boundary_ns = span == NULL ? moment.next_ns : here ? span->to_ns : span->from_ns;
        if (boundary_ns < moment.next_ns)
            moment.next_ns = boundary_ns;
        lanes++;
        moment.scheduled += here && span->state == SPAN_SCHEDULED;
        moment.idle += here && span->state == SPAN_IDLE;
        moment.unlimited += here && span->state == SPAN_FREE;
    }
    moment.everywhere = moment.scheduled + moment.idle + moment.unlimited == lanes;
    return moment;
}

// Of how many nodes there are lanes of the job.
static size_t rewind_lanes(struct timeline *timeline, size_t job)
{
    size_t lanes = 0;
    for (size_t i = 0; i < timeline->lane_count; i++) {
        timeline->lanes[i].cursor = 0;
        lanes += timeline->lanes[i].job == job;
    }
    return lanes;
}

bool timeline_coscheduled(struct timeline *timeline, size_t job, double *fraction)
{
    uint64_t any_ns = 0, all_ns = 0;
    if (rewind_lanes(timeline, job) < 2)
        return false;
    for (uint64_t at_ns = timeline->from_ns; at_ns < timeline->to_ns;) {
        struct moment moment = look(timeline, job, at_ns);
        // A node that limits nobody agrees with any other.
        if (moment.scheduled > 0 && moment.everywhere) {
            any_ns += moment.next_ns - at_ns;
            all_ns += moment.idle == 0 ? moment.next_ns - at_ns : 0;
        }
        at_ns = moment.next_ns;
    }
    if (any_ns == 0)
        return false;
    *fraction = (double)all_ns / (double)any_ns;
    return true;
}

static struct lane *find_lane(struct timeline *timeline, size_t job, size_t node)
{
    for (size_t i = 0; i < timeline->lane_count; i++) {
        if (timeline->lanes[i].job == job && timeline->lanes[i].node == node)
            return &timeline->lanes[i];
    }
    return NULL;
}

// Whether the recording may be silent about a job at this moment.
static bool may_have_missed(const struct recording *recording, const struct lane *lane,
                            uint64_t at_ns)
{
    return (recording->until_ns != 0 && at_ns > recording->until_ns) ||
           (recording->lost > 0 && (lane == NULL || lane->spans[0].from_ns > at_ns));
}

// Also where a node may have run the job without its being known, and where none of its others is
// among the recordings: whoever asks has a peer elsewhere.
static bool may_run_elsewhere(struct timeline *timeline, size_t job, size_t node, uint64_t at_ns)
{
    bool may = false, seen = false;
    for (size_t other = 0; other < timeline->node_count && !may; other++) {
        if (other == node)
            continue;
        struct lane *lane = find_lane(timeline, job, other);
        const struct span *span = lane != NULL ? span_from(lane, at_ns) : NULL;
        seen |= lane != NULL;
        may = (span != NULL && span->from_ns <= at_ns && span->state != SPAN_IDLE) ||
              may_have_missed(&timeline->recordings[other], lane, at_ns);
    }
    return may || !seen;
}

struct timeline_requests timeline_requests(struct timeline *timeline, size_t job)
{
    struct timeline_requests requests = {0};
    for (size_t node = 0; node < timeline->node_count; node++) {
        const struct recording *recording = &timeline->recordings[node];
        rewind_lanes(timeline, job);
        for (size_t i = 0; i < recording->event_count; i++) {
            const struct recording_event *event = &recording->events[i];
            bool granted = event->kind == PROTOCOL_EVENT_GRANTED;
            if (event->job != timeline->jobs[job].job ||
                (!granted && event->kind != PROTOCOL_EVENT_DISCARDED))
                continue;
            requests.made++;
            requests.granted += granted;
            requests.false_ += !may_run_elsewhere(timeline, job, node, event->at_ns);
        }
    }
    return requests;
}

static int by_length(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

int timeline_delays(struct timeline *timeline, size_t job, struct timeline_delays *delays,
                    struct error *err)
{
    size_t room = 1;
    for (size_t i = 0; i < timeline->lane_count; i++)
        room += timeline->lanes[i].job == job ? timeline->lanes[i].span_count : 0;
    *delays = (struct timeline_delays){.ns = calloc(room, sizeof *delays->ns)};
    if (delays->ns == NULL)
        return error_errno(err, ENOMEM, "delays");
    if (rewind_lanes(timeline, job) < 2)
        return 0;
    bool was_idle = false, waiting = false;
    uint64_t since_ns = 0;
    for (uint64_t at_ns = timeline->from_ns; at_ns < timeline->to_ns;) {
        struct moment moment = look(timeline, job, at_ns);
        bool all_idle = moment.everywhere && moment.scheduled == 0 && moment.unlimited == 0;
        bool all_run = moment.everywhere && moment.idle == 0;
        if (was_idle && moment.everywhere && moment.scheduled > 0) {
            waiting = true;
            since_ns = at_ns;
        }
        if (waiting && all_run)
            delays->ns[delays->count++] = at_ns - since_ns;
        else if (waiting && all_idle)
            delays->never++;
        waiting = waiting && moment.everywhere && !all_run && !all_idle;
        was_idle = all_idle;
        at_ns = moment.next_ns;
    }
    qsort(delays->ns, delays->count, sizeof *delays->ns, by_length);
    return 0;
}

void timeline_delays_free(struct timeline_delays *delays)
{
    free(delays->ns);
    *delays = (struct timeline_delays){0};
}
