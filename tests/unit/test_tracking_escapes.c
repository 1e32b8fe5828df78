// Protects process tracking from processes that try to get away, on the real cgroups of this
// machine: killed is the whole class. COSCHED_TEST_ESCAPES=10000 is the number of attempts for a
// night.
#include "tests/unit/real_tracking.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ESCAPES_OF_A_DAY = 48, BATCH = 24 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(nobody_escapes),
        real(none_is_left_without_a_freezer),
        real(a_fork_storm_ends),
    };
    return tests_begin() ? tests_end(cmocka_run_group_tests(tests, NULL, NULL)) : 77;
}
