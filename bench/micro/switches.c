// What it costs to hand the CPU to another process and to be given it back: two context switches,
// the unit of spin_limit (Sobalvarro et al., section 3.2.2). Two processes take turns, by
// sched_yield and by the library's doorbell, on one CPU and, by the doorbell, on two.
#include "common/clock.h"
#include "pmpi/variant/doorbell.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BATCHES = 25,
    TURNS = 2000, // of each process in a batch
};

#define LONG_NS (10 * NS_PER_SEC)

static _Atomic int *turn; // whose it is

static void yield_until(int own)
{
    while (atomic_load_explicit(turn, memory_order_acquire) != own)
        sched_yield();
}

static void sleep_until(int own)
{
    while (atomic_load_explicit(turn, memory_order_acquire) != own) {
        doorbell_announce();
        if (atomic_load_explicit(turn, memory_order_acquire) == own)
            doorbell_withdraw();
        else
            doorbell_sleep(LONG_NS);
    }
}

static void take_turns(int own, void (*until)(int))
{
    for (int i = 0; i < TURNS; i++) {
        until(own);
        atomic_store_explicit(turn, 1 - own, memory_order_release);
        doorbell_ring(1 - own);
    }
}

static void bind_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

// Microseconds from giving the turn away to having it again.
static double measure(void (*until)(int), int own_cpu, int peer_cpu)
{
    double batches[BATCHES];
    atomic_store(turn, 0);
    pid_t own = getpid(), peer = fork();
    if (peer < 0) {
        perror("switches: fork");
        exit(1);
    }
    if (peer == 0) {
        // Nobody would give it the turn any more, and it would ask for ever.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != own)
            _exit(1);
        doorbell.own = 1;
        bind_to(peer_cpu);
        for (int i = 0; i < BATCHES; i++)
            take_turns(1, until);
        _exit(0);
    }
    bind_to(own_cpu);
    for (int i = 0; i < BATCHES; i++) {
        uint64_t start = clock_now_ns();
        take_turns(0, until);
        until(0);
        batches[i] = (double)(clock_now_ns() - start) / TURNS / (double)NS_PER_US;
    }
    waitpid(peer, NULL, 0);
    qsort(batches, BATCHES, sizeof *batches, compare);
    return batches[BATCHES / 2];
}

int main(void)
{
    struct error err = {0};
    char name[DOORBELL_NAME_MAX];
    cpu_set_t set;
    int cpus[2], found = 0;
    turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED || sched_getaffinity(0, sizeof set, &set) < 0 ||
        doorbell_create(DOORBELL_DIRECTORY, 2, name, &err) < 0) {
        fprintf(stderr, "switches: %s\n", err.text);
        return 1;
    }
    doorbell_remove(DOORBELL_DIRECTORY, name);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &set))
            cpus[found++] = cpu;
    }
    printf("the CPU given away and got back, microseconds, median of %d times %d\n", BATCHES,
           TURNS);
    printf("  sched_yield, one CPU  %6.2f\n", measure(yield_until, cpus[0], cpus[0]));
    printf("  doorbell, one CPU     %6.2f\n", measure(sleep_until, cpus[0], cpus[0]));
    if (found == 2)
        printf("  doorbell, two CPUs    %6.2f\n", measure(sleep_until, cpus[0], cpus[1]));
    return 0;
}
