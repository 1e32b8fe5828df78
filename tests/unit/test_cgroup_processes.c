// Finding descendants, on trees of plain files in the form of /proc: both ways of looking, and what
// real process tables have in them.
#include "cgroup-backend/files.h"
#include "cgroup-backend/processes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char proc[64];
static size_t looks; // that are left

static int set_up(void **state)
{
    (void)state;
    snprintf(proc, sizeof proc, "/tmp/cosched-proc-XXXXXX");
    looks = 1000;
    return mkdtemp(proc) != NULL ? 0 : -1;
}

static int clean_up(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", proc);
    return system(command);
}

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    for (char *slash = path + strlen(proc) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// As the kernel writes it: "PID (NAME) STATE PARENT ...", with the start time in field 22.
static void put_process(pid_t pid, const char *name, pid_t parent, unsigned start_time)
{
    char file[32], text[256];
    snprintf(file, sizeof file, "%d/stat", (int)pid);
    snprintf(text, sizeof text, "%d (%s) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0", (int)pid,
             name, (int)parent, start_time);
    put(file, text);
}

static void assert_descendants(pid_t pid, const char *expected, bool expected_exact)
{
    const struct process_id root = {pid, 100};
    struct process_list list = {0};
    char text[256] = "";
    bool exact;
    assert_int_equal(processes_descendants(proc, &root, 8, &looks, &list, &exact, NULL), 0);
    for (size_t i = 0; i < list.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", (int)list.list[i].pid);
    process_list_free(&list);
    assert_string_equal(text, expected);
    assert_int_equal(exact, expected_exact);
}

static void by_parents(void **state)
{
    (void)state;
    put_process(1, "init", 0, 100);
    put_process(10, "sh", 1, 100);
    put_process(11, "a) S 9 9", 10, 101); // a name that tries to lie
    put_process(5, "wrapped", 11, 102);   // its parent's number is higher
    put_process(4, "deeper", 5, 100);
    put_process(12, "other", 1, 101);
    put("13/stat", "garbage");
    put("uptime", "1 1");
    put("self/stat", "10 (sh) S 10 1 1 0");
    assert_descendants(10, "4 5 11 ", true);
    assert_descendants(4, "", true);
    assert_descendants(999, "", true);
    assert_descendants(1, "4 5 10 11 12 ", true);
}

static void by_children(void **state)
{
    (void)state;
    put("10/task/10/children", "11 12 ");
    put("10/task/15/children", "20 "); // of another thread
    put("11/task/11/children", "");
    put("12/task/12/children", "5 ");
    put("5/task/5/children", "");
    put_process(10, "sh", 1, 100);
    put_process(11, "a", 10, 101);
    put_process(12, "b", 10, 100);
    put_process(5, "c", 12, 102);
    assert_descendants(10, "5 11 12 ", false); // 20 has ended
    assert_descendants(12, "5 ", false);
}

// A number that is used again when it is looked at, be it the child's, the parent's or the root's.
static void numbers_used_again(void **state)
{
    (void)state;
    put("10/task/10/children", "11 12 ");
    put("11/task/11/children", "20 ");
    put("12/task/12/children", "");
    put_process(10, "sh", 1, 100);
    put_process(11, "a", 10, 101);
    put_process(12, "root's", 1, 300); // named by 10, and a child of 1
    put_process(20, "b", 11, 102);
    assert_descendants(10, "11 20 ", false);
    put_process(10, "root's", 1, 300);
    assert_descendants(10, "", true); // who is gone has none
    char path[128];
    snprintf(path, sizeof path, "%s/10/task/10/children", proc);
    assert_int_equal(unlink(path), 0);
    assert_descendants(10, "", true); // by parents
    put_process(10, "sh", 1, 100);
    assert_descendants(10, "11 20 ", true);
}

// Eight, of one parent or of several, are taken; nine are not, by either way of looking.
static void no_more_than_the_limit(void **state)
{
    (void)state;
    const struct process_id root = {10, 100};
    struct process_list list = {0};
    struct error err;
    bool exact;
    put_process(10, "sh", 1, 100);
    for (pid_t pid = 11; pid < 18; pid++)
        put_process(pid, "a", 10, 101);
    put_process(20, "b", 17, 102);
    put("10/task/10/children", "11 12 13 14 15 16 17 ");
    put("17/task/17/children", "20 ");
    assert_int_equal(processes_descendants(proc, &root, 8, &looks, &list, &exact, &err), 0);
    assert_int_equal(list.count, 8);
    assert_int_equal(processes_descendants(proc, &root, 7, &looks, &list, &exact, &err), -1);
    assert_int_equal(err.code, E2BIG);
    assert_int_equal(processes_descendants(proc, &root, 6, &looks, &list, &exact, &err), -1);
    assert_int_equal(err.code, E2BIG);
    char path[128];
    snprintf(path, sizeof path, "%s/10/task/10/children", proc);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(processes_descendants(proc, &root, 8, &looks, &list, &exact, &err), 0);
    assert_true(exact && list.count == 8);
    assert_int_equal(processes_descendants(proc, &root, 7, &looks, &list, &exact, &err), -1);
    assert_int_equal(err.code, E2BIG);
    process_list_free(&list);
}

// Threads without children are looked at, too.
static void no_more_looks_than_are_left(void **state)
{
    (void)state;
    enum { THREADS = 100 };
    const struct process_id root = {10, 100};
    struct process_list list = {0};
    struct error err;
    bool exact;
    put_process(10, "sh", 1, 100);
    put_process(11, "threads", 10, 101);
    put("10/task/10/children", "11 ");
    for (int i = 0; i < THREADS; i++) {
        char file[64];
        snprintf(file, sizeof file, "11/task/%d/children", 11 + i);
        put(file, "");
    }
    looks = THREADS + 2;
    assert_int_equal(processes_descendants(proc, &root, 8, &looks, &list, &exact, &err), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(looks, 0);
    for (looks = 1; looks <= THREADS; looks += THREADS - 1) {
        size_t left = looks;
        assert_int_equal(processes_descendants(proc, &root, 8, &left, &list, &exact, &err), -1);
        assert_int_equal(err.code, E2BIG);
    }
    process_list_free(&list);
}

// Where the kernel says nobody's children, each process is looked at.
static void a_search_of_all_processes_takes_looks(void **state)
{
    (void)state;
    enum { OTHERS = 100 };
    const struct process_id root = {10, 100};
    struct process_list list = {0};
    struct error err;
    bool exact;
    put_process(10, "sh", 1, 100);
    put_process(11, "child", 10, 101);
    for (int i = 0; i < OTHERS; i++)
        put_process(100 + i, "other", 1, 100);
    looks = OTHERS + 2;
    assert_int_equal(processes_descendants(proc, &root, 8, &looks, &list, &exact, &err), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(looks, 0);
    looks = OTHERS + 1;
    assert_int_equal(processes_descendants(proc, &root, 8, &looks, &list, &exact, &err), -1);
    assert_int_equal(err.code, E2BIG);
    process_list_free(&list);
}

// A client could have thousands of them, one search each.
static void nobody_is_searched_for_below_who_is_gone(void **state)
{
    (void)state;
    const struct process_id gone = {10, 100};
    struct process_list list = {0};
    struct error err;
    bool exact = false;
    for (int i = 0; i < 10; i++)
        put_process(100 + i, "other", 1, 100);
    looks = 3;
    assert_int_equal(processes_descendants(proc, &gone, 8, &looks, &list, &exact, &err), 0);
    assert_true(exact);
    assert_int_equal(looks, 2);
    put_process(10, "another", 1, 200); // has the number now
    assert_int_equal(processes_descendants(proc, &gone, 8, &looks, &list, &exact, &err), 0);
    assert_int_equal(looks, 1);
    assert_int_equal(list.count, 0);
    process_list_free(&list);
}

static void a_process_is_number_and_start(void **state)
{
    (void)state;
    const struct process_id one = {7, 100}, never = {8, 0};
    struct process_list list = {0};
    put_process(7, "a", 1, 100);
    put("9/stat", "9 (cut) S 1 1");
    assert_true(processes_is(proc, &one));
    assert_false(processes_is(proc, &never));
    assert_int_equal(processes_start_time(proc, 7), 100);
    assert_int_equal(processes_start_time(proc, 8), 0);
    assert_int_equal(processes_start_time(proc, 9), 0);
    put_process(7, "b", 1, 101);
    assert_false(processes_is(proc, &one));
    assert_int_equal(process_list_add(&list, &one, NULL), 0);
    process_list_sort(&list);
    assert_true(process_list_has(&list, 1, &one));
    assert_false(process_list_has(&list, 1, &(struct process_id){7, 101}));
    assert_false(process_list_has(&list, 0, &one));
    process_list_free(&list);
}

static void where_a_process_lives(void **state)
{
    (void)state;
    put("7/cgroup", "9:name=systemd:/s\n4:cpu,cpuacct:/jobs/a:b\n2:cpuset:/\n0::/v2/x\n");
    char *path = process_group_path(proc, 7, "cpuacct");
    assert_string_equal(path, "/jobs/a:b");
    free(path);
    path = process_group_path(proc, 7, "");
    assert_string_equal(path, "/v2/x");
    free(path);
    assert_null(process_group_path(proc, 7, "cp"));
    assert_null(process_group_path(proc, 7, "freezer"));
    assert_null(process_group_path(proc, 8, "cpu"));
}

static void members_of_groups(void **state)
{
    (void)state;
    struct pid_list list = {0};
    struct error err = {0};
    put("top/cgroup.procs", "12\n11\n");
    put("top/a/cgroup.procs", "");
    put("top/a/b/cgroup.procs", "13\n");
    assert_int_equal(processes_of_subtree(proc, &list, &err), 0); // is none
    char top[80];
    snprintf(top, sizeof top, "%s/top", proc);
    assert_int_equal(processes_of_subtree(top, &list, &err), 0);
    pid_list_sort(&list);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.pids[2], 13);
    // Who cannot be seen may be anybody.
    put("top/a/cgroup.procs", "0\n");
    assert_int_equal(processes_of_subtree(top, &list, &err), -1);
    assert_int_equal(err.code, EXDEV);
    // Nor who is where nobody looks.
    put("top/a/cgroup.procs", "");
    char deep[80] = "top", file[96];
    for (int i = 0; i < 17; i++) {
        strcat(deep, "/d");
        snprintf(file, sizeof file, "%s/cgroup.procs", deep);
        put(file, "14\n");
    }
    assert_int_equal(processes_of_subtree(top, &list, &err), -1);
    assert_int_equal(err.code, EXDEV);
    pid_list_free(&list);
}

// A job may have been given its group to make others below it, and classd looks at them all at
// every turn.
static void a_subtree_has_so_many_groups(void **state)
{
    (void)state;
    struct pid_list list = {0};
    struct error err = {0};
    char top[80], name[64];
    snprintf(top, sizeof top, "%s/top", proc);
    put("top/cgroup.procs", "11\n");
    for (int i = 1; i < 2048; i++) {
        snprintf(name, sizeof name, "top/%d/cgroup.procs", i);
        put(name, "12\n");
    }
    assert_int_equal(processes_of_subtree(top, &list, &err), 0);
    assert_int_equal(list.count, 2048);
    put("top/1/one-more/cgroup.procs", "13\n");
    assert_int_equal(processes_of_subtree(top, &list, &err), -1);
    assert_int_equal(err.code, EXDEV);
    pid_list_free(&list);
}

static void lines_up_to_the_top(void **state)
{
    (void)state;
    struct placement_process line[4];
    put("7/status", "Name:\tsh\\nPPid:\t1\nUmask:\t0022\nPPid:\t5\nUid:\t8\t9\t9\t9\n");
    put("5/status", "Name:\thydra_pmi_proxy\nPPid:\t0\nUid:\t0\t0\t0\t0\n");
    assert_int_equal(processes_line(proc, 7, line, 4), 2);
    assert_int_equal(line[0].parent, 5);
    assert_int_equal(line[0].uid, 8); // the real one
    assert_string_equal(line[1].name, "hydra_pmi_proxy");
    assert_int_equal(processes_line(proc, 7, line, 1), 1);
    assert_int_equal(processes_line(proc, 6, line, 4), 0);
    put("6/status", "Name:\tcut");
    assert_int_equal(processes_line(proc, 6, line, 4), 0);
}

static void lists(void **state)
{
    (void)state;
    struct pid_list list = {0};
    pid_list_sort(&list);
    assert_false(pid_list_has(&list, 1));
    for (pid_t pid = 300; pid > 0; pid--)
        assert_int_equal(pid_list_add(&list, pid % 100, NULL), 0);
    pid_list_sort(&list);
    assert_int_equal(list.count, 100);
    assert_true(pid_list_has(&list, 0) && pid_list_has(&list, 99));
    assert_false(pid_list_has(&list, 100));
    pid_list_free(&list);
}

static void words_and_numbers(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_true(text_has_word("cpuset cpu io\n", "cpu"));
    assert_true(text_has_word("cpu", "cpu"));
    assert_false(text_has_word("cpuset io", "cpu"));
    assert_false(text_has_word("", "cpu"));
    assert_int_equal(text_keyed_number("usage_usec_x 1\nusage_usec 42\n", "usage_usec", &value), 0);
    assert_int_equal(value, 42);
    assert_int_equal(text_keyed_number("user_usec 1\n", "usage_usec", &value), -1);
    assert_int_equal(text_keyed_number("usage_usec x\n", "usage_usec", &value), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_parents, set_up, clean_up),
        cmocka_unit_test_setup_teardown(by_children, set_up, clean_up),
        cmocka_unit_test_setup_teardown(numbers_used_again, set_up, clean_up),
        cmocka_unit_test_setup_teardown(no_more_than_the_limit, set_up, clean_up),
        cmocka_unit_test_setup_teardown(no_more_looks_than_are_left, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_search_of_all_processes_takes_looks, set_up, clean_up),
        cmocka_unit_test_setup_teardown(nobody_is_searched_for_below_who_is_gone, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_process_is_number_and_start, set_up, clean_up),
        cmocka_unit_test_setup_teardown(where_a_process_lives, set_up, clean_up),
        cmocka_unit_test_setup_teardown(members_of_groups, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_subtree_has_so_many_groups, set_up, clean_up),
        cmocka_unit_test_setup_teardown(lines_up_to_the_top, set_up, clean_up),
        cmocka_unit_test(lists),
        cmocka_unit_test(words_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
