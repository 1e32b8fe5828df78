// P. G. Sobalvarro, S. Pakin, W. E. Weihl, A. A. Chien: "Dynamic Coscheduling on Workstation
// Clusters". A message for a process that does not run is a demand that it should; section 3.3.3
// says when it is fair to heed it. What is built and where it departs from the paper: section
// "Policy dcs" of doc/design/waiting.md.
#include "classd/policy/packing.h"

static uint64_t sum(uint64_t one, uint64_t other)
{
    return one <= UINT64_MAX - other ? one + other : UINT64_MAX;
}

static uint64_t product(uint64_t one, uint64_t other)
{
    uint64_t result = 0;
    return __builtin_mul_overflow(one, other, &result) ? UINT64_MAX : result;
}

// 2^exponent times the time. What a negative exponent rounds off never decides: all else that is
// compared is whole nanoseconds.
static uint64_t scaled(uint64_t time_ns, int exponent)
{
    if (exponent >= 0)
        return exponent < 64 ? product(time_ns, UINT64_C(1) << exponent)
                             : product(time_ns, UINT64_MAX);
    return exponent > -64 ? time_ns >> -exponent : 0;
}

static bool displaced(const struct policy_job *job)
{
    return job->scheduled && !job->next;
}

// Whoever the dispatcher has chosen may be preempted at once, as in the paper. There one job alone
// sent messages. With several of them "the minimum time quantum" has to be one: who holds the node
// by a boost keeps it that long, or each message would take it from the job that came by the last.
static bool within_quantum(const struct policy_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *job = &node->jobs[i];
        if (displaced(job) && job->boosted_ns == job->scheduled_since_ns &&
            node->now_ns - job->boosted_ns < node->dcs.quantum_ns)
            return true;
    }
    return false;
}

// Equation (1), 2^E (Tc - Tp) + C >= Tq R, for a C that is higher by credit_ns and lower by
// debt_ns.
static bool may_preempt(const struct policy_node *node, const struct policy_job *job,
                        uint64_t credit_ns, uint64_t debt_ns)
{
    uint64_t since_ns = node->now_ns - job->boosted_ns;
    uint64_t left_ns = sum(scaled(since_ns, node->dcs.exponent), node->dcs.constant_ns);
    uint64_t right_ns = product(node->dcs.quantum_ns, node->count);
    return sum(left_ns, credit_ns) >= sum(right_ns, debt_ns);
}

// What one account is ahead of another by, as a change of C. Of each time one part in R is a job's
// due, so a lead counts for R times its length; and where E makes time since the last boost count
// for more, a lead does too, or a large E would outweigh any lead.
static uint64_t weight(const struct policy_node *node, uint64_t more_ns, uint64_t less_ns)
{
    int exponent = node->dcs.exponent > 0 ? node->dcs.exponent : 0;
    return more_ns > less_ns ? scaled(product(more_ns - less_ns, node->count), exponent) : 0;
}

static void forgo(struct policy_job *job, uint64_t other_ns, uint64_t most_ns)
{
    if (other_ns > most_ns && job->service_ns < other_ns - most_ns)
        job->service_ns = other_ns - most_ns;
}

// Who wants its turns is never further behind than the slices of one round, and what C allows the
// others. A claim beyond that is of somebody who slept, or had the node for himself, and would keep
// the others off the CPUs for as long.
static void forgo_old_claims(struct policy_node *node, struct policy_job *requester,
                             uint64_t least_ns)
{
    uint64_t round_ns = product(node->time_slice_ns, node->count);
    uint64_t most_ns = sum(round_ns, node->dcs.constant_ns);
    forgo(requester, least_ns, most_ns);
    for (size_t i = 0; i < node->count; i++) {
        if (displaced(&node->jobs[i]))
            forgo(&node->jobs[i], requester->service_ns, most_ns);
    }
}

// "Fair to preempt" (Figure 2): by the rate of preemptions, which is all that the paper's prototype
// went by, and by measured shares, which its authors wanted (section 5.3): service_ns, CPU time or
// the time for which a job has held the CPUs, if that is more. The lead of a job over
// the one that it would preempt grows and falls with what both receive, so the calibration keeps
// nothing that could wind up or overshoot: it moves each pair towards equal service, and no
// further.
static enum engine_outcome judge(struct policy_node *node, struct policy_job *requester)
{
    uint64_t least_ns = 0;
    if (!packing_displaces(node, &least_ns))
        return ENGINE_GRANTED;
    bool in_time = may_preempt(node, requester, 0, 0);
    if (!node->dcs.calibrate)
        return in_time ? ENGINE_GRANTED : ENGINE_DISCARDED_RATE;
    forgo_old_claims(node, requester, least_ns);
    packing_displaces(node, &least_ns);
    uint64_t credit_ns = weight(node, least_ns, requester->service_ns);
    uint64_t debt_ns = weight(node, requester->service_ns, least_ns);
    if (may_preempt(node, requester, credit_ns, debt_ns))
        return ENGINE_GRANTED;
    return in_time ? ENGINE_DISCARDED_FAIR : ENGINE_DISCARDED_RATE;
}

// "An incoming message's process is scheduled only if doing so would not cause unfair CPU
// allocation." Tp is the time of the boosts only: what is refused has not cost anybody anything.
static enum engine_outcome on_request(struct policy_node *node, struct policy_job *requester)
{
    uint64_t equal_ns = node->dcs.quantum_ns;
    requester->next = true;
    packing_make_room(node, 0, equal_ns);
    if (within_quantum(node))
        return packing_discard(node, ENGINE_DISCARDED_GMET);
    enum engine_outcome outcome = judge(node, requester);
    if (outcome != ENGINE_GRANTED)
        return packing_discard(node, outcome);
    requester->boosted_ns = node->now_ns;
    packing_fill(node, equal_ns);
    return ENGINE_GRANTED;
}

// The dispatcher of each node is its own ("autonomous timesharing schedulers"): turns by the least
// CPU time, without a look at the clock that nodes share. Accounts that differ by less than the
// quantum are equal.
static void on_tick(struct policy_node *node)
{
    uint64_t equal_ns = node->dcs.quantum_ns;
    packing_begin_slice(node);
    packing_choose(node, packing_least_served(node, equal_ns), 1);
    packing_fill(node, equal_ns);
}

static void on_change(struct policy_node *node)
{
    packing_on_change(node, node->dcs.quantum_ns);
}

const struct policy policy_dcs = {
    .name = "dcs",
    .counts_held = true,
    .coordinates = true,
    .on_change = on_change,
    .on_tick = on_tick,
    .on_request = on_request,
};
