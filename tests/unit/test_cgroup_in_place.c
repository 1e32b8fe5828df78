// Protects groups that are limited in place, on real cgroups, a job's own or one that is named: the
// limit is theirs again whatever became of the daemon, and some may not be limited at all.
#include "cgroup-backend/processes.h"
#include "cgroup-backend/suspension.h"
#include "tests/unit/real_cgroups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_as_somebody_else(void *user)
{
    if (setuid(99) == 0)
        wait_forever(user);
}

static char records[32];

static void open_with_records(void)
{
    struct backend_settings settings = {version->kind, root,  2,    100 * NS_PER_MS,
                                        records,       false, false};
    backend_close(backend);
    assert_ok(backend_open(&settings, &backend, &err));
}

// The group that the process came from, as the name of a class.
static const char *origin(void)
{
    static char name[128];
    snprintf(name, sizeof name, "../%s-from", root);
    return name;
}

static struct limit limit_from(void)
{
    return limit_of(origin());
}

static void own_limit_from(int quota_us)
{
    char text[32];
    snprintf(text, sizeof text, version == &v1 ? "%d" : "%d 100000", quota_us);
    write_text(origin(), version == &v1 ? "cpu.cfs_quota_us" : "cpu.max", text);
}

// A process in a group of its own, and the backend of a daemon with a runtime directory.
static pid_t live_elsewhere(char from[128])
{
    strcpy(records, "/tmp/cosched-test-XXXXXX");
    assert_non_null(mkdtemp(records));
    open_with_records();
    make_origin(from, 128, mount_count);
    pid_t pid = start(wait_forever, NULL);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, pid);
    return pid;
}

// The class "a", limited to 2000 where the group's own limit is 50000.
static class_t *limited_in_place(const struct class_home *home)
{
    class_t *a = NULL;
    own_limit_from(50000);
    assert_ok(class_open_in_place(backend, "a", home, &a, &err));
    assert_ok(class_set_share(a, 10000, &err));
    return a;
}

// As after a crash: whoever lifts all limits finds the group's own, and another daemon the class.
static class_t *find_after_a_crash(class_t *lost, const char *name, int own_quota_us)
{
    unsigned lifted = 0;
    class_close(lost);
    open_with_records();
    assert_ok(backend_release_all(backend, &lifted, &err));
    assert_int_equal(lifted, 1);
    assert_int_equal(limit_from().quota_us, own_quota_us);
    class_t *found_again = open_class(name);
    assert_true(class_is_in_place(found_again));
    return found_again;
}

static void a_group_is_limited_in_place_and_given_back(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    class_t *a = NULL;
    own_limit_from(50000);
    assert_ok(class_open_in_place(backend, "a", &home, &a, &err));
    assert_true(class_is_in_place(a));
    assert_ok(class_place(a, pid, &err));
    assert_true(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_int_equal(members_of(a), 1);
    assert_ok(class_set_share(a, 900000, &err)); // more than the own limit
    assert_int_equal(limit_from().quota_us, 50000);
    assert_ok(class_set_share(a, 10000, &err));
    assert_int_equal(limit_from().quota_us, 2000);
    assert_int_equal(class_freeze(a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    usage_of(a);
    // Two at once would each take the other's limit for the group's own.
    class_t *b = NULL;
    assert_int_equal(class_open_in_place(backend, "b", &home, &b, &err), -1);
    assert_int_equal(err.code, EBUSY);
    a = find_after_a_crash(a, "a", 50000);
    assert_ok(class_set_share(a, 10000, &err));
    assert_int_equal(limit_from().quota_us, 2000);
    own_limit_from(70000); // somebody else's change is the own limit from now on
    assert_ok(class_set_share(a, 20000, &err));
    assert_int_equal(limit_from().quota_us, 4000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 70000);
    assert_int_equal(rmdir(records), 0); // with no record left
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t offset);

static bool refuses;
static const char *refused; // what a write begins with that the kernel takes no more

// What the backend writes to a limit.
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    bool invalid = refused != NULL && count >= strlen(refused) &&
                   strncmp(bytes, refused, strlen(refused)) == 0;
    errno = invalid ? EINVAL : EPERM;
    return refuses || invalid ? -1 : __real_pwrite(fd, bytes, count, offset);
}

int __real_processes_of_subtree(const char *directory, struct pid_list *list, struct error *err);
int __wrap_processes_of_subtree(const char *directory, struct pid_list *list, struct error *err);

enum { NOBODY = 5000001 }; // from here on the kernel has no numbers

static int ghosts; // members of the group that have ended when they are looked at

int __wrap_processes_of_subtree(const char *directory, struct pid_list *list, struct error *why)
{
    int rc = __real_processes_of_subtree(directory, list, why);
    for (int i = 0; i < ghosts; i++)
        pid_list_add(list, NOBODY + i, NULL);
    return rc;
}

// A turn looks at so many new ones; a job without a limit for good would have other jobs' turns.
static void a_group_that_grows_fast_is_limited_soon(void **state)
{
    (void)state;
    char from[128];
    struct class_home home = {.pid = live_elsewhere(from), .any = true};
    class_t *a = limited_in_place(&home);
    ghosts = 10000;
    int failed = 0;
    while (class_set_share(a, 20000, &err) != 0) {
        assert_int_equal(err.code, EXDEV);
        assert_int_equal(limit_from().quota_us, 50000);
        assert_true(++failed < 3);
    }
    assert_int_equal(failed, 2);
    assert_int_equal(limit_from().quota_us, 4000);
    a = find_after_a_crash(a, "a", 50000);
    for (failed = 0; class_set_share(a, 20000, &err) != 0; failed++)
        assert_true(failed < 3);
    assert_int_equal(limit_from().quota_us, 4000);
    ghosts = 0;
    assert_ok(class_remove(a, &err));
    assert_int_equal(rmdir(records), 0);
}

// Nobody else would try once more while the daemon lives.
static void a_limit_that_cannot_be_given_back_is_given_back_later(void **state)
{
    (void)state;
    char from[128];
    struct class_home home = {.pid = live_elsewhere(from), .any = true};
    class_t *a = limited_in_place(&home);
    refuses = true;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(class_remove_step(a, SIZE_MAX, &err), -1);
        assert_int_equal(err.code, EAGAIN);
        assert_int_equal(limit_from().quota_us, 2000);
    }
    refuses = false;
    assert_ok(class_remove_step(a, SIZE_MAX, &err));
    assert_int_equal(limit_from().quota_us, 50000);
    assert_int_equal(rmdir(records), 0);
}

// As when the group above has been given less since: on v1 the kernel then refuses the own limit.
// Who is left at ours would stay so for ever.
static void where_the_own_limit_is_refused_there_is_none_rather_than_ours(void **state)
{
    (void)state;
    char from[128];
    struct class_home home = {.pid = live_elsewhere(from), .any = true};
    class_t *a = limited_in_place(&home);
    assert_int_equal(limit_from().quota_us, 2000);
    refused = "50000";
    class_close(a);
    open_with_records();
    assert_int_equal(backend_release_all(backend, NULL, &err), 1);
    refused = NULL;
    assert_int_equal(limit_from().quota_us, -1);
    a = open_class("a");
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, -1); // since then somebody else's
    assert_int_equal(rmdir(records), 0);
}

static void a_limit_that_the_kernel_doubled_is_not_the_groups_own(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    class_t *a = limited_in_place(&home);
    double_limit_of(origin());
    assert_ok(class_set_share(a, 900000, &err));
    assert_int_equal(limit_from().quota_us, 50000);
    assert_ok(class_set_share(a, 10000, &err));
    double_limit_of(origin());
    double_limit_of(origin());
    a = find_after_a_crash(a, "a", 50000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 50000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_int_equal(rmdir(records), 0);
}

// v1 takes a period and a quota apart, and may take the one and not the other (a group below has
// more), or a crash comes between.
static void a_limit_that_is_set_by_half_is_not_the_groups_own(void **state)
{
    (void)state;
    char from[128];
    struct class_home home = {.pid = live_elsewhere(from), .any = true};
    class_t *a = limited_in_place(&home);
    double_limit_of(origin());
    refused = "40000";
    assert_int_equal(class_set_share(a, 200000, &err), -1);
    refused = NULL;
    assert_int_equal(limit_from().quota_us, 4000);
    assert_int_equal(limit_from().period_us, 200000);
    if (version == &v1)
        write_text(origin(), "cpu.cfs_quota_us", "-1");
    a = find_after_a_crash(a, "a", 50000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 50000);
    assert_int_equal(rmdir(records), 0);
}

// An earlier class of this name had other means.
static void a_record_of_means_that_a_place_has_not_is_dropped(void **state)
{
    (void)state;
    char from[128], directory[64];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    struct suspension suspension = {.on = true, .how = {.means = CLASS_BY_SIGNALS}};
    struct class_suspension how;
    class_t *a = NULL;
    snprintf(directory, sizeof directory, "%s/%s", records, SUSPENSION_DIRECTORY);
    assert_ok(suspension_write(directory, "a", &suspension, &err));
    assert_ok(class_open_in_place(backend, "a", &home, &a, &err));
    assert_false(class_suspended(a, &how));
    assert_ok(class_resume(a, &err));
    assert_ok(class_remove(a, &err));
    assert_int_equal(rmdir(records), 0); // with no record left
}

static void a_group_is_left_for_a_class_of_its_own(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid, .any = true};
    class_t *a = NULL;
    assert_ok(class_open_in_place(backend, "a", &home, &a, &err));
    assert_ok(class_set_share(a, 10000, &err));
    assert_ok(class_displace(&a, &err));
    assert_false(class_is_in_place(a));
    assert_int_equal(limit_from().quota_us, -1);
    assert_int_equal(members_of(a), 0);
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_ok(class_remove(a, &err));
    assert_true(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_int_equal(rmdir(records), 0);
}

static void a_named_group_is_limited_whoever_lives_there(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    class_t *a = NULL;
    own_limit_from(150000);
    assert_ok(class_open_named(backend, "sequential-0", from, &a, &err));
    assert_true(class_is_in_place(a));
    assert_int_equal(class_place(a, pid, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_int_equal(class_displace(&a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_ok(class_set_share(a, 50000, &err));
    assert_int_equal(limit_from().quota_us, 10000);
    pid_t stranger = start(wait_as_somebody_else, NULL);
    for (unsigned i = 0; i < mount_count; i++)
        enter(mounts[i], from, stranger);
    assert_ok(class_set_share(a, 60000, &err));
    assert_int_equal(limit_from().quota_us, 12000);
    assert_int_equal(members_of(a), 2);
    usage_of(a);
    // No job takes it, or what is in it, for its own.
    struct class_home home = {.pid = pid, .any = true};
    class_t *b = NULL;
    assert_int_equal(class_open_in_place(backend, "b", &home, &b, &err), -1);
    assert_int_equal(err.code, EBUSY);
    assert_int_equal(class_open_named(backend, "sequential-1", from, &b, &err), -1);
    assert_int_equal(err.code, EBUSY);
    a = find_after_a_crash(a, "sequential-0", 150000);
    assert_ok(class_set_share(a, 50000, &err));
    assert_int_equal(limit_from().quota_us, 10000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 150000);
    assert_true(is_in(mounts[0], from, pid, "cgroup.procs"));
    assert_int_equal(rmdir(records), 0);
}

static void named_groups_that_may_not_be_limited(void **state)
{
    (void)state;
    char from[128], below[128];
    live_elsewhere(from);
    class_t *a = NULL;
    assert_int_equal(class_open_named(backend, "a", "cosched-test-nowhere", &a, &err), -1);
    assert_int_equal(err.code, ENOENT);
    snprintf(below, sizeof below, "%s/x", root);
    const char *const bad[] = {root, below, "", "/x", "x/../y"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(class_open_named(backend, "a", bad[i], &a, &err), -1);
        assert_int_equal(err.code, EINVAL);
    }
    // Where this program lives itself.
    assert_ok(class_open_named(backend, "a", from, &a, &err));
    char *home = process_group_path("/proc", getpid(), version == &v1 ? "cpu" : "");
    assert_non_null(home);
    enter(mounts[0], from, getpid());
    int rc = class_set_share(a, 50000, &err);
    enter(mounts[0], home + 1, getpid());
    free(home);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, EBUSY);
    assert_int_equal(limit_from().quota_us, -1);
    assert_ok(class_set_share(a, 50000, &err));
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, -1);
    assert_int_equal(rmdir(records), 0);
}

static void groups_that_may_not_be_limited(void **state)
{
    (void)state;
    char from[128];
    pid_t pid = live_elsewhere(from);
    struct class_home home = {.pid = pid};
    class_t *a = NULL;
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1);
    assert_int_equal(err.code, ENOENT); // no manager's
    home.any = true;
    home.uid = 1;
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1);
    assert_int_equal(err.code, EXDEV); // another user's
    home.uid = 0;
    own_limit_from(50000);
    write_text(origin(), version == &v1 ? "cpu.cfs_burst_us" : "cpu.max.burst", "20000");
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    write_text(origin(), version == &v1 ? "cpu.cfs_burst_us" : "cpu.max.burst", "0");
    assert_int_equal(rmdir(records), 0);
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1); // nowhere to note it
    assert_int_equal(limit_from().quota_us, 50000);
    home.pid = getpid();
    assert_int_equal(mkdir(records, 0700), 0);
    assert_int_equal(class_open_in_place(backend, "a", &home, &a, &err), -1); // the top group
    assert_int_equal(rmdir(records), 0);
}

static void the_periods_of_a_group_in_place(void **state)
{
    (void)state;
    char from[128];
    live_elsewhere(from);
    class_t *a = NULL;
    assert_ok(class_open_named(backend, "sequential-0", from, &a, &err));
    assert_int_equal(class_period_ns(a, 20000), 100 * NS_PER_MS);
    assert_int_equal(class_begin_periods(a, 50000, &err), 1);
    assert_int_equal(limit_from().quota_us, 10000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    assert_int_equal(limit_from().quota_us, -1);
    // A small share's are as long.
    assert_ok(class_set_share(a, 2000, &err));
    assert_int_equal(limit_from().quota_us, 1000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    // A daemon was killed between the two writes, at each of the places where that can be.
    const char *const v2_left[] = {"10000 1000"};
    const char *const v1_left[] = {"10000", "-1"};
    for (unsigned i = 0; i < (version == &v1 ? 2 : 1); i++) {
        assert_int_equal(class_begin_periods(a, 50000, &err), 1);
        class_close(a);
        if (version == &v1)
            write_text(origin(), "cpu.cfs_period_us", "1000");
        write_text(origin(), version == &v1 ? "cpu.cfs_quota_us" : "cpu.max",
                   version == &v1 ? v1_left[i] : v2_left[i]);
        open_with_records();
        assert_ok(backend_release_all(backend, NULL, &err));
        assert_int_equal(limit_from().quota_us, -1);
        assert_int_equal(limit_from().period_us, 100000);
        a = open_class("sequential-0");
    }
    // One that has a limit of its own keeps its periods.
    own_limit_from(150000);
    assert_int_equal(class_begin_periods(a, 50000, &err), 0);
    assert_int_equal(limit_from().quota_us, 10000);
    assert_int_equal(class_period_ns(a, 20000), 0);
    assert_ok(class_set_share(a, 2000, &err));
    assert_int_equal(limit_from().quota_us, 1000);
    assert_int_equal(limit_from().period_us, 100000);
    assert_ok(class_remove(a, &err));
    assert_int_equal(limit_from().quota_us, 150000);
    assert_int_equal(rmdir(records), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(a_group_is_limited_in_place_and_given_back),
        real(a_group_that_grows_fast_is_limited_soon),
        real(a_limit_that_cannot_be_given_back_is_given_back_later),
        real(where_the_own_limit_is_refused_there_is_none_rather_than_ours),
        real(a_limit_that_the_kernel_doubled_is_not_the_groups_own),
        real(a_limit_that_is_set_by_half_is_not_the_groups_own),
        real(a_record_of_means_that_a_place_has_not_is_dropped),
        real(a_group_is_left_for_a_class_of_its_own),
        real(groups_that_may_not_be_limited),
        real(a_named_group_is_limited_whoever_lives_there),
        real(named_groups_that_may_not_be_limited),
        real(the_periods_of_a_group_in_place),
    };
    if (!find_cgroups())
        return SKIPPED;
    int failed = cmocka_run_group_tests_name(version->kind, tests, NULL, NULL);
    discovery_free(&found);
    return failed;
}
