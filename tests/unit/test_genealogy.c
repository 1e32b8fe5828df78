// Protects the genealogy: who descends from whom, in a snapshot of a class's processes.
#include "cgroup-backend/genealogy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct genealogy genealogy;

// A process, its parent and when it started; group and session of its own parent's unless told.
static void add(pid_t pid, pid_t parent, uint64_t start_time, pid_t group, pid_t session)
{
    struct genealogy_process process = {
        .pid = pid, .parent = parent, .start_time = start_time, .group = group, .session = session};
    assert_int_equal(genealogy_add(&genealogy, &process, NULL), 0);
}

static int clear(void **state)
{
    (void)state;
    genealogy_free(&genealogy);
    return 0;
}

static const struct genealogy_process *find(pid_t pid)
{
    for (size_t i = 0; i < genealogy.count; i++)
        if (genealogy.list[i].pid == pid)
            return &genealogy.list[i];
    return NULL;
}

// The number of levels.
static unsigned find_levels(void)
{
    unsigned levels = 0;
    assert_int_equal(genealogy_find_levels(&genealogy, NULL), 0);
    for (size_t first = 0; first < genealogy.count; first = genealogy_level_end(&genealogy, first))
        assert_int_equal(genealogy.list[genealogy.order[first]].depth, levels++);
    return levels;
}

static void assert_above(pid_t pid, pid_t parent, unsigned depth)
{
    const struct genealogy_process *process = find(pid);
    assert_non_null(process);
    assert_int_equal(process->depth, depth);
    if (parent == 0)
        assert_true(process->above == GENEALOGY_NONE);
    else
        assert_int_equal(genealogy.list[process->above].pid, parent);
}

static void test_a_forest(void **state)
{
    (void)state;
    // Numbers have wrapped around: children have lower ones than their parents.
    add(900, 1, 10, 900, 900);
    add(20, 900, 11, 900, 900);
    add(30, 20, 12, 900, 900);
    add(950, 1, 13, 950, 950);
    add(40, 950, 14, 950, 950);
    assert_int_equal(find_levels(), 3);
    assert_above(900, 0, 0);
    assert_above(20, 900, 1);
    assert_above(30, 20, 2);
    assert_above(950, 0, 0);
    assert_above(40, 950, 1);
}

static void test_an_empty_list(void **state)
{
    (void)state;
    assert_int_equal(find_levels(), 0);
    genealogy_keep_subtree(&genealogy, 5, 1, NULL);
    assert_int_equal(genealogy.count, 0);
}

// The parent of 30 has ended, and its number was used again.
static void test_a_number_that_is_used_again_is_no_parent(void **state)
{
    (void)state;
    add(20, 1, 50, 20, 20);
    add(30, 20, 12, 7, 7);
    assert_int_equal(find_levels(), 1);
    assert_above(30, 0, 0);
    genealogy_keep_subtree(&genealogy, 20, 50, NULL);
    assert_int_equal(genealogy.count, 1);
}

static void test_a_circle_ends(void **state)
{
    (void)state;
    add(20, 30, 5, 20, 20);
    add(30, 20, 5, 20, 20);
    add(40, 30, 6, 20, 20);
    assert_int_equal(find_levels(), 2);
    genealogy_keep_subtree(&genealogy, 20, 5, NULL);
    assert_int_equal(genealogy.count, 3);
}

// Each of 200,000 is the child of the one before it: what is quadratic would take minutes.
static void test_a_long_line(void **state)
{
    (void)state;
    enum { LENGTH = 200000, CUT = 7 };
    for (pid_t pid = LENGTH; pid > 0; pid--) // children have lower numbers
        add(pid, pid + 1, (uint64_t)(LENGTH - pid), 1000000, 1000000);
    assert_int_equal(find_levels(), LENGTH);
    for (pid_t pid = 1; pid <= LENGTH; pid++) {
        const struct genealogy_process *process =
            genealogy_find(&genealogy, pid, (uint64_t)(LENGTH - pid));
        assert_non_null(process);
        assert_int_equal(process->depth, LENGTH - pid);
    }
    genealogy_keep_subtree(&genealogy, LENGTH - CUT, CUT, NULL);
    assert_int_equal(genealogy.count, LENGTH - CUT);
}

static void test_found_in_any_order(void **state)
{
    (void)state;
    add(30, 1, 5, 30, 30);
    add(20, 1, 5, 20, 20);
    add(30, 1, 4, 30, 30); // the number's process before
    for (int sorted = 0; sorted < 2; sorted++) {
        assert_int_equal(genealogy_find(&genealogy, 20, 5)->pid, 20);
        assert_int_equal(genealogy_find(&genealogy, 30, 4)->start_time, 4);
        assert_int_equal(genealogy_find(&genealogy, 30, 5)->start_time, 5);
        assert_null(genealogy_find(&genealogy, 20, 4));
        genealogy_sort(&genealogy);
    }
}

static void test_a_subtree(void **state)
{
    (void)state;
    add(10, 1, 1, 10, 10);
    add(11, 10, 2, 10, 10);
    add(12, 11, 3, 10, 10);
    add(13, 10, 4, 10, 10);
    genealogy_keep_subtree(&genealogy, 11, 2, NULL);
    assert_int_equal(genealogy.count, 2);
    assert_non_null(find(11));
    assert_non_null(find(12));
}

static void test_a_root_of_another_time_is_not_it(void **state)
{
    (void)state;
    add(10, 1, 7, 10, 10);
    genealogy_keep_subtree(&genealogy, 10, 6, NULL);
    assert_int_equal(genealogy.count, 0);
}

// 12's parent has ended. It is in the process group that 11 leads; 13 in the session; 14 in
// neither.
static void test_orphans_are_known_by_their_leaders(void **state)
{
    (void)state;
    add(10, 1, 1, 10, 10);
    add(11, 10, 2, 11, 11);
    add(12, 1, 3, 11, 11);
    add(13, 1, 4, 13, 11);
    add(14, 1, 5, 14, 14);
    add(15, 12, 6, 15, 15);
    genealogy_keep_subtree(&genealogy, 11, 2, NULL);
    assert_int_equal(genealogy.count, 4);
    assert_null(find(10));
    assert_null(find(14));
    assert_non_null(find(15));
}

// Whoever has a parent in the class is its child, whatever group it has joined.
static void test_a_parent_outweighs_a_leader(void **state)
{
    (void)state;
    add(10, 1, 1, 10, 10);
    add(11, 10, 2, 11, 10);
    add(12, 10, 3, 11, 10);
    genealogy_keep_subtree(&genealogy, 11, 2, NULL);
    assert_int_equal(genealogy.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_forest, clear),
        cmocka_unit_test_teardown(test_an_empty_list, clear),
        cmocka_unit_test_teardown(test_a_number_that_is_used_again_is_no_parent, clear),
        cmocka_unit_test_teardown(test_a_circle_ends, clear),
        cmocka_unit_test_teardown(test_a_long_line, clear),
        cmocka_unit_test_teardown(test_found_in_any_order, clear),
        cmocka_unit_test_teardown(test_a_subtree, clear),
        cmocka_unit_test_teardown(test_a_root_of_another_time_is_not_it, clear),
        cmocka_unit_test_teardown(test_orphans_are_known_by_their_leaders, clear),
        cmocka_unit_test_teardown(test_a_parent_outweighs_a_leader, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
