// What a policy is: a table of functions that choose which jobs of the node are scheduled. The
// engine keeps the jobs and their accounts, asks the policy, and turns its choice into shares and
// decisions.
#ifndef COSCHED_CLASSD_POLICY_POLICY_H
#define COSCHED_CLASSD_POLICY_POLICY_H

#include "classd/policy/engine.h"

// No policy has a job wait for longer than so many rounds, of a slice for each job.
#define POLICY_ROUNDS_MOST 3u

struct policy_job {
    engine_job_t id;
    uint64_t name;           // the same on all nodes, 0: not known
    uint32_t processes;      // at least 1
    uint64_t width;          // CPUs that its processes can use together, at least 1 each
    struct engine_cpus cpus; // that they are bound to...
    uint64_t cpu_count;      // ... so many; 0: to none

    bool scheduled; // as last decided; false for a newcomer
    bool next;      // the policy's answer; equals `scheduled` when the policy is asked

    // CPU time received per CPU that the job can use. Of the sequential class, and where the policy
    // wants it of others, at least the time that it held the node.
    uint64_t service_ns;
    uint64_t lead_ns; // of that, what it began with for its owner's former jobs: see leads.h
    uint64_t scheduled_since_ns;
    uint64_t scheduled_total_ns;
    uint64_t switches;

    // While idle: the slices it has waited, the one in which it became idle included, and the most
    // jobs that the node had during this wait. Both are 0 while scheduled.
    uint32_t slices_waited;
    uint32_t most_jobs;

    bool first;          // the present slice was given to it, and others may run beside it
    uint64_t boosted_ns; // policy dcs: when a request last scheduled it; else when it came

    bool sequential;
    uint64_t from_turn; // the first slice that its number can give to the job

    // Policy yoo-jette; see exchange.h.
    bool by_clock;     // the present slice is its own
    bool began;        // the present slice was given to it at its tick
    engine_job_t owes; // 0: nobody
    unsigned strays;

    // Policy gang: the slots that are the job's, the same on all its nodes but for a round after a
    // change; what the office has promised it beside them, and for how long, or when it last
    // did; see office.h.
    uint64_t slots;
    uint32_t term;
    unsigned list;        // in which it began; see round.h
    uint64_t came_ns;     // when it was registered
    uint64_t runnable_ns; // and since when it has not been suspended
    uint64_t promised;
    uint64_t promised_since_ns;
    uint64_t promised_until_ns;
    uint64_t given_up; // see standing.h, as the next two
    uint64_t given_up_until_ns;
    uint64_t spared_until_ns;
    uint64_t won_away;      // of what was promised last, by others; see contest.h
    uint64_t contested;     // of what was promised; the office's, while it works
    uint32_t taken;         // likewise
    uint32_t taken_at_once; // likewise, for one piece
    bool yields;            // likewise
    bool lost;              // likewise

    // Whether it asked during this wait, and for how many turns in a row it had not when they
    // came; see shares.h.
    bool asked;
    uint32_t turns_in_step;

    // Of the present slice, or since the job came or was continued in it; see account.c.
    uint64_t slice_used_ns;    // CPU time per CPU that it can use
    uint64_t slice_counted_ns; // what of that and of the time that it held is in service_ns
    uint64_t slice_total_ns;   // scheduled_total_ns when it began

    // The engine's own.
    bool suspended;
    bool dormant;     // it sleeps; never while it is suspended
    bool woken;       // it did, and has had no turn since
    uint64_t arrival; // the order of registration
    uint64_t owner;   // 0: not known
    bool usage_known;
    uint64_t usage_ns;              // the last total that was reported
    uint64_t told_ns;               // when what it has used since was last added
    uint64_t idle_cpus;             // that the share of an idle job is a part of; see shares.h
    struct engine_decision decided; // what the caller was told last; job 0: nothing yet
};

struct policy_node {
    struct policy_job *jobs; // in order of registration
    size_t count;
    uint64_t now_ns;
    uint64_t cpus;
    unsigned cpu_words; // of the sets of CPUs that any job was ever bound to
    uint64_t servants;  // policy gang: how many jobs may be out at once on one CPU; else 1
    uint64_t time_slice_ns;
    uint64_t gmet_ns;
    struct engine_dcs dcs;
    bool counts_held; // that a job held the CPUs counts as served, however little of it it used
    struct engine_list lists[ENGINE_LISTS]; // policy gang
    unsigned list_count;
    uint32_t sequential_share_ppm;  // 0: as much as each job
    uint32_t interactive_share_ppm; // that the sequential class has of others' slots
    uint64_t turn;       // of the tick that is being decided, the same on all nodes; 0: not known
    uint64_t last_turn;  // the turn of the last tick
    uint64_t tick_ns;    // when that was
    uint64_t changed_ns; // when a job last came or went
};

// Every function is asked only while the jobs do not fit on the node together, and answers in
// `next` of the jobs. None may fail, or look at anything but the node. What a policy has to
// remember are fields of the jobs, said to be its own; `service_ns` it may raise, where a job is to
// count as served.
struct policy {
    const char *name;

    // That a job held the CPUs counts as served, however little of it it used; policy dcs: only
    // when calibrated.
    bool counts_held;

    // False: every job is scheduled and nothing is limited, also then, and no function is asked.
    bool coordinates;

    // A process came or went: a job may be new (idle), gone, wider or narrower.
    void (*on_change)(struct policy_node *node);

    // The time-slice is over.
    void (*on_tick)(struct policy_node *node);

    // An idle job asks for the CPUs. ENGINE_GRANTED, or one of the ENGINE_DISCARDED_*: then every
    // `next` is as it was.
    enum engine_outcome (*on_request)(struct policy_node *node, struct policy_job *job);
};

extern const struct policy policy_yoo_jette;
extern const struct policy policy_dcs;
extern const struct policy policy_gang;
extern const struct policy policy_uncoordinated;

// The part of the slots that is the sequential class's, if it is there. With a fair share that is
// less than one job's: what it has in others' slots counts. Computed from what all nodes with the
// same jobs and the same configuration know, and from nothing else.
uint32_t policy_sequential_slots_ppm(const struct policy_node *node);

// By which slice all nodes of a job must know of it, for it to take part in what the number of the
// slice `turn` decides: that one, unless nobody but the sequential class would.
uint64_t policy_known_by(const struct policy_node *node, uint64_t turn);

static inline bool policy_takes_part(const struct policy_job *job, uint64_t known_by)
{
    return job->sequential || job->from_turn <= known_by;
}

// How many of the slices before this one are the class's own by their numbers, spread as evenly as
// whole slices can be, and whether this one is.
uint64_t policy_sequential_turns_before(const struct policy_node *node, uint64_t turn);
bool policy_sequential_turn(const struct policy_node *node, uint64_t turn);

static inline bool policy_is_bound(const struct policy_job *job)
{
    return job->cpu_count != 0;
}

// The CPUs of the node that the job can use.
static inline uint64_t policy_usable_cpus(const struct policy_node *node,
                                          const struct policy_job *job)
{
    uint64_t most = policy_is_bound(job) ? job->cpu_count : node->cpus;
    return job->width < most ? job->width : most;
}

// What the jobs that are scheduled together may use together, in CPUs: each servant has the node.
static inline uint64_t policy_room(const struct policy_node *node)
{
    return node->cpus * node->servants;
}

// How much of that is the job's. The slots of the sequential class are for itself alone.
static inline uint64_t policy_room_of(const struct policy_node *node, const struct policy_job *job)
{
    return policy_usable_cpus(node, job) * (job->sequential ? node->servants : 1);
}

#endif
