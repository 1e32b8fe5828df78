#include "classd/policy/aside.h"

#include "classd/policy/account.h"
#include "classd/policy/room.h"

#include <string.h>

static bool has(const struct policy_job *jobs, size_t count, const struct policy_job *job)
{
    return job >= jobs && job < jobs + count;
}

bool aside_has(const struct aside *aside, const struct policy_job *job)
{
    return has(aside->jobs, aside->count, job);
}

static void take_out(struct policy_job *jobs, size_t *count, struct policy_job *job)
{
    memmove(job, job + 1, (size_t)(jobs + *count - (job + 1)) * sizeof *job);
    (*count)--;
}

static struct policy_job *put_in(struct policy_job *jobs, size_t *count,
                                 const struct policy_job *job)
{
    size_t place = *count;
    while (place > 0 && jobs[place - 1].arrival > job->arrival)
        place--;
    memmove(&jobs[place + 1], &jobs[place], (*count - place) * sizeof *jobs);
    jobs[place] = *job;
    (*count)++;
    return &jobs[place];
}

// What others are promised and given meanwhile is not the job's.
static void leave(const struct policy_node *node, struct policy_job *job)
{
    account_settle(node, job);
    account_begin_slice(job);
    job->scheduled = job->next = job->first = false;
    job->slices_waited = job->most_jobs = 0;
    job->promised = 0;
}

void aside_put(struct policy_node *node, struct aside *aside, struct policy_job *job)
{
    struct policy_job leaving = *job;
    leave(node, &leaving);
    take_out(node->jobs, &node->count, job);
    put_in(aside->jobs, &aside->count, &leaving);
}

static void come_back(const struct policy_node *node, struct policy_job *job, uint64_t least_ns)
{
    account_raise(job, least_ns);
    job->boosted_ns = job->runnable_ns = node->now_ns;
    account_begin_slice(job);
}

struct policy_job *aside_take_back(struct policy_node *node, struct aside *aside,
                                   struct policy_job *job, uint64_t least_ns)
{
    struct policy_job coming = *job;
    come_back(node, &coming, least_ns);
    take_out(aside->jobs, &aside->count, job);
    return put_in(node->jobs, &node->count, &coming);
}

void aside_forget(struct policy_node *node, struct aside *aside, struct policy_job *job)
{
    if (aside_has(aside, job))
        take_out(aside->jobs, &aside->count, job);
    else
        take_out(node->jobs, &node->count, job);
}

static struct room room_of_those_in_sight(const struct policy_node *node)
{
    struct room room = {0};
    for (size_t i = 0; i < node->count; i++)
        room_add(node, &room, &node->jobs[i]);
    return room;
}

static void add_dormant(const struct policy_node *node, const struct aside *aside,
                        struct room *room)
{
    for (size_t i = 0; i < aside->count; i++) {
        if (aside->jobs[i].dormant)
            room_add(node, room, &aside->jobs[i]);
    }
}

// (a) Do no harm: the paper limits as soon as there are two jobs. Jobs that have a CPU for each of
// their processes, or the node for themselves, gain nothing from taking turns. And where nobody is
// awake nobody needs those of others.
bool aside_judge(struct policy_node *node, struct aside *aside, bool coordinates)
{
    struct room room = room_of_those_in_sight(node);
    bool takes_turns = coordinates && room.over;
    add_dormant(node, aside, &room);
    bool is_free = !coordinates || node->count == 0 || !room.over;
    for (size_t i = 0; i < aside->count; i++)
        aside->jobs[i].next = aside->jobs[i].dormant && is_free;
    return takes_turns;
}
