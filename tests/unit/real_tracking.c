#include "tests/unit/real_tracking.h"

#include "cgroup-backend/ops.h"
#include "common/units.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct board *board;
struct discovery found;
backend_t *backend;
class_t *class_;
char root[64], records[32];
struct error err;
pid_t head; // of the family in the class

void nap_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

void check(int rc)
{
    if (rc != 0)
        fail_msg("%s", err.text);
}

unsigned sign_in(void)
{
    unsigned slot = atomic_fetch_add(&board->slots, 1) % SLOTS;
    atomic_store(&board->pids[slot], getpid());
    atomic_fetch_add(&board->started, 1);
    return slot;
}

void compute(unsigned slot)
{
    for (;;) {
        siginfo_t child = {0};
        atomic_fetch_add(&board->beats[slot], 1);
        if (waitid(P_ALL, 0, &child, WSTOPPED | WNOHANG) == 0 && child.si_pid != 0)
            atomic_fetch_add(&board->stopped_children, 1);
    }
}

// A binary tree of processes, this one its root; each child goes on as the root of a smaller one.
static void grow_tree(unsigned levels)
{
    unsigned slot = sign_in();
    for (int i = 0; levels > 1 && i < 2; i++)
        if (fork() == 0) {
            slot = sign_in();
            levels--;
            i = -1;
        }
    compute(slot);
}

// The family is forked by a process that waits until it is in the class.
void begin(void (*work)(void))
{
    int gate[2];
    char byte;
    assert_int_equal(pipe(gate), 0);
    head = fork();
    assert_true(head >= 0);
    if (head == 0) {
        close(gate[1]);
        if (read(gate[0], &byte, 1) == 1)
            work();
        _exit(0);
    }
    close(gate[0]);
    check(class_place(class_, head, &err));
    assert_int_equal(write(gate[1], "x", 1), 1);
    close(gate[1]);
}

void wait_for(unsigned count)
{
    for (int ms = 0; atomic_load(&board->started) < count; ms++) {
        assert_true(ms < DEADLINE_MS);
        nap_ms(1);
    }
}

static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

void suspend(const struct class_suspension *how)
{
    for (int ms = 0; class_suspend(class_, how, &err) != 0; ms++) {
        if (err.code != EAGAIN || ms >= DEADLINE_MS)
            fail_msg("%s", err.text);
        nap_ms(1);
    }
}

void resume(void)
{
    for (int ms = 0; class_resume(class_, &err) != 0; ms++) {
        if (err.code != EAGAIN || ms >= DEADLINE_MS)
            fail_msg("%s", err.text);
        nap_ms(1);
    }
}

void kill_part(pid_t pid, uint64_t start_time)
{
    for (int ms = 0; class_kill_pass(class_, pid, start_time, false, &err) != 0; ms++) {
        if (err.code != EAGAIN || ms >= DEADLINE_MS)
            fail_msg("%s", err.text);
        reap();
        nap_ms(1);
    }
    reap();
}

size_t members(void)
{
    size_t count = 0;
    reap();
    check(class_members(class_, NULL, 0, &count, &err));
    return count;
}

bool is_member(pid_t pid)
{
    pid_t pids[4 * SLOTS];
    size_t count = 0;
    check(class_members(class_, pids, sizeof pids / sizeof *pids, &count, &err));
    for (size_t i = 0; i < count && i < sizeof pids / sizeof *pids; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

bool beats(unsigned slot)
{
    unsigned long before = atomic_load(&board->beats[slot]);
    for (int i = 0; i < 200; i++) {
        nap_ms(1);
        if (atomic_load(&board->beats[slot]) != before)
            return true;
    }
    return false;
}

bool all_beat(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int tries = 0;
        while (!beats(i))
            if (++tries > DEADLINE_MS / 200)
                return false;
    }
    return true;
}

bool none_beats(unsigned count)
{
    unsigned long before[SLOTS];
    for (unsigned i = 0; i < count; i++)
        before[i] = atomic_load(&board->beats[i]);
    nap_ms(30);
    for (unsigned i = 0; i < count; i++)
        if (atomic_load(&board->beats[i]) != before[i])
            return false;
    return true;
}

uint64_t start_time_of(pid_t pid)
{
    char path[64], text[1024] = "";
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_int_equal(sscanf(strrchr(text, ')'),
                            ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                            "%*d %*d %*d %llu",
                            &start),
                     1);
    return start;
}

void tree_of_seven(void)
{
    grow_tree(3);
}

void family_with_orphan(void)
{
    unsigned slot = sign_in();
    if (fork() == 0) {
        setsid();
        unsigned middle = sign_in();
        if (fork() == 0)
            compute(sign_in());
        while (atomic_load(&board->started) < 3)
            nap_ms(1);
        pid_t mother = fork();
        if (mother == 0) {
            if (fork() == 0)
                compute(sign_in());
            _exit(0);
        }
        waitpid(mother, NULL, 0);
        compute(middle);
    }
    while (atomic_load(&board->started) < 4)
        nap_ms(1);
    if (fork() == 0)
        compute(sign_in());
    compute(slot);
}

void wait_in_the_kernel(void)
{
    if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0) == 0) {
        sign_in();
        while (atomic_load(&board->go) == 0)
            nap_ms(1);
        _exit(0);
    }
    compute(sign_in());
}

bool take_freezer(void)
{
    const struct v1_mounts mounts = {found.cpu, found.cpuacct, NULL, true};
    const struct backend_settings settings = {
        .kind = "v1", .root = root, .cpus = 1, .period_ns = 100 * NS_PER_MS, .records = records};
    if (found.cpu == NULL)
        return false;
    check(class_remove(class_, &err));
    backend_close(backend);
    check(v1_open(&mounts, &settings, &backend, &err));
    check(class_open(backend, "a", &class_, &err));
    assert_false(class_has_freezer(class_));
    return true;
}

// ---- around the tests

static bool open_backend(void)
{
    struct backend_settings settings = {
        .kind = "auto", .root = root, .cpus = 1, .period_ns = 100 * NS_PER_MS, .records = records};
    if (backend_open(&settings, &backend, &err) == 0 &&
        class_open(backend, "a", &class_, &err) == 0)
        return true;
    fprintf(stderr, "skipped: %s\n", err.text);
    return false;
}

int set_up(void **state)
{
    (void)state;
    memset(board, 0, sizeof *board);
    return open_backend() ? 0 : -1;
}

int clean_up(void **state)
{
    (void)state;
    class_kill(class_, NULL);
    reap();
    int rc = class_remove(class_, &err);
    backend_close(backend);
    const char *mounts[] = {found.v2, found.cpu, found.cpuacct, found.freezer};
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        char path[256];
        if (mounts[i] == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", mounts[i], root);
        rmdir(path);
    }
    return rc;
}

bool tests_begin(void)
{
    if (geteuid() != 0 || discovery_find(&found, &err) != 0) {
        fprintf(stderr, "skipped: needs root and cgroups\n");
        return false;
    }
    // Orphans come to this process, so that it can tell the dead from the living.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(root, sizeof root, "cosched-test-tracking-%d", (int)getpid());
    strcpy(records, "/tmp/cosched-test-XXXXXX");
    if (board == MAP_FAILED || mkdtemp(records) == NULL) {
        perror("test_tracking");
        exit(1);
    }
    return true;
}

int tests_end(int failed)
{
    rmdir(records); // is empty, or the test below fails
    discovery_free(&found);
    return failed != 0 || access(records, F_OK) == 0;
}
