#include "pmpi/variant/crowding.h"

#include "common/hash.h"
#include "pmpi/variant/cpu_limit.h"
#include "pmpi/variant/machine.h"

#include <sched.h>
#include <stdlib.h>

// OpenMP's threads where the user set them, else one.
static uint32_t process_width(uint32_t cpus)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    long width = threads != NULL ? strtol(threads, NULL, 10) : 1;
    if (width > (long)cpus)
        width = (long)cpus;
    return width < 1 ? 1 : (uint32_t)width;
}

struct crowding_place crowding_own_place(const char *runtime_dir)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    // More CPUs than the set has room for are more than the ranks of one machine need.
    uint32_t cpus = known ? (uint32_t)CPU_COUNT(&set) : CPU_SETSIZE;
    uint64_t id = hash_with(machine_id(), &set, sizeof set);
    struct cpu_limit limit;
    bool limited = cpu_limit_find("/proc/self/cgroup", "/sys/fs/cgroup", runtime_dir, &limit) &&
                   limit.cpus < cpus;
    if (limited) {
        cpus = limit.cpus;
        id = hash_with(id, &limit.group, sizeof limit.group);
    }
    return (struct crowding_place){
        .cpus_id = id,
        .cpus = cpus,
        .width = process_width(cpus),
        .limited = limited,
    };
}

bool crowding_at(const struct crowding_place *places, int ranks, const struct crowding_place *place)
{
    uint64_t needed = 0;
    for (int i = 0; i < ranks; i++) {
        if (places[i].cpus_id == place->cpus_id)
            needed += places[i].width;
    }
    return needed > place->cpus;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct crowding_place *)a)->cpus_id;
    uint64_t right = ((const struct crowding_place *)b)->cpus_id;
    return left < right ? -1 : left > right;
}

bool crowding_anywhere(struct crowding_place *places, int ranks)
{
    uint64_t needed = 0;
    if (ranks > 0)
        qsort(places, (size_t)ranks, sizeof *places, compare);
    for (int i = 0; i < ranks; i++) {
        if (i == 0 || places[i].cpus_id != places[i - 1].cpus_id)
            needed = 0;
        needed += places[i].width;
        if (needed > places[i].cpus)
            return true;
    }
    return false;
}
