// What travels over the scheduler's socket: fixed-size packets over SOCK_SEQPACKET, one request and
// at most one reply each, and a word that nobody asked for (TURN). These are the five commands of
// Yoo & Jette, section 2.2.3, and what people need to look at the node and to change it.
//
// Neither side trusts the other: protocol_check_request() and protocol_check_reply() are the only
// doors, and whatever passes them has known sizes, known values and terminated strings. Who the
// sender is comes from the kernel (SO_PEERCRED), never from a packet.
//
// Versions: a new command, a new query and a field in reserved space keep the version, as each side
// refuses what it does not know: a request with an unknown command or query, or with anything in
// bytes that its command does not have, is answered by EOPNOTSUPP, and the connection stays. A
// packet that changes its size, layout or meaning raises the version.
#ifndef COSCHED_COMMON_PROTOCOL_H
#define COSCHED_COMMON_PROTOCOL_H

#include "common/error.h"
#include "common/gang_lists.h"
#include "common/slots.h"

#include <stddef.h>
#include <stdint.h>

// Replies have room at their ends, which is zero: what is added there needs no other version, as
// long as zero means that nothing is said.
#define PROTOCOL_MAGIC   0x64656863u // "ched"
#define PROTOCOL_VERSION 1u

#define PROTOCOL_SOCKET_NAME "classd.socket" // in the runtime directory
#define PROTOCOL_JOB_ID_MAX  40              // terminating zero included

enum protocol_command {
    PROTOCOL_REGISTER = 1, // CMDREG: the sender joins a job. Reply with a descriptor of the page,
                           // or with a text when it was refused
    PROTOCOL_EXIT = 2,     // CMDOUT: the sender leaves its job. Reply
    PROTOCOL_SWITCH = 3,   // CMDCSW: from timerd. Reply: proof of life, and the slice in force
    PROTOCOL_SCHEDULE = 4, // CMDSCH: the sender's job wants the CPU. No reply
    PROTOCOL_SHUTDOWN = 5, // CMDDWN. Reply, then the daemon ends
    PROTOCOL_QUERY = 6,    // status, read-only. Reply
    PROTOCOL_RELOAD = 7,   // reads the configuration again. Reply, with a text when it was refused
    PROTOCOL_TRACE = 8,    // starts or stops the recording of scheduling events. Reply
    // Process tracking: by root, the service user and the job's owner. Reply when it is done, or
    // with a text when it was not; then nothing has changed.
    PROTOCOL_SUSPEND = 9,
    PROTOCOL_RESUME = 10,
    PROTOCOL_KILL = 11,
    // Slots of policy gang, by a process of a job; EOPNOTSUPP under another policy.
    PROTOCOL_OFFER = 12,  // what its job could have here. Reply
    PROTOCOL_CLAIM = 13,  // reserves or takes slots for its job. Reply
    PROTOCOL_NARROW = 14, // says what is left of its job's slots elsewhere. No reply
    PROTOCOL_CLOCK = 15,  // says that its job found this node's clock off, or right. Reply
    // The sender is about to end. When all the job's processes here have said so they take no more
    // turns: they have left the job, but for its class, which they keep for a moment, without a
    // limit. No reply
    PROTOCOL_PART = 16,
    // From classd, unasked: the receiver's job was idle and is no more. A hint to whoever sleeps,
    // the status page says what holds; not said to who has not taken what was said before.
    PROTOCOL_TURN = 0x4000,
};

enum protocol_means {
    PROTOCOL_MEANS_DEFAULT = 0, // as [tracking] means says
    PROTOCOL_MEANS_SHARE = 1,
    PROTOCOL_MEANS_FREEZER = 2,
    PROTOCOL_MEANS_SIGNALS = 3,
};

enum protocol_query {
    PROTOCOL_QUERY_NODE = 1, // one node record
    PROTOCOL_QUERY_JOB = 2,  // the job record at `index`, ENOENT in `status` behind the last
    // Of the recording, for root and the service user: the events from number `index` on (its low
    // 32 bits), and the job at `index` of those that the events name (ENOENT behind the last).
    PROTOCOL_QUERY_TRACE = 3,
    PROTOCOL_QUERY_TRACE_JOB = 4,
    // The job record of the sender's job of `world`: which processes of it are of, or of one that
    // it has spawned; ENOENT when there is none here.
    PROTOCOL_QUERY_WORLD = 5,
};

struct protocol_header {
    uint32_t magic;
    uint16_t version;
    uint16_t command;  // enum protocol_command; a reply repeats its request's
    uint32_t sequence; // chosen by the client, repeated in the reply
    int32_t status;    // replies: 0 or a positive errno value; requests: 0
};

#define PROTOCOL_RANKS_MAX INT32_MAX // what MPI can count

struct protocol_register {
    char job_id[PROTOCOL_JOB_ID_MAX]; // 1 to 39 of [A-Za-z0-9_.-], the first not a dot
    uint32_t width;                   // CPUs that this process can use: its threads, at least 1
    uint32_t rank;                    // in MPI_COMM_WORLD; only shown to people
    uint32_t ranks;                   // size of MPI_COMM_WORLD, at most PROTOCOL_RANKS_MAX
    uint32_t reserved;
    char list[GANG_LIST_NAME_MAX]; // of policy gang, in which the job is to begin; empty: the first
    // The time of day at which all nodes of the job will know of it, so that from the next slice on
    // its turns are the same on all of them; 0: not told. Of the job's first process here.
    uint64_t starts_ns;
    // Which MPI_COMM_WORLD of the user's on this node it is of, and which one has spawned that;
    // 0: not told. A spawned one is to join its parents' job, see PROTOCOL_QUERY_WORLD.
    uint64_t world;
    uint64_t parent;
};

struct protocol_query_request {
    uint32_t kind; // enum protocol_query
    uint32_t index;
    uint64_t world; // of WORLD, as in REGISTER; else 0
};

#define PROTOCOL_TRACE_EVENTS_MAX (UINT32_C(1) << 20)

struct protocol_trace_request {
    uint32_t on;       // 1: start anew, 0: stop; what was recorded can be read until the next start
    uint32_t capacity; // events kept, the oldest go first; 0: the default
};

#define PROTOCOL_NO_UID UINT32_MAX

struct protocol_target { // of SUSPEND, RESUME, KILL
    char job_id[PROTOCOL_JOB_ID_MAX];
    uint32_t uid;     // whose job; PROTOCOL_NO_UID: the sender's, or the only one of that name
    uint32_t means;   // SUSPEND: enum protocol_means; else 0
    uint32_t subtree; // a process, which is meant with its descendants; 0: all, and with RESUME
                      // whatever is suspended
    uint32_t reserved;
};

struct protocol_claim { // of CLAIM and NARROW
    uint64_t slots;     // a set as in common/slots.h
    uint32_t term;      // of the agreement, at most SLOTS_TERMS - 1
    uint32_t due;       // CLAIM: what others keep, in slots
    uint32_t final;     // CLAIM: 0 reserves, 1 takes
    uint32_t reserved;
};

#define PROTOCOL_CLOCK_NODES_MAX (1u << 20)

struct protocol_clock { // of CLOCK; what one job says, and what concerns that job alone
    int64_t ahead_ns;   // of the majority; without one, of the clock that is furthest; 0: not off
    uint32_t nodes;    // of the job, at least 2; from classd 0, when the clock was set by that much
    uint32_t agreeing; // of these, the majority; 0: there is none
};

// From classd too: not the clock was set, but slots became longer by that much, which is as bad.
static inline struct protocol_clock protocol_slots_became(int64_t longer_ns)
{
    return (struct protocol_clock){.ahead_ns = longer_ns, .agreeing = 1};
}

static inline bool protocol_slots_are_others(const struct protocol_clock *clock)
{
    return clock->ahead_ns != 0 && clock->nodes == 0 && clock->agreeing != 0;
}

struct protocol_request {
    struct protocol_header header;
    union {
        struct protocol_target target;
        struct protocol_register register_;
        struct protocol_trace_request trace;
        struct protocol_query_request query;
        struct protocol_claim claim;
        struct protocol_clock clock;
        uint8_t bytes[112];
    };
};

struct protocol_registered {
    uint64_t node_id; // the same for all processes of one node, unlike for different nodes
    uint32_t page_bytes;
    uint32_t tells; // 1: TURN is sent by this classd
};

#define PROTOCOL_SLICE_MIN_NS UINT64_C(100000000) // of [scheduler] time_slice, and [gang] slot
#define PROTOCOL_SLICE_MAX_NS UINT64_C(3600000000000)

struct protocol_switched {
    uint64_t time_slice_ns; // 0: not told
    uint32_t align;         // 0 or 1
    uint32_t reserved;
};

enum protocol_event_kind {
    PROTOCOL_EVENT_CAME = 1,  // the job is here, `value` CPUs wide
    PROTOCOL_EVENT_LEFT,      // it has ended here
    PROTOCOL_EVENT_SCHEDULED, // it holds the CPUs; `value` is its share in ppm
    PROTOCOL_EVENT_IDLE,      // it does not; `value` is its share in ppm
    PROTOCOL_EVENT_FREE,      // nothing is limited
    PROTOCOL_EVENT_GRANTED,   // its request scheduled it
    PROTOCOL_EVENT_DISCARDED, // its request was not followed
    PROTOCOL_EVENT_SWITCH,    // job 0: the time-slice was over
};

struct protocol_event {
    uint64_t at_ns; // of the node's monotonic clock
    uint64_t job;   // its number, the same on all nodes; 0: none
    uint32_t kind;  // enum protocol_event_kind
    uint32_t value;
};

#define PROTOCOL_EVENTS_MAX 8 // in one reply

struct protocol_events {
    uint64_t first;         // number of the first event here: later than asked for, if that is lost
    uint64_t end;           // number that the next event will have
    int64_t wall_offset_ns; // what to add to at_ns for the time of day
    uint32_t count;
    uint32_t recording; // 0 or 1
    struct protocol_event events[PROTOCOL_EVENTS_MAX];
};

struct protocol_event_job {
    uint64_t job;
    uint32_t uid;
    uint32_t reserved;
    char job_id[PROTOCOL_JOB_ID_MAX];
};

#define PROTOCOL_TEXT_MAX 240

struct protocol_node_record {
    uint64_t node_id;
    uint64_t uptime_ns;
    uint64_t time_slice_ns;
    uint64_t gmet_ns;
    uint64_t switches;           // SWITCH commands handled
    uint64_t requests;           // SCHEDULE commands handled
    uint64_t requests_granted;   // of those, the ones that scheduled the job
    uint64_t requests_discarded; // of those, the ones within GMET or beyond the fairness bound
    uint32_t idle_share_ppm;
    uint32_t cpus;
    uint32_t jobs;
    uint32_t processes;
    uint32_t generation;
    uint32_t pid;
    char policy[24];
    char backend[16];
    char version[16];
    // Of policy dcs, in place of gmet_ns; all 0 under another, and from a classd that does not know
    // them, so that dcs_quantum_ns, which is never 0, tells whether they are there.
    uint64_t dcs_quantum_ns;
    uint64_t dcs_constant_ns;
    int32_t dcs_exponent;
    uint32_t dcs_calibrate; // 0 or 1
    // Of policy gang, 0 from a classd that does not know them.
    uint32_t clock_off_jobs; // present jobs that are said to be off by this node's clock
    // REGISTER commands since the start, repeated ones too; 0 from a classd that does not count.
    uint32_t refused;
    // Since the last SWITCH, or since timerd was told another time-slice, or since the start; at
    // least 1. 0 from a classd that does not tell.
    uint64_t timer_silent_ns;
};

struct protocol_job_record {
    char job_id[PROTOCOL_JOB_ID_MAX];
    uint32_t uid;
    uint32_t processes;     // on this node
    uint32_t ranks;         // of the whole job, as its processes say
    uint32_t width;         // CPUs that its processes here can use
    uint32_t scheduled;     // 0 or 1
    uint32_t share_ppm;     // of the node; SHARE_WHOLE_PPM and limited = 0: no limit
    uint32_t limited;       // 0 or 1
    uint32_t suspended;     // the enum protocol_means by which all of it is suspended; 0: it is not
    uint64_t cpu_ns;        // CPU time consumed on this node
    uint64_t registered_ns; // since its first process registered
    uint64_t scheduled_ns;  // total time scheduled
    uint64_t switches;      // times it became scheduled
    uint64_t requests;      // SCHEDULE commands sent by its processes
    uint64_t slots;         // of policy gang: the set
    uint32_t slots_agreed;  // 0 or 1: it has some
    uint32_t dormant;       // 0 or 1: it sleeps; if it is not scheduled, others have its turns
    struct protocol_clock clock; // as CLOCK said it; all 0: nothing was said
};

struct protocol_offer { // by level, as in common/slots.h
    uint64_t slots[SLOTS_LEVELS];
    uint8_t most[SLOTS_LEVELS]; // a number of slots
    uint8_t dummies;            // how many slots of the round are the sequential class's
    uint8_t reserved;
    uint64_t cut; // 0: any
};

struct protocol_claimed {
    uint64_t slots; // those of the claim that the job has now
};

struct protocol_tracked {              // of SUSPEND, RESUME, KILL
    uint32_t means;                    // by which it is, or was, suspended: enum protocol_means
    uint32_t passes;                   // looks that it took
    uint64_t took_ns;                  // from the request to its end
    char text[PROTOCOL_TEXT_MAX - 16]; // with a status: why not
};

struct protocol_reply {
    struct protocol_header header;
    union {
        struct protocol_registered registered;
        struct protocol_node_record node;
        struct protocol_job_record job;
        struct protocol_switched switched;
        struct protocol_events events;
        struct protocol_event_job event_job;
        struct protocol_tracked tracked;
        struct protocol_offer offer;
        struct protocol_claimed claimed;
        char text[PROTOCOL_TEXT_MAX]; // of a refused RELOAD or REGISTER: why, may be empty
        uint8_t bytes[240];
    };
};

_Static_assert(sizeof(struct protocol_header) == 16, "the header's size is part of the protocol");
_Static_assert(sizeof(struct protocol_request) == 128,
               "the request's size is part of the protocol");
_Static_assert(sizeof(struct protocol_reply) == 256, "the reply's size is part of the protocol");

// A request with its header filled in and the rest zero.
struct protocol_request protocol_request_new(enum protocol_command command, uint32_t sequence);

// A reply to `request` with its header filled in and the rest zero; `status` is 0 or an errno
// value.
struct protocol_reply protocol_reply_new(const struct protocol_request *request, int status);

// Checks `length` bytes received by the daemon and copies them to *request (which is aligned,
// unlike the buffer). Returns 0, or -1 with err->code EPROTO (size, magic or values: who sends that
// is not worth an answer), EPROTONOSUPPORT (another version) or EOPNOTSUPP (of a later time). With
// these two the header alone is valid in *request, so that it can be answered.
int protocol_check_request(const void *bytes, size_t length, struct protocol_request *request,
                           struct error *err);

// Checks `length` bytes received by a client as the answer to `request` and copies them to *reply:
// the texts in it end, counts and flags are possible, a time-slice is one that can be configured.
// Returns 0, or -1 with err->code EPROTO, EPROTONOSUPPORT, or the positive status of the reply.
int protocol_check_reply(const void *bytes, size_t length, const struct protocol_request *request,
                         struct protocol_reply *reply, struct error *err);

// True when `job_id` is terminated and of the form given at protocol_register.
int protocol_job_id_valid(const char job_id[PROTOCOL_JOB_ID_MAX]);

#endif
