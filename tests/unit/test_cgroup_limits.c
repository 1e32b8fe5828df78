// Protects what a class does to its members, on real cgroups: they are limited to a share, frozen
// and killed, also under a limit, and weigh as much as the node.
#include "cgroup-backend/ops.h"
#include "tests/unit/real_cgroups.h"

#include <errno.h>
#include <string.h>

static void members_and_limits(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(wait_forever, NULL), pids[2];
    size_t count;
    assert_string_equal(backend_name(backend), version->kind);
    assert_string_equal(class_name(a), "a");
    assert_int_equal(quota_of("a"), -1);
    assert_int_equal(usage_of(a), 0);
    assert_int_equal(members_of(a), 0);
    assert_ok(class_place(a, pid, &err));
    assert_true(in_class("a", pid, "cgroup.procs"));
    assert_ok(class_members(a, pids, 2, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], pid);
    assert_ok(class_set_share(a, 500000, &err)); // of 2 CPUs
    assert_int_equal(quota_of("a"), 100000);
    assert_ok(class_set_share(a, 1, &err)); // below what the kernel can enforce
    assert_int_equal(quota_of("a"), 1000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    assert_int_equal(quota_of("a"), -1);
    assert_ok(class_expel(a, pid, &err));
    assert_int_equal(members_of(a), 0);
    assert_int_equal(class_expel(a, pid, &err), -1);
    assert_int_equal(err.code, ESRCH);
    assert_ok(class_remove(a, &err));
}

// 2 CPUs: or a job of 2 processes would weigh as much as one process that is in no class.
static void classes_weigh_as_much_as_the_node(void **state)
{
    (void)state;
    class_close(open_class("a"));
    assert_int_equal(number_in("", version->weight), version->weight_of_two_cpus);
    assert_int_equal(number_in("a", version->weight), version->weight_of_two_cpus);
}

static void a_share_limits(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    pid_t pid = start(burn, NULL);
    assert_ok(class_place(a, pid, &err));
    // 0.5 % of 2 CPUs: 1 ms of 100. Looked at from the beginning, for what a process takes too much
    // at first, until a tick finds it, it pays back later.
    assert_ok(class_set_share(a, 5000, &err));
    double limited = share_of_one_cpu(a, 5000);
    assert_ok(class_set_share(a, BACKEND_UNLIMITED, &err));
    double free_ = share_of_one_cpu(a, 500);
    print_message("1 %% gave %.2f %%, unlimited %.0f %%\n", limited * 100, free_ * 100);
    assert_true(limited > 0.003 && limited < 0.03);
    assert_true(free_ > 0.1);
    assert_true(free_ > 5 * limited);
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
}

// Who is marked as frozen has still to leave the CPU, and that is counted.
static uint64_t usage_at_rest(class_t *class_)
{
    uint64_t usage_ns = usage_of(class_);
    for (int tries = 0; tries < 40; tries++) {
        uint64_t before_ns = usage_ns;
        sleep_ms(50);
        usage_ns = usage_of(class_);
        if (usage_ns == before_ns)
            break;
    }
    return usage_ns;
}

static void frozen_uses_nothing(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_freeze(a, &err));
    uint64_t before = usage_at_rest(a);
    sleep_ms(300);
    assert_int_equal(usage_of(a), before);
    assert_ok(class_thaw(a, &err));
    sleep_ms(200);
    assert_true(usage_of(a) > before);
    assert_ok(class_freeze(a, &err));
    assert_ok(class_kill(a, &err)); // frozen ones, too
    assert_int_equal(members_of(a), 0);
    assert_ok(class_remove(a, &err));
}

// A throttled process has to run on to stop; 1 ms of 100 may let it wait for several periods.
static void freezing_is_quick_under_a_limit_and_keeps_it(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    for (int i = 0; i < 4; i++)
        assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_set_share(a, 5000, &err));
    for (int i = 0; i < 5; i++) {
        sleep_ms(70);
        assert_ok(class_freeze(a, &err));
        assert_int_equal(quota_of("a"), 1000);
        assert_ok(class_thaw(a, &err));
    }
    assert_ok(class_kill(a, &err));
    assert_ok(class_remove(a, &err));
}

static void kill_is_quick_under_a_limit_and_keeps_it(void **state)
{
    (void)state;
    class_t *a = open_class("a");
    for (int i = 0; i < 10; i++)
        assert_ok(class_place(a, start(burn, NULL), &err));
    assert_ok(class_set_share(a, 5000, &err));
    sleep_ms(200);
    assert_ok(class_kill(a, &err));
    assert_int_equal(members_of(a), 0);
    assert_int_equal(quota_of("a"), 1000);
    assert_ok(class_remove(a, &err));
}

static void quotas(void **state)
{
    (void)state;
    assert_int_equal(backend_quota_us(1000000, 4, 100000), 400000);
    assert_int_equal(backend_quota_us(10000, 2, 100000), 2000);
    assert_int_equal(backend_quota_us(333333, 1, 100000), 33333);
    assert_int_equal(backend_quota_us(0, 64, 100000), 1000);
    assert_int_equal(backend_quota_us(4000000000u, 2, 100000), 200000);
    assert_int_equal(backend_quota_us(990000, 4096, 1000000), 4055040000);
}

static void v1_without_a_freezer(void **state)
{
    (void)state;
    struct v1_mounts two = {found.cpu, found.cpuacct, NULL, true};
    struct backend_settings settings = {"v1", root, 2, 100 * NS_PER_MS, NULL, false, false};
    backend_close(backend);
    assert_ok(v1_open(&two, &settings, &backend, &err));
    class_t *a = open_class("nofreezer");
    assert_ok(class_place(a, start(burn, NULL), &err));
    assert_int_equal(class_freeze(a, &err), -1);
    assert_int_equal(err.code, ENOTSUP);
    assert_non_null(strstr(err.text, "freezer"));
    assert_int_equal(class_thaw(a, &err), -1);
    assert_ok(class_kill(a, &err));
    assert_int_equal(members_of(a), 0);
    assert_ok(class_remove(a, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(quotas),
        real(members_and_limits),
        real(classes_weigh_as_much_as_the_node),
        real(a_share_limits),
        real(frozen_uses_nothing),
        real(freezing_is_quick_under_a_limit_and_keeps_it),
        real(kill_is_quick_under_a_limit_and_keeps_it),
    };
    const struct CMUnitTest v1_tests[] = {
        real(v1_without_a_freezer),
    };
    if (!find_cgroups())
        return SKIPPED;
    int failed = cmocka_run_group_tests_name(version->kind, tests, NULL, NULL);
    if (version == &v1)
        failed += cmocka_run_group_tests_name("v1 only", v1_tests, NULL, NULL);
    discovery_free(&found);
    return failed;
}
