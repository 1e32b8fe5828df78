// The process table (Yoo & Jette, section 2.2.3): every job of the node, and every process with the
// job that it belongs to. Memory only; what happens to classes and pages is the scheduler's.
#ifndef COSCHED_CLASSD_TABLE_H
#define COSCHED_CLASSD_TABLE_H

#include "cgroup-backend/backend.h"
#include "classd/policy/demand.h"
#include "classd/policy/engine.h"
#include "classd/policy/looks.h"
#include "classd/policy/phase.h"
#include "classd/worlds.h"
#include "common/protocol.h"
#include "common/status_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job;

struct process {
    pid_t pid;
    uint64_t start_time; // with the pid: which process it is
    uint64_t serial;     // which registration; never used again
    uint32_t width;
    uint64_t world; // the key of that which it is of
    int pidfd;      // the table closes it; -1 for none
    uint32_t slot;  // in job->processes and in the page's members
    bool parts;     // it is about to end
    bool again;     // it has registered again since it came
    struct job *job;
    struct process *next; // with the same hash
};

// What is being done to a job by process tracking, see tracking.c.
enum tracking_work { TRACKING_IDLE = 0, TRACKING_SUSPENDS, TRACKING_RESUMES, TRACKING_KILLS };

struct job_tracking {
    enum tracking_work work;
    uint64_t number; // of the work; who asked for it waits for that
    struct class_suspension how;
    bool again;       // SUSPENDS: it was suspended so before
    bool undoes;      // RESUMES: what could not be suspended, because of:
    struct error why; // the fault
    bool gives_way;   // the job is given way meanwhile, see ways.c
    uint32_t passes;
    uint64_t begun_ns; // the first pass
    uint64_t next_ns;  // of the next pass
};

struct job {
    engine_job_t id; // never used again
    uid_t uid;
    char job_id[PROTOCOL_JOB_ID_MAX];
    struct worlds worlds;
    uint32_t named_ranks; // of the largest when it came, by which it has its place among others
    uint64_t registered_ns;
    uint64_t requests;
    class_t *class_;
    struct phase phase; // of the class's limit
    struct status_page *page;
    int page_fd;
    uint64_t usage_base_ns; // the job's usage when the engine first heard of it
    uint64_t usage_ns;      // as last read
    uint64_t
        usage_before_ns;  // in a class that it had before, to be added to that of the present one
    bool suspended;       // all of it: the engine knows
    bool dormant;         // it sleeps: the engine knows
    struct demand demand; // whether it does
    bool stopped;         // by the manager of its group, for which it is, or is suspended besides
    uint64_t look_ns;     // whether it still is, is looked at then
    struct looks looks;   // for more slots
    struct job_tracking tracking;
    uint64_t way_given_ns;   // since then it is given way, if:
    uint64_t way_end_ns;     // until then it is; 0: it is not
    uint64_t way_ready_ns;   // from then on it may be given way again
    bool stops_again;        // a pass that stops whoever runs, of a suspended job, is due
    uint64_t rested_ns;      // not before then
    bool parts;              // all its processes are about to end
    bool called;             // it was idle, and its processes are to be told that it is no more
    bool quiet;              // too many jobs have come for a line about this one
    bool share_failed;       // a limit could not be set; said once
    bool told_apart;         // that a process lives elsewhere and is not taken; likewise
    bool stuck;              // a limit could not be lifted; tried again every turn
    bool usage_failed;       // the usage could not be read; said once
    bool clock_complained;   // about this node's clock
    struct engine_cpus cpus; // to which its processes are bound together, if:
    bool bound;              // all are bound to some; see job_cpus.h
    uint64_t cpus_seen_ns;   // when all were last looked at
    struct process **processes;
    uint32_t process_count;
    size_t process_room;
};

typedef struct table table_t;

table_t *table_new(void);        // null when memory is short
void table_free(table_t *table); // closes pidfds; pages and classes must be gone from the jobs

// A new job without processes, or null when memory is short.
struct job *table_add_job(table_t *table, uid_t uid, const char *job_id);

// Removes a job that has no processes left and frees it.
void table_remove_job(table_t *table, struct job *job);

struct job *table_find_job(const table_t *table, uid_t uid, const char *job_id);
struct job *table_job_with_id(const table_t *table, engine_job_t id);
size_t table_job_count(const table_t *table);
struct job *table_job_at(const table_t *table, size_t index); // in order of arrival

// A new process of the job at its last slot, with a serial of its own, of this world of the job;
// null when memory is short.
struct process *table_add_process(table_t *table, struct job *job, pid_t pid,
                                  const struct world *world);

// The process is of this world of its job from now on. Where memory is short it stays where it was.
void table_move_to_world(struct process *process, const struct world *world);

// Frees the process; the last of the job's processes takes its slot.
void table_remove_process(table_t *table, struct process *process);

struct process *table_find_process(const table_t *table, pid_t pid);
size_t table_process_count(const table_t *table);

// A serial that no registration had so far: for a process that registers again.
uint64_t table_next_serial(table_t *table);

#endif
