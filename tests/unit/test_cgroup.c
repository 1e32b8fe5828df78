// Classes on the real cgroups of this machine, v1 or v2, with real processes. Everything happens
// below a root of this test's own, which is gone afterwards, also after a failure. Skipped where it
// cannot run. tests/vm runs it on v2.
#include "cgroup-backend/backend.h"
#include "cgroup-backend/discovery.h"
#include "cgroup-backend/groups.h"
#include "cgroup-backend/ops.h"
#include "cgroup-backend/processes.h"
#include "common/units.h"

#include <dirent.h>
#include <errno.h>
#include <linux/sched.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHILDREN_MAX = 64 };

// What the kernel calls it.
struct version {
    const char *kind;
    const char *threads; // file that lists a group's threads
    const char *weight;  // file of a group's weight
    long long weight_of_two_cpus;
    const char *thaw, *thaw_word; // what continues a frozen group
};

static const struct version v1 = {"v1", "tasks", "cpu.shares", 2048, "freezer.state", "THAWED"};
static const struct version v2 = {"v2", "cgroup.threads", "cpu.weight", 200, "cgroup.freeze", "0"};
static const struct version *version;
static struct discovery found;
static const char *mounts[3]; // of cpu first
static unsigned mount_count;
static char root[64];
static backend_t *backend;
static struct error err;

// What a test has begun and clean_up() ends.
static pid_t children[CHILDREN_MAX];
static unsigned child_count;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&pause, &pause) != 0)
        ;
}

static pid_t start(void (*work)(void *), void *user)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(user);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_true(child_count < CHILDREN_MAX);
    children[child_count++] = pid;
    return pid;
}

static void wait_forever(void *user)
{
    (void)user;
    for (;;)
        pause();
}

static void wait_as_somebody_else(void *user)
{
    if (setuid(99) == 0)
        wait_forever(user);
}

static void burn(void *user)
{
    (void)user;
    for (volatile unsigned long i = 0;; i++)
        ;
}

// Whether a process, or thread, is in the group `path` (relative) of a hierarchy.
static bool is_in(const char *mount, const char *path, pid_t pid, const char *file)
{
    char name[512];
    int one;
    bool there = false;
    snprintf(name, sizeof name, "%s/%s/%s", mount, path, file);
    FILE *stream = fopen(name, "re");
    while (stream != NULL && fscanf(stream, "%d", &one) == 1)
        there = there || one == pid;
    if (stream != NULL)
        fclose(stream);
    return there;
}

static bool in_class(const char *class_, pid_t pid, const char *file)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, class_);
    for (unsigned i = 0; i < mount_count; i++)
        if (!is_in(mounts[i], path, pid, file))
            return false;
    return true;
}

static int members_in(const char *mount, const char *class_)
{
    struct pid_list list = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", mount, root, class_);
    processes_of_group(path, &list, NULL);
    pid_list_sort(&list);
    int count = (int)list.count;
    pid_list_free(&list);
    return count;
}

// A file of the class's group in the cpu hierarchy; class "" is the root group.
static void read_text(const char *class_, const char *file, char *text, int size)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s/%s/%s", mounts[0], root, class_, file);
    FILE *stream = fopen(name, "re");
    assert_non_null(stream);
    assert_non_null(fgets(text, size, stream));
    fclose(stream);
}

static long long number_in(const char *class_, const char *file)
{
    char text[64];
    read_text(class_, file, text, sizeof text);
    return atoll(text);
}

struct limit {
    long long quota_us; // -1: none
    long long period_us;
};

static struct limit limit_of(const char *class_)
{
    if (version == &v1)
        return (struct limit){number_in(class_, "cpu.cfs_quota_us"),
                              number_in(class_, "cpu.cfs_period_us")};
    struct limit limit = {-1, 0};
    char text[64];
    read_text(class_, "cpu.max", text, sizeof text);
    if (sscanf(text, "max %lld", &limit.period_us) != 1)
        assert_int_equal(sscanf(text, "%lld %lld", &limit.quota_us, &limit.period_us), 2);
    return limit;
}

static long long quota_of(const char *class_)
{
    return limit_of(class_).quota_us;
}

static class_t *open_class(const char *name)
{
    class_t *class_ = NULL;
    if (class_open(backend, name, &class_, &err) != 0)
        fail_msg("%s", err.text);
    return class_;
}

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        err = (struct error){0};                                                                   \
        if ((call) != 0)                                                                           \
            fail_msg(#call ": %s", err.text);                                                      \
    } while (0)

static uint64_t usage_of(class_t *class_)
{
    uint64_t usage_ns = 0;
    assert_ok(class_usage(class_, &usage_ns, &err));
    return usage_ns;
}

static size_t members_of(class_t *class_)
{
    size_t count = 0;
    assert_ok(class_members(class_, NULL, 0, &count, &err));
    return count;
}

static void members_and_limits(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL), pids[2];
    size_t count;
    assert_string_equal(backend_name(backend), version->kind);
    assert_string_equal(class_name(a), "a");
    assert_int_equal(quota_of("a"), -1);
    assert_int_equal(usage_of(a), 0);
    assert_int_equal(members_of(a), 0);
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_ok(class_members(a, pids, 2, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], pid);
    assert_ok(class_set_share(a, 500000, &err)); // of 2 CPUs
    assert_int_equal(quota_of("a"), 100000);
    assert_ok(class_set_share(a, 1, &err)); // below what the kernel can enforce
    assert_int_equal(quota_of("a"), 1000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    assert_int_equal(quota_of("a"), -1);
    assert_ok(class_expel(a, pid, &err));
    assert_int_equal(members_of(a), 0);
    assert_int_equal(class_expel(a, pid, &err), -1);
    assert_int_equal(err.code, ESRCH);
    assert_ok(class_remove(a, &err));
}

// 2 CPUs: or a job of 2 processes would weigh as much as one process that is in no class.
static void classes_weigh_as_much_as_the_node(void **state)
{
    (void)state;
    class_close(open_class("a"));
    assert_int_equal(number_in("", version->weight), version->weight_of_two_cpus);
    assert_int_equal(number_in("a", version->weight), version->weight_of_two_cpus);
}

static void *thread_waits(void *tid)
{
    *(volatile pid_t *)tid = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return NULL;
}

struct family {
    volatile pid_t thread, child, grandchild, late;
    volatile int go;
};

static struct family *new_family(void)
{
    struct family *family =
        mmap(NULL, sizeof *family, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(family != MAP_FAILED);
    return family;
}

// A process with a thread, a child, a grandchild, and later one more child.
static void have_family(void *user)
{
    struct family *family = user;
    pthread_t thread;
    pthread_create(&thread, NULL, thread_waits, (void *)&family->thread);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            wait_forever(NULL);
        }
        family->grandchild = grandchild;
        wait_forever(NULL);
    }
    family->child = child;
    while (!family->go)
        sleep_ms(1);
    pid_t late = fork();
    if (late == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_forever(NULL);
    }
    family->late = late;
    wait_forever(NULL);
}

static void threads_and_descendants_follow(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    struct family *family = new_family();
    pid_t pid = start(have_family, family);
    while (family->thread == 0 || family->child == 0 || family->grandchild == 0)
        sleep_ms(1);
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_true(in_class("a", family->thread, version->threads));
    assert_true(in_class("a", family->child, "cgroup.procs"));
    assert_true(in_class("a", family->grandchild, "cgroup.procs"));
    family->go = 1;
    while (family->late == 0)
        sleep_ms(1);
    assert_true(in_class("a", family->late, "cgroup.procs"));
    assert_ok(class_kill(a, &err));
    assert_int_equal(members_of(a), 0);
    assert_ok(class_remove(a, &err));
    munmap(family, sizeof *family);
}

// A job that was started by a process of another job keeps its class when that one is placed late.
static void a_descendant_with_a_class_of_its_own_stays(void **state)
{
    (void)state;
    class_t *a = open_class("a"), *b = open_class("b"), *c = open_class("c");
    struct family *family = new_family();
    pid_t pid = start(have_family, family);
    while (family->thread == 0 || family->child == 0 || family->grandchild == 0)
        sleep_ms(1);
    assert_ok(class_place(b, family->child, &err));
    assert_true(in_class("b", family->grandchild, "cgroup.procs"));
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_true(in_class("b", family->child, "cgroup.procs"));
    assert_true(in_class("b", family->grandchild, "cgroup.procs"));
    // Who changes his class takes those along who were born into it.
    assert_ok(class_place(c, family->child, &err));
    assert_true(in_class("c", family->grandchild, "cgroup.procs"));
    assert_ok(class_kill(c, &err));
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(c, &err));
    assert_ok(class_remove(b, &err));
    assert_ok(class_remove(a, &err));
    munmap(family, sizeof *family);
}

enum { RACERS = 400 };

// Forks as fast as it can while it is being moved; the children fork, too, and nobody ends.
static void fork_in_a_race(void *user)
{
    volatile int *counter = user;
    while (__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED) < RACERS)
        if (fork() == 0)
            prctl(PR_SET_PDEATHSIG, SIGKILL);
    wait_forever(NULL);
}

static void racing_forks_are_all_caught(void **state)
{
    (void)state;
    int begun = 0, ended = 0;
    for (int round = 0; round < 5; round++) {
        class_t *a = open_class("a");
        struct family *family = new_family();
        pid_t pid = start(fork_in_a_race, (void *)&family->go);
        while (family->go < 10 * round)
            ;
        begun += family->go;
        assert_ok(class_place(a, pid, &err));
        ended += family->go < RACERS ? family->go : RACERS;
        // Each of the racers counts once more when it finds that there are enough.
        for (int tries = 0; tries < 1000 && family->go < 2 * RACERS + 1; tries++)
            sleep_ms(5);
        assert_int_equal(members_of(a), RACERS + 1);
        for (unsigned i = 0; i < mount_count; i++)
            assert_int_equal(members_in(mounts[i], "a"), RACERS + 1);
        assert_ok(class_kill(a, &err));
        assert_int_equal(members_of(a), 0);
        assert_ok(class_remove(a, &err));
        munmap(family, sizeof *family);
    }
    print_message("%d forks of %d happened during placement\n", ended - begun, 5 * RACERS);
}

static void a_zombie_does_not_hold_up(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    struct family *family = new_family();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0)
            _exit(0);
        family->go = 1;
        wait_forever(NULL);
    }
    children[child_count++] = pid;
    while (family->go == 0)
        sleep_ms(1);
    sleep_ms(20);
    assert_ok(class_place(a, pid, &err));
    assert_int_equal(members_of(a), 1);
    assert_ok(class_remove(a, &err));
    munmap(family, sizeof *family);
}

static void who_is_gone_is_reported(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(class_place(a, pid, &err), -1);
    assert_int_equal(err.code, ESRCH);
    assert_int_equal(class_place(a, 0, &err), -1);
    assert_int_equal(err.code, EINVAL);
    assert_ok(class_remove(a, &err));
}

static double share_of_one_cpu(class_t *class_, unsigned ms)
{
    uint64_t usage_ns = usage_of(class_), begin_ns = now_ns();
    sleep_ms(ms);
    return (double)(usage_of(class_) - usage_ns) / (double)(now_ns() - begin_ns);
}

static void a_share_limits(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(burn, NULL);
    assert_ok(class_place(a, pid, &err));
    // 0.5 % of 2 CPUs: 1 ms of 100. Looked at from the beginning, for what a process takes too much
    // at first, until a tick finds it, it pays back later.
    assert_ok(class_set_share(a, 5000, &err));
    double limited = share_of_one_cpu(a, 5000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    double free_ = share_of_one_cpu(a, 500);
    print_message("1 %% gave %.2f %%, unlimited %.0f %%\n", limited * 100, free_ * 100);
    assert_true(limited > 0.003 && limited < 0.03);
    assert_true(free_ > 0.1);
    assert_true(free_ > 5 * limited);
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
}

// Who is marked as frozen has still to leave the CPU, and that is counted.
static uint64_t usage_at_rest(class_t *class_)
{
    uint64_t usage_ns = usage_of(class_);
    for (int tries = 0; tries < 40; tries++) {
        uint64_t before_ns = usage_ns;
        sleep_ms(50);
        usage_ns = usage_of(class_);
        if (usage_ns == before_ns)
            break;
    }
    return usage_ns;
}

static void frozen_uses_nothing(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_freeze(a, &err));
    uint64_t before = usage_at_rest(a);
    sleep_ms(300);
    assert_int_equal(usage_of(a), before);
    assert_ok(class_thaw(a, &err));
    sleep_ms(200);
    assert_true(usage_of(a) > before);
    assert_ok(class_freeze(a, &err));
    assert_ok(class_kill(a, &err)); // frozen ones, too
    assert_int_equal(members_of(a), 0);
    assert_ok(class_remove(a, &err));
}

// A throttled process has to run on to stop; 1 ms of 100 may let it wait for several periods.
static void freezing_is_quick_under_a_limit_and_keeps_it(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    for (int i = 0; i < 4; i++)
        assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_set_share(a, 5000, &err));
    for (int i = 0; i < 5; i++) {
        sleep_ms(70);
        assert_ok(class_freeze(a, &err));
        assert_int_equal(quota_of("a"), 1000);
        assert_ok(class_thaw(a, &err));
    }
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
}

static void kill_is_quick_under_a_limit_and_keeps_it(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    for (int i = 0; i < 10; i++)
        assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_set_share(a, 5000, &err));
    sleep_ms(200);
    assert_ok(class_kill(a, &err));
    assert_int_equal(members_of(a), 0);
    assert_int_equal(quota_of("a"), 1000);
    assert_ok(class_remove(a, &err));
}

// A group of the test's own, beside the root, to come from.
static void make_origin(char *from, size_t size, unsigned hierarchies)
{
    char path[512];
    snprintf(from, size, "%s-from", root);
    for (unsigned i = 0; i < hierarchies; i++) {
        snprintf(path, sizeof path, "%s/%s", mounts[i], from);
        assert_int_equal(mkdir(path, 0755), 0);
    }
}

static void enter(const char *mount, const char *group, pid_t pid)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/cgroup.procs", mount, group);
    FILE *procs = fopen(path, "we");
    assert_non_null(procs);
    fprintf(procs, "%d\n", (int)pid);
    assert_int_equal(fclose(procs), 0);
}

// The limit of an origin's group is not this class's business: members return where they came from.
// A process with a number of the caller's choice; 0 where this kernel or this user may not.
static pid_t start_as(pid_t number)
{
    struct clone_args arguments = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_forever(NULL);
    }
    if (pid < 0)
        return 0;
    children[child_count++] = pid;
    return pid;
}

static void a_number_that_is_used_again_is_not_placed(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    uint64_t start_time = processes_start_time("/proc", pid);
    assert_true(start_time != 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    child_count--;
    sleep_ms(30); // start times are told in ticks
    if (start_as(pid) != pid)
        skip();
    assert_int_equal(class_place_known(a, pid, start_time, &err), -1);
    assert_int_equal(err.code, ESRCH);
    assert_int_equal(members_of(a), 0);
    assert_ok(class_place_known(a, pid, processes_start_time("/proc", pid), &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_ok(class_remove(a, &err));
}

// As if its number had become another's between the last look and the move.
static void a_stranger_who_was_moved_goes_back(void **state)
{
    (void)state;
    char from[128], path[128];
    class_t *a = open_class("a");
    make_origin(from, sizeof from, mount_count);
    struct family *family = new_family();
    pid_t pid = start(have_family, family);
    while (family->thread == 0 || family->child == 0 || family->grandchild == 0)
        sleep_ms(1);
    snprintf(path, sizeof path, "%s/a", root);
    for (unsigned i = 0; i < mount_count; i++) {
        enter(mounts[i], from, pid);
        enter(mounts[i], path, family->child);
    }
    struct process_id who = {family->child, processes_start_time("/proc", family->child)};
    const struct cgroup_class *class_ = (const struct cgroup_class *)a;
    assert_ok(groups_confirm(class_, &who, &err));
    assert_true(in_class("a", family->child, "cgroup.procs"));
    who.start_time++;
    assert_int_equal(groups_confirm(class_, &who, &err), -1);
    assert_int_equal(err.code, ESRCH);
    for (unsigned i = 0; i < mount_count; i++)
        assert_true(is_in(mounts[i], from, family->child, "cgroup.procs"));
    // Whose parent is in the class was born there.
    assert_ok(class_place(a, pid, &err));
    assert_int_equal(groups_confirm(class_, &who, &err), -1);
    assert_true(in_class("a", family->child, "cgroup.procs"));
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
    munmap(family, sizeof *family);
}

enum { TOO_MANY = 4097 };

static void have_too_many_children(void *user)
{
    volatile int *counter = user;
    for (int i = 0; i < TOO_MANY; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            wait_forever(NULL);
        }
        if (pid < 0)
            break;
        ++*counter;
    }
    *counter += 10 * TOO_MANY;
    wait_forever(NULL);
}

static void more_than_a_registration_takes_stay_where_they_are(void **state)
{
    (void)state;
    if (getenv("COSCHED_TEST_EMULATED") != NULL)
        skip(); // an emulated machine has no room for so many
    char from[128];
    class_t *a = open_class("a");
    struct family *family = new_family();
    make_origin(from, sizeof from, mount_count);
    pid_t pid = start(have_too_many_children, (void *)&family->go);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, pid);
    while (family->go < 10 * TOO_MANY)
        sleep_ms(1);
    if (family->go == 11 * TOO_MANY) {
        uint64_t begin_ns = now_ns();
        assert_int_equal(class_place(a, pid, &err), -1);
        print_message("refused after %.1f ms\n", (double)(now_ns() - begin_ns) / 1e6);
        assert_int_equal(err.code, E2BIG);
        assert_non_null(strstr(err.text, "MPI_Init"));
        assert_int_equal(members_of(a), 0);
        for (unsigned i = 0; i < mount_count; i++)
            assert_true(is_in(mounts[i], from, pid, "cgroup.procs"));
    }
    munmap(family, sizeof *family);
    assert_ok(class_remove(a, &err));
}

static void remove_restores_the_origin(void **state)
{
    (void)state;
    char from[128], path[512];
    make_origin(from, sizeof from, mount_count);
    pid_t pid = start(wait_forever, NULL), other = start(wait_forever, NULL);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, pid);
    class_t *a = open_class("a");
    assert_ok(class_place(a, pid, &err));
    assert_ok(class_place(a, other, &err)); // returns to the first one's origin
    assert_ok(class_place(a, pid, &err));   // again: the origin is not the class
    assert_false(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_ok(class_freeze(a, &err)); // must not stay frozen
    assert_ok(class_remove(a, &err));
    for (unsigned i = 0; i < mount_count; i++) {
        assert_true(is_in(mounts[i], from, pid, "cgroup.procs"));
        assert_true(is_in(mounts[i], from, other, "cgroup.procs"));
        snprintf(path, sizeof path, "%s/%s/a", mounts[i], root);
        assert_int_equal(access(path, F_OK), -1);
    }
}

// Somebody else is served in between; nobody is limited meanwhile.
static void a_class_is_removed_in_steps(void **state)
{
    enum { MEMBERS = 5, LIMIT = 2 };
    (void)state;
    class_t *a = open_class("a");
    for (int i = 0; i < MEMBERS; i++)
        assert_ok(class_place(a, start(wait_forever, NULL), &err));
    assert_ok(class_set_share(a, 10000, &err));
    for (int left = MEMBERS - LIMIT; left > 0; left -= LIMIT) {
        assert_int_equal(class_remove_step(a, LIMIT, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        assert_int_equal(members_of(a), left);
        assert_int_equal(quota_of("a"), -1);
    }
    assert_ok(class_remove_step(a, LIMIT, &err));
    class_close(open_class("a")); // made anew
    assert_ok(class_remove(open_class("a"), &err));
}

static void a_vanished_origin_gives_the_top(void **state)
{
    (void)state;
    char from[128], path[512];
    make_origin(from, sizeof from, 1);
    pid_t pid = start(wait_forever, NULL);
    enter(mounts[0], from, pid);
    class_t *a = open_class("a");
    assert_ok(class_place(a, pid, &err));
    snprintf(path, sizeof path, "%s/%s", mounts[0], from);
    assert_int_equal(rmdir(path), 0);
    assert_ok(class_expel(a, pid, &err));
    assert_true(is_in(mounts[0], "", pid, "cgroup.procs"));
    assert_ok(class_remove(a, &err));
}

static void adoption_keeps_limit_and_members(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    assert_ok(class_place(a, pid, &err));
    assert_ok(class_set_share(a, 20000, &err));
    class_close(a);
    // Another daemon, with another period: the measure as soon as it sets a share.
    backend_close(backend);
    struct backend_settings settings = {version->kind, root, 2, 50 * NS_PER_MS, NULL, false};
    assert_ok(backend_open(&settings, &backend, &err));
    a = open_class("a");
    assert_int_equal(quota_of("a"), 4000);
    assert_int_equal(members_of(a), 1);
    assert_ok(class_set_share(a, 30000, &err));
    struct limit limit = limit_of("a");
    assert_int_equal(limit.period_us, 50000);
    assert_int_equal(limit.quota_us, 3000);
    assert_ok(class_place(a, pid, &err)); // registers again: its origin is not the class itself
    assert_ok(class_remove(a, &err));
    assert_true(is_in(mounts[0], "", pid, "cgroup.procs"));
}

static int collect(const char *name, void *user)
{
    strcat(user, name);
    return 0;
}

static int stop_at_once(const char *name, void *user)
{
    (void)name;
    ++*(int *)user;
    return 1;
}

static void all_are_listed_and_lifted(void **state)
{
    (void)state;
    class_t *a = open_class("a"), *b = open_class("b");
    pid_t pid = start(burn, NULL);
    char names[64] = "";
    int calls = 0;
    unsigned lifted = 0;
    assert_ok(backend_each_class(backend, collect, names, &err));
    assert_true(strcmp(names, "ab") == 0 || strcmp(names, "ba") == 0);
    assert_ok(backend_each_class(backend, stop_at_once, &calls, &err));
    assert_int_equal(calls, 1);
    assert_ok(class_place(a, pid, &err));
    assert_ok(class_set_share(a, 5000, &err));
    assert_ok(class_set_share(b, 5000, &err));
    assert_ok(class_freeze(a, &err));
    class_close(a);
    class_close(b);
    assert_ok(backend_release_all(backend, &lifted, &err));
    assert_int_equal(lifted, 2);
    assert_int_equal(quota_of("a"), -1);
    assert_int_equal(quota_of("b"), -1);
    a = open_class("a");
    assert_true(share_of_one_cpu(a, 200) > 0.05); // thawed
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
    assert_ok(class_remove(open_class("b"), &err));
}

static void what_is_gone_can_be_removed(void **state)
{
    (void)state;
    class_t *a = open_class("a"), *again = open_class("a");
    assert_ok(class_remove(a, &err));
    assert_ok(class_remove(again, &err));
}

static void what_stays_behind_is_not_limited(void **state)
{
    (void)state;
    char path[512];
    class_t *a = open_class("a");
    snprintf(path, sizeof path, "%s/%s/a/busy", mounts[0], root);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_ok(class_set_share(a, 10000, &err));
    assert_int_equal(class_remove(a, &err), -1);
    assert_int_equal(quota_of("a"), -1);
    assert_int_equal(rmdir(path), 0);
    assert_ok(class_remove(open_class("a"), &err));
}

static void check_nested_root(const char *nested)
{
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    assert_ok(class_place(a, pid, &err));
    char path[128];
    snprintf(path, sizeof path, "%s/a", nested);
    for (unsigned i = 0; i < mount_count; i++)
        assert_true(is_in(mounts[i], path, pid, "cgroup.procs"));
    assert_ok(class_set_share(a, 5000, &err));
    assert_ok(class_remove(a, &err));
}

static void a_nested_root(void **state)
{
    (void)state;
    char nested[96];
    snprintf(nested, sizeof nested, "%s/lab/node0", root);
    struct backend_settings settings = {version->kind, nested, 2, 100 * NS_PER_MS, NULL, false};
    for (int there = 0; there < 2; there++) {
        backend_close(backend);
        assert_ok(backend_open(&settings, &backend, &err));
        check_nested_root(nested);
    }
}

static void bad_names_and_settings(void **state)
{
    (void)state;
    const char *const names[] = {"", ".", "..", ".a", "a/b", "a b", "a\n", "\xc3\xa9"};
    char longest[BACKEND_NAME_MAX + 1];
    class_t *class_ = NULL;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(class_open(backend, names[i], &class_, &err), -1);
        assert_int_equal(err.code, EINVAL);
    }
    memset(longest, 'x', sizeof longest);
    longest[BACKEND_NAME_MAX] = '\0';
    assert_int_equal(class_open(backend, longest, &class_, NULL), -1);
    longest[BACKEND_NAME_MAX - 1] = '\0';
    assert_ok(class_remove(open_class(longest), &err));

    const struct backend_settings bad[] = {
        {"v3", root, 2, 100 * NS_PER_MS, NULL, false},
        {version == &v1 ? "v2" : "v1", root, 2, 100 * NS_PER_MS, NULL, false},
        {version->kind, "", 2, 100 * NS_PER_MS, NULL, false},
        {version->kind, "/x", 2, 100 * NS_PER_MS, NULL, false},
        {version->kind, "a/../../b", 2, 100 * NS_PER_MS, NULL, false},
        {version->kind, "a//b", 2, 100 * NS_PER_MS, NULL, false},
        {version->kind, "a/", 2, 100 * NS_PER_MS, NULL, false},
        {version->kind, root, 0, 100 * NS_PER_MS, NULL, false},
        {version->kind, root, 2, 999999, NULL, false},
        {version->kind, root, 2, NS_PER_SEC + 1, NULL, false},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        backend_t *none = NULL;
        assert_int_equal(backend_open(&bad[i], &none, &err), -1);
        assert_int_not_equal(err.code, 0);
    }
}

static void quotas(void **state)
{
    (void)state;
    assert_int_equal(backend_quota_us(1000000, 4, 100000), 400000);
    assert_int_equal(backend_quota_us(10000, 2, 100000), 2000);
    assert_int_equal(backend_quota_us(333333, 1, 100000), 33333);
    assert_int_equal(backend_quota_us(0, 64, 100000), 1000);
    assert_int_equal(backend_quota_us(4000000000u, 2, 100000), 200000);
    assert_int_equal(backend_quota_us(990000, 4096, 1000000), 4055040000);
}

static void v1_without_a_freezer(void **state)
{
    (void)state;
    struct v1_mounts two = {found.cpu, found.cpuacct, NULL, true};
    struct backend_settings settings = {"v1", root, 2, 100 * NS_PER_MS, NULL, false};
    backend_close(backend);
    assert_ok(v1_open(&two, &settings, &backend, &err));
    class_t *a = open_class("nofreezer");
    assert_ok(class_place(a, start(burn, NULL), &err));
    assert_int_equal(class_freeze(a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_non_null(strstr(err.text, "freezer"));
    assert_int_equal(class_thaw(a, &err), -1);
    assert_ok(class_kill(a, &err));
    assert_int_equal(members_of(a), 0);
    assert_ok(class_remove(a, &err));
}

// libcgroup left out: mkdir and rmdir do the same.
static void v1_by_hand(void **state)
{
    (void)state;
    char nested[96];
    snprintf(nested, sizeof nested, "%s/lab/node0", root);
    struct v1_mounts by_hand = {found.cpu, found.cpuacct, found.freezer, false};
    struct backend_settings settings = {"v1", nested, 2, 100 * NS_PER_MS, NULL, false};
    backend_close(backend);
    assert_ok(v1_open(&by_hand, &settings, &backend, &err));
    check_nested_root(nested);
}

static void v1_with_one_hierarchy_for_both(void **state)
{
    (void)state;
    // cpu and cpuacct mounted together, as plain files: one directory, one line per process.
    char mount[] = "/tmp/cosched-v1-XXXXXX", path[256];
    assert_non_null(mkdtemp(mount));
    const char *const files[] = {"cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage",
                                 "cgroup.procs"};
    snprintf(path, sizeof path, "%s/r", mount);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/r/a", mount);
    mkdir(path, 0755);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/r/a/%s", mount, files[i]);
        FILE *file = fopen(path, "we");
        fputs(i == 3 ? "" : "100000\n", file);
        fclose(file);
    }
    struct v1_mounts one = {mount, mount, NULL, false};
    struct backend_settings settings = {"v1", "r", 2, 100 * NS_PER_MS, NULL, false};
    backend_close(backend);
    assert_ok(v1_open(&one, &settings, &backend, &err));
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    assert_ok(class_place(a, pid, &err));
    assert_int_equal(usage_of(a), 100000);
    snprintf(path, sizeof path, "%s/r/a/cgroup.procs", mount);
    FILE *file = fopen(path, "re");
    int number, lines = 0;
    while (fscanf(file, "%d", &number) == 1)
        lines++;
    fclose(file);
    class_close(a);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/r/a/%s", mount, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/r/a", mount);
    rmdir(path);
    snprintf(path, sizeof path, "%s/r", mount);
    rmdir(path);
    rmdir(mount);
    assert_int_equal(lines, 1);
}

static void v2_root_passes_cpu_on(void **state)
{
    (void)state;
    char text[256];
    read_text("", "cgroup.subtree_control", text, sizeof text);
    assert_string_equal(text, "cpu\n");
}

// The kernel lets a group with processes pass on cpu, and then takes nobody into the groups below.
static void v2_a_root_with_processes_is_refused(void **state)
{
    (void)state;
    char from[128], below[160];
    make_origin(from, sizeof from, 1);
    snprintf(below, sizeof below, "%s/jobs", from);
    enter(mounts[0], from, start(wait_forever, NULL));
    const char *const roots[] = {from, below};
    for (unsigned i = 0; i < 2; i++) {
        struct backend_settings settings = {"v2", roots[i], 2, 100 * NS_PER_MS, NULL, false};
        backend_t *none = NULL;
        assert_int_equal(backend_open(&settings, &none, &err), -1);
        assert_int_equal(err.code, EBUSY);
        assert_non_null(strstr(err.text, from));
        assert_non_null(strstr(err.text, "processes of its own"));
    }
}

static void v2_a_threaded_class_is_explained(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    char path[512];
    snprintf(path, sizeof path, "%s/%s/a/cgroup.type", mounts[0], root);
    FILE *type = fopen(path, "we");
    assert_non_null(type);
    fputs("threaded\n", type);
    assert_int_equal(fclose(type), 0);
    assert_int_equal(class_place(a, start(wait_forever, NULL), &err), -1);
    assert_int_equal(err.code, EOPNOTSUPP);
    assert_non_null(strstr(err.text, "threaded"));
    class_close(a);
}

static int set_up(void **state)
{
    (void)state;
    struct backend_settings settings = {"auto", root, 2, 100 * NS_PER_MS, NULL, false};
    if (backend_open(&settings, &backend, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

// Members of the test's own groups go, then the groups, from the leaves up.
static void remove_tree(const char *path)
{
    char name[1024];
    snprintf(name, sizeof name, "%s/%s", path, version->thaw);
    FILE *freezer = fopen(name, "we");
    if (freezer != NULL) {
        fputs(version->thaw_word, freezer);
        fclose(freezer);
    }
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        remove_tree(name);
    }
    closedir(directory);
    snprintf(name, sizeof name, "%s/cgroup.procs", path);
    for (int tries = 0; tries < 200 && rmdir(path) != 0 && errno == EBUSY; tries++) {
        FILE *procs = fopen(name, "re");
        int pid;
        while (procs != NULL && fscanf(procs, "%d", &pid) == 1)
            kill(pid, SIGKILL);
        if (procs != NULL)
            fclose(procs);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        sleep_ms(5);
    }
}

static int clean_up(void **state)
{
    (void)state;
    backend_close(backend);
    backend = NULL;
    for (unsigned i = 0; i < child_count; i++)
        kill(children[i], SIGKILL);
    child_count = 0;
    char path[512];
    for (unsigned i = 0; i < mount_count; i++) {
        snprintf(path, sizeof path, "%s/%s", mounts[i], root);
        remove_tree(path);
        snprintf(path, sizeof path, "%s/%s-from", mounts[i], root);
        remove_tree(path);
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    return 0;
}

// ---- in place

static char records[32];

static void open_with_records(void)
{
    struct backend_settings settings = {version->kind, root, 2, 100 * NS_PER_MS, records, false};
    backend_close(backend);
    assert_ok(backend_open(&settings, &backend, &err));
}

static struct limit limit_from(void)
{
    char up[128];
    snprintf(up, sizeof up, "../%s-from", root);
    return limit_of(up);
}

static void set_limit_from(const char *file, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s-from/%s", mounts[0], root, file);
    FILE *stream = fopen(name, "we");
    assert_non_null(stream);
    fprintf(stream, "%s\n", text);
    assert_int_equal(fclose(stream), 0);
}

static void own_limit_from(int quota_us)
{
    char text[32];
    snprintf(text, sizeof text, version == &v1 ? "%d" : "%d 100000", quota_us);
    set_limit_from(version == &v1 ? "cpu.cfs_quota_us" : "cpu.max", text);
}

// A process in a group of its own, and the backend of a daemon with a runtime directory.
static pid_t live_elsewhere(char from[128])
{
    strcpy(records, "/tmp/cosched-test-XXXXXX");
    assert_non_null(mkdtemp(records));
    open_with_records();
    make_origin(from, 128, mount_count);
    pid_t pid = start(wait_forever, NULL);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, pid);
    return pid;
}

static void a_group_is_limited_in_place_and_given_back(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    class_t *a = NULL;
    own_limit_from(50000);
    assert_ok(class_open_in_place(backend, "a", &home, &a, &err));
    assert_true(class_is_in_place(a));
    assert_ok(class_place(a, pid, &err));
    assert_true(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_int_equal(members_of(a), 1);
    assert_ok(class_set_share(a, 900000, &err)); // more than the own limit
    assert_int_equal(limit_from().quota_us, 50000);
    assert_ok(class_set_share(a, 10000, &err));
    assert_int_equal(limit_from().quota_us, 2000);
    assert_int_equal(class_freeze(a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    usage_of(a);
    // Two at once would each take the other's limit for the group's own.
    class_t *b = NULL;
    assert_int_equal(class_open_in_place(backend, "b", &home, &b, &err), -1);
    assert_int_equal(err.code, EBUSY);
    // As after a crash: another daemon.
    class_close(a);
    open_with_records();
    unsigned lifted = 0;
    assert_ok(backend_release_all(backend, &lifted, &err));
    assert_int_equal(lifted, 1);
    assert_int_equal(limit_from().quota_us, 50000);
    a = open_class("a");
    assert_true(class_is_in_place(a));
    assert_ok(class_set_share(a, 10000, &err));
    assert_int_equal(limit_from().quota_us, 2000);
    own_limit_from(70000); // somebody else's change is the own limit from now on
    assert_ok(class_set_share(a, 20000, &err));
    assert_int_equal(limit_from().quota_us, 4000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 70000);
    assert_int_equal(rmdir(records), 0); // with no record left
}

// An earlier class of this name had other means.
static void a_record_of_means_that_a_place_has_not_is_dropped(void **state)
{
    (void)state;
    char from[128], directory[64];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    struct suspension suspension = {.on = true, .how = {.means = CLASS_BY_SIGNALS}};
    struct class_suspension how;
    class_t *a = NULL;
    snprintf(directory, sizeof directory, "%s/%s", records, SUSPENSION_DIRECTORY);
    assert_ok(suspension_write(directory, "a", &suspension, &err));
    assert_ok(class_open_in_place(backend, "a", &home, &a, &err));
    assert_false(class_suspended(a, &how));
    assert_ok(class_resume(a, &err));
    assert_ok(class_remove(a, &err));
    assert_int_equal(rmdir(records), 0); // with no record left
}

static void a_group_is_left_for_a_class_of_its_own(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    class_t *a = NULL;
    assert_ok(class_open_in_place(backend, "a", &home, &a, &err));
    assert_ok(class_set_share(a, 10000, &err));
    assert_ok(class_displace(&a, &err));
    assert_false(class_is_in_place(a));
    assert_int_equal(limit_from().quota_us, -1);
    assert_int_equal(members_of(a), 0);
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_ok(class_remove(a, &err));
    assert_true(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_int_equal(rmdir(records), 0);
}

static void a_named_group_is_limited_whoever_lives_there(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    class_t *a = NULL;
    own_limit_from(150000);
    assert_ok(class_open_named(backend, "sequential-0", from, &a, &err));
    assert_true(class_is_in_place(a));
    assert_int_equal(class_place(a, pid, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_int_equal(class_displace(&a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_ok(class_set_share(a, 50000, &err));
    assert_int_equal(limit_from().quota_us, 10000);
    pid_t stranger = start(wait_as_somebody_else, NULL);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, stranger);
    assert_ok(class_set_share(a, 60000, &err));
    assert_int_equal(limit_from().quota_us, 12000);
    assert_int_equal(members_of(a), 2);
    usage_of(a);
    // No job takes it, or what is in it, for its own.
    struct class_home home = {.pid = pid, .any = true};
    class_t *b = NULL;
    assert_int_equal(class_open_in_place(backend, "b", &home, &b, &err), -1);
    assert_int_equal(err.code, EBUSY);
    assert_int_equal(class_open_named(backend, "sequential-1", from, &b, &err), -1);
    assert_int_equal(err.code, EBUSY);
    // As after a crash: whoever lifts all limits, then another daemon.
    class_close(a);
    open_with_records();
    unsigned lifted = 0;
    assert_ok(backend_release_all(backend, &lifted, &err));
    assert_int_equal(lifted, 1);
    assert_int_equal(limit_from().quota_us, 150000);
    a = open_class("sequential-0");
    assert_true(class_is_in_place(a));
    assert_ok(class_set_share(a, 50000, &err));
    assert_int_equal(limit_from().quota_us, 10000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 150000);
    assert_true(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_int_equal(rmdir(records), 0);
}

static void named_groups_that_may_not_be_limited(void **state)
{
    (void)state;
    char from[128], below[128];
    live_elsewhere(from);
    class_t *a = NULL;
    assert_int_equal(class_open_named(backend, "a", "cosched-test-nowhere", &a, &err), -1);
    assert_int_equal(err.code, ENOENT);
    snprintf(below, sizeof below, "%s/x", root);
    const char *const bad[] = {root, below, "", "/x", "x/../y"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(class_open_named(backend, "a", bad[i], &a, &err), -1);
        assert_int_equal(err.code, EINVAL);
    }
    // Where this program lives itself.
    assert_ok(class_open_named(backend, "a", from, &a, &err));
    char *home = process_group_path("/proc", getpid(), version == &v1 ? "cpu" : "");
    assert_non_null(home);
    enter(mounts[0], from, getpid());
    int rc = class_set_share(a, 50000, &err);
    enter(mounts[0], home + 1, getpid());
    free(home);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, EBUSY);
    assert_int_equal(limit_from().quota_us, -1);
    assert_ok(class_set_share(a, 50000, &err));
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, -1);
    assert_int_equal(rmdir(records), 0);
}

static void groups_that_may_not_be_limited(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid};
    class_t *a = NULL;
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1);
    assert_int_equal(err.code, ENOENT); // no manager's
    home.any = true;
    home.uid = 1;
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1);
    assert_int_equal(err.code, EXDEV); // another user's
    home.uid = 0;
    own_limit_from(50000);
    set_limit_from(version == &v1 ? "cpu.cfs_burst_us" : "cpu.max.burst", "20000");
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    set_limit_from(version == &v1 ? "cpu.cfs_burst_us" : "cpu.max.burst", "0");
    assert_int_equal(rmdir(records), 0);
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1); // nowhere to note it
    assert_int_equal(limit_from().quota_us, 50000);
    home.pid = getpid();
    assert_int_equal(mkdir(records, 0700), 0);
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1); // the top group
    assert_int_equal(rmdir(records), 0);
}

// ---- periods

static uint64_t periods_of(const char *class_)
{
    char text[512];
    const char *at;
    read_text(class_, "cpu.stat", text, sizeof text);
    at = strstr(text, "nr_periods ");
    assert_non_null(at);
    return strtoull(at + strlen("nr_periods "), NULL, 10);
}

#define PERIOD_NS (100 * NS_PER_MS)

// Looks for a moment at which a period of the class began, to within a few milliseconds: only a
// look that comes soon after the one before tells that, and this process may be kept from looking.
struct lookout {
    const char *class_;
    uint64_t count, looked_ns;
    uint64_t began_ns; // 0: not seen yet
};

static void look(struct lookout *lookout)
{
    uint64_t before_ns = now_ns(), count = periods_of(lookout->class_), after_ns = now_ns();
    if (count == lookout->count + 1 && after_ns - lookout->looked_ns < 5 * NS_PER_MS)
        lookout->began_ns = after_ns;
    lookout->count = count;
    lookout->looked_ns = before_ns;
}

// By how much of a period b's begin later than a's. A machine that is too busy to look for ten
// seconds cannot tell.
static double phase_between(const char *a, const char *b)
{
    struct lookout both[] = {{.class_ = a}, {.class_ = b}};
    uint64_t deadline_ns = now_ns() + 10 * NS_PER_SEC;
    while (both[0].began_ns == 0 || both[1].began_ns == 0) {
        if (now_ns() > deadline_ns)
            return NAN;
        look(&both[0]);
        look(&both[1]);
        sleep_ms(1);
    }
    return (double)((both[1].began_ns + 1000 * PERIOD_NS - both[0].began_ns) % PERIOD_NS) /
           (double)PERIOD_NS;
}

// A class with a busy process, without a limit for longer than a period.
static class_t *open_busy(const char *name)
{
    class_t *class_ = open_class(name);
    assert_ok(class_place(class_, start(burn, NULL), &err));
    return class_;
}

// After more than a period without a limit. Returns when they began, which is told again when this
// process was kept from looking.
static uint64_t begin(class_t *class_)
{
    for (uint64_t begin_ns, end_ns;;) {
        assert_ok(class_set_share(class_, BACKEND_UNLIMITED, &err));
        sleep_ms(150);
        begin_ns = now_ns();
        assert_int_equal(class_begin_periods(class_, 20000, &err), 1);
        end_ns = now_ns();
        if (end_ns - begin_ns < 3 * NS_PER_MS)
            return end_ns;
    }
}

// An emulated machine is told from outside: its clock is fine, but milliseconds are too short to
// look. A period that began while something else had the CPU is seen late, so there are some looks.
static bool phase_is(const char *a, const char *b, uint64_t later_ns)
{
    double expected = (double)(later_ns % PERIOD_NS) / (double)PERIOD_NS, off = 0.5;
    if (getenv("COSCHED_TEST_EMULATED") != NULL)
        return true;
    for (unsigned i = 0; i < 5 && off >= 0.1 && off <= 0.9; i++) {
        double phase = phase_between(a, b);
        if (isnan(phase)) {
            print_message("this machine is too busy to see when periods begin\n");
            skip();
        }
        off = fabs(phase - expected);
        print_message("told %.3f of a period apart: %.3f\n", expected, phase);
    }
    return off < 0.1 || off > 0.9;
}

// A third to two thirds of a period from where they are since `before_ns`, so that periods that
// stay there are not taken for begun ones. The kernel's timer lets go of periods without a limit
// when the next would begin: where that interrupt comes later than begin() waits, they stay, and it
// is tried again.
static uint64_t begin_elsewhere(class_t *a, uint64_t a_ns, class_t *b, uint64_t before_ns)
{
    uint64_t began_ns = 0;
    bool moved = false;
    for (unsigned i = 0; i < 3 && !moved; i++) {
        uint64_t away_ns;
        do {
            sleep_ms(1);
            away_ns = (now_ns() + 150 * NS_PER_MS - before_ns) % PERIOD_NS;
        } while (away_ns < PERIOD_NS / 3 || away_ns > 2 * PERIOD_NS / 3);
        began_ns = begin(b);
        moved = phase_is(class_name(a), class_name(b), began_ns - a_ns);
    }
    assert_true(moved);
    return began_ns;
}

static void periods_begin_when_they_are_told(void **state)
{
    (void)state;
    class_t *a = open_busy("a"), *b = open_busy("b");
    uint64_t a_ns = begin(a);
    assert_int_equal(quota_of("a"), 4000);
    assert_int_equal(limit_of("a").period_us, 100000);
    uint64_t b_ns = begin(b);
    assert_true(phase_is("a", "b", b_ns - a_ns));
    b_ns = begin_elsewhere(a, a_ns, b, b_ns);
    // Who only limits leaves them where they are.
    assert_ok(class_set_share(b, BACKEND_UNLIMITED, &err));
    sleep_ms(170);
    assert_ok(class_set_share(b, 10000, &err));
    assert_true(phase_is("a", "b", b_ns - a_ns));
    assert_int_equal(class_period_ns(a, 20000), 100 * NS_PER_MS);
    assert_ok(class_remove(a, &err));
    assert_ok(class_remove(b, &err));
}

// Of 2 CPUs: 0.2 % of 100 ms would be 0.4 ms, and the kernel takes 1 ms at least.
static void small_shares_have_longer_periods(void **state)
{
    (void)state;
    static const struct {
        uint32_t share_ppm;
        struct limit limit;
    } cases[] = {{10000, {2000, 100000}}, {2000, {2000, 500000}},  {4000, {1600, 200000}},
                 {500, {1000, 1000000}},  {100, {1000, 1000000}}, {5000, {1000, 100000}}};
    class_t *a = open_class("a");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(class_set_share(a, cases[i].share_ppm, &err));
        assert_int_equal(limit_of("a").quota_us, cases[i].limit.quota_us);
        assert_int_equal(limit_of("a").period_us, cases[i].limit.period_us);
        assert_int_equal(class_period_ns(a, cases[i].share_ppm),
                         (uint64_t)cases[i].limit.period_us * NS_PER_US);
        if (i % 2 == 0)
            assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    }
    assert_ok(class_begin_periods(a, 2000, &err) < 0 ? -1 : 0);
    assert_int_equal(limit_of("a").quota_us, 2000);
    assert_int_equal(limit_of("a").period_us, 500000);
    assert_ok(class_remove(a, &err));
}

// A daemon was killed between the two writes.
static void v1_periods_that_were_not_begun_to_the_end(void **state)
{
    (void)state;
    char path[512];
    class_t *a = open_class("a");
    assert_ok(class_set_share(a, 20000, &err));
    class_close(a);
    snprintf(path, sizeof path, "%s/%s/a/cpu.cfs_period_us", mounts[0], root);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    fprintf(stream, "1000\n");
    assert_int_equal(fclose(stream), 0);
    a = open_class("a");
    assert_int_equal(limit_of("a").period_us, 1000); // who only looks changes nothing
    assert_ok(class_set_share(a, 20000, &err));
    assert_int_equal(limit_of("a").period_us, 100000);
    assert_int_equal(quota_of("a"), 4000);
    assert_ok(class_remove(a, &err));
}

static void the_periods_of_a_group_in_place(void **state)
{
    (void)state;
    char from[128];
    live_elsewhere(from);
    class_t *a = NULL;
    assert_ok(class_open_named(backend, "sequential-0", from, &a, &err));
    assert_int_equal(class_period_ns(a, 20000), 100 * NS_PER_MS);
    assert_int_equal(class_begin_periods(a, 50000, &err), 1);
    assert_int_equal(limit_from().quota_us, 10000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    assert_int_equal(limit_from().quota_us, -1);
    // A small share's are as long.
    assert_ok(class_set_share(a, 2000, &err));
    assert_int_equal(limit_from().quota_us, 1000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    // A daemon was killed between the two writes, at each of the places where that can be.
    const char *const v2_left[] = {"10000 1000"};
    const char *const v1_left[] = {"10000", "-1"};
    for (unsigned i = 0; i < (version == &v1 ? 2 : 1); i++) {
        assert_int_equal(class_begin_periods(a, 50000, &err), 1);
        class_close(a);
        if (version == &v1)
            set_limit_from("cpu.cfs_period_us", "1000");
        set_limit_from(version == &v1 ? "cpu.cfs_quota_us" : "cpu.max",
                       version == &v1 ? v1_left[i] : v2_left[i]);
        open_with_records();
        assert_ok(backend_release_all(backend, NULL, &err));
        assert_int_equal(limit_from().quota_us, -1);
        assert_int_equal(limit_from().period_us, 100000);
        a = open_class("sequential-0");
    }
    // One that has a limit of its own keeps its periods.
    own_limit_from(150000);
    assert_int_equal(class_begin_periods(a, 50000, &err), 0);
    assert_int_equal(limit_from().quota_us, 10000);
    assert_int_equal(class_period_ns(a, 20000), 0);
    assert_ok(class_set_share(a, 2000, &err));
    assert_int_equal(limit_from().quota_us, 1000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 150000);
    assert_int_equal(rmdir(records), 0);
}

#define real(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

// Why the tests cannot run here; null when they can.
static const char *find_version(void)
{
    if (geteuid() != 0)
        return "needs root";
    if (discovery_find(&found, &err) != 0)
        return err.text;
    version = found.v2 != NULL ? &v2 : &v1;
    const char *const v1_mounts[] = {found.cpu, found.cpuacct, found.freezer};
    mount_count = version == &v2 ? 1 : 3;
    for (unsigned i = 0; i < mount_count; i++) {
        mounts[i] = version == &v2 ? found.v2 : v1_mounts[i];
        if (mounts[i] == NULL)
            return "cgroup v1 without all of cpu, cpuacct and freezer";
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(quotas),
        real(members_and_limits),
        real(classes_weigh_as_much_as_the_node),
        real(threads_and_descendants_follow),
        real(a_descendant_with_a_class_of_its_own_stays),
        real(a_number_that_is_used_again_is_not_placed),
        real(a_stranger_who_was_moved_goes_back),
        real(racing_forks_are_all_caught),
        real(more_than_a_registration_takes_stay_where_they_are),
        real(a_zombie_does_not_hold_up),
        real(who_is_gone_is_reported),
        real(a_share_limits),
        real(frozen_uses_nothing),
        real(freezing_is_quick_under_a_limit_and_keeps_it),
        real(kill_is_quick_under_a_limit_and_keeps_it),
        real(remove_restores_the_origin),
        real(a_class_is_removed_in_steps),
        real(a_vanished_origin_gives_the_top),
        real(adoption_keeps_limit_and_members),
        real(all_are_listed_and_lifted),
        real(what_is_gone_can_be_removed),
        real(what_stays_behind_is_not_limited),
        real(a_nested_root),
        real(bad_names_and_settings),
        real(a_group_is_limited_in_place_and_given_back),
        real(a_record_of_means_that_a_place_has_not_is_dropped),
        real(a_group_is_left_for_a_class_of_its_own),
        real(groups_that_may_not_be_limited),
        real(a_named_group_is_limited_whoever_lives_there),
        real(named_groups_that_may_not_be_limited),
        real(periods_begin_when_they_are_told),
        real(small_shares_have_longer_periods),
        real(the_periods_of_a_group_in_place),
    };
    const struct CMUnitTest v1_tests[] = {
        real(v1_without_a_freezer),
        real(v1_by_hand),
        real(v1_with_one_hierarchy_for_both),
        real(v1_periods_that_were_not_begun_to_the_end),
    };
    const struct CMUnitTest v2_tests[] = {
        real(v2_root_passes_cpu_on),
        real(v2_a_root_with_processes_is_refused),
        real(v2_a_threaded_class_is_explained),
    };
    const char *missing = find_version();
    if (missing != NULL) {
        printf("skipped: %s\n", missing);
        discovery_free(&found);
        return 77;
    }
    snprintf(root, sizeof root, "cosched-test-%d", (int)getpid());
    int failed = cmocka_run_group_tests_name(version->kind, tests, NULL, NULL);
    failed += version == &v1 ? cmocka_run_group_tests_name("v1 only", v1_tests, NULL, NULL)
                             : cmocka_run_group_tests_name("v2 only", v2_tests, NULL, NULL);
    discovery_free(&found);
    return failed;
}
