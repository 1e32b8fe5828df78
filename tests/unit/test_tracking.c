// Protects process tracking on the real cgroups of this machine: suspended, resumed and killed is
// the whole class, whatever keeps a process from it, and whatever becomes of the daemon.
#include "tests/unit/real_tracking.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static bool has_stopped(pid_t pid)
{
    char path[64], process_state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &process_state), 1);
    fclose(file);
    return process_state == 'T';
}

// Who only does not beat may not have had a CPU yet, and stop later.
static void who_had_stopped_before_stays_so(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    begin(tree_of_seven);
    wait_for(7);
    pid_t pid = atomic_load(&board->pids[6]);
    kill(pid, SIGSTOP);
    while (!has_stopped(pid))
        nap_ms(1);
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

static void mother_of_a_child_of_root(void)
{
    if (fork() == 0) {
        setsid(); // in one session SIGCONT is for everybody
        compute(sign_in());
    }
    while (atomic_load(&board->started) == 0)
        nap_ms(1);
    unsigned slot = sign_in();
    if (setuid(99) == 0)
        compute(slot);
}

static int resume_as_another(void)
{
    return setuid(99) == 0 && class_resume(class_, &err) != 0 && err.code == EPERM ? 0 : 1;
}

// As a classd without CAP_KILL, beside a program of another user's.
static void who_cannot_be_signalled_keeps_nobody_else_stopped(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    int status;
    begin(mother_of_a_child_of_root);
    wait_for(2);
    suspend(&how);
    assert_true(none_beats(2));
    pid_t another = fork();
    if (another == 0)
        _exit(resume_as_another());
    assert_int_equal(waitpid(another, &status, 0), another);
    assert_int_equal(status, 0);
    assert_true(beats(1));
    assert_false(beats(0));
    resume();
    assert_true(all_beat(2));
    kill_part(0, 0);
}

// As strace and debuggers do that have attached themselves.
static void who_is_traced_goes_on(void **state)
{
    (void)state;
    const struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    int status;
    begin(tree_of_seven);
    wait_for(7);
    pid_t pid = atomic_load(&board->pids[6]);
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    suspend(&how);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_int_equal(WSTOPSIG(status), SIGSTOP);
    assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, (void *)SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_int_equal(status >> 16, PTRACE_EVENT_STOP);
    assert_int_equal(ptrace(PTRACE_LISTEN, pid, NULL, NULL), 0);
    resume();
    for (int tries = 0; !beats(6); tries++) {
        assert_true(tries < DEADLINE_MS / 200);
        if (waitpid(pid, &status, __WALL | WNOHANG) == pid && WIFSTOPPED(status))
            ptrace(PTRACE_CONT, pid, NULL, NULL);
    }
    kill_part(0, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(the_freezer_stops_all),
        real(signals_stop_all),
        real(who_had_stopped_before_stays_so),
        real(by_share_nobody_is_stopped),
        real(outlives_the_daemon),
        real(a_suspension_that_fails_leaves_nobody_about_to_stop),
        real(who_cannot_be_continued_keeps_his_class_and_its_record),
        real(who_is_hidden_is_not_taken_for_gone),
        real(who_cannot_be_signalled_keeps_nobody_else_stopped),
        real(who_is_traced_goes_on),
        real(a_class_that_cannot_go_for_want_of_descriptors_goes_later),
    };
    return tests_begin() ? tests_end(cmocka_run_group_tests(tests, NULL, NULL)) : 77;
}
