// The insides of the scheduler, shared by its files only: scheduler.c (turns, requests, begin and
// end), jobs.c (who comes and goes), adopted.c (who was there before), decisions.c (limits and
// pages), accounts.c (CPU time), describe.c (for people).
#ifndef COSCHED_CLASSD_SCHEDULER_STATE_H
#define COSCHED_CLASSD_SCHEDULER_STATE_H

#include "classd/scheduler.h"
#include "common/units.h"

struct scheduler {
    const struct config *config;
    backend_t *backend;
    pages_t *pages;
    engine_t *engine;
    table_t *table;
    trace_t *trace;
    int deaths;
    uint64_t started_ns;
    uint64_t usage_read_ns;
    uint64_t last_switch_ns; // the last turn, whoever asked for it
    bool unasked;            // it was taken without a SWITCH
    uint64_t deadline_ns;
    uint64_t switches;
    uint64_t requests;
    uint64_t granted;
    uint64_t discarded;
};

// ---- decisions.c

// The same on all nodes: a hash of the job's id.
uint64_t job_name_hash(const struct job *job);

// Tells the engine of an event and carries out what it decides, in its order. Returns what became
// of the event.
enum engine_outcome decisions_take(struct scheduler *scheduler, struct engine_event event,
                                   uint64_t now_ns);

// Carries out every decision in force once more, whatever was carried out before; losers first.
void decisions_reassert(struct scheduler *scheduler);

// The same for jobs that could not be lifted, and limited ones in place: a stranger may have come
// to live there.
void decisions_reassert_doubtful(struct scheduler *scheduler);

// Writes a job and its state into the trace, if one is being recorded.
void decisions_record_arrival(struct scheduler *scheduler, const struct job *job, uint64_t now_ns);

// ---- accounts.c

// Usage read less than this ago is fresh enough for a request: so a client that floods the socket
// with requests does not make the daemon read files for each.
#define USAGE_FRESH_NS NS_PER_MS

// Reads a job's CPU time and tells the engine and the page. What cannot be read stays as it was.
void accounts_read(struct scheduler *scheduler, struct job *job, uint64_t now_ns);
void accounts_read_all(struct scheduler *scheduler, uint64_t now_ns);

// The engine takes a job's first total for the mark to count from.
void accounts_start(struct scheduler *scheduler, struct job *job, uint64_t now_ns);

// ---- jobs.c

// Enters a process in table and set of deaths. `pidfd` is its own from here on, on success. Returns
// NULL with a reason.
struct process *jobs_enter(struct scheduler *scheduler, struct job *job,
                           const struct status_member *member, int pidfd, struct error *err);

// Takes all processes out of engine and table; their pages and classes stay.
void jobs_drop_processes(struct scheduler *scheduler, struct job *job, uint64_t now_ns);

// Removes what is left of a job without processes: class, page, entry.
void jobs_end(struct scheduler *scheduler, struct job *job);

// Tells all jobs how many there are.
void jobs_publish_degree(struct scheduler *scheduler);

#endif
