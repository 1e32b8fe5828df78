// The CPU limits of containers and services, in trees of files made by hand.
#include "pmpi/variant/cpu_limit.h"

#include "common/limit_record.h"

#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct tree {
    char root[64];
    char membership[PATH_MAX];
};

static int make_tree(void **state)
{
    struct tree *tree = calloc(1, sizeof *tree);
    strcpy(tree->root, "/tmp/cosched-test-XXXXXX");
    if (mkdtemp(tree->root) == NULL)
        return -1;
    snprintf(tree->membership, sizeof tree->membership, "%s/membership", tree->root);
    *state = tree;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_tree(void **state)
{
    struct tree *tree = *state;
    int rc = nftw(tree->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(tree);
    return rc;
}

// Makes the file and the directories on its way.
static void put(const struct tree *tree, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", tree->root, name);
    for (char *at = path + strlen(tree->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool find(const struct tree *tree, struct cpu_limit *limit)
{
    return cpu_limit_find(tree->membership, tree->root, tree->root, limit);
}

static uint32_t cpus(const struct tree *tree)
{
    struct cpu_limit limit;
    return find(tree, &limit) ? limit.cpus : 0;
}

// What classd notes down of the group, before it first limits it.
static void record(const struct tree *tree, const char *name, const char *group, struct limit own,
                   struct limit set)
{
    char path[PATH_MAX], text[LIMIT_RECORD_TEXT_MAX];
    struct stat status;
    struct limit_record record = {.group = "/a", .own = own, .set = {own, set}};
    snprintf(path, sizeof path, "%s/%s", tree->root, group);
    assert_int_equal(stat(path, &status), 0);
    record.inode = (uint64_t)status.st_ino;
    limit_record_format(text, &record);
    put(tree, name, text);
}

static void no_limit_is_none(void **state)
{
    const struct tree *tree = *state;
    assert_int_equal(cpus(tree), 0); // not even the membership can be read
    put(tree, "membership", "0::/a\n");
    assert_int_equal(cpus(tree), 0);
    put(tree, "a/cpu.max", "max 100000\n");
    assert_int_equal(cpus(tree), 0);
}

static void the_tightest_on_the_way_up_counts(void **state)
{
    const struct tree *tree = *state;
    put(tree, "membership", "0::/a/b/c\n");
    put(tree, "a/b/c/cpu.max", "800000 100000\n");
    put(tree, "a/b/cpu.max", "max 100000\n");
    put(tree, "a/cpu.max", "200000 100000\n");
    assert_int_equal(cpus(tree), 2);
    put(tree, "a/b/c/cpu.max", "100000 100000\n");
    assert_int_equal(cpus(tree), 1);
}

static void parts_of_a_cpu_are_rounded_up(void **state)
{
    const struct tree *tree = *state;
    put(tree, "membership", "0::/a\n");
    put(tree, "a/cpu.max", "150000 100000\n");
    assert_int_equal(cpus(tree), 2);
    put(tree, "a/cpu.max", "50000 100000\n");
    assert_int_equal(cpus(tree), 1);
}

static void the_share_of_an_idle_class_is_no_number_of_cpus(void **state)
{
    const struct tree *tree = *state;
    put(tree, "membership", "0::/cosched/job-1-x\n");
    put(tree, "cosched/job-1-x/cpu.max", "128000 100000\n");
    assert_int_equal(cpus(tree), 0);
    put(tree, "membership", "0::/slurm/job_1\n");
    put(tree, "slurm/job_1/cpu.max", "2000 100000\n");
    assert_int_equal(cpus(tree), 0);
}

#define PERIOD_US 100000

static void a_limit_that_classd_has_set_is_not_the_groups_own(void **state)
{
    const struct tree *tree = *state;
    struct limit none = {LIMIT_NONE, PERIOD_US}, held = {320000, PERIOD_US};
    put(tree, "membership", "0::/user.slice/session\n");
    put(tree, "user.slice/cpu.max", "320000 100000\n"); // 5 % of 64 CPUs
    put(tree, "other/cpu.max", "320000 100000\n");
    record(tree, "placed/other", "other", none, held);
    assert_int_equal(cpus(tree), 4);
    record(tree, "placed/sequential", "user.slice", none, held);
    assert_int_equal(cpus(tree), 0);
}

static void the_groups_own_limit_stands_behind_it(void **state)
{
    const struct tree *tree = *state;
    put(tree, "membership", "0::/container\n");
    put(tree, "container/cpu.max", "64000 100000\n"); // 1 % of 64 CPUs
    record(tree, "placed/job-1-x", "container", (struct limit){200000, PERIOD_US},
           (struct limit){64000, PERIOD_US});
    assert_int_equal(cpus(tree), 2);
    put(tree, "container/cpu.max", "256000 400000\n"); // by the kernel, as its timer was late
    assert_int_equal(cpus(tree), 2);
    put(tree, "container/cpu.max", "700000 100000\n"); // which the admin has set meanwhile
    assert_int_equal(cpus(tree), 7);
    put(tree, "placed/job-1-x", "rubbish\n");
    assert_int_equal(cpus(tree), 7);
}

// A container's root is the mount point, whatever the path says.
static void a_container_sees_its_limit_at_the_mount_point(void **state)
{
    const struct tree *tree = *state;
    put(tree, "membership", "0::/\n");
    put(tree, "cpu.max", "200000 100000\n");
    assert_int_equal(cpus(tree), 2);
    put(tree, "membership", "0::/docker/0123\n");
    assert_int_equal(cpus(tree), 2);
}

static void v1_has_two_files(void **state)
{
    const struct tree *tree = *state;
    put(tree, "membership", "3:memory:/m\n2:cpu,cpuacct:/a/b\n1:cpuset:/s\n0::/\n");
    put(tree, "cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    put(tree, "cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    put(tree, "cpuset/s/cpu.cfs_quota_us", "100000\n");
    put(tree, "cpuset/s/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpus(tree), 0);
    put(tree, "cpu,cpuacct/a/cpu.cfs_quota_us", "30000\n");
    put(tree, "cpu,cpuacct/a/cpu.cfs_period_us", "10000\n");
    assert_int_equal(cpus(tree), 3);
}

static void groups_are_told_apart(void **state)
{
    const struct tree *tree = *state;
    struct cpu_limit one, other, again;
    put(tree, "a/cpu.max", "200000 100000\n");
    put(tree, "b/cpu.max", "200000 100000\n");
    put(tree, "membership", "0::/a\n");
    assert_true(find(tree, &one));
    put(tree, "membership", "0::/b\n");
    assert_true(find(tree, &other));
    put(tree, "membership", "0::/a/below\n");
    assert_true(find(tree, &again));
    assert_true(one.group != other.group);
    assert_true(one.group == again.group);
}

static void rubbish_is_no_limit(void **state)
{
    const struct tree *tree = *state;
    static const char *const lines[] = {
        "", "\n", ":", "0:", "0::", "0::a", "cpu:cpu", "1:cpux:/a", "1::/a"};
    static const char *const limits[] = {
        "", "200000", "200000 0\n", "-1 100000\n", "x y\n", "99999999999999999999 1\n"};
    put(tree, "a/cpu.max", "200000 100000\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        put(tree, "membership", lines[i]);
        assert_int_equal(cpus(tree), 0);
    }
    put(tree, "membership", "0::/a\n");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        put(tree, "a/cpu.max", limits[i]);
        assert_int_equal(cpus(tree), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_limit_is_none, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(the_tightest_on_the_way_up_counts, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(parts_of_a_cpu_are_rounded_up, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(the_share_of_an_idle_class_is_no_number_of_cpus, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(a_limit_that_classd_has_set_is_not_the_groups_own,
                                        make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(the_groups_own_limit_stands_behind_it, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(a_container_sees_its_limit_at_the_mount_point, make_tree,
                                        remove_tree),
        cmocka_unit_test_setup_teardown(v1_has_two_files, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(groups_are_told_apart, make_tree, remove_tree),
        cmocka_unit_test_setup_teardown(rubbish_is_no_limit, make_tree, remove_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
