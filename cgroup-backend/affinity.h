// The CPUs that the threads of a process may run on, over its move into another control group.
// Whoever comes into another cpuset may run on all of its CPUs: before Linux 6.2 whatever he, his
// launcher or taskset had bound him to, and later if nothing but the cpuset that he leaves had, as
// a batch system's. Others' jobs are there.
#ifndef COSCHED_CGROUP_BACKEND_AFFINITY_H
#define COSCHED_CGROUP_BACKEND_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct affinity {
    size_t mask_bytes; // the kernel's
    size_t count, room;
    pid_t *threads;
    unsigned char *masks;
};

// Notes those of all threads, in place of what `affinity` had; of 1024 at most. What cannot be seen
// is left out.
void affinity_note(pid_t pid, struct affinity *affinity);

// Binds those of the threads that are bound otherwise now as they were, as far as their cpuset has
// these CPUs; where all were bound alike, also those that were born since and may run where these
// could.
void affinity_restore(pid_t pid, const struct affinity *affinity);

void affinity_free(struct affinity *affinity);
#define cleanup_affinity __attribute__((cleanup(affinity_free)))

#endif
