// Protects process tracking of subtrees, on the real cgroups of this machine: stopped and killed is
// the subtree, its orphans with it, and nobody else.
#include "tests/unit/real_tracking.h"

#include "cgroup-backend/suspension.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(a_subtree_alone_is_stopped_and_killed),
        real(who_was_stopped_with_a_subtree_is_continued_whoever_has_died),
        real(the_dead_of_a_subtree_are_not_kept_in_mind),
        real(who_cannot_stop_is_killed_in_the_last_pass),
        real(a_kill_that_nobody_finishes_leaves_nobody_stopped),
        real(a_kill_ends_without_a_suspension_of_its_own),
    };
    return tests_begin() ? tests_end(cmocka_run_group_tests(tests, NULL, NULL)) : 77;
}
