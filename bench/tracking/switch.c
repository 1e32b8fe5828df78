// Context switches between two tasks, as section 4 of seed 001 measures them: each task is a binary
// tree of processes in a class of its own; one is suspended, then the other one resumed, with the
// limits, the records, the passes and the pauses between them that classd has. What it has besides,
// the engine, the socket, and the rest between two commands for one job, is not measured. What
// run_tracking.sh runs; needs root.
//
//     switch MEANS LEVELS busy|sleeping RETRY_US SWITCHES ROOT RECORDS
//
// prints a line per switch: microseconds to suspend, to resume, and passes; of busy trees also when
// a process of the suspended task was last seen running before the next switch, after the beginning
// of this one (0: it was not). RECORDS is a directory for what is recorded.
#include "cgroup-backend/backend.h"
#include "classd/urgent.h"
#include "common/clock.h"
#include "common/units.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TREE_MAX = 63, IDLE_SHARE_PPM = 10000, RUN_MS = 17, RUN_MORE_MS = 13, DEADLINE_S = 30 };

struct board {
    atomic_uint started[2];
    _Atomic uint64_t seen_ns[2][TREE_MAX]; // when a process was running last
};

struct plan {
    enum class_means means;
    unsigned levels;
    bool busy;
    uint64_t retry_ns;
    unsigned switches;
    const char *root;
    const char *records;
};

struct task {
    class_t *class_;
    pid_t head;
};

static struct board *board;
static struct error err;

static void sleep_ns(uint64_t ns)
{
    struct timespec pause = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};
    nanosleep(&pause, NULL);
}

// Whoever is left without the one above him is killed: a switch that is ended leaves no tree.
static void grow(const struct plan *plan, int which, unsigned levels)
{
    unsigned slot = atomic_fetch_add(&board->started[which], 1);
    for (int i = 0; levels > 1 && i < 2; i++)
        if (fork() == 0) { // goes on as the root of a smaller tree
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            slot = atomic_fetch_add(&board->started[which], 1);
            levels--;
            i = -1;
        }
    while (plan->busy)
        atomic_store_explicit(&board->seen_ns[which][slot], clock_now_ns(), memory_order_relaxed);
    for (;;)
        pause();
}

static int start(const struct plan *plan, backend_t *backend, int which, struct task *task)
{
    int gate[2];
    char byte;
    if (class_open(backend, which == 0 ? "a" : "b", &task->class_, &err) != 0 || pipe(gate) != 0)
        return -1;
    task->head = fork();
    if (task->head == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(gate[1]);
        if (read(gate[0], &byte, 1) == 1)
            grow(plan, which, plan->levels);
        _exit(0);
    }
    close(gate[0]);
    int rc = class_place(task->class_, task->head, &err);
    if (write(gate[1], "x", 1) != 1)
        rc = -1;
    close(gate[1]);
    uint64_t end_ns = clock_now_ns() + DEADLINE_S * NS_PER_SEC;
    while (rc == 0 && atomic_load(&board->started[which]) < (1u << plan->levels) - 1)
        rc = clock_now_ns() < end_ns ? (sleep_ns(NS_PER_MS), 0)
                                     : error_set(&err, ETIMEDOUT, "the tree does not grow");
    return rc;
}

static int limit(struct task *task, uint32_t share_ppm)
{
    return class_set_share(task->class_, share_ppm, &err);
}

// Passes until one is enough.
static int suspend_by_passes(const struct plan *plan, struct task *task, unsigned *passes)
{
    const struct class_suspension how = {.means = plan->means};
    unsigned before = *passes;
    while (class_suspend(task->class_, &how, &err) != 0) {
        if (err.code != EAGAIN)
            return -1;
        ++*passes;
        sleep_ns(plan->means == CLASS_BY_FREEZER
                     ? class_freezer_pause_ns(*passes - before, plan->retry_ns)
                     : plan->retry_ns);
    }
    ++*passes;
    return 0;
}

static int resume_by_passes(const struct plan *plan, struct task *task, unsigned *passes)
{
    for (;; sleep_ns(plan->retry_ns)) {
        ++*passes;
        if (class_resume(task->class_, &err) == 0)
            return 0;
        if (err.code != EAGAIN)
            return -1;
    }
}

// A job without turns is limited, but not while its processes have to stop.
static int suspend(const struct plan *plan, struct task *task, unsigned *passes)
{
    bool stops = plan->means != CLASS_BY_SHARE;
    if (limit(task, IDLE_SHARE_PPM) != 0 || (stops && limit(task, BACKEND_UNLIMITED) != 0) ||
        suspend_by_passes(plan, task, passes) != 0)
        return -1;
    return stops ? limit(task, IDLE_SHARE_PPM) : 0;
}

// Nor while they have to continue; then it has the node for itself.
static int resume(const struct plan *plan, struct task *task, unsigned *passes)
{
    if (plan->means != CLASS_BY_SHARE && limit(task, BACKEND_UNLIMITED) != 0)
        return -1;
    return resume_by_passes(plan, task, passes) == 0 ? limit(task, BACKEND_UNLIMITED) : -1;
}

static uint64_t last_seen_ns(int which)
{
    uint64_t last_ns = 0;
    for (int i = 0; i < TREE_MAX; i++) {
        uint64_t seen_ns = atomic_load(&board->seen_ns[which][i]);
        if (seen_ns > last_ns)
            last_ns = seen_ns;
    }
    return last_ns;
}

static void run_for_a_while(void)
{
    sleep_ns((RUN_MS + (uint64_t)(random() % RUN_MORE_MS)) * NS_PER_MS);
}

static int measure(const struct plan *plan, struct task tasks[2])
{
    unsigned passes = 0;
    srandom(1);
    if (suspend(plan, &tasks[1], &passes) != 0)
        return -1;
    run_for_a_while();
    for (unsigned i = 0; i < plan->switches; i++) {
        int loser = (int)(i % 2);
        passes = 0;
        uint64_t begun_ns = clock_now_ns();
        if (suspend(plan, &tasks[loser], &passes) != 0)
            return -1;
        uint64_t suspended_ns = clock_now_ns();
        if (resume(plan, &tasks[1 - loser], &passes) != 0)
            return -1;
        uint64_t done_ns = clock_now_ns();
        run_for_a_while();
        uint64_t last_ns = last_seen_ns(loser);
        printf("%.1f %.1f %u %.1f\n", (double)(suspended_ns - begun_ns) / 1e3,
               (double)(done_ns - suspended_ns) / 1e3, passes,
               last_ns > begun_ns ? (double)(last_ns - begun_ns) / 1e3 : 0.);
    }
    return 0;
}

static int run(const struct plan *plan)
{
    const struct backend_settings settings = {
        .kind = "auto",
        .root = plan->root,
        .cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
        .period_ns = 100 * NS_PER_MS,
        .records = plan->records,
    };
    struct task tasks[2] = {{0}, {0}};
    backend_t *backend = NULL;
    if (backend_open(&settings, &backend, &err) != 0)
        return -1;
    int rc =
        start(plan, backend, 0, &tasks[0]) == 0 && start(plan, backend, 1, &tasks[1]) == 0 ? 0 : -1;
    if (rc == 0) {
        urgent_become(); // as classd, and not inherited by the trees
        rc = measure(plan, tasks);
    }
    for (int i = 0; i < 2; i++) {
        if (tasks[i].class_ == NULL)
            continue;
        class_kill(tasks[i].class_, NULL);
        class_remove(tasks[i].class_, NULL);
    }
    backend_close(backend);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return rc;
}

static int parse(char **argv, struct plan *plan)
{
    static const char *const means[] = {NULL, "share", "freezer", "signals"};
    for (size_t i = CLASS_BY_SHARE; i <= CLASS_BY_SIGNALS; i++)
        if (strcmp(argv[1], means[i]) == 0)
            plan->means = (enum class_means)i;
    plan->levels = (unsigned)strtoul(argv[2], NULL, 10);
    plan->busy = strcmp(argv[3], "busy") == 0;
    plan->retry_ns = strtoul(argv[4], NULL, 10) * NS_PER_US;
    plan->switches = (unsigned)strtoul(argv[5], NULL, 10);
    plan->root = argv[6];
    plan->records = argv[7];
    return plan->means != 0 && plan->levels >= 1 && plan->levels <= 6 && plan->retry_ns > 0 ? 0
                                                                                            : -1;
}

int main(int argc, char **argv)
{
    struct plan plan = {0};
    if (argc != 8 || parse(argv, &plan) != 0) {
        fputs("usage: switch share|freezer|signals LEVELS busy|sleeping RETRY_US SWITCHES ROOT "
              "RECORDS\n",
              stderr);
        return 2;
    }
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED || run(&plan) != 0) {
        fprintf(stderr, "switch: %s\n", err.text);
        return 1;
    }
    return 0;
}
