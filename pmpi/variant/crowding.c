#include "pmpi/variant/crowding.h"

#include "pmpi/variant/cpu_limit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define HASH_START UINT64_C(0xcbf29ce484222325) // FNV-1a
#define HASH_PRIME UINT64_C(0x100000001b3)

static uint64_t hash(uint64_t state, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        state = (state ^ at[i]) * HASH_PRIME;
    return state;
}

// The machine, not its name: containers have names of their own, and share CPUs all the same.
static uint64_t hash_machine(uint64_t state)
{
    char text[64];
    ssize_t count = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        count = read(fd, text, sizeof text);
        close(fd);
    }
    if (count <= 0) {
        text[sizeof text - 1] = '\0';
        count = gethostname(text, sizeof text - 1) == 0 ? (ssize_t)sizeof text : 0;
    }
    return hash(state, text, (size_t)count);
}

// OpenMP's threads where the user set them, else one.
static uint32_t process_width(uint32_t cpus)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    long width = threads != NULL ? strtol(threads, NULL, 10) : 1;
    if (width > (long)cpus)
        width = (long)cpus;
    return width < 1 ? 1 : (uint32_t)width;
}

struct crowding_place crowding_own_place(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    // More CPUs than the set has room for are more than the ranks of one machine need.
    uint32_t cpus = known ? (uint32_t)CPU_COUNT(&set) : CPU_SETSIZE;
    uint64_t id = hash(hash_machine(HASH_START), &set, sizeof set);
    struct cpu_limit limit;
    if (cpu_limit_find("/proc/self/cgroup", "/sys/fs/cgroup", &limit) && limit.cpus < cpus) {
        cpus = limit.cpus;
        id = hash(id, &limit.group, sizeof limit.group);
    }
    return (struct crowding_place){
        .cpus_id = id,
        .cpus = cpus,
        .width = process_width(cpus),
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
