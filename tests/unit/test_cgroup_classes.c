// Protects how classes come and go, on real cgroups: below any root that can be, listed and lifted,
// adopted by the next daemon, and removed with their members back where they came from.
#include "cgroup-backend/ops.h"
#include "tests/unit/real_cgroups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The limit of an origin's group is not this class's business: members return where they came from.
static void remove_restores_the_origin(void **state)
{
    (void)state;
    char from[128], path[512];
    make_origin(from, sizeof from, mount_count);
    pid_t pid = start(wait_forever, NULL), other = start(wait_forever, NULL);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, pid);
    class_t *a = open_class("a");
    assert_ok(class_place(a, pid, &err));
    assert_ok(class_place(a, other, &err)); // returns to the first one's origin
    assert_ok(class_place(a, pid, &err));   // again: the origin is not the class
    assert_false(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_ok(class_freeze(a, &err)); // must not stay frozen
    assert_ok(class_remove(a, &err));
    for (unsigned i = 0; i < mount_count; i++) {
        assert_true(is_in(mounts[i], from, pid, "cgroup.procs"));
        assert_true(is_in(mounts[i], from, other, "cgroup.procs"));
        snprintf(path, sizeof path, "%s/%s/a", mounts[i], root);
        assert_int_equal(access(path, F_OK), -1);
    }
}

// Somebody else is served in between; nobody is limited meanwhile.
static void a_class_is_removed_in_steps(void **state)
{
    enum { MEMBERS = 5, LIMIT = 2 };
    (void)state;
    class_t *a = open_class("a");
    for (int i = 0; i < MEMBERS; i++)
        assert_ok(class_place(a, start(wait_forever, NULL), &err));
    assert_ok(class_set_share(a, 10000, &err));
    for (int left = MEMBERS - LIMIT; left > 0; left -= LIMIT) {
        assert_int_equal(class_remove_step(a, LIMIT, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        assert_int_equal(members_of(a), left);
        assert_int_equal(quota_of("a"), -1);
    }
    assert_ok(class_remove_step(a, LIMIT, &err));
    class_close(open_class("a")); // made anew
    assert_ok(class_remove(open_class("a"), &err));
}

// By the first hierarchy's group the next daemon knows of the others.
static void v1_the_group_by_which_a_class_is_known_goes_last(void **state)
{
    (void)state;
    char path[512], class_[128];
    class_t *a = open_class("a");
    const char *last = mounts[mount_count - 1];
    pid_t pid = start(wait_forever, NULL);
    snprintf(class_, sizeof class_, "%s/a", root);
    enter(last, class_, pid);
    for (int step = 0; step < 2; step++) {
        assert_int_equal(class_remove_step(a, 0, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        snprintf(path, sizeof path, "%s/%s", mounts[0], class_);
        assert_int_equal(access(path, F_OK), 0);
    }
    class_close(a);
    assert_ok(class_remove(open_class("a"), &err));
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/%s", last, class_);
    assert_int_equal(access(path, F_OK), -1);
}

static void a_vanished_origin_gives_the_top(void **state)
{
    (void)state;
    char from[128], path[512];
    make_origin(from, sizeof from, 1);
    pid_t pid = start(wait_forever, NULL);
    enter(mounts[0], from, pid);
    class_t *a = open_class("a");
    assert_ok(class_place(a, pid, &err));
    snprintf(path, sizeof path, "%s/%s", mounts[0], from);
    assert_int_equal(rmdir(path), 0);
    assert_ok(class_expel(a, pid, &err));
    assert_true(is_in(mounts[0], "", pid, "cgroup.procs"));
    assert_ok(class_remove(a, &err));
}

static void adoption_keeps_limit_and_members(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    assert_ok(class_place(a, pid, &err));
    assert_ok(class_set_share(a, 20000, &err));
    class_close(a);
    // Another daemon, with another period: the measure as soon as it sets a share.
    backend_close(backend);
    struct backend_settings settings = {version->kind, root, 2, 50 * NS_PER_MS, NULL, false, false};
    assert_ok(backend_open(&settings, &backend, &err));
    a = open_class("a");
    assert_int_equal(quota_of("a"), 4000);
    assert_int_equal(members_of(a), 1);
    assert_ok(class_set_share(a, 30000, &err));
    struct limit limit = limit_of("a");
    assert_int_equal(limit.period_us, 50000);
    assert_int_equal(limit.quota_us, 3000);
    assert_ok(class_place(a, pid, &err)); // registers again: its origin is not the class itself
    assert_ok(class_remove(a, &err));
    assert_true(is_in(mounts[0], "", pid, "cgroup.procs"));
}

static int collect(const char *name, void *user)
{
    strcat(user, name);
    return 0;
}

static int stop_at_once(const char *name, void *user)
{
    (void)name;
    ++*(int *)user;
    return 1;
}

static void all_are_listed_and_lifted(void **state)
{
    (void)state;
    class_t *a = open_class("a"), *b = open_class("b");
    pid_t pid = start(burn, NULL);
    char names[64] = "";
    int calls = 0;
    unsigned lifted = 0;
    assert_ok(backend_each_class(backend, collect, names, &err));
    assert_true(strcmp(names, "ab") == 0 || strcmp(names, "ba") == 0);
    assert_ok(backend_each_class(backend, stop_at_once, &calls, &err));
    assert_int_equal(calls, 1);
    assert_ok(class_place(a, pid, &err));
    assert_ok(class_set_share(a, 5000, &err));
    assert_ok(class_set_share(b, 5000, &err));
    assert_ok(class_freeze(a, &err));
    class_close(a);
    class_close(b);
    assert_ok(backend_release_all(backend, &lifted, &err));
    assert_int_equal(lifted, 2);
    assert_int_equal(quota_of("a"), -1);
    assert_int_equal(quota_of("b"), -1);
    a = open_class("a");
    assert_true(share_of_one_cpu(a, 200) > 0.05); // thawed
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
    assert_ok(class_remove(open_class("b"), &err));
}

static void assert_weights(long long weight)
{
    assert_int_equal(number_in("", version->weight), weight);
    assert_int_equal(number_in("a", version->weight), weight);
}

// With nobody who has jobs take turns they are no more than what is beside their root.
static void who_releases_takes_the_weights_back(void **state)
{
    (void)state;
    const long long both = version->weight_of_two_cpus;
    struct backend_settings settings = {version->kind, root,  2,    100 * NS_PER_MS,
                                        NULL,          false, false};
    class_t *a = open_class("a");
    assert_weights(both);
    assert_ok(backend_release_all(backend, NULL, &err));
    assert_weights(both / 2);
    backend_weigh_all(backend); // the daemon wakes up
    assert_weights(both);
    class_close(a);
    assert_ok(backend_release_all(backend, NULL, &err));
    backend_close(backend);
    assert_ok(backend_open(&settings, &backend, &err)); // or there is another one
    a = open_class("a");
    assert_weights(both);
    assert_ok(class_remove(a, &err));
}

// Nothing but classes keeps it from being removed.
static void a_root_that_is_gone_is_made_again(void **state)
{
    (void)state;
    char path[512];
    for (unsigned i = 0; i < mount_count; i++) {
        snprintf(path, sizeof path, "%s/%s", mounts[i], root);
        assert_int_equal(rmdir(path), 0);
    }
    class_t *a = open_class("a");
    assert_weights(version->weight_of_two_cpus);
    assert_ok(class_place(a, start(wait_forever, NULL), &err));
    assert_ok(class_set_share(a, 5000, &err));
    assert_ok(class_remove(a, &err));
}

static void what_is_gone_can_be_removed(void **state)
{
    (void)state;
    class_t *a = open_class("a"), *again = open_class("a");
    assert_ok(class_remove(a, &err));
    assert_ok(class_remove(again, &err));
}

static void what_stays_behind_is_not_limited(void **state)
{
    (void)state;
    char path[512];
    class_t *a = open_class("a");
    snprintf(path, sizeof path, "%s/%s/a/busy", mounts[0], root);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_ok(class_set_share(a, 10000, &err));
    assert_int_equal(class_remove(a, &err), -1);
    assert_int_equal(quota_of("a"), -1);
    assert_int_equal(rmdir(path), 0);
    assert_ok(class_remove(open_class("a"), &err));
}

static void check_nested_root(const char *nested)
{
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    assert_ok(class_place(a, pid, &err));
    char path[128];
    snprintf(path, sizeof path, "%s/a", nested);
    for (unsigned i = 0; i < mount_count; i++)
        assert_true(is_in(mounts[i], path, pid, "cgroup.procs"));
    assert_ok(class_set_share(a, 5000, &err));
    assert_ok(class_remove(a, &err));
}

static void a_nested_root(void **state)
{
    (void)state;
    char nested[96];
    snprintf(nested, sizeof nested, "%s/lab/node0", root);
    struct backend_settings settings = {version->kind, nested, 2,    100 * NS_PER_MS,
                                        NULL,          false,  false};
    for (int there = 0; there < 2; there++) {
        backend_close(backend);
        assert_ok(backend_open(&settings, &backend, &err));
        check_nested_root(nested);
    }
}

static void bad_names_and_settings(void **state)
{
    (void)state;
    const char *const names[] = {"", ".", "..", ".a", "a/b", "a b", "a\n", "\xc3\xa9"};
    char longest[BACKEND_NAME_MAX + 1];
    class_t *class_ = NULL;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(class_open(backend, names[i], &class_, &err), -1);
        assert_int_equal(err.code, EINVAL);
    }
    memset(longest, 'x', sizeof longest);
    longest[BACKEND_NAME_MAX] = '\0';
    assert_int_equal(class_open(backend, longest, &class_, NULL), -1);
    longest[BACKEND_NAME_MAX - 1] = '\0';
    assert_ok(class_remove(open_class(longest), &err));

    const struct backend_settings bad[] = {
        {"v3", root, 2, 100 * NS_PER_MS, NULL, false, false},
        {version == &v1 ? "v2" : "v1", root, 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, "", 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, "/x", 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, "a/../../b", 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, "a//b", 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, "a/", 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, "cosched-test-none.slice", 2, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, root, 0, 100 * NS_PER_MS, NULL, false, false},
        {version->kind, root, 2, 999999, NULL, false, false},
        {version->kind, root, 2, NS_PER_SEC + 1, NULL, false, false},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        backend_t *none = NULL;
        assert_int_equal(backend_open(&bad[i], &none, &err), -1);
        assert_int_not_equal(err.code, 0);
    }
}

// libcgroup left out: mkdir and rmdir do the same.
static void v1_by_hand(void **state)
{
    (void)state;
    char nested[96];
    snprintf(nested, sizeof nested, "%s/lab/node0", root);
    struct v1_mounts by_hand = {found.cpu, found.cpuacct, found.freezer, false};
    struct backend_settings settings = {"v1", nested, 2, 100 * NS_PER_MS, NULL, false, false};
    backend_close(backend);
    assert_ok(v1_open(&by_hand, &settings, &backend, &err));
    check_nested_root(nested);
}

static void put(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// Mounted together with cpuset, as plain files: where new groups have no CPUs.
static void v1_where_nobody_could_be_placed(void **state)
{
    (void)state;
    char mount[] = "/tmp/cosched-v1-XXXXXX", path[256];
    assert_non_null(mkdtemp(mount));
    struct v1_mounts one = {mount, mount, NULL, false};
    struct backend_settings settings = {"v1", "r", 2, 100 * NS_PER_MS, NULL, false, false};
    put(mount, "cpuset.cpus", "0-1\n");
    put(mount, "cgroup.clone_children", "0\n");
    backend_close(backend);
    assert_int_equal(v1_open(&one, &settings, &backend, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_non_null(strstr(err.text, "cgroup.clone_children"));
    put(mount, "cgroup.clone_children", "1\n");
    assert_ok(v1_open(&one, &settings, &backend, &err));
    snprintf(path, sizeof path, "%s/r", mount);
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "rm -r %s", mount);
    assert_int_equal(system(path), 0);
}

static void v1_with_one_hierarchy_for_both(void **state)
{
    (void)state;
    // cpu and cpuacct mounted together, as plain files: one directory, one line per process.
    char mount[] = "/tmp/cosched-v1-XXXXXX", path[256];
    assert_non_null(mkdtemp(mount));
    const char *const files[] = {"cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage",
                                 "cgroup.procs"};
    snprintf(path, sizeof path, "%s/r", mount);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/r/a", mount);
    mkdir(path, 0755);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/r/a/%s", mount, files[i]);
        FILE *file = fopen(path, "we");
        fputs(i == 3 ? "" : "100000\n", file);
        fclose(file);
    }
    struct v1_mounts one = {mount, mount, NULL, false};
    struct backend_settings settings = {"v1", "r", 2, 100 * NS_PER_MS, NULL, false, false};
    backend_close(backend);
    assert_ok(v1_open(&one, &settings, &backend, &err));
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL);
    assert_ok(class_place(a, pid, &err));
    assert_int_equal(usage_of(a), 100000);
    snprintf(path, sizeof path, "%s/r/a/cgroup.procs", mount);
    FILE *file = fopen(path, "re");
    int number, lines = 0;
    while (fscanf(file, "%d", &number) == 1)
        lines++;
    fclose(file);
    class_close(a);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/r/a/%s", mount, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/r/a", mount);
    rmdir(path);
    snprintf(path, sizeof path, "%s/r", mount);
    rmdir(path);
    rmdir(mount);
    assert_int_equal(lines, 1);
}

static void v2_root_passes_cpu_on(void **state)
{
    (void)state;
    char text[256];
    read_text("", "cgroup.subtree_control", text, sizeof text);
    assert_string_equal(text, "cpu\n");
}

static void v2_a_root_that_has_lost_cpu_passes_it_on_again(void **state)
{
    (void)state;
    write_text("", "cgroup.subtree_control", "-cpu");
    class_t *a = open_class("a");
    assert_ok(class_set_share(a, 5000, &err));
    assert_ok(class_remove(a, &err));
    v2_root_passes_cpu_on(state);
}

// The kernel lets a group with processes pass on cpu, and then takes nobody into the groups below.
static void v2_a_root_with_processes_is_refused(void **state)
{
    (void)state;
    char from[128], below[160];
    make_origin(from, sizeof from, 1);
    snprintf(below, sizeof below, "%s/jobs", from);
    enter(mounts[0], from, start(wait_forever, NULL));
    const char *const roots[] = {from, below};
    for (unsigned i = 0; i < 2; i++) {
        struct backend_settings settings = {"v2", roots[i], 2, 100 * NS_PER_MS, NULL, false, false};
        backend_t *none = NULL;
        assert_int_equal(backend_open(&settings, &none, &err), -1);
        assert_int_equal(err.code, EBUSY);
        assert_non_null(strstr(err.text, from));
        assert_non_null(strstr(err.text, "processes of its own"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(remove_restores_the_origin),
        real(a_class_is_removed_in_steps),
        real(a_vanished_origin_gives_the_top),
        real(adoption_keeps_limit_and_members),
        real(all_are_listed_and_lifted),
        real(what_is_gone_can_be_removed),
        real(what_stays_behind_is_not_limited),
        real(a_nested_root),
        real(bad_names_and_settings),
        real(who_releases_takes_the_weights_back),
        real(a_root_that_is_gone_is_made_again),
    };
    const struct CMUnitTest v1_tests[] = {
        real(v1_by_hand),
        real(v1_the_group_by_which_a_class_is_known_goes_last),
        real(v1_with_one_hierarchy_for_both),
        real(v1_where_nobody_could_be_placed),
    };
    const struct CMUnitTest v2_tests[] = {
        real(v2_root_passes_cpu_on),
        real(v2_a_root_that_has_lost_cpu_passes_it_on_again),
        real(v2_a_root_with_processes_is_refused),
    };
    if (!find_cgroups())
        return SKIPPED;
    int failed = cmocka_run_group_tests_name(version->kind, tests, NULL, NULL);
    failed += version == &v1 ? cmocka_run_group_tests_name("v1 only", v1_tests, NULL, NULL)
                             : cmocka_run_group_tests_name("v2 only", v2_tests, NULL, NULL);
    discovery_free(&found);
    return failed;
}
