// The engine's jobs: who comes, how wide they are and to which CPUs they are bound, who steps out
// of the policies' sight and back into it, who leaves. Whatever a job has had is put into its
// account first, by account_advance(). Nobody is scheduled here. Of the engine's files alone.
#ifndef COSCHED_CLASSD_POLICY_MEMBERS_H
#define COSCHED_CLASSD_POLICY_MEMBERS_H

#include "classd/policy/aside.h"
#include "classd/policy/engine.h"
#include "classd/policy/leads.h"
#include "classd/policy/policy.h"
#include "classd/policy/shares.h"

struct engine {
    const struct policy *policy;
    struct shares shares;
    struct policy_node node; // the jobs that policies see
    struct aside aside;      // the others
    struct leads leads;
    uint64_t arrivals;
    size_t capacity;                   // of each list of jobs and of decisions
    struct engine_decision *decisions; // those of the last event
};

// The job, or NULL. The pointer is void when somebody comes, leaves or steps out of sight.
struct policy_job *members_find(const engine_t *engine, engine_job_t id);

// The job if policies see it, else NULL.
struct policy_job *members_in_sight(const engine_t *engine, engine_job_t id);

// Room for the job, if it is new, in either list, and for a decision about each. Returns whether
// there is; a part of the growth does no harm.
bool members_reserve(engine_t *engine, engine_job_t job);

// The account that a job which comes now begins with, its owner's earlier jobs apart, in ns.
uint64_t members_newcomer_ns(const engine_t *engine);

// A process of a job that is new, or was here; of ENGINE_REGISTER, with room reserved.
void members_add(engine_t *engine, const struct engine_event *event);

// The same of ENGINE_ADOPT: a new job has the account that it had before a restart.
void members_adopt(engine_t *engine, const struct engine_event *event);

// A process is gone, and with its last one the job; of ENGINE_EXIT.
void members_remove(engine_t *engine, const struct engine_event *event);

// Of ENGINE_WIDTH, in one step: with what it had and what it gets together the job would drive
// others out.
void members_change_width(engine_t *engine, const struct engine_event *event);

// NULL: to none. A job that may use as many CPUs as the node has, by the configuration, is bound
// to none either.
void members_bind(engine_t *engine, struct policy_job *job, const struct engine_cpus *cpus);

void members_suspend(engine_t *engine, engine_job_t id);
void members_resume(engine_t *engine, engine_job_t id);

// The job sleeps; it does no longer. Who is suspended would not compute if it were awake.
void members_lull(engine_t *engine, engine_job_t id);
void members_rouse(engine_t *engine, engine_job_t id);

// What a job has had beside the others they could not use. When its width or its CPUs change, and
// they take turns from now on, it is no more of a debtor than if it left and came again.
void members_forgive(engine_t *engine, engine_job_t id);

// The job is wider than before, or was out of sight.
void members_refit(engine_t *engine, engine_job_t id);

#endif
