#include "classd/policy/room.h"

#include "classd/policy/cpus.h"

// What those need who can use no other CPUs than these.
static uint64_t needed(const struct room *room, const struct engine_cpus *cpus)
{
    uint64_t width = 0;
    for (size_t i = 0; i < room->set_count; i++) {
        if (cpus_within(room->sets[i].cpus, cpus))
            width += room->sets[i].width;
    }
    return width;
}

static bool enough(const struct policy_node *node, const struct room *room,
                   const struct policy_job *job, const struct engine_cpus *cpus)
{
    return needed(room, cpus) + policy_room_of(node, job) <= cpus_count(cpus) * node->servants;
}

// Hall's condition, for the sets of CPUs that it is most likely to fail for: the job's own, with
// each that meets it, and with more and more of all that hang together with it.
static bool fits_where_bound(const struct policy_node *node, const struct room *room,
                             const struct policy_job *job)
{
    struct engine_cpus all = job->cpus;
    if (!enough(node, room, job, &all))
        return false;
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < room->set_count; i++) {
            const struct engine_cpus *cpus = room->sets[i].cpus;
            struct engine_cpus both = job->cpus;
            if (!cpus_meet(cpus, &all) || cpus_within(cpus, &all))
                continue;
            cpus_unite(&all, cpus);
            cpus_unite(&both, cpus);
            grown = true;
            if (!enough(node, room, job, &both) || !enough(node, room, job, &all))
                return false;
        }
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

static size_t find_set(const struct room *room, const struct engine_cpus *cpus)
{
    size_t i = 0;
    while (i < room->set_count && !cpus_same(room->sets[i].cpus, cpus))
        i++;
    return i;
}

void room_add(const struct policy_node *node, struct room *room, const struct policy_job *job)
{
    room->over = room->over || !room_fits(node, room, job);
    room->count++;
    room->width += policy_room_of(node, job);
    size_t i = policy_is_bound(job) ? find_set(room, &job->cpus) : ROOM_SETS;
    if (i >= ROOM_SETS)
        return;
    if (i == room->set_count) {
        room->sets[i].cpus = &job->cpus;
        room->sets[i].width = 0;
        room->set_count++;
    }
    room->sets[i].width += policy_room_of(node, job);
}
