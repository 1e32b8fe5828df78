// Protects what others see of a suspension, on the real cgroups of this machine. Seed 001, section
// 3: "a parent process is stopped before its children are signaled".
#include "tests/unit/real_tracking.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

// A handler of SIGCHLD looks for stopped children, too.
static void take_news(int number)
{
    siginfo_t child = {0};
    (void)number;
    atomic_fetch_add(&board->told_of_children, 1);
    if (waitid(P_ALL, 0, &child, WSTOPPED | WNOHANG | WNOWAIT) == 0 && child.si_pid != 0)
        atomic_fetch_add(&board->stopped_children, 1);
}

// Every process is told of its children, also when they stop and continue.
static void attentive_tree(void)
{
    struct sigaction action = {.sa_handler = take_news, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    tree_of_seven();
}

static void suspend_and_resume_often(enum class_means means)
{
    const struct class_suspension how = {.means = means};
    begin(attentive_tree);
    wait_for(7);
    assert_true(all_beat(7));
    for (int i = 0; i < 10; i++) {
        suspend(&how);
        resume();
        nap_ms(3);
    }
    assert_true(all_beat(7));
    assert_int_equal(atomic_load(&board->stopped_children), 0);
}

// By waiting for it, that is. The kernel tells a parent also while it stands still itself, so that
// it gets SIGCHLD when both run again.
static void no_parent_sees_its_child_stopped(void **state)
{
    (void)state;
    suspend_and_resume_often(CLASS_BY_SIGNALS);
    assert_true(atomic_load(&board->told_of_children) > 0);
    kill_part(0, 0);
}

static void by_freezer_and_share_parents_get_no_signal(void **state)
{
    (void)state;
    suspend_and_resume_often(CLASS_BY_SHARE);
    assert_int_equal(atomic_load(&board->told_of_children), 0);
    kill_part(0, 0);
    if (!class_has_freezer(class_))
        skip();
    memset(board, 0, sizeof *board);
    suspend_and_resume_often(CLASS_BY_FREEZER);
    assert_int_equal(atomic_load(&board->told_of_children), 0);
    kill_part(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(no_parent_sees_its_child_stopped),
        real(by_freezer_and_share_parents_get_no_signal),
    };
    return tests_begin() ? tests_end(cmocka_run_group_tests(tests, NULL, NULL)) : 77;
}
