#include "classd/policy/shares.h"

void shares_note_tick(struct shares *shares, const struct policy_node *node, size_t aside_count)
{
    shares->jobs = aside_count;
    for (size_t i = 0; i < node->count; i++)
        shares->jobs += !node->jobs[i].sequential;
    shares->quiet_ticks++;
}

void shares_note_request(struct shares *shares, struct policy_job *job)
{
    job->asked = true;
    shares->quiet_ticks = 0;
}

void shares_note_turn(struct policy_job *job)
{
    job->turns_in_step =
        job->asked ? 0 : job->turns_in_step + (job->turns_in_step < SHARES_IN_STEP);
    job->asked = false;
}

uint32_t shares_of_newcomer(const struct shares *shares)
{
    bool quiet = shares->quiet_ticks > SHARES_QUIET_ROUNDS * shares->jobs;
    return quiet ? SHARES_IN_STEP : 0;
}

// Not all jobs of a node listen in the same round.
static bool listens(const struct policy_job *job)
{
    return (job->arrival + job->switches) % SHARES_LISTEN == 0;
}

static bool in_step(const struct policy_job *job)
{
    return !job->asked && job->turns_in_step >= SHARES_IN_STEP && !listens(job);
}

static uint32_t least(uint64_t one, uint64_t other)
{
    return (uint32_t)(one < other ? one : other);
}

// One of them runs, so they are one fewer.
static uint64_t in_step_ppm(const struct shares *shares, const struct policy_node *node)
{
    const uint64_t least_ppm = (SHARES_LEAST_PPM + node->cpus - 1) / node->cpus;
    if (shares->idle_total_ppm == 0 || shares->jobs < 2)
        return shares->idle_ppm;
    uint64_t together_ppm =
        shares->idle_total_ppm > shares->idle_ppm ? shares->idle_total_ppm : shares->idle_ppm;
    uint64_t part_ppm = together_ppm / (shares->jobs - 1);
    return part_ppm > least_ppm ? part_ppm : least_ppm;
}

void shares_note_width(const struct policy_node *node, struct policy_job *job, bool anew)
{
    uint64_t cpus = policy_usable_cpus(node, job);
    if (anew || cpus >= 2 * job->idle_cpus)
        job->idle_cpus = cpus;
}

struct division {
    bool limited;
    uint32_t idle_ppm;        // for each idle job that can use the whole node
    uint32_t in_step_ppm;     // for each of these that has nothing to notice
    uint32_t dormant_ppm;     // for each of these that is dormant, or was and waits for a turn
    uint32_t interactive_ppm; // for the sequential class, if it is idle
    uint64_t rest_ppm;        // for the scheduled jobs together
    uint64_t rest_divisor;    // the CPUs that they can use
};

static bool has_slept(const struct policy_job *job)
{
    return job->dormant || job->woken;
}

// Of the CPUs that it can use: a hundredth of a large node may be more than a narrow job would ever
// use, which would then compute in everybody's slices.
static uint32_t idle_job_ppm(const struct policy_node *node, const struct division *division,
                             const struct policy_job *job)
{
    uint64_t whole_ppm = has_slept(job) ? division->dormant_ppm
                         : in_step(job) ? division->in_step_ppm
                                        : division->idle_ppm;
    uint64_t cpus = job->idle_cpus < node->cpus ? job->idle_cpus : node->cpus;
    return (uint32_t)(whole_ppm * cpus / node->cpus);
}

static uint32_t dormant_ppm(const struct policy_node *node, const struct aside *aside)
{
    uint32_t dormant = 0;
    for (size_t i = 0; i < node->count; i++)
        dormant += !node->jobs[i].scheduled && has_slept(&node->jobs[i]);
    for (size_t i = 0; i < aside->count; i++)
        dormant += has_slept(&aside->jobs[i]);
    return dormant > 0 ? node->interactive_share_ppm / dormant : 0;
}

static struct division divide(const struct shares *shares, const struct policy_node *node,
                              const struct aside *aside, bool limited)
{
    struct division division = {.limited = limited, .rest_ppm = ENGINE_WHOLE_PPM};
    uint64_t idle_jobs = 0;
    for (size_t i = 0; i < aside->count; i++)
        idle_jobs += !aside->jobs[i].scheduled;
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].scheduled)
            division.rest_divisor += policy_usable_cpus(node, &node->jobs[i]);
        else if (node->jobs[i].sequential)
            division.interactive_ppm = node->interactive_share_ppm;
        else
            idle_jobs++;
    }
    if (idle_jobs > 0) {
        uint64_t most_ppm = (SHARES_IDLE_MOST_PPM - division.interactive_ppm) / idle_jobs;
        division.idle_ppm = least(shares->idle_ppm, most_ppm);
        division.dormant_ppm = least(dormant_ppm(node, aside), most_ppm);
        if (division.dormant_ppm < division.idle_ppm)
            division.dormant_ppm = division.idle_ppm;
    }
    division.in_step_ppm = least(division.idle_ppm, in_step_ppm(shares, node));
    division.rest_ppm -= division.interactive_ppm;
    for (size_t i = 0; i < node->count; i++) {
        if (!node->jobs[i].scheduled && !node->jobs[i].sequential)
            division.rest_ppm -= idle_job_ppm(node, &division, &node->jobs[i]);
    }
    for (size_t i = 0; i < aside->count; i++) {
        if (!aside->jobs[i].scheduled)
            division.rest_ppm -= idle_job_ppm(node, &division, &aside->jobs[i]);
    }
    return division;
}

// Section 2.2.2: (n - 1) % for the idle jobs, (100 - n + 1) % for the scheduled. Rounded down, so
// the sum is never above the whole.
static struct engine_decision decision_for(const struct policy_node *node,
                                           const struct division *division,
                                           const struct policy_job *job)
{
    struct engine_decision decision = {
        .job = job->id,
        .scheduled = job->scheduled,
        .limited = division->limited,
        .share_ppm = ENGINE_WHOLE_PPM,
    };
    if (division->limited && !job->scheduled)
        decision.share_ppm =
            job->sequential ? division->interactive_ppm : idle_job_ppm(node, division, job);
    else if (division->limited)
        decision.share_ppm =
            (uint32_t)(division->rest_ppm * policy_usable_cpus(node, job) / division->rest_divisor);
    return decision;
}

// As if it were idle: who suspends and resumes a job in a loop has no share set by that. Who sleeps
// and is in nobody's way is free.
static struct engine_decision decision_for_aside(const struct policy_node *node,
                                                 const struct division *division,
                                                 const struct policy_job *job)
{
    struct engine_decision decision = {
        .job = job->id, .limited = true, .share_ppm = idle_job_ppm(node, division, job)};
    if (job->scheduled)
        decision = (struct engine_decision){
            .job = job->id, .scheduled = true, .share_ppm = ENGINE_WHOLE_PPM};
    return decision;
}

// The order in which decisions are carried out. Shares go down before others go up, so the shares
// in force never exceed the node while the list is worked through. Inside that, losers are first
// and winners last; with shares of the usual size every loser goes down and every winner up.
enum rank { LOSER_DOWN, IDLE_DOWN, SCHEDULED_DOWN, LOSER_UP, FREED, IDLE_UP, SCHEDULED_UP, RANKS };

static enum rank rank_of(const struct engine_decision *old, const struct engine_decision *decision)
{
    bool loser = old->scheduled && !decision->scheduled;
    if (decision->share_ppm < old->share_ppm)
        return loser ? LOSER_DOWN : decision->scheduled ? SCHEDULED_DOWN : IDLE_DOWN;
    if (loser)
        return LOSER_UP;
    if (old->limited && !decision->limited)
        return FREED;
    return decision->scheduled ? SCHEDULED_UP : IDLE_UP;
}

static bool same_decision(const struct engine_decision *one, const struct engine_decision *other)
{
    return one->job == other->job && one->scheduled == other->scheduled &&
           one->limited == other->limited && one->share_ppm == other->share_ppm;
}

size_t shares_decide(const struct shares *shares, struct policy_node *node, struct aside *aside,
                     bool limited, struct engine_decision *decisions)
{
    const struct division division = divide(shares, node, aside, limited);
    size_t count = 0;
    for (enum rank rank = LOSER_DOWN; rank < RANKS; rank++) {
        for (size_t i = 0; i < node->count + aside->count; i++) {
            bool in_sight = i < node->count;
            const struct policy_job *job =
                in_sight ? &node->jobs[i] : &aside->jobs[i - node->count];
            struct engine_decision decision = in_sight ? decision_for(node, &division, job)
                                                       : decision_for_aside(node, &division, job);
            if (!same_decision(&job->decided, &decision) &&
                rank_of(&job->decided, &decision) == rank)
                decisions[count++] = decision;
        }
    }
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].decided = decision_for(node, &division, &node->jobs[i]);
    for (size_t i = 0; i < aside->count; i++)
        aside->jobs[i].decided = decision_for_aside(node, &division, &aside->jobs[i]);
    return count;
}
