// Protects process tracking on the real cgroups of this machine, with processes that try to get
// away: suspended and killed is the whole class, or the subtree, and nobody else. Needs root; below
// a root group of its own. COSCHED_TEST_ESCAPES=10000 is the number of attempts for a night.
#include "cgroup-backend/backend.h"
#include "cgroup-backend/discovery.h"
#include "cgroup-backend/ops.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TREE_MAX = 15, SLOTS = 256, ESCAPES_OF_A_DAY = 48, BATCH = 24, DEADLINE_MS = 30000 };

// What the processes tell the test.
struct board {
    atomic_uint started;
    atomic_int pids[SLOTS];
    atomic_ulong beats[SLOTS];    // of who computes
    atomic_uint stopped_children; // seen by their parents
    atomic_uint left;             // that could be moved out of the class
    atomic_uint go;               // for who waits to be told
};

static struct board *board;
static struct discovery found;
static backend_t *backend;
static class_t *class_;
static char root[64], records[32];
static struct error err;
static pid_t head; // of the family in the class

static void nap_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

static void check(int rc)
{
    if (rc != 0)
        fail_msg("%s", err.text);
}

// Reports itself; returns its slot.
static unsigned sign_in(void)
{
    unsigned slot = atomic_fetch_add(&board->started, 1) % SLOTS;
    atomic_store(&board->pids[slot], getpid());
    return slot;
}

// Computes, and looks whether a child stands still.
static void compute(unsigned slot)
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
static void begin(void (*work)(void))
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

static void wait_for(unsigned count)
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

// Passes until one is enough.
static void suspend(const struct class_suspension *how)
{
    for (int ms = 0; class_suspend(class_, how, &err) != 0; ms++) {
        if (err.code != EAGAIN || ms >= DEADLINE_MS)
            fail_msg("%s", err.text);
        nap_ms(1);
    }
}

static void resume(void)
{
    for (int ms = 0; class_resume(class_, &err) != 0; ms++) {
        if (err.code != EAGAIN || ms >= DEADLINE_MS)
            fail_msg("%s", err.text);
        nap_ms(1);
    }
}

static void kill_part(pid_t pid, uint64_t start_time)
{
    for (int ms = 0; class_kill_pass(class_, pid, start_time, false, &err) != 0; ms++) {
        if (err.code != EAGAIN || ms >= DEADLINE_MS)
            fail_msg("%s", err.text);
        reap();
        nap_ms(1);
    }
    reap();
}

static size_t members(void)
{
    size_t count = 0;
    reap();
    check(class_members(class_, NULL, 0, &count, &err));
    return count;
}

static bool is_member(pid_t pid)
{
    pid_t pids[4 * SLOTS];
    size_t count = 0;
    check(class_members(class_, pids, sizeof pids / sizeof *pids, &count, &err));
    for (size_t i = 0; i < count && i < sizeof pids / sizeof *pids; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

// Whether the process has counted on within a time in which it would have had the CPU.
static bool beats(unsigned slot)
{
    unsigned long before = atomic_load(&board->beats[slot]);
    for (int i = 0; i < 200; i++) {
        nap_ms(1);
        if (atomic_load(&board->beats[slot]) != before)
            return true;
    }
    return false;
}

static bool all_beat(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int tries = 0;
        while (!beats(i))
            if (++tries > DEADLINE_MS / 200)
                return false;
    }
    return true;
}

static bool none_beats(unsigned count)
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

static uint64_t start_time_of(pid_t pid)
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

// ---- the whole class

static void tree_of_seven(void)
{
    grow_tree(3);
}

static void suspends_and_resumes(enum class_means means)
{
    const struct class_suspension how = {.means = means};
    begin(tree_of_seven);
    wait_for(7);
    for (int i = 0; i < 3; i++) {
        suspend(&how);
        assert_true(none_beats(7));
        suspend(&how); // once more changes nothing
        resume();
        assert_true(all_beat(7));
    }
    resume(); // of nothing
    kill_part(0, 0);
    assert_int_equal(members(), 0);
}

static void the_freezer_stops_all(void **state)
{
    (void)state;
    if (!class_has_freezer(class_))
        skip();
    suspends_and_resumes(CLASS_BY_FREEZER);
}

static void signals_stop_all(void **state)
{
    (void)state;
    suspends_and_resumes(CLASS_BY_SIGNALS);
}

// Seed 001, section 3: "a parent process is stopped before its children are signaled".
static void no_parent_sees_its_child_stopped(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    begin(tree_of_seven);
    wait_for(7);
    for (int i = 0; i < 10; i++) {
        suspend(&how);
        resume();
        nap_ms(3);
    }
    assert_true(all_beat(7));
    assert_int_equal(atomic_load(&board->stopped_children), 0);
    kill_part(0, 0);
}

static void who_had_stopped_before_stays_so(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    begin(tree_of_seven);
    wait_for(7);
    pid_t pid = atomic_load(&board->pids[6]);
    kill(pid, SIGSTOP);
    while (beats(6))
        ;
    suspend(&how);
    resume();
    assert_true(all_beat(6));
    assert_false(beats(6));
    kill(pid, SIGCONT);
    assert_true(all_beat(7));
    kill_part(0, 0);
}

static void by_share_nobody_is_stopped(void **state)
{
    (void)state;
    struct class_suspension how = {.means = CLASS_BY_SHARE};
    begin(tree_of_seven);
    wait_for(7);
    suspend(&how);
    assert_true(class_suspended(class_, &how));
    assert_true(all_beat(7));
    how.means = CLASS_BY_SIGNALS;
    assert_int_equal(class_suspend(class_, &how, &err), -1);
    assert_int_equal(err.code, EBUSY);
    resume();
    assert_false(class_suspended(class_, &how));
    kill_part(0, 0);
}

// The next daemon learns of it; whoever lifts limits meanwhile continues all, and leaves the wish.
static void outlives_the_daemon(void **state)
{
    (void)state;
    static const enum class_means all[] = {CLASS_BY_SIGNALS, CLASS_BY_FREEZER};
    begin(tree_of_seven);
    wait_for(7);
    for (size_t i = class_has_freezer(class_) ? 2 : 1; i-- > 0;) {
        struct class_suspension how = {.means = all[i]}, known = {0};
        suspend(&how);
        class_close(class_);
        check(class_open(backend, "a", &class_, &err));
        assert_true(class_suspended(class_, &known));
        assert_int_equal(known.means, how.means);
        assert_true(none_beats(7));
        assert_int_equal(backend_release_all(backend, NULL, &err), 0);
        assert_true(all_beat(7));
        class_close(class_);
        check(class_open(backend, "a", &class_, &err));
        assert_true(class_suspended(class_, &known));
        suspend(&known);
        assert_true(none_beats(7));
        resume();
        assert_true(all_beat(7));
        class_close(class_);
        check(class_open(backend, "a", &class_, &err));
        assert_false(class_suspended(class_, &known));
    }
    kill_part(0, 0);
}

// ---- subtrees

// Slot 0 is the root, slot 1 a child with a child of its own (2) and an orphan (3), slot 4 a child.
static void family_with_orphan(void)
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

static void a_subtree_alone_is_stopped_and_killed(void **state)
{
    (void)state;
    begin(family_with_orphan);
    wait_for(5);
    assert_true(all_beat(5));
    pid_t middle = atomic_load(&board->pids[1]);
    struct class_suspension how = {
        .means = CLASS_BY_SIGNALS, .root = middle, .root_start = start_time_of(middle)};
    suspend(&how);
    assert_true(!beats(1) && !beats(2) && !beats(3));
    assert_true(beats(0) && beats(4));
    resume();
    assert_true(all_beat(5));

    how.root_start++; // another process with this number
    assert_int_equal(class_suspend(class_, &how, &err), -1);
    assert_int_equal(err.code, ESRCH);
    how.root = getpid(); // not of the class
    how.root_start = start_time_of(how.root);
    assert_int_equal(class_suspend(class_, &how, &err), -1);
    assert_int_equal(err.code, ESRCH);

    kill_part(middle, start_time_of(middle));
    assert_false(is_member(middle) || is_member(atomic_load(&board->pids[2])) ||
                 is_member(atomic_load(&board->pids[3])));
    assert_true(beats(0) && beats(4));
    kill_part(0, 0);
    assert_int_equal(members(), 0);
}

// Who links them to the root of the subtree, or was it, has been killed meanwhile; classd, too.
static void who_was_stopped_with_a_subtree_is_continued_whoever_has_died(void **state)
{
    (void)state;
    begin(family_with_orphan);
    wait_for(5);
    pid_t middle = atomic_load(&board->pids[1]);
    struct class_suspension how = {
        .means = CLASS_BY_SIGNALS, .root = middle, .root_start = start_time_of(middle)};
    suspend(&how);
    assert_int_equal(kill(middle, SIGKILL), 0);
    while (is_member(middle))
        nap_ms(1);
    assert_false(beats(2) || beats(3));
    class_close(class_);
    check(class_open(backend, "a", &class_, &err));
    resume();
    for (unsigned slot = 2; slot < 4; slot++)
        for (int tries = 0; !beats(slot); tries++)
            assert_true(tries < DEADLINE_MS / 200);
}

static size_t recorded_of_subtree(void)
{
    char directory[64];
    struct suspension suspension;
    snprintf(directory, sizeof directory, "%s/" SUSPENSION_DIRECTORY, records);
    assert_int_equal(suspension_read(directory, "a", &suspension, &err), 1);
    size_t count = suspension.ours.count;
    suspension_forget(&suspension);
    return count;
}

// The root of a subtree that its owner may continue, and then forks a child at a time.
static void breeder(void)
{
    sign_in();
    for (unsigned born = 0;; born++) {
        while (atomic_load(&board->go) <= born)
            nap_ms(1);
        if (fork() == 0) {
            sign_in();
            for (;;)
                pause();
        }
    }
}

// By continuing, forking and killing its owner could have the record grow without end.
static void the_dead_of_a_subtree_are_not_kept_in_mind(void **state)
{
    (void)state;
    begin(breeder);
    wait_for(1);
    const struct class_suspension how = {
        .means = CLASS_BY_SIGNALS, .root = head, .root_start = start_time_of(head)};
    suspend(&how);
    for (unsigned child = 1; child < 20; child++) {
        atomic_fetch_add(&board->go, 1);
        assert_int_equal(kill(head, SIGCONT), 0);
        wait_for(child + 1);
        suspend(&how);
        assert_int_equal(recorded_of_subtree(), 2);
        pid_t pid = atomic_load(&board->pids[child]);
        assert_int_equal(kill(pid, SIGKILL), 0);
        for (int ms = 0; is_member(pid); ms++) {
            assert_true(ms < DEADLINE_MS);
            nap_ms(1);
        }
    }
    suspend(&how);
    assert_int_equal(recorded_of_subtree(), 1);
}

// ---- who cannot stop

// Waits for a child that it has forked as vfork() does, in the kernel and without a look at
// signals.
static void wait_in_the_kernel(void)
{
    if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0) == 0) {
        sign_in();
        while (atomic_load(&board->go) == 0)
            nap_ms(1);
        _exit(0);
    }
    compute(sign_in());
}

static void a_suspension_that_fails_leaves_nobody_about_to_stop(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    begin(wait_in_the_kernel);
    wait_for(1);
    for (int pass = 0; pass < 3; pass++) {
        assert_int_equal(class_suspend(class_, &how, &err), -1);
        assert_int_equal(err.code, EAGAIN);
    }
    resume();
    atomic_store(&board->go, 1);
    wait_for(2);
    for (int tries = 0; !beats(1); tries++)
        assert_true(tries < DEADLINE_MS / 200);
}

// ---- escapes (M4, M5)

static void leave_by_hand(void)
{
    // As root it would be allowed.
    if (setuid(99) != 0)
        return;
    const char *mounts[] = {found.v2, found.cpu, found.cpuacct, found.freezer};
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        char path[256];
        if (mounts[i] == NULL)
            continue;
        snprintf(path, sizeof path, "%s/cgroup.procs", mounts[i]);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, "0", 1) == 1)
            atomic_fetch_add(&board->left, 1);
        if (fd >= 0)
            close(fd);
    }
}

// Every generation ends when the next one is there; some change session or group on their way.
static void race(int generations)
{
    for (int i = 0; i < generations; i++) {
        if (fork() != 0)
            _exit(0);
        if (i % 3 == 0)
            setsid();
        if (i % 3 == 1)
            setpgid(0, 0);
    }
}

static void try_to_escape(int way)
{
    switch (way % 6) {
    case 0:
        setsid();
        break;
    case 1: // double fork
        if (fork() != 0)
            _exit(0);
        setsid();
        if (fork() != 0)
            _exit(0);
        break;
    case 2: // init's child
        if (fork() != 0)
            _exit(0);
        break;
    case 3:
        setpgid(0, 0);
        break;
    case 4:
        race(12);
        break;
    case 5:
        leave_by_hand();
        break;
    }
}

static int escapes_from, escapes_to;

static void many_escapes(void)
{
    for (int way = escapes_from; way < escapes_to; way++) {
        if (fork() != 0)
            continue;
        try_to_escape(way);
        sign_in();
        for (;;)
            pause();
    }
    for (;;)
        waitpid(-1, NULL, 0);
}

static int attempts(void)
{
    const char *text = getenv("COSCHED_TEST_ESCAPES");
    int count = text != NULL ? atoi(text) : 0;
    return count > 0 ? count : ESCAPES_OF_A_DAY;
}

static void nobody_escapes(void **state)
{
    (void)state;
    unsigned escaped = 0, alive = 0;
    for (int at = 0; at < attempts(); at += BATCH) {
        escapes_from = at;
        escapes_to = at + BATCH < attempts() ? at + BATCH : attempts();
        unsigned count = (unsigned)(escapes_to - escapes_from);
        memset(board, 0, sizeof *board);
        begin(many_escapes);
        wait_for(count);
        for (unsigned i = 0; i < count; i++)
            escaped += !is_member(atomic_load(&board->pids[i]));
        escaped += atomic_load(&board->left);
        kill_part(0, 0);
        alive += (unsigned)members();
        for (unsigned i = 0; i < count; i++)
            alive += kill(atomic_load(&board->pids[i]), 0) == 0;
    }
    print_message("%d attempts, %u escaped, %u alive after kill\n", attempts(), escaped, alive);
    assert_int_equal(escaped, 0);
    assert_int_equal(alive, 0);
}

// The freezer of the backend is not used from here on; false where there is none but v2.
static bool take_freezer(void)
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

// Nobody is killed whose children might get away, until time is up.
static void who_cannot_stop_is_killed_in_the_last_pass(void **state)
{
    (void)state;
    if (!take_freezer())
        skip();
    begin(wait_in_the_kernel);
    wait_for(1);
    uint64_t start_time = start_time_of(head);
    for (int pass = 0; pass < 3; pass++) {
        assert_int_equal(class_kill_pass(class_, head, start_time, false, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        assert_int_equal(members(), 2);
    }
    class_kill_pass(class_, head, start_time, true, &err);
    for (int ms = 0; members() > 0; ms++) {
        assert_true(ms < DEADLINE_MS);
        nap_ms(1);
    }
}

// As when a daemon dies between two passes.
static void a_kill_that_nobody_finishes_leaves_nobody_stopped(void **state)
{
    (void)state;
    struct class_suspension known;
    if (!take_freezer())
        skip();
    begin(wait_in_the_kernel);
    wait_for(1);
    assert_int_equal(class_kill_pass(class_, head, start_time_of(head), false, &err), -1);
    assert_int_equal(err.code, EAGAIN);
    class_close(class_);
    assert_int_equal(backend_release_all(backend, NULL, &err), 0);
    check(class_open(backend, "a", &class_, &err));
    atomic_store(&board->go, 1);
    wait_for(2);
    for (int tries = 0; !beats(1); tries++)
        assert_true(tries < DEADLINE_MS / 200);
    assert_true(class_suspended(class_, &known)); // or is killed again
    assert_int_equal(known.root, head);
    resume();
}

static void a_kill_ends_without_a_suspension_of_its_own(void **state)
{
    (void)state;
    struct class_suspension how = {.means = CLASS_BY_SHARE};
    if (!take_freezer())
        skip();
    begin(family_with_orphan);
    wait_for(5);
    pid_t part = atomic_load(&board->pids[2]);
    kill_part(part, start_time_of(part));
    assert_false(class_suspended(class_, &how));
    suspend(&how);
    part = atomic_load(&board->pids[1]);
    kill_part(part, start_time_of(part));
    for (int adopted = 0; adopted < 2; adopted++) {
        assert_true(class_suspended(class_, &how));
        assert_int_equal(how.means, CLASS_BY_SHARE);
        class_close(class_);
        check(class_open(backend, "a", &class_, &err));
    }
    resume();
    assert_true(beats(0) && beats(4));
}

// No descriptor is to be had meanwhile.
static int in_want(int (*work)(class_t *class_, struct error *err))
{
    struct rlimit plenty, none;
    getrlimit(RLIMIT_NOFILE, &plenty);
    none = plenty;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    int rc = work(class_, &err);
    setrlimit(RLIMIT_NOFILE, &plenty);
    return rc;
}

static int begin_removal(class_t *one, struct error *why)
{
    return class_remove_step(one, SIZE_MAX, why);
}

static void who_cannot_be_continued_keeps_his_class_and_its_record(void **state)
{
    (void)state;
    struct class_suspension how = {.means = CLASS_BY_SIGNALS}, known = {0};
    begin(tree_of_seven);
    wait_for(7);
    suspend(&how);
    check(class_set_share(class_, 10000, &err));
    assert_int_equal(in_want(begin_removal), -1);
    assert_int_equal(err.code, EAGAIN);
    assert_int_equal(in_want(class_remove), -1);
    assert_int_equal(err.code, EBUSY);
    check(class_open(backend, "a", &class_, &err));
    assert_true(class_suspended(class_, &known));
    assert_int_equal(known.means, CLASS_BY_SIGNALS);
    assert_int_equal(members(), 7);
    resume();
    assert_true(all_beat(7));
    kill_part(0, 0);
}

// A process of its own resumes the class, to whom /proc shows nobody. 77: there is no such /proc.
static int resume_unseeing(void)
{
    struct class_suspension known;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2,gid=54321") != 0 || setuid(99) != 0)
        return 77;
    int rc = class_resume(class_, &err);
    return rc != 0 && err.code == EACCES && class_suspended(class_, &known) ? 0 : 1;
}

static void who_is_hidden_is_not_taken_for_gone(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    int status;
    begin(tree_of_seven);
    wait_for(7);
    suspend(&how);
    pid_t unseeing = fork();
    if (unseeing == 0)
        _exit(resume_unseeing());
    assert_int_equal(waitpid(unseeing, &status, 0), unseeing);
    kill_part(0, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static void a_class_that_cannot_go_for_want_of_descriptors_goes_later(void **state)
{
    (void)state;
    if (!take_freezer())
        skip();
    begin(tree_of_seven);
    wait_for(7);
    assert_int_equal(in_want(begin_removal), -1);
    assert_int_equal(err.code, EAGAIN);
    for (unsigned i = 0; i < 7; i++)
        kill(atomic_load(&board->pids[i]), SIGKILL);
    check(class_remove(class_, &err));
    check(class_open(backend, "a", &class_, &err));
}

// SIGKILL to a fixed point, after SIGSTOP for a subtree.
static void none_is_left_without_a_freezer(void **state)
{
    (void)state;
    if (!take_freezer())
        skip();
    escapes_from = 0;
    escapes_to = BATCH;
    begin(many_escapes);
    wait_for(BATCH);
    kill_part(0, 0);
    assert_int_equal(members(), 0);

    memset(board, 0, sizeof *board);
    begin(family_with_orphan);
    wait_for(5);
    pid_t middle = atomic_load(&board->pids[1]);
    kill_part(middle, start_time_of(middle));
    assert_false(is_member(middle) || is_member(atomic_load(&board->pids[2])) ||
                 is_member(atomic_load(&board->pids[3])));
    assert_true(beats(0) && beats(4));
}

// Processes that never stop forking, and end at once.
static void storm(void)
{
    for (int i = 0; i < 3; i++)
        if (fork() == 0)
            break;
    sign_in();
    for (;;) {
        if (fork() == 0)
            sign_in();
        else
            _exit(0);
    }
}

static void a_fork_storm_ends(void **state)
{
    (void)state;
    begin(storm);
    wait_for(50);
    if (class_has_freezer(class_)) {
        const struct class_suspension how = {.means = CLASS_BY_FREEZER};
        suspend(&how);
        unsigned before = atomic_load(&board->started);
        nap_ms(30);
        assert_int_equal(atomic_load(&board->started), before);
        resume();
        wait_for(before + 20);
    }
    kill_part(0, 0);
    assert_int_equal(members(), 0);
    unsigned before = atomic_load(&board->started);
    nap_ms(30);
    assert_int_equal(atomic_load(&board->started), before);
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

static int set_up(void **state)
{
    (void)state;
    memset(board, 0, sizeof *board);
    return open_backend() ? 0 : -1;
}

static int clean_up(void **state)
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

int main(void)
{
#define real(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        real(the_freezer_stops_all),
        real(signals_stop_all),
        real(no_parent_sees_its_child_stopped),
        real(who_had_stopped_before_stays_so),
        real(by_share_nobody_is_stopped),
        real(outlives_the_daemon),
        real(a_subtree_alone_is_stopped_and_killed),
        real(who_was_stopped_with_a_subtree_is_continued_whoever_has_died),
        real(the_dead_of_a_subtree_are_not_kept_in_mind),
        real(a_suspension_that_fails_leaves_nobody_about_to_stop),
        real(who_cannot_stop_is_killed_in_the_last_pass),
        real(a_kill_that_nobody_finishes_leaves_nobody_stopped),
        real(a_kill_ends_without_a_suspension_of_its_own),
        real(who_cannot_be_continued_keeps_his_class_and_its_record),
        real(who_is_hidden_is_not_taken_for_gone),
        real(a_class_that_cannot_go_for_want_of_descriptors_goes_later),
        real(nobody_escapes),
        real(none_is_left_without_a_freezer),
        real(a_fork_storm_ends),
    };
    if (geteuid() != 0 || discovery_find(&found, &err) != 0) {
        fprintf(stderr, "skipped: needs root and cgroups\n");
        return 77;
    }
    // Orphans come to this process, so that it can tell the dead from the living.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(root, sizeof root, "cosched-test-tracking-%d", (int)getpid());
    strcpy(records, "/tmp/cosched-test-XXXXXX");
    if (board == MAP_FAILED || mkdtemp(records) == NULL)
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(records); // is empty, or the test below fails
    discovery_free(&found);
    return rc != 0 || access(records, F_OK) == 0;
}
