// Protects what is known of processes that stand still: each thread of theirs is looked at, up to a
// bound that no owner of very many threads can move.
#include "cgroup-backend/signals.h"

#include "common/cleanup.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { LEADER = 1000, STRANGER = 2000, PATH_LENGTH = 128 };

// A /proc of the test's own.
static char proc[PATH_LENGTH];

static int make_proc(void **state)
{
    (void)state;
    snprintf(proc, sizeof proc, "/dev/shm/cosched-signals-XXXXXX");
    return mkdtemp(proc) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status, (void)type, (void)where;
    return remove(path);
}

static int remove_proc(void **state)
{
    (void)state;
    return nftw(proc, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_directory(const char *name)
{
    char path[2 * PATH_LENGTH];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void has_state(const char *name, char state)
{
    char path[2 * PATH_LENGTH];
    make_directory(name);
    snprintf(path, sizeof path, "%s/%s/stat", proc, name);
    cleanup_fclose FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "1 (x) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n", state);
}

// Processes that stand by their first thread, or whose first thread has ended, each with one more.
static void two_processes(char first, char second, char leader)
{
    has_state("1000", 'T');
    make_directory("1000/task");
    has_state("1000/task/1000", 'T');
    has_state("1000/task/1001", first);
    has_state("2000", leader);
    make_directory("2000/task");
    has_state("2000/task/2000", leader);
    has_state("2000/task/2001", second);
}

static struct genealogy census(void)
{
    struct genealogy found = {0};
    pid_t pids[] = {LEADER, STRANGER};
    const struct pid_list members = {.pids = pids, .count = 2};
    assert_int_equal(signals_census(proc, &members, &found, NULL), 0);
    assert_int_equal(found.count, 2);
    return found;
}

static void a_process_stands_when_all_its_threads_do(void **state)
{
    (void)state;
    two_processes('T', 'R', 'T');
    cleanup_genealogy struct genealogy found = census();
    assert_true(found.list[0].stopped);
    assert_false(found.list[1].stopped);
    assert_in_range(found.threads, 3, 4); // in any order, up to one that runs
}

// It is listed, gets signals, and has to be continued.
static void a_process_whose_first_thread_has_ended_lives(void **state)
{
    (void)state;
    two_processes('T', 'T', 'Z');
    cleanup_genealogy struct genealogy found = census();
    assert_true(found.list[1].stopped);
}

static void a_process_whose_threads_have_all_ended_is_gone(void **state)
{
    struct genealogy found = {0};
    pid_t pids[] = {STRANGER};
    const struct pid_list members = {.pids = pids, .count = 1};
    (void)state;
    two_processes('T', 'Z', 'Z'); // the second one is traced, or it would not be seen
    assert_int_equal(signals_census(proc, &members, &found, NULL), 0);
    assert_int_equal(found.count, 0);
    genealogy_free(&found);
}

static void behind_very_many_threads_the_first_of_a_process_speaks_for_it(void **state)
{
    (void)state;
    two_processes('T', 'T', 'Z'); // which must not be taken for gone
    for (int i = 0; i < SIGNALS_THREADS_MAX; i++) {
        char name[PATH_LENGTH];
        snprintf(name, sizeof name, "1000/task/%d", 10000 + i);
        make_directory(name);
    }
    cleanup_genealogy struct genealogy found = census();
    assert_true(found.list[1].stopped);
    assert_int_equal(found.threads, SIGNALS_THREADS_MAX + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_stands_when_all_its_threads_do, make_proc,
                                        remove_proc),
        cmocka_unit_test_setup_teardown(a_process_whose_first_thread_has_ended_lives, make_proc,
                                        remove_proc),
        cmocka_unit_test_setup_teardown(a_process_whose_threads_have_all_ended_is_gone, make_proc,
                                        remove_proc),
        cmocka_unit_test_setup_teardown(
            behind_very_many_threads_the_first_of_a_process_speaks_for_it, make_proc, remove_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
