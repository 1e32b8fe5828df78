// The scheduler: turns what happens outside into engine events, and the engine's decisions into
// limits and status pages. It reads no clock and no socket; time and processes are handed to it.
//
// Order of effects, losers first: a loser's page, then its limit; a winner's limit, then its page.
// So nobody is told that he runs before he can, and the sum of shares stays within the node.
#ifndef COSCHED_CLASSD_SCHEDULER_H
#define COSCHED_CLASSD_SCHEDULER_H

#include "cgroup-backend/backend.h"
#include "classd/pages.h"
#include "classd/table.h"
#include "classd/trace.h"
#include "common/config.h"
#include "common/protocol.h"

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULER_NO_DEADLINE UINT64_MAX

// Classes of jobs and of ended ones that a node has at most.
enum { SCHEDULER_CLASSES_MAX = 4096 };

typedef struct scheduler scheduler_t;

// *config, *backend and *pages must outlive the scheduler.
int scheduler_open(const struct config *config, backend_t *backend, pages_t *pages, uint64_t now_ns,
                   scheduler_t **scheduler, struct error *err);

// The configuration behind *config has changed: policy, shares and times are in force from now on,
// for the jobs that are here too; words for the library for those that start from now on.
void scheduler_reconfigure(scheduler_t *scheduler, uint64_t now_ns);

// Starts the recording anew, with the state that everything is in; `capacity` as in trace_start().
int scheduler_start_trace(scheduler_t *scheduler, uint32_t capacity, uint64_t now_ns,
                          struct error *err);

// The recording, which stays the scheduler's.
trace_t *scheduler_trace(const scheduler_t *scheduler);

// Releases memory and descriptors; classes, limits and pages stay as they are. Null is allowed.
void scheduler_close(scheduler_t *scheduler);

// A process that wants to join a job.
struct applicant {
    uid_t uid;
    pid_t pid;
    uint64_t start_time;
    int pidfd; // the scheduler's from the call on, also on error; -1 for none
    const struct protocol_register *wish;
};

// CMDREG. Page, class and place are ready when it returns 0; *process is the new or known process.
// Registering again in the same job renews the serial and the width. On error nothing has changed
// and err->code is what the client is told: EBUSY (in another job already), ENOSPC (limits of the
// configuration), ESRCH (ended meanwhile), or the errno of what failed.
int scheduler_register(scheduler_t *scheduler, const struct applicant *applicant, uint64_t now_ns,
                       struct process **process, struct error *err);

// The process with this pid under this registration, or null.
struct process *scheduler_find(const scheduler_t *scheduler, pid_t pid, uint64_t serial);

// CMDOUT. The process leaves its job and its class; the last one ends the job. While the job, or a
// part of it, is stopped or killed, who leaves stays in the class until the job ends.
void scheduler_exit(scheduler_t *scheduler, struct process *process, uint64_t now_ns);

// The process is about to end. When all of the job's here are, they leave it; they stay in the
// class, which has no limit from then on, and is removed a moment later.
void scheduler_part(scheduler_t *scheduler, struct process *process, uint64_t now_ns);

// Handles deaths, a few of them; deaths_fd is readable while there are more.
void scheduler_bury(scheduler_t *scheduler, uint64_t now_ns);
int scheduler_deaths_fd(const scheduler_t *scheduler);

// CMDCSW. wall_ns is the time of day, which nodes have in common; 0 when it is not known.
void scheduler_switch(scheduler_t *scheduler, uint64_t now_ns, uint64_t wall_ns);

// To be called four times a second where [sequential] names groups: lets them take part in the
// turns, or no longer. Jobs that slept are looked at before.
void scheduler_watch(scheduler_t *scheduler, uint64_t now_ns);

// Looks whether jobs that slept still do, if that is due, for which scheduler_deadline_ns() asks.
void scheduler_look_at_dormant(scheduler_t *scheduler, uint64_t now_ns);

// ---- process tracking (Franke, Moreira & Pattnaik), on a job or on a part of it

enum tracking_kind { TRACKING_SUSPEND = 1, TRACKING_RESUME, TRACKING_KILL };

struct tracking_order {
    enum tracking_kind kind;
    enum protocol_means means; // SUSPEND
    pid_t root;                // of a subtree; 0: the whole job, with RESUME what is suspended
};

// What came of an order. fault.code 0: it is done; else nothing has changed.
struct tracking_result {
    uint64_t number;
    enum protocol_means means;
    uint32_t passes;
    uint64_t took_ns;
    struct error fault;
};

// Begins. Returns true when that was all: *result says what came of it. Else result->number is what
// the function given to scheduler_on_tracked() will tell it by.
bool scheduler_track(scheduler_t *scheduler, struct job *job, const struct tracking_order *order,
                     uint64_t now_ns, struct tracking_result *result);
void scheduler_on_tracked(scheduler_t *scheduler,
                          void (*done)(const struct tracking_result *result, void *user),
                          void *user);

// Makes the pass that is due, of the job that has waited longest, for which scheduler_deadline_ns()
// asks. False when none is; else *uid is whose job it was. There may be more.
bool scheduler_track_on(scheduler_t *scheduler, uint64_t now_ns, uid_t *uid);

// Tracking of this user's jobs pauses until then: what a pass costs is the caller's to know.
void scheduler_rest(scheduler_t *scheduler, uid_t uid, uint64_t until_ns);

// The job of this user; with PROTOCOL_NO_UID the only one of this name: null with ENOENT or
// ENOTUNIQ.
struct job *scheduler_find_job(const scheduler_t *scheduler, uint32_t uid, const char *job_id,
                               struct error *err);

// CMDSCH, by a process.
void scheduler_request(scheduler_t *scheduler, struct process *process, uint64_t now_ns);

// OFFER, CLAIM and NARROW, by a process, under policy gang. CLAIM returns what its job has now.
void scheduler_offer(scheduler_t *scheduler, const struct process *process,
                     struct protocol_offer *offer, uint64_t now_ns);
uint64_t scheduler_claim(scheduler_t *scheduler, const struct process *process,
                         const struct protocol_claim *claim, uint64_t now_ns);
void scheduler_narrow(scheduler_t *scheduler, const struct process *process,
                      const struct protocol_claim *claim);

// CLOCK, under policy gang: what the process's job says about this node's clock. It concerns that
// job alone, on this node. While it is off, the job has no slots here, and OFFER and CLAIM leave
// the choice to its other nodes.
void scheduler_report_clock(scheduler_t *scheduler, struct process *process,
                            const struct protocol_clock *clock);
bool scheduler_clock_off(const struct process *process);

// How far the time of day is ahead of the monotonic clock now. When somebody has set it by more
// than a tenth of a slot, jobs of several nodes that have slots here are off by it from now on.
void scheduler_clock_at(scheduler_t *scheduler, int64_t offset_ns);

// Goes on removing the classes of jobs that have ended, by a step of the one that has waited
// longest, if one is due. False when none is; else scheduler_rest_leaving() is to follow.
bool scheduler_leave_on(scheduler_t *scheduler, uint64_t now_ns);

// That step has taken `took_ns`. All of these classes together get a tenth of the daemon's time:
// none has another one for nine times as long.
void scheduler_rest_leaving(scheduler_t *scheduler, uint64_t took_ns, uint64_t now_ns);

// The class of a job of `uid` that a former classd has left, and nobody is in who was registered:
// removes it as one of a job that has just ended. Returns false when it stays behind and may be
// limited; the log says why. The class is the scheduler's, also then.
bool scheduler_dismiss(scheduler_t *scheduler, uid_t uid, class_t *class_, uint64_t now_ns);

// When scheduler_deadline(), scheduler_track_on(), scheduler_leave_on() and
// scheduler_look_at_dormant() are to be called, or SCHEDULER_NO_DEADLINE: when two time-slices have
// passed without a SWITCH, when tracking is to look again, when a class is still to be removed, or
// when a job sleeps.
uint64_t scheduler_deadline_ns(const scheduler_t *scheduler);

// Whether jobs have `called` set since this was last said to be done: who has become scheduled, or
// free, after having been idle.
bool scheduler_calls(const scheduler_t *scheduler);
void scheduler_called(scheduler_t *scheduler);

// Switches without having been asked, if that is due.
void scheduler_deadline(scheduler_t *scheduler, uint64_t now_ns, uint64_t wall_ns);

// A job that a former classd left. Class and page become the scheduler's, also on error.
struct adoption {
    uid_t uid;
    const char *job_id;
    class_t *class_;
    struct status_page *page;
    int page_fd;
    uint32_t count; // processes that live, at least 1, in the order of the page
    const struct status_member *processes;
    const int *pidfds; // the scheduler's, also on error
};
int scheduler_adopt(scheduler_t *scheduler, const struct adoption *adoption, uint64_t now_ns,
                    struct error *err);

// Decides and carries out, when all that there is to adopt is adopted: who was scheduled still is,
// if there is room for all of them.
void scheduler_resume(scheduler_t *scheduler, uint64_t now_ns);

// Lifts every limit and tells every job that it is free. Classes and pages stay for the next
// classd.
void scheduler_lift(scheduler_t *scheduler);

// Lifts, then removes every class and page.
void scheduler_dissolve(scheduler_t *scheduler, uint64_t now_ns);

// CMDCSW, CMDSCH and the rest in numbers, for QUERY. The job at `index` of those that `viewer` may
// see (all of them when `sees_all`), then the sequential class, if there is one, which is
// everybody's; false behind the last.
void scheduler_describe_node(const scheduler_t *scheduler, struct protocol_node_record *record,
                             uint64_t now_ns);
bool scheduler_describe_job(scheduler_t *scheduler, uid_t viewer, bool sees_all, uint32_t index,
                            struct protocol_job_record *record, uint64_t now_ns);

// The job of `uid` that has processes of this MPI_COMM_WORLD, or of one that it has spawned, and
// room for more; false when none is here.
bool scheduler_describe_world(scheduler_t *scheduler, uid_t uid, uint64_t world,
                              struct protocol_job_record *record, uint64_t now_ns);

#endif
