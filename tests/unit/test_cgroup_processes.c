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

static int set_up(void **state)
{
    (void)state;
    snprintf(proc, sizeof proc, "/tmp/cosched-proc-XXXXXX");
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

static void assert_descendants(pid_t pid, const char *expected, bool expected_exact)
{
    struct pid_list list = {0};
    char text[256] = "";
    bool exact;
    assert_int_equal(processes_descendants(proc, pid, &list, &exact, NULL), 0);
    for (size_t i = 0; i < list.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", (int)list.pids[i]);
    pid_list_free(&list);
    assert_string_equal(text, expected);
    assert_int_equal(exact, expected_exact);
}

static void by_parents(void **state)
{
    (void)state;
    put("1/stat", "1 (init) S 0 1 1 0");
    put("10/stat", "10 (sh) S 1 1 1 0");
    put("11/stat", "11 (a) S 9 9) R 10 1 1 0"); // a name that tries to lie
    put("5/stat", "5 (wrapped) R 11 1 1 0");    // its parent's number is higher
    put("4/stat", "4 (deeper) R 5 1 1 0");
    put("12/stat", "12 (other) S 1 1 1 0");
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
    assert_descendants(10, "5 11 12 20 ", false); // 20 has ended
    assert_descendants(12, "5 ", false);
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
        cmocka_unit_test_setup_teardown(where_a_process_lives, set_up, clean_up),
        cmocka_unit_test_setup_teardown(members_of_groups, set_up, clean_up),
        cmocka_unit_test_setup_teardown(lines_up_to_the_top, set_up, clean_up),
        cmocka_unit_test(lists),
        cmocka_unit_test(words_and_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
