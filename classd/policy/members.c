#include "classd/policy/members.h"

#include "classd/policy/account.h"
#include "classd/policy/cpus.h"
#include "classd/policy/office.h"

#include <stdlib.h>

static struct policy_job *find_among(struct policy_job *jobs, size_t count, engine_job_t id)
{
    for (size_t i = 0; id != 0 && i < count; i++) {
        if (jobs[i].id == id)
            return &jobs[i];
    }
    return NULL;
}

struct policy_job *members_in_sight(const engine_t *engine, engine_job_t id)
{
    return find_among(engine->node.jobs, engine->node.count, id);
}

struct policy_job *members_find(const engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_in_sight(engine, id);
    return job != NULL ? job : find_among(engine->aside.jobs, engine->aside.count, id);
}

static bool grow(void *list, size_t count, size_t size)
{
    void *longer = realloc(*(void **)list, count * size);
    if (longer != NULL)
        *(void **)list = longer;
    return longer != NULL;
}

bool members_reserve(engine_t *engine, engine_job_t job)
{
    if (engine_job_count(engine) < engine->capacity || members_find(engine, job) != NULL)
        return true;
    size_t capacity = engine->capacity > 0 ? 2 * engine->capacity : 8;
    if (!grow(&engine->node.jobs, capacity, sizeof *engine->node.jobs) ||
        !grow(&engine->aside.jobs, capacity, sizeof *engine->aside.jobs) ||
        !grow(&engine->decisions, capacity, sizeof *engine->decisions))
        return false;
    engine->capacity = capacity;
    return true;
}

uint64_t members_newcomer_ns(const engine_t *engine)
{
    return account_of_newcomer_ns(&engine->node, &engine->aside);
}

// Who is further ahead was so for a reason which its owner's next job has nothing to do with.
// Whoever comes to an empty node begins at 0, and nobody is there to be ahead of.
static uint64_t most_of_newcomer_ns(const engine_t *engine)
{
    return account_most_ns(&engine->node, members_newcomer_ns(engine));
}

static void remember_lead(engine_t *engine, const struct policy_job *gone)
{
    uint64_t most_ns = most_of_newcomer_ns(engine);
    if (engine_job_count(engine) == 0)
        leads_clear(&engine->leads);
    else
        leads_note(&engine->leads, gone->owner,
                   gone->service_ns < most_ns ? gone->service_ns : most_ns);
}

// What others have, has fallen since then where who had most of it left.
static uint64_t lead_of_ns(const engine_t *engine, uint64_t owner, uint64_t mean_ns)
{
    uint64_t service_ns = leads_account_ns(&engine->leads, owner, mean_ns);
    uint64_t most_ns = most_of_newcomer_ns(engine);
    return service_ns < most_ns ? service_ns : most_ns;
}

static uint64_t width_of_process(const struct engine_event *event)
{
    return event->width > 0 ? event->width : 1;
}

// A caller that mixes up widths must not make a job vanish.
static void narrow(struct policy_job *job, uint64_t gone)
{
    job->width = job->width > gone ? job->width - gone : 0;
    if (job->width < job->processes)
        job->width = job->processes;
}

void members_refit(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_in_sight(engine, id);
    if (job != NULL)
        office_refit(&engine->node, job);
}

void members_bind(engine_t *engine, struct policy_job *job, const struct engine_cpus *cpus)
{
    struct policy_node *node = &engine->node;
    job->cpus = cpus != NULL ? *cpus : (struct engine_cpus){0};
    job->cpu_count = cpus_count(&job->cpus, ENGINE_CPU_WORDS);
    if (job->cpu_count >= node->cpus)
        job->cpu_count = 0;
    else if (cpus_words(&job->cpus) > node->cpu_words)
        node->cpu_words = cpus_words(&job->cpus);
    job->promised = 0; // as in members_add()
}

void members_change_width(engine_t *engine, const struct engine_event *event)
{
    struct policy_job *job = members_find(engine, event->job);
    uint64_t gone = event->width_before > 0 ? event->width_before : 1;
    job->width += width_of_process(event);
    job->promised = 0; // as in members_add()
    narrow(job, gone);
}

void members_add(engine_t *engine, const struct engine_event *event)
{
    struct policy_node *node = &engine->node;
    struct policy_job *job = members_find(engine, event->job);
    if (job == NULL) {
        uint64_t mean_ns = members_newcomer_ns(engine);
        uint64_t service_ns = lead_of_ns(engine, event->owner, mean_ns);
        job = &node->jobs[node->count++];
        *job = (struct policy_job){.id = event->job,
                                   .name = event->name,
                                   .arrival = ++engine->arrivals,
                                   .came_ns = node->now_ns,
                                   .runnable_ns = node->now_ns,
                                   .list = event->list,
                                   .sequential = event->sequential,
                                   .from_turn = event->from_turn,
                                   .service_ns = service_ns,
                                   .lead_ns = service_ns - mean_ns,
                                   .owner = event->owner,
                                   .turns_in_step = shares_of_newcomer(&engine->shares),
                                   .boosted_ns = node->now_ns};
        if (event->kind == ENGINE_REGISTER) // accounts of others that are adopted are still to come
            account_level(node, service_ns);
    }
    job->processes++;
    job->width += width_of_process(event);
    job->promised = 0; // to a narrower job: beside it others fitted
    members_bind(engine, job, event->cpus);
}

void members_suspend(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_find(engine, id);
    job->suspended = true;
    job->dormant = job->woken = job->scheduled = false;
    if (!aside_has(&engine->aside, job))
        aside_put(&engine->node, &engine->aside, job);
}

// It could not be served meanwhile, so its account is a newcomer's; or its own, if that is higher,
// but nobody is far ahead of a newcomer.
static void take_back(engine_t *engine, struct policy_job *job)
{
    uint64_t least_ns = members_newcomer_ns(engine);
    engine_job_t id = aside_take_back(&engine->node, &engine->aside, job, least_ns)->id;
    account_level(&engine->node, least_ns);
    members_refit(engine, id);
}

void members_rouse(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_find(engine, id);
    if (!job->dormant)
        return;
    job->dormant = false;
    job->woken = !job->scheduled;
    take_back(engine, job);
}

void members_lull(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_find(engine, id);
    if (job->suspended || job->dormant)
        return;
    job->dormant = true;
    aside_put(&engine->node, &engine->aside, job);
}

void members_resume(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_find(engine, id);
    if (!job->suspended)
        return;
    job->suspended = false;
    take_back(engine, job);
}

void members_adopt(engine_t *engine, const struct engine_event *event)
{
    bool new = members_find(engine, event->job) == NULL;
    members_add(engine, event);
    if (!new || event->account == NULL)
        return;
    struct policy_job *job = members_find(engine, event->job);
    account_restore(&engine->node, job, event->account);
    if (engine->node.changed_ns < job->came_ns)
        engine->node.changed_ns = job->came_ns; // as its other nodes have it
    if (event->account->suspended)
        members_suspend(engine, event->job);
}

void members_remove(engine_t *engine, const struct engine_event *event)
{
    struct policy_job *job = members_find(engine, event->job);
    job->processes--;
    if (job->processes == 0) {
        account_settle(&engine->node, job);
        const struct policy_job gone = *job;
        aside_forget(&engine->node, &engine->aside, job);
        remember_lead(engine, &gone);
        return;
    }
    narrow(job, width_of_process(event));
}

void members_forgive(engine_t *engine, engine_job_t id)
{
    struct policy_job *job = members_in_sight(engine, id);
    if (job != NULL)
        account_cap(&engine->node, job, members_newcomer_ns(engine));
}
