// The sequential class in the turns: it takes part while there are MPI jobs and somebody computes
// in it, as one more job of the engine.
#include "classd/log.h"
#include "classd/scheduler_state.h"

#include <errno.h>
#include <stdio.h>

// The same on all nodes, so that those where it takes part give it the same turn.
#define TURN_NAME UINT64_C(0x5e90e271a1)

int sequential_open(struct scheduler *scheduler, struct error *err)
{
    scheduler->sequential.class_ = sequential_class_new(scheduler->config->sequential_groups);
    return scheduler->sequential.class_ != NULL ? 0 : error_errno(err, ENOMEM, "sequential class");
}

void sequential_close(struct scheduler *scheduler)
{
    sequential_class_free(scheduler->sequential.class_);
}

void sequential_search(struct scheduler *scheduler)
{
    sequential_class_search(scheduler->sequential.class_, scheduler->backend);
}

static bool find_view(const struct scheduler *scheduler, struct engine_job_view *view)
{
    return scheduler->sequential.takes_part &&
           engine_job_find(scheduler->engine, SEQUENTIAL_JOB, view);
}

static void tell_usage(struct scheduler *scheduler, uint64_t usage_ns, uint64_t now_ns)
{
    struct engine_event event = {.kind = ENGINE_USAGE, .job = SEQUENTIAL_JOB, .usage_ns = usage_ns};
    engine_event(scheduler->engine, &event, now_ns);
}

// For how long it has held the node: while it takes no part nobody keeps it off.
static uint64_t held_ns(const struct scheduler *scheduler, uint64_t now_ns)
{
    struct engine_job_view view;
    return find_view(scheduler, &view) ? view.scheduled_total_ns
                                       : now_ns - scheduler->sequential.free_since_ns;
}

static struct demand_rules rules_for(const struct scheduler *scheduler)
{
    return (struct demand_rules){
        .cpus = config_cpus(scheduler->config),
        .parts = sequential_class_open_groups(scheduler->sequential.class_),
        .interactive_share_ppm = scheduler->config->interactive_share_ppm,
        .patience_ns = demand_patience_ns(config_slice_ns(scheduler->config)),
        .command_ns = DEMAND_COMMAND_NS,
    };
}

void sequential_account(struct scheduler *scheduler, uint64_t now_ns)
{
    struct sequential *sequential = &scheduler->sequential;
    struct demand_rules rules = rules_for(scheduler);
    if (rules.parts == 0)
        return;
    struct demand_look look = {.now_ns = now_ns,
                               .usage_ns = sequential_class_usage(sequential->class_)};
    sequential->usage_ns = look.usage_ns;
    if (sequential->takes_part)
        tell_usage(scheduler, look.usage_ns, now_ns);
    look.held_ns = held_ns(scheduler, now_ns);
    demand_observe(&sequential->demand, &rules, &look);
}

void sequential_carry_out(struct scheduler *scheduler, bool scheduled, bool limited,
                          uint32_t share_ppm)
{
    bool held = limited && (!scheduled || scheduler->config->strict);
    sequential_class_t *class_ = scheduler->sequential.class_;
    unsigned groups = sequential_class_open_groups(class_);
    // In their turn the kernel divides it, by who computes.
    uint32_t each_ppm = scheduled || groups == 0 ? share_ppm : share_ppm / groups;
    sequential_class_limit(class_, &scheduler->moment, held, each_ppm);
    if (log_wants(LOG_DEBUG))
        log_line(LOG_DEBUG, "sequential processes: %s, %s%.1f%% of the node",
                 scheduled ? "scheduled" : "idle", limited ? "" : "no limit, ",
                 share_ppm * 100.0 / SHARE_WHOLE_PPM);
}

void sequential_reassert(struct scheduler *scheduler)
{
    struct engine_job_view view;
    if (find_view(scheduler, &view))
        sequential_carry_out(scheduler, view.scheduled, view.limited, view.share_ppm);
    else
        sequential_class_limit(scheduler->sequential.class_, &scheduler->moment, false,
                               ENGINE_WHOLE_PPM);
}

uint64_t sequential_turn_name(void)
{
    return TURN_NAME;
}

void sequential_record_arrival(struct scheduler *scheduler, uint64_t now_ns)
{
    struct engine_job_view view;
    if (!find_view(scheduler, &view))
        return;
    trace_job(scheduler->trace, TURN_NAME, 0, SEQUENTIAL_JOB_ID, view.width, now_ns);
    decisions_record(scheduler, TURN_NAME, view.scheduled, view.limited, view.share_ppm, now_ns);
}

static void come(struct scheduler *scheduler, uint64_t now_ns)
{
    struct sequential *sequential = &scheduler->sequential;
    struct engine_event event = {.kind = ENGINE_REGISTER,
                                 .job = SEQUENTIAL_JOB,
                                 .width = config_cpus(scheduler->config),
                                 .name = TURN_NAME,
                                 .sequential = true};
    if (decisions_take(scheduler, event, now_ns) != ENGINE_DONE)
        return; // no memory: at the next look
    sequential->takes_part = true;
    sequential->width = event.width;
    sequential->came_ns = now_ns;
    tell_usage(scheduler, sequential->usage_ns, now_ns);
    sequential_record_arrival(scheduler, now_ns);
    jobs_publish_degree(scheduler);
    if (log_valve_open(&scheduler->sequential_valve, now_ns))
        log_line(LOG_INFO, "sequential processes compute: they take turns with %zu jobs",
                 table_job_count(scheduler->table));
}

static void go(struct scheduler *scheduler, uint64_t now_ns)
{
    struct sequential *sequential = &scheduler->sequential;
    struct engine_event event = {
        .kind = ENGINE_EXIT, .job = SEQUENTIAL_JOB, .width = sequential->width};
    sequential->takes_part = false;
    sequential->free_since_ns = now_ns;
    decisions_take(scheduler, event, now_ns);
    sequential_class_limit(sequential->class_, &scheduler->moment, false, ENGINE_WHOLE_PPM);
    trace_event(scheduler->trace, PROTOCOL_EVENT_LEFT, TURN_NAME, 0, now_ns);
    jobs_publish_degree(scheduler);
    if (log_valve_open(&scheduler->sequential_valve, now_ns))
        log_line(LOG_INFO, "sequential processes take no part in the turns any more");
}

// Of all jobs that want CPUs.
static uint64_t width_of_jobs(const struct scheduler *scheduler)
{
    struct engine_job_view view;
    uint64_t width = 0;
    for (size_t i = 0; engine_job_at(scheduler->engine, i, &view); i++)
        width += view.sequential || view.suspended || view.dormant ? 0 : view.width;
    return width;
}

// Without jobs there are no turns to take, the first one that comes finds the node free; nor beside
// jobs that leave room.
void sequential_review(struct scheduler *scheduler, uint64_t now_ns)
{
    const struct sequential *sequential = &scheduler->sequential;
    struct demand_rules rules = rules_for(scheduler);
    bool should = sequential->demand.computes && table_job_count(scheduler->table) > 0 &&
                  rules.parts > 0 &&
                  !demand_fits(&sequential->demand, &rules, width_of_jobs(scheduler));
    if (should == sequential->takes_part)
        return;
    accounts_read_all(scheduler, now_ns);
    if (should)
        come(scheduler, now_ns);
    else
        go(scheduler, now_ns);
}

void sequential_give_back(struct scheduler *scheduler)
{
    struct sequential *sequential = &scheduler->sequential;
    if (sequential->takes_part)
        engine_event(scheduler->engine,
                     &(struct engine_event){
                         .kind = ENGINE_EXIT, .job = SEQUENTIAL_JOB, .width = sequential->width},
                     0);
    sequential->takes_part = false;
    sequential_class_give_back(sequential->class_);
}

bool sequential_describe(const struct scheduler *scheduler, struct protocol_job_record *record,
                         uint64_t now_ns)
{
    const struct sequential *sequential = &scheduler->sequential;
    struct engine_job_view view = {.scheduled = true, .share_ppm = ENGINE_WHOLE_PPM};
    if (sequential_class_open_groups(sequential->class_) == 0)
        return false;
    bool takes_part = find_view(scheduler, &view);
    *record = (struct protocol_job_record){
        .width = view.width,
        .scheduled = view.scheduled,
        .share_ppm = view.share_ppm,
        .limited = view.limited,
        .cpu_ns = sequential->usage_ns,
        .registered_ns = takes_part ? now_ns - sequential->came_ns : 0,
        .scheduled_ns = view.scheduled_total_ns,
        .switches = view.switches,
    };
    snprintf(record->job_id, sizeof record->job_id, "%s", SEQUENTIAL_JOB_ID);
    return true;
}
