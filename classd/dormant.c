// Jobs that sleep: a notebook at its prompt, a program in a debugger, one that waits for a file. A
// turn would be of no use to them, and others would wait for nothing, so the engine is told that
// they are dormant. Told from CPU time as of the sequential class; and only of a job that is all on
// this node: the part of another may wait for what its ranks elsewhere compute, and be needed at
// any moment.
#include "classd/scheduler_state.h"

#define LOOKS_NS    NS_PER_SEC
#define PATIENCE_NS (10 * NS_PER_SEC) // with one that reads a file, say

// So much of one CPU is somebody who computes, however many CPUs the job can use.
#define AWAKE_PPM (SHARE_WHOLE_PPM / 10)

static bool can_be_told(const struct scheduler *scheduler, const struct job *job)
{
    return scheduler->config->skip_dormant && jobs_is_here_alone(job) && !job->suspended &&
           !job->usage_failed;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

// Less than what it can have while it does not hold the node, or it could not be told by what it
// uses then: half of an idle job's, and of what it has as one that sleeps, which may be less where
// there are many, or where it is bound to few CPUs, a quarter, so that it is seen at once.
static struct demand_rules rules_for(const struct scheduler *scheduler,
                                     const struct engine_job_view *view)
{
    unsigned node_cpus = config_cpus(scheduler->config);
    unsigned cpus = (unsigned)least(view->width, node_cpus);
    uint64_t awake_ppm = least(AWAKE_PPM / cpus, scheduler->config->idle_share_ppm / 2);
    if (view->dormant && view->limited)
        awake_ppm = least(awake_ppm, (uint64_t)view->share_ppm * node_cpus / cpus / 4);
    return (struct demand_rules){
        .cpus = cpus,
        .parts = 1,
        .interactive_share_ppm = (uint32_t)awake_ppm,
        .patience_ns = PATIENCE_NS,
    };
}

static bool sleeps(const struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    struct engine_job_view view;
    if (!can_be_told(scheduler, job) || !engine_job_find(scheduler->engine, job->id, &view)) {
        job->demand = DEMAND_OF_A_NEWCOMER;
        return false;
    }
    struct demand_rules rules = rules_for(scheduler, &view);
    struct demand_look look = {
        .now_ns = now_ns, .usage_ns = job->usage_ns, .held_ns = view.scheduled_total_ns};
    return !demand_observe(&job->demand, &rules, &look);
}

static void change(struct scheduler *scheduler, struct job *job, bool dormant, uint64_t now_ns)
{
    struct engine_event event = {.kind = dormant ? ENGINE_DORMANT : ENGINE_ACTIVE, .job = job->id};
    accounts_read_stale(scheduler, now_ns);
    job->dormant = dormant;
    decisions_take(scheduler, event, now_ns);
    jobs_publish_degree(scheduler);
    if (log_wants(LOG_DEBUG))
        log_line(LOG_DEBUG, "job %u/%s %s", (unsigned)job->uid, job->job_id,
                 dormant ? "sleeps" : "computes again");
}

static void plan_look(struct scheduler *scheduler, const struct job *job)
{
    uint64_t next_ns = job->demand.last.now_ns + LOOKS_NS;
    if (scheduler->dormant_look_ns == 0 || next_ns < scheduler->dormant_look_ns)
        scheduler->dormant_look_ns = next_ns;
}

static void review(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    bool dormant = sleeps(scheduler, job, now_ns);
    if (dormant != job->dormant)
        change(scheduler, job, dormant, now_ns);
    if (dormant)
        plan_look(scheduler, job);
}

// One that is looked at sooner would be so in vain, and who registers again and again have it done.
static void look(struct scheduler *scheduler, struct job *job, uint64_t now_ns)
{
    if (now_ns - job->demand.last.now_ns < DEMAND_WINDOW_NS) {
        plan_look(scheduler, job);
        return;
    }
    if (now_ns - scheduler->usage_read_ns >= USAGE_FRESH_NS)
        accounts_read(scheduler, job, now_ns);
    review(scheduler, job, now_ns);
}

void dormant_wake(struct scheduler *scheduler, uint64_t now_ns)
{
    scheduler->dormant_look_ns = 0;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (job->dormant)
            look(scheduler, job, now_ns);
    }
}

void dormant_fall_asleep(struct scheduler *scheduler, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (!job->dormant)
            review(scheduler, job, now_ns);
    }
}

void dormant_rouse(struct scheduler *scheduler, struct job *job)
{
    bool was_dormant = job->dormant;
    job->demand = DEMAND_OF_A_NEWCOMER;
    job->dormant = false;
    if (was_dormant)
        jobs_publish_degree(scheduler);
}

// Where nobody else is, it is nobody's loss.
uint64_t dormant_deadline_ns(const struct scheduler *scheduler)
{
    bool others = table_job_count(scheduler->table) > 1 || scheduler->sequential.demand.computes;
    return others && scheduler->dormant_look_ns != 0 ? scheduler->dormant_look_ns
                                                     : SCHEDULER_NO_DEADLINE;
}

void scheduler_look_at_dormant(scheduler_t *scheduler, uint64_t now_ns)
{
    if (dormant_deadline_ns(scheduler) > now_ns)
        return;
    dormant_wake(scheduler, now_ns);
    sequential_review(scheduler, now_ns); // beside one that sleeps it needs no turns
}
