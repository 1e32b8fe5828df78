#include "classd/policy/shares.h"

void shares_note_turn(struct policy_job *job)
{
    job->turns_in_step = job->asked ? 0 : job->turns_in_step + (job->turns_in_step < SHARES_IN_STEP);
    job->asked = false;
}

static bool in_step(const struct policy_job *job)
{
    return !job->asked && job->turns_in_step >= SHARES_IN_STEP;
}

static uint64_t in_step_ppm(const struct shares_rules *rules, uint64_t idle_jobs)
{
    bool one = rules->idle_total_ppm < rules->idle_ppm;
    uint64_t part_ppm = (one ? rules->idle_ppm : rules->idle_total_ppm) / idle_jobs;
    if (rules->idle_total_ppm == 0)
        return rules->idle_ppm;
    return part_ppm > SHARES_LEAST_PPM ? part_ppm : SHARES_LEAST_PPM;
}

struct shares {
    bool limited;
    uint32_t idle_ppm;        // for each idle job
    uint32_t in_step_ppm;     // for each that has nothing to notice, or is suspended
    uint32_t interactive_ppm; // for the sequential class, if it is idle
    uint64_t rest_ppm;        // for the scheduled jobs together
    uint64_t rest_divisor;    // the CPUs that they can use
};

static uint32_t least(uint64_t one, uint64_t other)
{
    return (uint32_t)(one < other ? one : other);
}

static struct shares divide(const struct shares_rules *rules, const struct policy_node *node,
                            size_t suspended_count, bool limited)
{
    struct shares shares = {.limited = limited};
    uint64_t idle_jobs = suspended_count, jobs_in_step = suspended_count;
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].scheduled)
            shares.rest_divisor += policy_usable_cpus(node, &node->jobs[i]);
        else if (node->jobs[i].sequential)
            shares.interactive_ppm = node->interactive_share_ppm;
        else
            idle_jobs++;
        if (!node->jobs[i].scheduled && !node->jobs[i].sequential)
            jobs_in_step += in_step(&node->jobs[i]);
    }
    if (idle_jobs > 0) {
        shares.idle_ppm =
            least(rules->idle_ppm, (SHARES_IDLE_MOST_PPM - shares.interactive_ppm) / idle_jobs);
        shares.in_step_ppm = least(shares.idle_ppm, in_step_ppm(rules, idle_jobs));
    }
    shares.rest_ppm = ENGINE_WHOLE_PPM - (idle_jobs - jobs_in_step) * shares.idle_ppm -
                      jobs_in_step * shares.in_step_ppm - shares.interactive_ppm;
    return shares;
}

// Section 2.2.2: (n - 1) % for the idle jobs, (100 - n + 1) % for the scheduled. Rounded down, so
// the sum is never above the whole.
static struct engine_decision decision_for(const struct policy_node *node,
                                           const struct shares *shares,
                                           const struct policy_job *job)
{
    struct engine_decision decision = {
        .job = job->id,
        .scheduled = job->scheduled,
        .limited = shares->limited,
        .share_ppm = ENGINE_WHOLE_PPM,
    };
    if (shares->limited && !job->scheduled)
        decision.share_ppm = job->sequential ? shares->interactive_ppm
                             : in_step(job)  ? shares->in_step_ppm
                                             : shares->idle_ppm;
    else if (shares->limited)
        decision.share_ppm =
            (uint32_t)(shares->rest_ppm * policy_usable_cpus(node, job) / shares->rest_divisor);
    return decision;
}

static struct engine_decision decision_for_suspended(const struct shares *shares,
                                                     const struct policy_job *job)
{
    return (struct engine_decision){
        .job = job->id, .limited = true, .share_ppm = shares->in_step_ppm};
}

// The order in which decisions are carried out. Shares go down before others go up, so the shares
// in force never exceed the node while the list is worked through. Inside that, losers are first
// and winners last; with shares of the usual size every loser goes down and every winner up.
enum rank { LOSER_DOWN, OTHER_DOWN, LOSER_UP, IDLE_UP, SCHEDULED_UP, RANKS };

static enum rank rank_of(const struct engine_decision *old, const struct engine_decision *decision)
{
    bool loser = old->scheduled && !decision->scheduled;
    if (decision->share_ppm < old->share_ppm)
        return loser ? LOSER_DOWN : OTHER_DOWN;
    if (loser)
        return LOSER_UP;
    return decision->scheduled ? SCHEDULED_UP : IDLE_UP;
}

static bool same_decision(const struct engine_decision *one, const struct engine_decision *other)
{
    return one->job == other->job && one->scheduled == other->scheduled &&
           one->limited == other->limited && one->share_ppm == other->share_ppm;
}

size_t shares_decide(const struct shares_rules *rules, struct policy_node *node,
                     struct policy_job *suspended, size_t suspended_count, bool limited,
                     struct engine_decision *decisions)
{
    const struct shares shares = divide(rules, node, suspended_count, limited);
    size_t count = 0;
    for (enum rank rank = LOSER_DOWN; rank < RANKS; rank++) {
        for (size_t i = 0; i < node->count + suspended_count; i++) {
            bool runnable = i < node->count;
            const struct policy_job *job =
                runnable ? &node->jobs[i] : &suspended[i - node->count];
            struct engine_decision decision =
                runnable ? decision_for(node, &shares, job) : decision_for_suspended(&shares, job);
            if (!same_decision(&job->decided, &decision) &&
                rank_of(&job->decided, &decision) == rank)
                decisions[count++] = decision;
        }
    }
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].decided = decision_for(node, &shares, &node->jobs[i]);
    for (size_t i = 0; i < suspended_count; i++)
        suspended[i].decided = decision_for_suspended(&shares, &suspended[i]);
    return count;
}
