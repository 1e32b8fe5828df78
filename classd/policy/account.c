#include "classd/policy/account.h"

// A newcomer could not have been served before now. With an account of 0 it would be the least
// served until it had caught up with years of the others, and with that of the least served, where
// newcomers follow each other, it would be one of many that have had nothing yet, and those who
// stay would never be: it starts as the mean of them. But no more than two slices ahead of the
// least served, or a narrow job that has run beside all others for days, and has had more than
// they, would make a debtor of whoever comes, for as long as that. While nobody can run, as the
// most served of those who stand aside: else they would come back as debtors of whoever ran
// meanwhile.
uint64_t account_of_newcomer_ns(const struct policy_node *node, const struct aside *aside)
{
    uint64_t mean_ns = 0, rest_ns = 0, least_ns = UINT64_MAX, most_aside_ns = 0;
    for (size_t i = 0; i < node->count; i++) {
        if (node->jobs[i].service_ns < least_ns)
            least_ns = node->jobs[i].service_ns;
        mean_ns += node->jobs[i].service_ns / node->count;
        rest_ns += node->jobs[i].service_ns % node->count;
    }
    for (size_t i = 0; i < aside->count; i++) {
        if (aside->jobs[i].service_ns > most_aside_ns)
            most_aside_ns = aside->jobs[i].service_ns;
    }
    if (node->count == 0)
        return most_aside_ns;
    mean_ns += rest_ns / node->count;
    uint64_t ahead_ns = mean_ns - least_ns, most_ns = 2 * node->time_slice_ns;
    return ahead_ns < most_ns ? mean_ns : least_ns + most_ns;
}

uint64_t account_most_ns(const struct policy_node *node, uint64_t newcomer_ns)
{
    return newcomer_ns + 4 * node->time_slice_ns;
}

void account_cap(const struct policy_node *node, struct policy_job *job, uint64_t newcomer_ns)
{
    const uint64_t most_ns = account_most_ns(node, newcomer_ns);
    uint64_t less_ns = job->service_ns > most_ns ? job->service_ns - most_ns : 0;
    job->service_ns -= less_ns;
    job->lead_ns -= less_ns < job->lead_ns ? less_ns : job->lead_ns;
}

void account_raise(struct policy_job *job, uint64_t least_ns)
{
    if (job->service_ns >= least_ns)
        return;
    job->service_ns = least_ns;
    job->lead_ns = 0;
}

// Nor is who has run beside the others for long to be the debtor of whoever comes: what he has had,
// they could not use.
void account_level(struct policy_node *node, uint64_t newcomer_ns)
{
    for (size_t i = 0; i < node->count; i++)
        account_cap(node, &node->jobs[i], newcomer_ns);
}

// The account comes from a file. A job that waits has waited at least the slice in which it became
// idle, and not longer than can be answered for.
void account_restore(const struct policy_node *node, struct policy_job *job,
                     const struct engine_account *account)
{
    job->service_ns = account->service_ns;
    job->lead_ns = 0;
    job->scheduled = account->scheduled;
    job->scheduled_total_ns = account->scheduled_total_ns;
    job->switches = account->switches;
    job->came_ns = account->came_ns < node->now_ns ? account->came_ns : node->now_ns;
    job->slots = account->slots & ENGINE_ALL_SLOTS;
    account_begin_slice(job);
    job->term = account->term;
    if (job->scheduled)
        job->scheduled_since_ns =
            account->scheduled_since_ns < node->now_ns ? account->scheduled_since_ns : node->now_ns;
    else if (account->slices_waited <= (uint64_t)POLICY_ROUNDS_MOST * account->most_jobs) {
        job->slices_waited = account->slices_waited;
        job->most_jobs = account->most_jobs;
    }
}

static uint64_t held_ns(const struct policy_job *job)
{
    return job->scheduled_total_ns - job->slice_total_ns;
}

// What the sequential class has used of that, which it may while it is idle: more than its share,
// as the kernel gives a whole quota each time that it limits it.
static uint64_t lost_ns(const struct policy_node *node, const struct policy_job *job)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct policy_job *class_ = &node->jobs[i];
        if (!class_->sequential || class_ == job)
            continue;
        uint64_t own_ns = held_ns(class_), slice_ns = node->now_ns - node->tick_ns;
        uint64_t others_ns = slice_ns > own_ns ? slice_ns - own_ns : 0;
        uint64_t taken_ns = class_->slice_used_ns > own_ns ? class_->slice_used_ns - own_ns : 0;
        if (taken_ns == 0)
            return 0;
        return taken_ns < others_ns
                   ? (uint64_t)((double)held_ns(job) * (double)taken_ns / (double)others_ns)
                   : held_ns(job);
    }
    return 0;
}

// Who held the node had it, however much of it he used, as nobody else did. By CPU time alone a job
// that sleeps, or computes on some of its CPUs only, would be the least served for as long as it
// does, have most of the turns, and get the rest of others' by asking. So would the sequential
// class: it is as wide as the node, since one of its processes on any CPU disturbs a job that is,
// but it seldom has a process for each. A slice of more than two is none, but a classd that hung:
// then timerd has lifted the limits, and everybody ran.
static uint64_t held_in_slice_ns(const struct policy_node *node, const struct policy_job *job)
{
    bool counts = (node->counts_held || job->sequential) && node->tick_ns != 0 &&
                  node->now_ns - node->tick_ns <= 5 * (node->time_slice_ns / 2);
    return counts ? held_ns(job) - lost_ns(node, job) : 0;
}

// What makes the account of a class that has `sequential_share` of the time grow as fast as that of
// a job which has its part of the rest: (1 - share) / share, and less the more jobs take turns in
// that rest. So whoever goes by accounts, goes by the share.
static uint64_t weighted_ns(const struct policy_node *node, uint64_t received_ns)
{
    const uint64_t most_ns = UINT64_C(10000000000000); // hours: the product must fit
    uint64_t share_ppm = node->sequential_share_ppm, width = 0;
    if (share_ppm == 0 || share_ppm >= ENGINE_WHOLE_PPM)
        return received_ns;
    for (size_t i = 0; i < node->count; i++)
        width += node->jobs[i].sequential ? 0 : policy_usable_cpus(node, &node->jobs[i]);
    uint64_t bounded_ns = received_ns < most_ns ? received_ns : most_ns;
    uint64_t alone_ns = bounded_ns * (ENGINE_WHOLE_PPM - share_ppm) / share_ppm;
    return width > node->cpus ? (uint64_t)((double)alone_ns * (double)node->cpus / (double)width)
                              : alone_ns;
}

// Of the whole slice so far, not of what was added since the last look: the kernel tells of CPU
// time in pieces of some milliseconds, so that of two looks the one would count what was held and
// the other what was used. It may be less than at the last look, when that of the class is told.
void account_settle(const struct policy_node *node, struct policy_job *job)
{
    uint64_t held_ns = held_in_slice_ns(node, job), counted_ns = job->slice_counted_ns;
    uint64_t counts_ns = held_ns > job->slice_used_ns ? held_ns : job->slice_used_ns;
    if (job->sequential) {
        counts_ns = counts_ns > counted_ns ? counts_ns : counted_ns;
        job->service_ns += weighted_ns(node, counts_ns - counted_ns);
    } else if (counts_ns >= counted_ns) {
        job->service_ns += counts_ns - counted_ns;
    } else {
        uint64_t less_ns = counted_ns - counts_ns;
        job->service_ns -= less_ns < job->service_ns ? less_ns : job->service_ns;
    }
    job->slice_counted_ns = counts_ns;
}

void account_begin_slice(struct policy_job *job)
{
    job->slice_used_ns = job->slice_counted_ns = 0;
    job->slice_total_ns = job->scheduled_total_ns;
}

// Of whom nothing is told now, nobody knows whether what is told later was used in this slice.
static void settle_told(const struct policy_node *node, struct policy_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].told_ns == node->now_ns)
            account_settle(node, &jobs[i]);
    }
}

void account_begin_slices(struct policy_node *node, struct aside *aside)
{
    settle_told(node, node->jobs, node->count);
    settle_told(node, aside->jobs, aside->count);
    for (size_t i = 0; i < node->count; i++)
        account_begin_slice(&node->jobs[i]);
    for (size_t i = 0; i < aside->count; i++)
        account_begin_slice(&aside->jobs[i]);
}

static void advance(struct policy_job *jobs, size_t count, uint64_t elapsed_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].scheduled)
            jobs[i].scheduled_total_ns += elapsed_ns;
    }
}

void account_advance(struct policy_node *node, struct aside *aside, uint64_t now_ns)
{
    if (now_ns <= node->now_ns)
        return;
    advance(node->jobs, node->count, now_ns - node->now_ns);
    advance(aside->jobs, aside->count, now_ns - node->now_ns);
    node->now_ns = now_ns;
}

void account_usage(const struct policy_node *node, struct policy_job *job, uint64_t usage_ns)
{
    if (job->usage_known) {
        uint64_t used_ns = usage_ns > job->usage_ns ? usage_ns - job->usage_ns : 0;
        job->slice_used_ns += used_ns / policy_usable_cpus(node, job);
        job->told_ns = node->now_ns;
        account_settle(node, job);
    }
    job->usage_ns = usage_ns;
    job->usage_known = true;
}
