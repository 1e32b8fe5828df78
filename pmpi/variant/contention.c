#include "pmpi/variant/contention.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/units.h"
#include "pmpi/variant/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    WAITED_PARTS = 4,    // of the time: this rank wanted a CPU for one of these and had none
    ENOUGH_PERCENT = 90, // of the CPUs: with so much nobody else is there. The rest is interrupts
    // Of its CPU, of a rank that has one: with so much whoever else is there gives it back, or it
    // would have far less. Half is its fair part.
    ENOUGH_ALONE_PERCENT = 30,
    AGAIN_WINDOWS = 5,
    WINDOWS_ALONE = 2,  // in a row: others may have computed for a moment
    MATES_AT_ONCE = 64, // each costs every rank a microsecond a window: more have longer ones
};

static bool read_used_ns(pid_t pid, uint64_t *used_ns);

static _Atomic uint64_t own_until_ns;

struct contention contention = {
    // Less than a scheduler's tick, more than any number of polite ranks.
    .long_ns = NS_PER_MS,           .window_ns = 100 * NS_PER_MS, .hold_ns = 2 * NS_PER_SEC,
    .hold_most_ns = 8 * NS_PER_SEC, .used_ns = read_used_ns,      .until_ns = &own_until_ns,
};

static struct {
    pid_t *mates;
    int count;
    uint32_t cpus;
    atomic_flag busy; // one thread at a time
    // What is looked at now. 0: nothing.
    uint64_t began_ns;
    uint64_t used_ns;                // by all mates, when it began
    uint64_t waited_ns;              // in long yields since
    uint32_t in_a_row;               // windows in which others have computed
    uint64_t hold_ns, held_until_ns; // the last answer "yes"; 0: there was none
} own = {.busy = ATOMIC_FLAG_INIT};

static bool read_used_ns(pid_t pid, uint64_t *used_ns)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    *used_ns = (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
    return true;
}

struct contention_process contention_own_process(void)
{
    struct stat numbers;
    struct contention_process process = {.pid = getpid()};
    if (fstatat(AT_FDCWD, "/proc/self/ns/pid", &numbers, 0) == 0) {
        uint64_t id = hash_with(machine_id(), &numbers.st_dev, sizeof numbers.st_dev);
        process.numbers_id = hash_with(id, &numbers.st_ino, sizeof numbers.st_ino);
    }
    return process;
}

static bool all_readable(const struct contention_process *mates, int count)
{
    uint64_t id = contention_own_process().numbers_id, used_ns;
    for (int i = 0; i < count; i++) {
        if (id == 0 || mates[i].numbers_id != id || mates[i].pid <= 0 ||
            !contention.used_ns(mates[i].pid, &used_ns))
            return false;
    }
    return true;
}

bool contention_start(const struct contention_process *mates, int count, uint32_t cpus,
                      _Atomic uint64_t *until_ns)
{
    contention_stop();
    if (count <= 0 || !all_readable(mates, count) ||
        (own.mates = calloc((size_t)count, sizeof *own.mates)) == NULL)
        return false;
    for (int i = 0; i < count; i++)
        own.mates[i] = mates[i].pid;
    own.count = count;
    own.cpus = cpus;
    if (until_ns != NULL)
        contention.until_ns = until_ns;
    return true;
}

void contention_stop(void)
{
    while (atomic_flag_test_and_set_explicit(&own.busy, memory_order_acquire))
        sched_yield(); // another thread reads them
    free(own.mates);
    own.mates = NULL;
    own.count = 0;
    own.began_ns = own.held_until_ns = 0;
    contention.until_ns = &own_until_ns;
    atomic_store_explicit(&own_until_ns, 0, memory_order_relaxed);
    atomic_flag_clear_explicit(&own.busy, memory_order_release);
}

static bool sum_used_ns(uint64_t *sum_ns)
{
    *sum_ns = 0;
    for (int i = 0; i < own.count; i++) {
        uint64_t used_ns;
        if (!contention.used_ns(own.mates[i], &used_ns))
            return false;
        *sum_ns += used_ns;
    }
    return true;
}

static void begin(uint64_t now_ns)
{
    own.waited_ns = 0;
    own.began_ns = sum_used_ns(&own.used_ns) ? now_ns : 0;
}

static bool is_alone(void)
{
    return own.count == 1 && own.cpus == 1;
}

static bool others_compute(uint64_t elapsed_ns)
{
    uint64_t used_ns, enough = is_alone() ? ENOUGH_ALONE_PERCENT : ENOUGH_PERCENT;
    if (own.waited_ns < elapsed_ns / WAITED_PARTS || !sum_used_ns(&used_ns) ||
        used_ns < own.used_ns)
        return false;
    return used_ns - own.used_ns < elapsed_ns / 100 * enough * own.cpus;
}

static uint64_t window_ns(void)
{
    return contention.window_ns * (1 + (uint64_t)own.count / MATES_AT_ONCE);
}

// Until when the answer stands: each time for longer, if it was no the last time for windows only.
static uint64_t hold(uint64_t now_ns)
{
    bool again = own.held_until_ns != 0 && now_ns < own.held_until_ns + AGAIN_WINDOWS * window_ns();
    own.hold_ns = again ? 2 * own.hold_ns : contention.hold_ns;
    if (own.hold_ns > contention.hold_most_ns)
        own.hold_ns = contention.hold_most_ns;
    return own.held_until_ns = now_ns + own.hold_ns;
}

static void look(uint64_t now_ns, uint64_t took_ns)
{
    uint64_t elapsed_ns = now_ns - own.began_ns;
    // Yields long ago, of a rank that has computed or slept since, say nothing about now.
    if (own.began_ns == 0 || elapsed_ns > 3 * window_ns()) {
        own.in_a_row = 0;
        begin(now_ns);
        return;
    }
    own.waited_ns += took_ns;
    if (elapsed_ns < window_ns())
        return;
    own.in_a_row = others_compute(elapsed_ns) ? own.in_a_row + 1 : 0;
    if (own.in_a_row >= (is_alone() ? WINDOWS_ALONE : 1))
        atomic_store_explicit(contention.until_ns, hold(now_ns), memory_order_relaxed);
    begin(now_ns);
}

void contention_forget(void)
{
    if (own.count == 0 || atomic_flag_test_and_set_explicit(&own.busy, memory_order_acquire))
        return;
    own.began_ns = 0;
    atomic_flag_clear_explicit(&own.busy, memory_order_release);
}

bool contention_stands(uint64_t until_ns)
{
    if (clock_now_ns() < until_ns)
        return true;
    atomic_compare_exchange_strong_explicit(contention.until_ns, &until_ns, 0, memory_order_relaxed,
                                            memory_order_relaxed);
    return false;
}

void contention_yielded_long(uint64_t now_ns, uint64_t took_ns)
{
    if (own.count == 0 || atomic_flag_test_and_set_explicit(&own.busy, memory_order_acquire))
        return;
    look(now_ns, took_ns);
    atomic_flag_clear_explicit(&own.busy, memory_order_release);
}
