// The CPU bandwidth limit that a container or a service has put on this process: a container with
// two CPUs' worth of a machine of 64 may run on all 64, and has two.
#ifndef COSCHED_PMPI_VARIANT_CPU_LIMIT_H
#define COSCHED_PMPI_VARIANT_CPU_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_limit {
    uint32_t cpus;  // CPUs' worth of time, rounded up
    uint64_t group; // whose limit it is: the same number for all processes below it
};

// The tightest limit on the way from this process's cgroup to the root, v2 or v1. False: there is
// none, or none that can be read. `membership` is /proc/self/cgroup, `mounts` where cgroup file
// systems are mounted, /sys/fs/cgroup.
//
// Limits of classd's do not count, since they hold only until the job is scheduled: neither those
// of its own classes (job-UID-NAME) nor those of groups that it limits in place, which have a
// record in `runtime_dir`; of these the group's own one does. Where that cannot be read, as in a
// container, one below half a CPU is taken for such a limit.
bool cpu_limit_find(const char *membership, const char *mounts, const char *runtime_dir,
                    struct cpu_limit *limit);

#endif
