// Suspended classes on a tree of plain files: whoever was stopped continues, and records of it
// outlive what fails. Passes of a freezer wait for nothing.
#include "cgroup-backend/processes.h"
#include "tests/unit/v2_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

// A process of the class "a".
static pid_t put_somebody(void)
{
    char text[32];
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    snprintf(text, sizeof text, "%d\n", (int)pid);
    put_class("lab/node0/a");
    put("lab/node0/a", "cgroup.procs", text);
    return pid;
}

static void stop_by_signals(class_t *a, pid_t pid)
{
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    int status = 0;
    for (int pass = 0; pass < 1000 && class_suspend(a, &how, NULL) != 0; pass++)
        usleep(1000);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
}

// The same, suspended by signals.
static pid_t stop_somebody(void)
{
    pid_t pid = put_somebody();
    open_backend_with_records();
    class_t *a = open_class("a");
    stop_by_signals(a, pid);
    class_close(a);
    return pid;
}

static void assert_continued(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, WCONTINUED | WNOHANG), pid);
    assert_true(WIFCONTINUED(status));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void who_was_stopped_continues_whatever_else_fails(void **state)
{
    (void)state;
    pid_t pid = stop_somebody();
    unlink_file("lab/node0/a", "cpu.max");
    put("lab/node0/a/cpu.max", "none", ""); // no file to write to
    assert_int_equal(backend_release_all(backend, NULL, NULL), 1);
    assert_continued(pid);
}

static void who_was_stopped_continues_whatever_became_of_the_record(void **state)
{
    (void)state;
    pid_t pid = stop_somebody();
    put("records/suspended", "a", "means");
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_continued(pid);
}

// timerd lifts limits at every tick while classd is away, and users stop processes of their own.
static void whom_his_owner_stops_afterwards_stays_stopped(void **state)
{
    struct backend_settings once_more = settings;
    struct error err = {0};
    int status;
    char records[96];
    (void)state;
    pid_t pid = stop_somebody();
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, WCONTINUED | WNOHANG), pid);
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    backend_close(backend);
    snprintf(records, sizeof records, "%s/records", mount);
    once_more.records = records;
    once_more.once_more = true;
    if (v2_open(mount, &once_more, &backend, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, WCONTINUED | WNOHANG), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static pid_t stopped; // of the class "a"
static unsigned lifted_before;

static int lift_and_look(struct cgroup_backend *of, const char *name, struct error *err)
{
    siginfo_t info = {0};
    (void)of;
    (void)name;
    (void)err;
    assert_int_equal(waitid(P_PID, (id_t)stopped, &info, WCONTINUED | WNOHANG | WNOWAIT), 0);
    lifted_before += info.si_pid == 0; // it has not been continued
    return 0;
}

// Looking for all processes of a job takes time, in which others' limits would stand.
static void all_are_lifted_before_anybody_is_continued(void **state)
{
    enum { CLASSES = 20 };
    unsigned lifted = 0;
    (void)state;
    stopped = stop_somebody();
    for (int i = 1; i < CLASSES; i++) {
        char name[32];
        snprintf(name, sizeof name, "lab/node0/class%d", i);
        put_class(name);
    }
    lifted_before = 0;
    assert_int_equal(
        groups_release_all((struct cgroup_backend *)backend, lift_and_look, &lifted, NULL), 0);
    assert_int_equal(lifted, CLASSES);
    assert_int_equal(lifted_before, CLASSES);
    assert_continued(stopped);
}

static bool is_recorded(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/records/suspended/a", mount);
    return access(path, F_OK) == 0;
}

// Opens and closes the class "a": 1 when it is suspended, 0 when not, or a negative errno value.
static int look_at_a(void)
{
    struct class_suspension how;
    struct error err = {0};
    class_t *a = NULL;
    if (class_open(backend, "a", &a, &err) != 0)
        return -err.code;
    int suspended = class_suspended(a, &how);
    class_close(a);
    return suspended;
}

static void suspend_a(void)
{
    const struct class_suspension how = {.means = CLASS_BY_SHARE};
    put_class("lab/node0/a");
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_suspend(a, &how, NULL), 0);
    class_close(a);
    assert_true(is_recorded());
}

// Else its stopped processes would be nobody's to continue.
static void a_suspension_outlives_a_lack_of_descriptors(void **state)
{
    (void)state;
    struct rlimit usual, few;
    suspend_a();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    few = usual;
    for (unsigned room = 0; room < 6; room++) {
        few.rlim_cur = (rlim_t)next + room;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int seen = look_at_a();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_true(seen == -EMFILE || seen == 1);
        assert_true(is_recorded());
    }
    assert_int_equal(look_at_a(), 1);
}

static void a_suspension_outlives_a_lack_of_memory(void **state)
{
    (void)state;
    struct rlimit usual, none;
    char path[96];
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); // they end the program when there is no memory
#endif
    suspend_a();
    snprintf(path, sizeof path, "%s/records/suspended/a", mount);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "means 3 root 0 0 others 60000\n");
    for (unsigned i = 1; i <= 60000; i++)
        fprintf(file, "%u 1\n", i);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_DATA, &usual), 0);
    none = usual;
    none.rlim_cur = 4096; // to the kernel 0 is another matter
    assert_int_equal(setrlimit(RLIMIT_DATA, &none), 0);
    int seen = look_at_a();
    assert_int_equal(setrlimit(RLIMIT_DATA, &usual), 0);
    assert_int_equal(seen, -ENOMEM);
    assert_true(is_recorded());
    assert_int_equal(look_at_a(), 1);
}

static void what_is_no_record_goes(void **state)
{
    (void)state;
    struct backend_settings looking = settings;
    char path[96];
    suspend_a();
    put("records/suspended", "a", "means 3 root 0 0 others 1\n0 0\n");
    backend_close(backend);
    snprintf(path, sizeof path, "%s/records", mount);
    looking.records = path;
    looking.as_it_is = true;
    assert_int_equal(v2_open(mount, &looking, &backend, NULL), 0);
    assert_int_equal(look_at_a(), 0);
    assert_true(is_recorded()); // it is not for who only looks to remove it
    backend_close(backend);
    open_backend_with_records();
    assert_int_equal(look_at_a(), 0);
    assert_false(is_recorded());
}

// ---- a freezer that takes its time

static void put_frozen(bool frozen)
{
    put("lab/node0/a", "cgroup.events", frozen ? "frozen 1\n" : "frozen 0\n");
}

static long sleeps(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

// The daemon has others to serve, and each of a user's jobs would be waited for.
static void no_pass_sleeps(void **state)
{
    enum { PASSES = 200 };
    const struct class_suspension how = {.means = CLASS_BY_FREEZER};
    struct error err;
    (void)state;
    put_class("lab/node0/a");
    put_frozen(false);
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_suspend(a, &how, NULL), -1);
    long before = sleeps();
    for (int pass = 0; pass < PASSES; pass++) {
        assert_int_equal(class_suspend(a, &how, &err), -1);
        assert_int_equal(err.code, EAGAIN);
    }
    assert_in_range(sleeps() - before, 0, PASSES / 2);
    put_frozen(true);
    assert_int_equal(class_suspend(a, &how, NULL), 0);
    class_close(a);
}

// Asking visits every process, each of which freezes by itself once it was asked; a thaw of
// somebody else's is made good all the same.
static void every_other_pass_only_looks(void **state)
{
    const struct class_suspension how = {.means = CLASS_BY_FREEZER};
    (void)state;
    put_class("lab/node0/a");
    put_frozen(false);
    open_backend_with_records();
    class_t *a = open_class("a");
    const char *const asked[] = {"1\n", "1\n", "1\n1\n", "1\n1\n"};
    for (size_t pass = 0; pass < sizeof asked / sizeof *asked; pass++) {
        assert_int_equal(class_suspend(a, &how, NULL), -1);
        assert_file("lab/node0/a", "cgroup.freeze", asked[pass]);
    }
    put_frozen(true);
    for (int again = 0; again < 2; again++) { // who is suspended is asked in each pass
        put("lab/node0/a", "cgroup.freeze", "");
        assert_int_equal(class_suspend(a, &how, NULL), 0);
        assert_file("lab/node0/a", "cgroup.freeze", "1\n");
    }
    class_close(a);
}

static void looks_come_soon_at_first(void **state)
{
    const uint64_t interval_ns = 5 * NS_PER_MS;
    uint64_t before_ns = 0;
    uint64_t waited_ns = 0;
    unsigned passes = 1;
    (void)state;
    for (; class_freezer_pause_ns(passes, interval_ns) < interval_ns; passes++) {
        uint64_t pause_ns = class_freezer_pause_ns(passes, interval_ns);
        assert_true(pause_ns >= before_ns);
        // For the first millisecond a pause is a tenth of it at most, then less than what went
        // before.
        assert_true(pause_ns <= (waited_ns < NS_PER_MS ? NS_PER_MS / 10 : waited_ns));
        before_ns = pause_ns;
        waited_ns += pause_ns;
    }
    assert_in_range(passes, 10, 40);
    assert_true(class_freezer_pause_ns(UINT32_MAX, interval_ns) == interval_ns);
}

// Runs `work` on the class with no free descriptor; returns 0 or the errno value that it gave.
static int without_descriptors(class_t *a, int (*work)(class_t *, struct error *))
{
    struct rlimit usual, few;
    struct error err = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    few = usual;
    few.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int rc = work(a, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    return rc == 0 ? 0 : err.code;
}

// By the last of what was written.
static bool is_thawed(void)
{
    char path[96], text[4096] = "";
    snprintf(path, sizeof path, "%s/lab/node0/a/cgroup.freeze", mount);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return length >= 2 && text[length - 2] == '0';
}

// Who is told that a job was resumed does not say it once more.
static void a_frozen_class_is_not_resumed_without_descriptors(void **state)
{
    const struct class_suspension how = {.means = CLASS_BY_FREEZER};
    struct class_suspension present;
    (void)state;
    put_class("lab/node0/a");
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_suspend(a, &how, NULL), 0);
    assert_int_equal(without_descriptors(a, class_resume), EMFILE);
    assert_true(class_suspended(a, &present));
    assert_true(is_recorded());
    assert_false(is_thawed());
    assert_int_equal(class_resume(a, NULL), 0);
    assert_true(is_thawed());
    assert_false(is_recorded());
    class_close(a);
}

static pid_t victim;
static uint64_t victim_start;

static int kill_victim(class_t *a, struct error *err)
{
    return class_kill_pass(a, victim, victim_start, false, err);
}

// Nothing is recorded of who is held to be killed.
static void a_kill_that_cannot_thaw_is_made_good_later(void **state)
{
    (void)state;
    victim = put_somebody();
    victim_start = processes_start_time("/proc", victim);
    put_frozen(false);
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_kill_pass(a, victim, victim_start, false, NULL), -1);
    assert_int_equal(without_descriptors(a, kill_victim), EMFILE);
    assert_false(is_thawed());
    class_thaw_late(a);
    assert_true(is_thawed());
    put("lab/node0/a", "cgroup.freeze", "1\n"); // somebody else's
    class_thaw_late(a);
    assert_false(is_thawed());
    class_close(a);
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
}

// As when the runtime directory has been removed: what is known of the class is in memory.
static void who_was_stopped_continues_without_a_record(void **state)
{
    struct class_suspension present;
    int status;
    (void)state;
    pid_t pid = put_somebody();
    open_backend_with_records();
    class_t *a = open_class("a");
    stop_by_signals(a, pid);
    unlink_file("records/suspended", "a");
    assert_int_equal(backend_release_all(backend, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, WCONTINUED | WNOHANG), 0);
    class_let_run(a);
    assert_true(class_suspended(a, &present));
    class_close(a);
    assert_continued(pid);
}

// Who had stopped before, and runs since, is stopped by us: unless the record says so, he stays
// stopped should the daemon be killed.
static void a_record_that_could_not_be_written_is_written_by_the_next_pass(void **state)
{
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    struct suspension recorded;
    char path[96], aside[96];
    int status;
    (void)state;
    pid_t pid = put_somebody();
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_suspend(a, &how, NULL), 0);
    snprintf(path, sizeof path, "%s/records/suspended", mount);
    snprintf(aside, sizeof aside, "%s/records/aside", mount);
    assert_int_equal(suspension_read(path, "a", &recorded, NULL), 1);
    assert_int_equal(recorded.others.count, 1);
    suspension_forget(&recorded);

    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
    assert_int_equal(rename(path, aside), 0);
    put("records", "suspended", ""); // no directory
    assert_int_equal(class_suspend(a, &how, NULL), -1);
    unlink_file("records", "suspended");
    assert_int_equal(rename(aside, path), 0);
    stop_by_signals(a, pid);
    assert_int_equal(suspension_read(path, "a", &recorded, NULL), 1);
    assert_int_equal(recorded.others.count, 0);
    suspension_forget(&recorded);
    assert_int_equal(class_resume(a, NULL), 0);
    class_close(a);
    assert_continued(pid);
}

// A subtree whose class has not stopped yet: what it has forked meanwhile would not be found.
static void who_is_to_be_killed_is_held_until_all_stand_still(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct error err = {0};
        int status;
        pid_t pid = put_somebody();
        uint64_t start_time = processes_start_time("/proc", pid);
        put_frozen(false);
        open_backend_with_records();
        class_t *a = open_class("a");
        for (int pass = 0; pass < 3; pass++) {
            put("lab/node0/a", "cgroup.freeze", "");
            assert_int_equal(class_kill_pass(a, pid, start_time, false, &err), -1);
            assert_int_equal(err.code, EAGAIN);
            assert_file("lab/node0/a", "cgroup.freeze", "1\n");
            assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
        }
        put_frozen(last == 0);
        class_kill_pass(a, pid, start_time, last != 0, &err);
        assert_true(is_thawed());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        class_close(a);
        backend_close(backend);
        backend = NULL;
    }
}

// They are counted before each is looked at. (These do not exist.)
static void too_many_to_be_stopped_are_not_looked_at(void **state)
{
    enum { TOO_MANY = 16385, FIRST = 1 << 22 };
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    static char text[TOO_MANY * 9];
    struct error err = {0};
    size_t length = 0;
    (void)state;
    for (int i = 0; i < TOO_MANY; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%d\n", FIRST + 1 + i);
    put_class("lab/node0/a");
    put("lab/node0/a", "cgroup.procs", text);
    open_backend_with_records();
    class_t *a = open_class("a");
    assert_int_equal(class_suspend(a, &how, &err), -1);
    assert_int_equal(err.code, E2BIG);
    assert_non_null(strstr(err.text, "16385 processes are more than the 16384"));
    class_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_files(who_was_stopped_continues_whatever_else_fails),
        on_files(all_are_lifted_before_anybody_is_continued),
        on_files(who_was_stopped_continues_whatever_became_of_the_record),
        on_files(a_suspension_outlives_a_lack_of_descriptors),
        on_files(a_frozen_class_is_not_resumed_without_descriptors),
        on_files(a_kill_that_cannot_thaw_is_made_good_later),
        on_files(who_was_stopped_continues_without_a_record),
        on_files(whom_his_owner_stops_afterwards_stays_stopped),
        on_files(a_record_that_could_not_be_written_is_written_by_the_next_pass),
        on_files(a_suspension_outlives_a_lack_of_memory),
        on_files(what_is_no_record_goes),
        on_files(no_pass_sleeps),
        on_files(every_other_pass_only_looks),
        on_files(looks_come_soon_at_first),
        on_files(who_is_to_be_killed_is_held_until_all_stand_still),
        on_files(too_many_to_be_stopped_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
