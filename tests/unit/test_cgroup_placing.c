// Protects who is moved into a class, on real cgroups: a process with all threads and descendants,
// also those who are born meanwhile, and nobody else.
#include "cgroup-backend/groups.h"
#include "cgroup-backend/moving.h"
#include "cgroup-backend/processes.h"
#include "tests/unit/real_cgroups.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
    // So does who was moved out of it, to the top, as its origin is not known.
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], path, family->child);
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        assert_null(class_->groups[i].origin);
        assert_ok(moving_expel(&class_->groups[i], &who, &err));
    }
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

static void others_follow_with_their_descendants(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    struct family *families[2];
    struct process_id whom[3];
    pid_t gone = start(wait_forever, NULL);
    whom[0] = (struct process_id){gone, processes_start_time("/proc", gone)};
    kill(gone, SIGKILL);
    waitpid(gone, NULL, 0);
    child_count--;
    for (int i = 0; i < 2; i++) {
        families[i] = new_family();
        pid_t pid = start(have_family, families[i]);
        while (families[i]->thread == 0 || families[i]->child == 0 || families[i]->grandchild == 0)
            sleep_ms(1);
        whom[i + 1] = (struct process_id){pid, processes_start_time("/proc", pid)};
        assert_false(class_holds(a, pid));
    }
    assert_ok(class_place_others(a, whom, 3, &err));
    assert_int_equal(members_of(a), 6);
    for (int i = 0; i < 2; i++) {
        assert_true(class_holds(a, whom[i + 1].pid));
        assert_true(class_holds(a, families[i]->grandchild));
    }
    assert_false(class_holds(a, gone));
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
    for (int i = 0; i < 2; i++)
        munmap(families[i], sizeof *families[i]);
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
        // Of a class that was displaced at least those are limited that have registered.
        const struct process_id whom = {pid, processes_start_time("/proc", pid)};
        assert_int_equal(class_place_others(a, &whom, 1, &err), -1);
        assert_int_equal(err.code, E2BIG);
        assert_true(in_class("a", pid, "cgroup.procs"));
        assert_ok(class_expel(a, pid, &err));
        for (unsigned i = 0; i < mount_count; i++)
            enter(mounts[i], from, pid);
        // Who was born in the class stays in it.
        for (unsigned i = 0; i < mount_count; i++) {
            char class_[128];
            snprintf(class_, sizeof class_, "%s/a", root);
            enter(mounts[i], class_, pid);
        }
        assert_int_equal(class_place(a, pid, &err), -1);
        assert_int_equal(err.code, E2BIG);
        assert_int_equal(members_of(a), 1);
    }
    munmap(family, sizeof *family);
    assert_ok(class_remove(a, &err));
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

static void bind_to(pid_t thread, int cpu)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    assert_int_equal(sched_setaffinity(thread, sizeof only, &only), 0);
}

static bool is_bound_to(pid_t thread, int cpu)
{
    cpu_set_t now;
    return sched_getaffinity(thread, sizeof now, &now) == 0 && CPU_COUNT(&now) == 1 &&
           CPU_ISSET(cpu, &now);
}

static bool writes(const char *group, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", mounts[0], group, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    bool written = fputs(text, file) >= 0 && fflush(file) == 0;
    fclose(file);
    return written;
}

static bool groups_have_cpusets(void)
{
    return writes(".", "cgroup.subtree_control", "+cpuset\n") && sysconf(_SC_NPROCESSORS_ONLN) >= 2;
}

// Where a group comes with a cpuset, kernels before 6.2 would give its members all CPUs of that.
static void v2_threads_stay_bound(void **state)
{
    (void)state;
    char from[128];
    if (!groups_have_cpusets())
        skip();
    class_t *a = open_class("a");
    struct family *family = new_family();
    make_origin(from, sizeof from, 1);
    pid_t pid = start(have_family, family);
    while (family->thread == 0 || family->child == 0 || family->grandchild == 0)
        sleep_ms(1);
    enter(mounts[0], from, pid);
    bind_to(pid, 1);
    bind_to(family->thread, 0);
    bind_to(family->child, 1);
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_true(is_bound_to(pid, 1));
    assert_true(is_bound_to(family->thread, 0));
    assert_true(is_bound_to(family->child, 1));
    assert_ok(class_expel(a, pid, &err));
    assert_false(in_class("a", pid, "cgroup.procs"));
    assert_true(is_bound_to(pid, 1));
    assert_true(is_bound_to(family->thread, 0));
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
    munmap(family, sizeof *family);
}

// As with those of a batch system: nothing else keeps them off others' CPUs.
static void v2_members_of_a_cpuset_keep_its_cpus(void **state)
{
    (void)state;
    char from[128];
    if (!groups_have_cpusets())
        skip();
    class_t *a = open_class("a");
    make_origin(from, sizeof from, 1);
    assert_true(writes(from, "cpuset.cpus", "1\n"));
    pid_t pid = start(wait_forever, NULL);
    enter(mounts[0], from, pid);
    assert_true(is_bound_to(pid, 1));
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_true(is_bound_to(pid, 1));
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(threads_and_descendants_follow),
        real(a_descendant_with_a_class_of_its_own_stays),
        real(a_number_that_is_used_again_is_not_placed),
        real(a_stranger_who_was_moved_goes_back),
        real(others_follow_with_their_descendants),
        real(racing_forks_are_all_caught),
        real(more_than_a_registration_takes_stay_where_they_are),
        real(a_zombie_does_not_hold_up),
        real(who_is_gone_is_reported),
    };
    const struct CMUnitTest v2_tests[] = {
        real(v2_a_threaded_class_is_explained),
        real(v2_threads_stay_bound),
        real(v2_members_of_a_cpuset_keep_its_cpus),
    };
    if (!find_cgroups())
        return SKIPPED;
    int failed = cmocka_run_group_tests_name(version->kind, tests, NULL, NULL);
    if (version == &v2)
        failed += cmocka_run_group_tests_name("v2 only", v2_tests, NULL, NULL);
    discovery_free(&found);
    return failed;
}
