// How fast CPUs are while others run: a fixed piece of work on each of them at once, five times a
// second, before everything else. A neighbour of a virtual machine on the same core slows it down,
// and no clock of this machine's own shows that.
//
// pace CPU...: answers each line on its standard input with a line: for each CPU the mean time of a
// piece since the line before, in ns, or 0 where there was none. Ends when the input does. Status 1
// when a CPU cannot be watched.
#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    CPUS_MAX = 1024,
    TRIES = 3, // the fastest counts: the first one may have to fetch what it needs
    STEPS = 40000,
};

#define INTERVAL_NS (NS_PER_SEC / 5)

struct watched {
    int cpu;
    pthread_mutex_t mutex;
    uint64_t sum_ns;
    uint64_t count;
};

// Independent chains, as many as a core has units for: it is those that a neighbour takes.
static uint64_t piece_ns(void)
{
    uint32_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    uint64_t begin_ns = clock_now_ns();
    for (uint32_t i = 0; i < STEPS; i++) {
        a = a * 5 + i;
        b = (b ^ i) + a;
        c = c * 3 + i;
        d = (d + i) ^ c;
        e += i;
        f ^= e;
        g += f;
        h ^= i + g;
        __asm__ volatile(""
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    }
    return clock_now_ns() - begin_ns;
}

static void look(struct watched *watched)
{
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t took_ns = piece_ns();
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    pthread_mutex_lock(&watched->mutex);
    watched->sum_ns += best_ns;
    watched->count++;
    pthread_mutex_unlock(&watched->mutex);
}

// At the same time on all CPUs, so that no job has one of its CPUs without the other.
static void *watch(void *argument)
{
    struct watched *watched = argument;
    uint64_t next_ns = clock_now_ns() / INTERVAL_NS * INTERVAL_NS;
    for (;;) {
        next_ns += INTERVAL_NS;
        struct timespec at = {.tv_sec = (time_t)(next_ns / NS_PER_SEC),
                              .tv_nsec = (long)(next_ns % NS_PER_SEC)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            continue;
        look(watched);
    }
    return NULL;
}

static int start(struct watched *watched)
{
    cpu_set_t cpus;
    pthread_attr_t attributes;
    pthread_t thread;
    CPU_ZERO(&cpus);
    CPU_SET((unsigned)watched->cpu, &cpus);
    pthread_mutex_init(&watched->mutex, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    return pthread_create(&thread, &attributes, watch, watched);
}

// Real time where that may be had, else as nice as may be.
static void go_first(void)
{
    struct sched_param priority = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        setpriority(PRIO_PROCESS, 0, -20);
}

static void tell(struct watched *watched, int count)
{
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&watched[i].mutex);
        uint64_t mean_ns = watched[i].count > 0 ? watched[i].sum_ns / watched[i].count : 0;
        watched[i].sum_ns = watched[i].count = 0;
        pthread_mutex_unlock(&watched[i].mutex);
        printf("%s%" PRIu64, i > 0 ? " " : "", mean_ns);
    }
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct watched watched[CPUS_MAX];
    int count = argc - 1;
    if (count < 1 || count > CPUS_MAX) {
        fprintf(stderr, "usage: pace CPU...   (1 to %d of them)\n", CPUS_MAX);
        return 2;
    }
    go_first();
    for (int i = 0; i < count; i++) {
        char *end;
        long cpu = strtol(argv[i + 1], &end, 10);
        if (end == argv[i + 1] || *end != '\0' || cpu < 0 || cpu >= CPU_SETSIZE) {
            fprintf(stderr, "pace: %s is no CPU: give numbers as in /proc/cpuinfo\n", argv[i + 1]);
            return 2;
        }
        watched[i].cpu = (int)cpu;
        int fault = start(&watched[i]);
        if (fault != 0) {
            fprintf(stderr, "pace: CPU %ld cannot be watched: %s\n", cpu, strerror(fault));
            return 1;
        }
    }
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) >= 0)
        tell(watched, count);
    free(line);
    return 0;
}
