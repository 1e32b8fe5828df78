#include "classd/policy/room.h"

#include "classd/policy/cpus.h"

// Who is bound to chains of CPUs that overlap is not to cost more than that.
enum { UNIONS_MOST = 8 };

bool room_compete(const struct policy_node *node, const struct policy_job *one,
                  const struct policy_job *other)
{
    return !policy_is_bound(one) || !policy_is_bound(other) ||
           policy_room_of(node, one) + policy_room_of(node, other) > policy_room(node) ||
           cpus_meet(&one->cpus, &other->cpus, node->cpu_words);
}

// What those need who can use no other CPUs than these.
static uint64_t needed(const struct policy_node *node, const struct room *room,
                       const struct engine_cpus *cpus)
{
    uint64_t width = 0;
    for (size_t i = 0; i < room->set_count; i++) {
        if (cpus_within(room->sets[i].cpus, cpus, node->cpu_words))
            width += room->sets[i].width;
    }
    return width;
}

static bool enough(const struct policy_node *node, const struct room *room,
                   const struct policy_job *job, const struct engine_cpus *cpus)
{
    return needed(node, room, cpus) + policy_room_of(node, job) <=
           cpus_count(cpus, node->cpu_words) * node->servants;
}

// The first set that has some of these CPUs, and others.
static size_t find_overlap(const struct policy_node *node, const struct room *room,
                           const struct engine_cpus *cpus)
{
    size_t i = 0;
    while (i < room->set_count && (!cpus_meet(room->sets[i].cpus, cpus, node->cpu_words) ||
                                   cpus_within(room->sets[i].cpus, cpus, node->cpu_words)))
        i++;
    return i;
}

// Hall's condition, for the sets of CPUs that it is most likely to fail for: the job's own, with
// each that meets it, and with more and more of all that hang together with it.
static bool fits_where_bound(const struct policy_node *node, const struct room *room,
                             const struct policy_job *job)
{
    struct engine_cpus all = job->cpus;
    if (!enough(node, room, job, &all))
        return false;
    for (unsigned unions = 0; unions < UNIONS_MOST; unions++) {
        size_t i = find_overlap(node, room, &all);
        struct engine_cpus both = job->cpus;
        if (i == room->set_count)
            break;
        cpus_unite(&all, room->sets[i].cpus, node->cpu_words);
        cpus_unite(&both, room->sets[i].cpus, node->cpu_words);
        if (!enough(node, room, job, &both) || !enough(node, room, job, &all))
            return false;
    }
    return true;
}

bool room_fits(const struct policy_node *node, const struct room *room,
               const struct policy_job *job)
{
    if (room->count == 0)
        return true;
    return room->width + policy_room_of(node, job) <= policy_room(node) &&
           (!policy_is_bound(job) || fits_where_bound(node, room, job));
}

static size_t find_set(const struct room *room, const struct engine_cpus *cpus, unsigned words)
{
    size_t i = 0;
    while (i < room->set_count && !cpus_same(room->sets[i].cpus, cpus, words))
        i++;
    return i;
}

void room_add(const struct policy_node *node, struct room *room, const struct policy_job *job)
{
    room->over = room->over || !room_fits(node, room, job);
    room->count++;
    room->width += policy_room_of(node, job);
    size_t i = policy_is_bound(job) ? find_set(room, &job->cpus, node->cpu_words) : ROOM_SETS;
    if (i >= ROOM_SETS)
        return;
    if (i == room->set_count) {
        room->sets[i].cpus = &job->cpus;
        room->sets[i].width = 0;
        room->set_count++;
    }
    room->sets[i].width += policy_room_of(node, job);
}
