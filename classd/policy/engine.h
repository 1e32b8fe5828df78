// The scheduling decisions of a node, pure: no system call, no clock, no global state. The daemon,
// and the tests, which simulate nodes, feed it events and carry out what it returns.
//
// Terms and rules: Yoo & Jette, sections 2.1 and 2.2.3. A job is one scheduling unit on this node;
// scheduled jobs hold the node's CPUs, every idle job keeps `idle_share`, or its part of
// `idle_total` where that is less and it has no messages to notice. At most one job
// is the sequential class: processes that are nobody's MPI job, together (Zhou, Qu & Brent: its
// turns are the slots of their dummy nodes). While idle it keeps `interactive_share`; it never
// asks.
//
// A suspended job (Franke, Moreira & Pattnaik: task suspend) is out of the policies' sight. It
// keeps the share of an idle job and is limited to that, be it alone or not. So is a dormant job,
// of which the caller says that it sleeps: a turn would be of no use to it. It is limited only
// where not all jobs fit and some other is awake, and keeps what the sequential class does, or its
// part of that, also when it is awake again, until its first turn.
#ifndef COSCHED_CLASSD_POLICY_ENGINE_H
#define COSCHED_CLASSD_POLICY_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENGINE_WHOLE_PPM 1000000u // the whole node

// Of policy gang: a round is so many time-slices, its slots. A set of slots is a word, slot s its
// bit s.
#define ENGINE_ROUND     60u
#define ENGINE_ALL_SLOTS ((UINT64_C(1) << ENGINE_ROUND) - 1)

typedef struct engine engine_t;

// Chosen by the caller, never reused by it while the job exists; 0 is no job.
typedef uint64_t engine_job_t;

// A set of the node's CPUs, CPU c its bit c % 64 of word c / 64.
#define ENGINE_CPU_WORDS 16u
struct engine_cpus {
    uint64_t words[ENGINE_CPU_WORDS];
};

// The fairness criterion of policy dcs: Sobalvarro, Pakin, Weihl & Chien, section 3.3.3.
struct engine_dcs {
    int exponent;         // E
    uint64_t constant_ns; // C
    uint64_t quantum_ns;  // Tq, the minimum time quantum
    bool calibrate;       // by how long the jobs have held the CPUs
};

// Policy gang: jobs of a class, with slots of a length of their own (Zhou, Qu & Brent, section 3).
#define ENGINE_LISTS 4u
struct engine_list {
    unsigned slots;    // that follow each other; 0 means 1
    uint64_t until_ns; // the age at which a job goes on to the next list, if there is one
};

struct engine_settings {
    const char *policy;             // "yoo-jette", "dcs", "gang" or "uncoordinated"
    unsigned cpus;                  // C, at least 1
    unsigned servants;              // jobs that may be out at once on one CPU; 0 means 1
    uint32_t idle_share_ppm;        // of the CPUs that it can use, for each idle job
    uint32_t idle_total_ppm;        // for those together that do not need it, see shares.h; 0: all
    uint32_t interactive_share_ppm; // of the node, for the sequential class while it is idle
    uint32_t sequential_share_ppm;  // of the time, for the sequential class; 0: as much as each
                                    // job, or there will be none
    uint64_t time_slice_ns;
    uint64_t gmet_ns;
    struct engine_dcs dcs;                  // read by policy dcs alone
    struct engine_list lists[ENGINE_LISTS]; // read by policy gang alone
    unsigned list_count;                    // 0: one, of single slots
};

enum engine_event_kind {
    ENGINE_REGISTER = 1, // a process of `job` came; `width` is how many CPUs it can use, 0 means 1
    ENGINE_EXIT,         // a process of `job` went; `width` as it came with
    ENGINE_SWITCH,       // the time-slice is over
    ENGINE_SCHEDULE,     // `job` received a message from a scheduled sender and wants the CPU
    ENGINE_USAGE,        // `job` has consumed `usage_ns` of CPU time in all (a running total). The
                         // first one of a job only sets the mark; it never yields decisions
    ENGINE_SETTINGS,     // `settings` are in force from now on
    ENGINE_SUSPEND,      // `job` cannot run until RESUME: it is in nobody's way and gets no turns
    ENGINE_RESUME,       // it can again; its place is that of its registration
    ENGINE_DORMANT,      // `job` sleeps, and is to have no turns where others need them, until...
    ENGINE_ACTIVE,       // ... this, a REGISTER, a RESUME, or a SCHEDULE
    ENGINE_ADOPT,        // a process as with REGISTER, of a job that a former engine left: the job
                         // starts with `account`. Nothing is decided before the next event of
                         // another kind but USAGE, when all are there
    ENGINE_WIDTH,        // a process of `job` that came with `width_before` can use `width` CPUs
    ENGINE_CPUS,         // the processes of `job` are bound to `cpus` from now on
};

// What an engine knows of a job beside its processes, so that another one can go on where it
// stopped. What cannot be true is made the next best that can.
struct engine_account {
    uint64_t service_ns;
    bool suspended; // then it is not scheduled
    bool scheduled;
    uint64_t scheduled_since_ns; // while scheduled
    uint64_t scheduled_total_ns;
    uint64_t switches;
    uint32_t slices_waited; // while idle
    uint32_t most_jobs;     // while idle: that the node had during this wait
    uint64_t came_ns;       // when it was registered first
    uint64_t slots;         // policy gang, as engine_claim() left them
    uint32_t term;
};

struct engine_event {
    enum engine_event_kind kind;
    engine_job_t job;
    uint32_t width;                 // REGISTER, EXIT, ADOPT, WIDTH
    uint32_t width_before;          // WIDTH
    uint64_t usage_ns;              // USAGE
    const struct engine_cpus *cpus; // REGISTER, ADOPT, CPUS: those to which all processes that the
                                    // job has now are bound, together. Null: not all of them are
    bool sequential; // REGISTER: the job is the sequential class; `width` is the whole node's
    // Known alike on all nodes, so that they can agree without a word; 0: not known.
    uint64_t name;      // REGISTER, ADOPT: a number for the job; in their order jobs have turns
    unsigned list;      // REGISTER, ADOPT: of policy gang, the one in which the job begins
    uint64_t owner;     // REGISTER, ADOPT: whose job it is, a number for the user; 0: not known
    uint64_t turn;      // SWITCH: the number of the time-slice that begins
    uint64_t from_turn; // REGISTER: the first whose number can give it to the job; 0: any
    const struct engine_settings *settings; // SETTINGS: read during the call only
    const struct engine_account *account;   // ADOPT: likewise, for the job's first process
};

// What is to be done for one job. Only jobs whose line is not what was last decided are listed, a
// new job always.
struct engine_decision {
    engine_job_t job;
    bool scheduled;
    bool limited;       // false: no limit, share_ppm is ENGINE_WHOLE_PPM
    uint32_t share_ppm; // of the node
};

enum engine_outcome {
    ENGINE_DONE = 0,
    ENGINE_GRANTED,        // SCHEDULE: the job is scheduled now, or was already
    ENGINE_DISCARDED_GMET, // SCHEDULE within the guaranteed minimum of those it would preempt
    ENGINE_DISCARDED_FAIR, // SCHEDULE by a job that is too far ahead of those it would preempt
    ENGINE_DISCARDED_RATE, // SCHEDULE too soon after the job's last preemption (policy dcs)
    ENGINE_DISCARDED_SLOT, // SCHEDULE in a slot of a job that uses it (policy gang)
    ENGINE_SUSPENDED,      // SCHEDULE by a suspended job: nothing changed
    ENGINE_UNKNOWN_JOB,
    ENGINE_UNKNOWN_POLICY, // SETTINGS: nothing changed
    ENGINE_NO_MEMORY,      // nothing changed
};

struct engine_result {
    enum engine_outcome outcome;
    // To be carried out in this order: shares that go down, losers (no longer scheduled) first,
    // then shares that go up, winners last. So the shares in force never exceed the node in
    // between. The engine's own, valid until the next event.
    const struct engine_decision *decisions;
    size_t decision_count;
};

struct engine_job_view {
    engine_job_t job;
    uint32_t processes;
    uint32_t width; // sum over its processes
    bool scheduled;
    bool suspended;
    bool dormant; // it sleeps; scheduled where it stands in nobody's way
    bool limited;
    uint32_t share_ppm;
    bool sequential;
    uint64_t service_ns; // CPU time received, per CPU that it can use; weighted, see account.c
    uint64_t scheduled_since_ns; // meaningful while scheduled
    uint64_t scheduled_total_ns; // up to the last event
    uint64_t switches;           // times it became scheduled
    uint32_t slices_waited;      // the slices of this wait, 0 while scheduled
    uint32_t most_jobs;          // that ticks of this wait have seen, or the slices of a round
    uint64_t slots;              // policy gang: the job's, 0: none were agreed
    uint32_t term;               // of the agreement about them
};

// A new engine, or null when memory is short or the policy is not known. Ended by engine_free().
engine_t *engine_new(const struct engine_settings *settings);
void engine_free(engine_t *engine);

// True when engine_new() knows the policy.
bool engine_policy_known(const char *policy);

// One event at time now_ns (monotonic; an earlier time than the last one counts as the last one).
struct engine_result engine_event(engine_t *engine, const struct engine_event *event,
                                  uint64_t now_ns);

// ---- slots, for policy gang; see office.h. A job that is not there, suspended or dormant is
// offered and given nothing. They take effect when the next slot begins.

// Where the job may cut the round: it is to take slots of others in whole pieces, from one slot of
// this set to before the next. All slots where there is no such job.
uint64_t engine_cut(engine_t *engine, engine_job_t job, uint64_t now_ns);

// How many slots of the round no job can have: they are the sequential class's. Dues are parts of
// the others, so many of 60.
uint8_t engine_dummies(const engine_t *engine);

// For each of `count` dues, in slots: which slots the job could have on this node if every job that
// it takes from kept at least that many, and how many of them at most. Returns false when there is
// no such job; then all are 0.
bool engine_offer(engine_t *engine, engine_job_t job, const uint8_t *dues, size_t count,
                  uint64_t *slots, uint8_t *most, uint64_t now_ns);

// Reserves those of `wish` that can be had so, for two rounds at most; returns them.
uint64_t engine_promise(engine_t *engine, engine_job_t job, uint64_t wish, uint8_t due,
                        uint64_t now_ns);

// The job's slots are from now on those of `slots` that were promised to it, are its own already,
// or are free; returns them. Who had them has them no longer, but nobody is left with more than one
// slot fewer than the job then has. What was promised before the job grew wider or was suspended is
// promised no more. `term` numbers the agreements of a job. A suspended or dormant job keeps what
// of `slots` it has, and is given nothing.
uint64_t engine_claim(engine_t *engine, engine_job_t job, uint64_t slots, uint32_t term,
                      uint64_t now_ns);

// Another node of the job says what is left there of the agreement `term`. Returns true when that
// leaves fewer here.
bool engine_intersect(engine_t *engine, engine_job_t job, uint64_t slots, uint32_t term);

// The job has no slots on this node any more, and was promised none.
void engine_drop_slots(engine_t *engine, engine_job_t job);

// Sets a job's service, for callers that keep accounts of their own, as tests do.
void engine_set_service(engine_t *engine, engine_job_t job, uint64_t service_ns);

size_t engine_job_count(const engine_t *engine);

// The jobs in order of registration; false when index is behind the last.
bool engine_job_at(const engine_t *engine, size_t index, struct engine_job_view *view);
bool engine_job_find(const engine_t *engine, engine_job_t job, struct engine_job_view *view);

#endif
