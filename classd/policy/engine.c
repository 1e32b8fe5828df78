#include "classd/policy/engine.h"

#include "classd/policy/account.h"
#include "classd/policy/members.h"

#include <stdlib.h>
#include <string.h>

// A job's first turn is said a moment before, not more slices than that.
#define TURNS_AHEAD_MOST 16

static const struct policy *const policies[] = {&policy_yoo_jette, &policy_dcs, &policy_gang,
                                                &policy_uncoordinated, NULL};

static const struct policy *find_policy(const char *name)
{
    for (size_t i = 0; name != NULL && policies[i] != NULL; i++) {
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    }
    return NULL;
}

bool engine_policy_known(const char *policy)
{
    return find_policy(policy) != NULL;
}

static void apply(engine_t *engine, const struct engine_settings *settings)
{
    engine->policy = find_policy(settings->policy);
    engine->shares.idle_ppm = settings->idle_share_ppm;
    engine->shares.idle_total_ppm = settings->idle_total_ppm;
    engine->node.cpus = settings->cpus > 0 ? settings->cpus : 1;
    engine->node.servants = settings->servants > 0 ? settings->servants : 1;
    engine->node.sequential_share_ppm = settings->sequential_share_ppm;
    engine->node.interactive_share_ppm =
        settings->interactive_share_ppm < SHARES_INTERACTIVE_MOST_PPM
            ? settings->interactive_share_ppm
            : SHARES_INTERACTIVE_MOST_PPM;
    engine->node.time_slice_ns = settings->time_slice_ns;
    engine->node.gmet_ns = settings->gmet_ns;
    engine->node.dcs = settings->dcs;
    engine->node.counts_held =
        engine->policy->counts_held && (engine->policy != &policy_dcs || settings->dcs.calibrate);
    memcpy(engine->node.lists, settings->lists, sizeof settings->lists);
    engine->node.list_count =
        settings->list_count < ENGINE_LISTS ? settings->list_count : ENGINE_LISTS;
}

engine_t *engine_new(const struct engine_settings *settings)
{
    if (!engine_policy_known(settings->policy))
        return NULL;
    engine_t *engine = calloc(1, sizeof *engine);
    if (engine != NULL)
        apply(engine, settings);
    return engine;
}

void engine_free(engine_t *engine)
{
    if (engine == NULL)
        return;
    free(engine->node.jobs);
    free(engine->aside.jobs);
    free(engine->decisions);
    free(engine);
}

// When a job came tells nobody anything after two rounds. Slices are numbered anew when their
// length changes, or the clock is set: nobody waits for one that will not come.
static bool is_done_with(const struct policy_node *node, uint64_t from_turn)
{
    uint64_t turn = node->turn;
    if (turn == 0 || from_turn == 0)
        return false;
    return from_turn > turn ? from_turn - turn > TURNS_AHEAD_MOST
                            : turn - from_turn >= 2 * node->count;
}

// They could not be served meanwhile. Also said while they sleep: a restart knows of no sleepers.
static void keep_up_dormant(engine_t *engine)
{
    uint64_t least_ns = members_newcomer_ns(engine);
    for (size_t i = 0; i < engine->aside.count; i++) {
        if (engine->aside.jobs[i].dormant)
            account_raise(&engine->aside.jobs[i], least_ns);
    }
}

static void begin_slice(engine_t *engine)
{
    struct policy_node *node = &engine->node;
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (is_done_with(node, job->from_turn))
            job->from_turn = 0;
        job->first = false;
    }
    account_begin_slices(node, &engine->aside);
    keep_up_dormant(engine);
    node->last_turn = node->turn;
    node->tick_ns = node->now_ns;
}

static enum engine_outcome ask_policy(engine_t *engine, const struct engine_event *event,
                                      bool crowded)
{
    struct policy_node *node = &engine->node;
    for (size_t i = 0; i < node->count; i++)
        node->jobs[i].next = !crowded || node->jobs[i].scheduled;
    struct policy_job *requester =
        event->kind == ENGINE_SCHEDULE ? members_in_sight(engine, event->job) : NULL;
    if (requester != NULL && !requester->next)
        shares_note_request(&engine->shares, requester);
    if (requester != NULL)
        return requester->next ? ENGINE_GRANTED : engine->policy->on_request(node, requester);
    if (crowded && event->kind == ENGINE_SWITCH)
        engine->policy->on_tick(node);
    else if (crowded)
        engine->policy->on_change(node);
    return ENGINE_DONE;
}

// The most slices that a job may wait, as long as its turns come evenly: all jobs of the node, or
// beside the sequential class what its slots leave to each, and one for slices being whole. Where
// its share is a fair one, the class itself gives up a slot when it is ahead by accounts.
static uint32_t round_slices(const struct policy_node *node, const struct policy_job *job)
{
    uint64_t slots_ppm = policy_sequential_slots_ppm(node), others = 0;
    for (size_t i = 0; i < node->count; i++)
        others += !node->jobs[i].sequential;
    if (slots_ppm >= ENGINE_WHOLE_PPM || others == node->count)
        return (uint32_t)node->count;
    uint64_t turns = job->sequential ? 1 : others;
    uint64_t part_ppm = job->sequential ? slots_ppm : ENGINE_WHOLE_PPM - slots_ppm;
    uint64_t round = (turns * ENGINE_WHOLE_PPM + part_ppm - 1) / part_ppm;
    bool fair = node->sequential_share_ppm == 0;
    return (uint32_t)(job->sequential && fair ? 2 * round : round + 1);
}

// Jobs that come and are gone again between two ticks are nobody's to wait for.
static void note_wait(const struct policy_node *node, struct policy_job *job, bool tick)
{
    uint32_t round = round_slices(node, job);
    if (job->slices_waited != 0 && !tick)
        return;
    job->slices_waited++;
    if (job->most_jobs < round)
        job->most_jobs = round;
}

static void begin_turn(const struct policy_node *node, struct policy_job *job)
{
    job->scheduled_since_ns = node->now_ns;
    job->switches++;
    job->woken = false;
}

static void carry_out_aside(engine_t *engine)
{
    for (size_t i = 0; i < engine->aside.count; i++) {
        struct policy_job *job = &engine->aside.jobs[i];
        if (job->next && !job->scheduled)
            begin_turn(&engine->node, job);
        job->scheduled = job->next;
    }
}

static void carry_out(struct policy_node *node, bool tick)
{
    for (size_t i = 0; i < node->count; i++) {
        struct policy_job *job = &node->jobs[i];
        if (job->next && !job->scheduled) {
            begin_turn(node, job);
            shares_note_turn(job);
            job->slices_waited = 0;
            job->most_jobs = 0;
        } else if (!job->next) {
            note_wait(node, job, tick);
        }
        job->scheduled = job->next;
        job->first = job->first && job->next; // whoever is displaced has had the slice
        shares_note_width(node, job, tick || job->scheduled);
    }
}

static size_t list_decisions(engine_t *engine, bool limited, bool tick)
{
    for (size_t i = 0; i < engine->aside.count; i++) {
        struct policy_job *job = &engine->aside.jobs[i];
        shares_note_width(&engine->node, job, tick || job->scheduled);
    }
    return shares_decide(&engine->shares, &engine->node, &engine->aside, limited,
                         engine->decisions);
}

static bool names_a_job(const engine_t *engine, const struct engine_event *event)
{
    switch (event->kind) {
    case ENGINE_REGISTER:
    case ENGINE_ADOPT:
        return event->job != 0;
    case ENGINE_EXIT:
    case ENGINE_SCHEDULE:
    case ENGINE_USAGE:
    case ENGINE_SUSPEND:
    case ENGINE_RESUME:
    case ENGINE_DORMANT:
    case ENGINE_ACTIVE:
    case ENGINE_WIDTH:
    case ENGINE_CPUS:
        return members_find(engine, event->job) != NULL;
    case ENGINE_SWITCH:
    case ENGINE_SETTINGS:
        break;
    }
    return true;
}

// Who is here, who can run, and by which rules.
static void change(engine_t *engine, const struct engine_event *event)
{
    switch (event->kind) {
    case ENGINE_REGISTER:
        members_add(engine, event);
        members_rouse(engine, event->job);
        break;
    case ENGINE_EXIT:
        members_remove(engine, event);
        break;
    case ENGINE_SCHEDULE:
    case ENGINE_ACTIVE:
        members_rouse(engine, event->job);
        break;
    case ENGINE_DORMANT:
        members_lull(engine, event->job);
        break;
    case ENGINE_SUSPEND:
        members_suspend(engine, event->job);
        break;
    case ENGINE_RESUME:
        members_resume(engine, event->job);
        break;
    case ENGINE_WIDTH:
        members_change_width(engine, event);
        break;
    case ENGINE_CPUS:
        members_bind(engine, members_find(engine, event->job), event->cpus);
        break;
    case ENGINE_SETTINGS:
        apply(engine, event->settings);
        break;
    case ENGINE_SWITCH:
    case ENGINE_USAGE:
    case ENGINE_ADOPT:
        break;
    }
    if (event->kind == ENGINE_REGISTER || event->kind == ENGINE_WIDTH ||
        event->kind == ENGINE_CPUS) {
        members_forgive(engine, event->job);
        members_refit(engine, event->job);
    }
}

struct engine_result engine_event(engine_t *engine, const struct engine_event *event,
                                  uint64_t now_ns)
{
    struct engine_result result = {0};
    struct policy_node *node = &engine->node;
    if (!names_a_job(engine, event)) {
        result.outcome = ENGINE_UNKNOWN_JOB;
        return result;
    }
    if (event->kind == ENGINE_SETTINGS && !engine_policy_known(event->settings->policy)) {
        result.outcome = ENGINE_UNKNOWN_POLICY;
        return result;
    }
    bool comes = event->kind == ENGINE_REGISTER || event->kind == ENGINE_ADOPT;
    if (comes && !members_reserve(engine, event->job)) {
        result.outcome = ENGINE_NO_MEMORY;
        return result;
    }
    account_advance(node, &engine->aside, now_ns);
    node->turn = event->kind == ENGINE_SWITCH ? event->turn : 0;
    if (event->kind == ENGINE_USAGE) {
        account_usage(node, members_find(engine, event->job), event->usage_ns);
        return result;
    }
    if (event->kind == ENGINE_ADOPT) {
        members_adopt(engine, event);
        return result;
    }
    if (event->kind == ENGINE_SCHEDULE && members_find(engine, event->job)->suspended) {
        result.outcome = ENGINE_SUSPENDED;
        return result;
    }
    size_t count = node->count;
    change(engine, event);
    if (node->count != count && event->from_turn == 0)
        node->changed_ns = node->now_ns;
    if (event->kind == ENGINE_SWITCH) {
        begin_slice(engine);
        shares_note_tick(&engine->shares, node, engine->aside.count);
    }

    bool crowded = aside_judge(node, &engine->aside, engine->policy->coordinates);
    result.outcome = ask_policy(engine, event, crowded);
    carry_out(node, event->kind == ENGINE_SWITCH);
    carry_out_aside(engine);
    result.decision_count = list_decisions(engine, crowded, event->kind == ENGINE_SWITCH);
    result.decisions = engine->decisions;
    return result;
}

void engine_set_service(engine_t *engine, engine_job_t job, uint64_t service_ns)
{
    struct policy_job *found = members_find(engine, job);
    if (found == NULL)
        return;
    if (service_ns > found->service_ns) {
        found->slice_used_ns += service_ns - found->service_ns;
        found->slice_counted_ns += service_ns - found->service_ns;
    }
    found->service_ns = service_ns;
    found->lead_ns = 0;
}

size_t engine_job_count(const engine_t *engine)
{
    return engine->node.count + engine->aside.count;
}

static void describe(const struct policy_job *job, struct engine_job_view *view)
{
    *view = (struct engine_job_view){
        .job = job->id,
        .processes = job->processes,
        .width = job->width < UINT32_MAX ? (uint32_t)job->width : UINT32_MAX,
        .scheduled = job->scheduled,
        .suspended = job->suspended,
        .dormant = job->dormant,
        .limited = job->decided.limited,
        .share_ppm = job->decided.share_ppm,
        .sequential = job->sequential,
        .service_ns = job->service_ns,
        .scheduled_since_ns = job->scheduled_since_ns,
        .scheduled_total_ns = job->scheduled_total_ns,
        .switches = job->switches,
        .slices_waited = job->slices_waited,
        .most_jobs = job->most_jobs,
        .slots = job->slots,
        .term = job->term,
    };
}

// Both lists are in order of registration.
static const struct policy_job *job_at(const engine_t *engine, size_t index)
{
    const struct policy_job *next = engine->node.jobs, *end = next + engine->node.count;
    const struct policy_job *aside = engine->aside.jobs, *aside_end = aside + engine->aside.count;
    for (;; index--) {
        if (aside == aside_end)
            return next + index;
        bool is_next = next < end && next->arrival < aside->arrival;
        if (index == 0)
            return is_next ? next : aside;
        if (is_next)
            next++;
        else
            aside++;
    }
}

bool engine_job_at(const engine_t *engine, size_t index, struct engine_job_view *view)
{
    if (index >= engine_job_count(engine))
        return false;
    describe(job_at(engine, index), view);
    return true;
}

bool engine_job_find(const engine_t *engine, engine_job_t job, struct engine_job_view *view)
{
    const struct policy_job *found = members_find(engine, job);
    if (found != NULL)
        describe(found, view);
    return found != NULL;
}
