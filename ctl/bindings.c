#include "ctl/bindings.h"

static bool is_within(const cpu_set_t *cpus, const cpu_set_t *other)
{
    cpu_set_t both;
    CPU_AND(&both, cpus, other);
    return CPU_EQUAL(&both, cpus);
}

bool bindings_crowded(const struct bound *list, size_t count, size_t number,
                      struct bindings_crowd *crowd)
{
    const struct bound *here = &list[number];
    *crowd = (struct bindings_crowd){.in_place = true};
    if (CPU_EQUAL(&here->single, &here->cpus))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (i < number && CPU_EQUAL(&list[i].cpus, &here->cpus))
            return false;
        if (!is_within(&list[i].cpus, &here->cpus))
            continue;
        crowd->jobs++;
        crowd->processes += list[i].processes;
        crowd->in_place = crowd->in_place && list[i].in_place;
    }
    return crowd->jobs > 1 && crowd->processes > (size_t)CPU_COUNT(&here->cpus);
}
