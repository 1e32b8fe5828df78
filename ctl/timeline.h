// Who held the CPUs when, on all nodes: what charts are drawn of, and how well nodes agreed.
#ifndef COSCHED_CTL_TIMELINE_H
#define COSCHED_CTL_TIMELINE_H

#include "ctl/recording.h"

#include <stdbool.h>

enum span_state {
    SPAN_FREE,      // nothing was limited
    SPAN_SCHEDULED, // the job held the CPUs
    SPAN_IDLE,      // it waited for them
};

struct span {
    uint64_t from_ns, to_ns;
    enum span_state state;
};

// One job on one node.
struct lane {
    size_t node; // index of the recording
    size_t job;  // index of timeline.jobs
    struct span *spans;
    size_t span_count;
    size_t cursor; // of the functions below
};

struct timeline {
    const struct recording *recordings; // the caller's
    size_t node_count;
    struct recording_job *jobs; // of all nodes, each once, in order of arrival
    size_t job_count;
    struct lane *lanes; // by job, then by node
    size_t lane_count;
    uint64_t from_ns, to_ns;
};

// Puts the recordings, which must outlive the timeline, together. Returns 0, or -1 with ENOMEM, or
// ENODATA when nothing was recorded.
int timeline_build(const struct recording *recordings, size_t count, struct timeline *timeline,
                   struct error *err);
void timeline_free(struct timeline *timeline);

// The coscheduled fraction: of the time for which the job held the CPUs of any node, and had to
// share, the part for which it held those of all its nodes. False when there was no such time or
// the job was on fewer than two nodes.
bool timeline_coscheduled(struct timeline *timeline, size_t job, double *fraction);

// The requests for the CPUs that the job's processes made, and of these how many were granted, and
// how many false (Yoo & Jette, section 2.1): made while the job held the CPUs of no other node, so
// that whatever asked for it was old. Where a node's recording does not tell, none is false.
struct timeline_requests {
    size_t made, granted, false_;
};

struct timeline_requests timeline_requests(struct timeline *timeline, size_t job);

// For each time that the job was idle on all of its nodes and got the CPUs of one: how long until
// it had those of all.
struct timeline_delays {
    uint64_t *ns; // ascending
    size_t count;
    size_t never; // times that it was idle everywhere again before that
};

// Returns 0, or -1 with ENOMEM. A job on one node has none. Ended by timeline_delays_free().
int timeline_delays(struct timeline *timeline, size_t job, struct timeline_delays *delays,
                    struct error *err);
void timeline_delays_free(struct timeline_delays *delays);

#endif
