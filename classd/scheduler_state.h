// The insides of the scheduler, shared by its files only: scheduler.c (turns, requests, begin and
// end), jobs.c (who comes and goes), adopted.c (who was there before), sequential.c (who is
// nobody's job), dormant.c (who sleeps), tracking.c (who is suspended), tracking_orders.c (who is
// to be), ways.c (who is not limited meanwhile), leaving.c (classes of jobs that have ended),
// slots.c (whose slots are which), clocks.c (whose are of no use here), decisions.c (limits and
// pages), accounts.c (CPU time), describe.c (for people).
#ifndef COSCHED_CLASSD_SCHEDULER_STATE_H
#define COSCHED_CLASSD_SCHEDULER_STATE_H

#include "classd/leavers.h"
#include "classd/log.h"
#include "classd/policy/demand.h"
#include "classd/scheduler.h"
#include "classd/sequential_class.h"
#include "common/units.h"

// The engine's job of the sequential class, which is in no table, and what people read.
#define SEQUENTIAL_JOB    ((engine_job_t)UINT64_MAX)
#define SEQUENTIAL_JOB_ID "sequential"

struct sequential {
    sequential_class_t *class_;
    struct demand demand;
    bool takes_part;
    uint32_t width; // that it came with
    uint64_t came_ns;
    uint64_t free_since_ns; // it takes no part
    uint64_t usage_ns;      // as last read
};

struct scheduler {
    const struct config *config;
    backend_t *backend;
    pages_t *pages;
    engine_t *engine;
    table_t *table;
    struct sequential sequential;
    trace_t *trace;
    int deaths;
    uint64_t started_ns;
    uint64_t usage_read_ns;
    uint64_t last_switch_ns;    // the last turn, whoever asked for it
    bool unasked;               // it was taken without a SWITCH
    bool was_silent;            // it came late
    uint64_t timer_heard_ns;    // the last SWITCH, or what it is waited for since
    uint64_t slice_ns;          // that timerd was told
    uint64_t slot_ns;           // of policy gang, as it was last in force; 0: never
    struct phase_moment moment; // of the event in hand, see decisions_date()
    uint64_t turn;              // number of the slice; 0: not known
    uint64_t wall_offset_ns;    // time of day at the monotonic clock's zero; 0: not known
    bool clock_known;
    int64_t
        clock_offset_ns; // as scheduler_clock_at() was told when the clock was last set, or first
    uint64_t works;      // of tracking, so far
    bool calls;          // some job is called
    uint64_t dormant_look_ns; // when those who sleep are looked at; 0: nobody does
    leavers_t *leavers;
    unsigned parting;          // of them
    uint64_t leaving_ready_ns; // no step is made before
    // Lines that clients cause at will.
    struct log_valve arrivals_valve; // a job's, from its first to its last
    struct log_valve tracking_valve;
    struct log_valve exits_valve;
    struct log_valve ends_valve;
    struct log_valve sequential_valve;
    void (*tracked)(const struct tracking_result *result, void *user);
    void *tracked_user;
    uint64_t switches;
    uint64_t requests;
    uint64_t granted;
    uint64_t discarded;
};

// ---- decisions.c

// The same on all nodes: a hash of the job's id.
uint64_t job_name_hash(const struct job *job);

// The order of jobs by which nodes agree whose turn it is, the lowest first: by ranks, then by that
// hash.
uint64_t job_turn_name(const struct job *job);

// What traces know it by, which no other user's job of its id is known by. The same on all nodes
// that know the user by the same number.
uint64_t job_trace_number(const struct job *job);

// Whose it is, for the engine.
uint64_t job_owner(const struct job *job);

// An event has come: limits are set at its time from now on. That of day is the last turn's, and
// what has passed since.
void decisions_date(struct scheduler *scheduler, uint64_t now_ns);

// Tells the engine of an event and carries out what it decides, in its order. Returns what became
// of the event.
enum engine_outcome decisions_take(struct scheduler *scheduler, struct engine_event event,
                                   uint64_t now_ns);

// Carries out every decision in force once more, whatever was carried out before; losers first.
// Classes have their weights again, too, which go with the limits where somebody releases.
void decisions_reassert(struct scheduler *scheduler);

// The same for jobs that could not be lifted, and limited ones in place: a stranger may have come
// to live there, or somebody else may have set a limit. And, now and then, the weights: `coschedctl
// release --force` takes them.
void decisions_reassert_doubtful(struct scheduler *scheduler);

// Writes a state into the trace, if one is being recorded; `number` as job_trace_number().
void decisions_record(struct scheduler *scheduler, uint64_t number, bool scheduled, bool limited,
                      uint32_t share_ppm, uint64_t now_ns);

// The same for a job that comes, and its state.
void decisions_record_arrival(struct scheduler *scheduler, const struct job *job, uint64_t now_ns);

// Says in the job's page what holds. One that was idle and is no more is called.
void decisions_publish(struct scheduler *scheduler, struct job *job, bool scheduled, bool limited);

// Carries out what is in force for one job once more.
void decisions_reassert_job(struct scheduler *scheduler, struct job *job);

// ---- slots.c

// Says in the pages which slots are whose, for the jobs and for the next classd.
void slots_publish(struct scheduler *scheduler);

// A slot has begun; `turn` as the engine's. Six times a round it is found out of each job whether
// it could have more slots here.
void slots_review(struct scheduler *scheduler, uint64_t turn, uint64_t now_ns);

// ---- clocks.c

// How many jobs are said to be off by this node's clock.
uint32_t clocks_count_off(const struct scheduler *scheduler);

// Slots are as long as the configuration says from now on. If that is new, those that jobs have
// agreed about with other nodes are other times here: as where the clock was set.
void clocks_slice_is(struct scheduler *scheduler);

// Whether a job that is adopted, all of whose processes have been entered, has the slots of its
// page; not those that were of another length.
bool clocks_keep_slots(const struct job *job);

// ---- tracking.c

// When scheduler_track_on() has something to do, or SCHEDULER_NO_DEADLINE.
uint64_t tracking_deadline_ns(const struct scheduler *scheduler);

// Has what is suspended suspended once more, by scheduler_track_on(): somebody may have come, or
// lifted everything.
void tracking_reassert(struct scheduler *scheduler);

// Whether managers have frozen groups of their own in which jobs are limited in place, or let them
// run again. Of those that are frozen scheduler_track_on() finds out that they run again.
void tracking_look_at_managers(struct scheduler *scheduler, uint64_t now_ns);

// The job ends: nobody of one that is being killed stays behind, and who waits is told.
void tracking_end(struct scheduler *scheduler, struct job *job);

// ---- tracking_orders.c

// Says in job->tracking what is to be done, and has the engine know; the first pass is due at its
// next_ns. On error, with what the client is told, nothing has changed.
int tracking_begin(struct scheduler *scheduler, struct job *job, const struct tracking_order *order,
                   uint64_t now_ns, struct error *err);

// The job is suspended, or no more.
void tracking_tell_engine(struct scheduler *scheduler, struct job *job, bool suspended,
                          uint64_t now_ns);

const char *tracking_means_name(enum class_means means);

// ---- leaving.c

// What becomes of the class of a job that has ended.
enum departure {
    CLASS_GONE,
    CLASS_LEAVES, // scheduler_leave_on() goes on, at leaving_deadline_ns() or later
    CLASS_STAYS,  // behind; the log says why
};

// Removes the class of a job of `uid` that has ended, from `begin_ns` on, as far as nothing must be
// waited for. The class is not the caller's any more. There is room for it, if the job was one of
// SCHEDULER_CLASSES_MAX.
enum departure leaving_begin(struct scheduler *scheduler, uid_t uid, class_t *class_,
                             uint64_t begin_ns, uint64_t now_ns);

// A job of this name begins. Its class, if there is one that leaves, is removed now, or returned
// with whoever is left in it, and then the caller's, for leaving_begin() or class_close().
class_t *leaving_give_up(struct scheduler *scheduler, uid_t uid, const char *job_id,
                         uint64_t now_ns);

// How many classes of the user's ended jobs are being removed, without that of the job `job_id`,
// should it begin again.
size_t leaving_of(const struct scheduler *scheduler, uid_t uid, const char *job_id);

uint64_t leaving_deadline_ns(const struct scheduler *scheduler); // or SCHEDULER_NO_DEADLINE

// The daemon ends: removes all, waiting for a few of them; or leaves them to the next one.
void leaving_finish(struct scheduler *scheduler, uint64_t now_ns);
void leaving_close(struct scheduler *scheduler);

// ---- ways.c

// Lifts the job's limit for a moment, if it may be lifted again and is not. To be ended by
// ways_take_back(), which does nothing for a job that is not given way; ways_review() ends it
// otherwise, at ways_deadline_ns() or later.
void ways_give(struct scheduler *scheduler, struct job *job, uint64_t now_ns);
void ways_take_back(struct scheduler *scheduler, struct job *job, uint64_t now_ns);
void ways_review(struct scheduler *scheduler, uint64_t now_ns);
uint64_t ways_deadline_ns(const struct scheduler *scheduler); // or SCHEDULER_NO_DEADLINE

// ---- accounts.c

// Usage read less than this ago is fresh enough for what clients send: so one that floods the
// socket with requests, or a job of many processes that all end, does not make the daemon read
// files for each.
#define USAGE_FRESH_NS NS_PER_MS

// Reads a job's CPU time and tells the engine and the page. What cannot be read stays as it was.
void accounts_read(struct scheduler *scheduler, struct job *job, uint64_t now_ns);
void accounts_read_all(struct scheduler *scheduler, uint64_t now_ns);
void accounts_read_stale(struct scheduler *scheduler, uint64_t now_ns); // if it is not fresh

// The engine takes a job's first total for the mark to count from.
void accounts_start(struct scheduler *scheduler, struct job *job, uint64_t now_ns);

// ---- sequential.c

int sequential_open(struct scheduler *scheduler, struct error *err);
void sequential_close(struct scheduler *scheduler); // limits stay as they are

// Opens the groups that were not there so far.
void sequential_search(struct scheduler *scheduler);

// Reads its CPU time, for the engine and for sequential_review().
void sequential_account(struct scheduler *scheduler, uint64_t now_ns);

// Lets it take part in the turns from now on, or no longer, if that is due.
void sequential_review(struct scheduler *scheduler, uint64_t now_ns);

// Carries out a decision, or the one in force once more.
void sequential_carry_out(struct scheduler *scheduler, bool scheduled, bool limited,
                          uint32_t share_ppm);
void sequential_reassert(struct scheduler *scheduler);

// What traces know it by, as job_trace_number().
uint64_t sequential_turn_name(void);
void sequential_record_arrival(struct scheduler *scheduler, uint64_t now_ns);

// The end: the groups are as they were.
void sequential_give_back(struct scheduler *scheduler);

// False while none of its groups is there.
bool sequential_describe(const struct scheduler *scheduler, struct protocol_job_record *record,
                         uint64_t now_ns);

// ---- dormant.c

// Tells the engine of jobs that sleep no longer, and of those that do so from now on. The former
// before anything at which it would matter. The latter at a tick, when CPU times have been read,
// and after the engine has heard of it: who has just been given the node must not lose it at once.
void dormant_wake(struct scheduler *scheduler, uint64_t now_ns);
void dormant_fall_asleep(struct scheduler *scheduler, uint64_t now_ns);

// The job does not sleep, which the engine is told, or knows, otherwise.
void dormant_rouse(struct scheduler *scheduler, struct job *job);

// When scheduler_look_at_dormant() is to be called, or SCHEDULER_NO_DEADLINE.
uint64_t dormant_deadline_ns(const struct scheduler *scheduler);

// ---- jobs.c

// Enters a process in table and set of deaths. `pidfd` is its own from here on, on success. Returns
// NULL with a reason.
struct process *jobs_enter(struct scheduler *scheduler, struct job *job,
                           const struct status_member *member, const struct world *world, int pidfd,
                           struct error *err);

// Takes all processes out of engine and table; their pages and classes stay.
void jobs_drop_processes(struct scheduler *scheduler, struct job *job, uint64_t now_ns);

// Removes what is left of a job without processes: class, page, entry.
void jobs_end(struct scheduler *scheduler, struct job *job, uint64_t now_ns);

// Tells the job how large it is, when a process has come, gone, or changed its width.
void jobs_publish_size(struct job *job);

// True when all of the job's ranks are processes of this node, by its own word.
bool jobs_is_here_alone(const struct job *job);

// Tells all jobs how many there are.
void jobs_publish_degree(struct scheduler *scheduler);

#endif
