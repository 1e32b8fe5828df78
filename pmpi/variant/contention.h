// Whether somebody else computes on the CPUs that ranks of this job share. Then a rank that waits
// had better sleep than yield: who yields beside a process that computes goes to the end of the
// line, again and again, and who has slept gets the CPU back when it wakes.
//
// Found out without a scheduler or privilege. That a yield takes long says nothing by itself: a
// rank that shares the CPU may compute. So when yields take a good part of the time, the CPU times
// of all ranks that share the CPUs are read. Ranks that yield leave no CPU idle; what they have not
// had, somebody else had. A rank that has a CPU looks at its own time alone, and where it has about
// its fair part others wait politely, too: among such, yields cost less than sleeps.
#ifndef COSCHED_PMPI_VARIANT_CONTENTION_H
#define COSCHED_PMPI_VARIANT_CONTENTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Where a rank's CPU time can be read; every rank tells all others.
struct contention_process {
    uint64_t numbers_id; // the same for processes that see the same process numbers; 0: unknown
    int32_t pid;
    uint32_t unused;
};

struct contention {
    uint64_t long_ns;   // a yield that takes longer has given the CPU to somebody who computes
    uint64_t window_ns; // how long is looked at, at least
    // How long the answer "yes" stands, since ranks that sleep cannot tell: the first time, and at
    // most, when it is "yes" again soon after.
    uint64_t hold_ns, hold_most_ns;
    // CPU time that a process has used. False: it cannot be read.
    bool (*used_ns)(pid_t pid, uint64_t *used_ns);
    _Atomic uint64_t *until_ns; // until when somebody else computes, as far as is known
};

extern struct contention contention __attribute__((visibility("hidden")));

struct contention_process contention_own_process(void);

// The ranks that share `cpus` CPUs with this one, itself among them. Without a call, or when their
// CPU times cannot be read and it returns false, the answer is "no". Copies the list. `until_ns` is
// where ranks of this machine tell each other; null: each finds out for itself.
bool contention_start(const struct contention_process *mates, int count, uint32_t cpus,
                      _Atomic uint64_t *until_ns);
void contention_stop(void);

// After a yield that took longer than contention.long_ns.
void contention_yielded_long(uint64_t now_ns, uint64_t took_ns);

static inline void contention_yielded(uint64_t now_ns, uint64_t took_ns)
{
    if (took_ns > contention.long_ns)
        contention_yielded_long(now_ns, took_ns);
}

// What has been seen so far is not to be gone by: this process was held to a share meanwhile.
void contention_forget(void);

bool contention_stands(uint64_t until_ns);

// Does somebody else compute here, as far as this job's ranks know?
static inline bool contention_known(void)
{
    uint64_t until_ns = atomic_load_explicit(contention.until_ns, memory_order_relaxed);
    return until_ns != 0 && contention_stands(until_ns);
}

#endif
