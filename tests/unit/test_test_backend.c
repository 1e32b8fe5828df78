// The backend that other unit tests trust: it must record what happened, in order, and fail on
// demand.
#include "cgroup-backend/test_backend.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void effects_are_recorded_in_order(void **state)
{
    (void)state;
    backend_t *backend = test_backend_new();
    class_t *a;
    assert_string_equal(backend_name(backend), "test");
    assert_string_equal(test_backend_log(backend), "");
    assert_int_equal(class_open(backend, "a", &a, NULL), 0);
    assert_string_equal(class_name(a), "a");
    assert_int_equal(class_place(a, 12, NULL), 0);
    assert_int_equal(class_set_share(a, 10000, NULL), 0);
    assert_int_equal(class_set_share(a, BACKEND_UNLIMITED, NULL), 0);
    assert_int_equal(class_begin_periods(a, 10000, NULL), 1);
    assert_int_equal(class_expel(a, 12, NULL), 0);
    assert_int_equal(class_freeze(a, NULL), 0);
    assert_int_equal(class_thaw(a, NULL), 0);
    assert_int_equal(class_kill(a, NULL), 0);
    assert_int_equal(class_remove(a, NULL), 0);
    assert_string_equal(
        test_backend_log(backend),
        "open a\nplace a 12\nshare a 10000\nshare a max\nbegin a 10000\nexpel a 12\nfreeze a\n"
        "thaw a\nkill-all a\nremove a\n");
    test_backend_clear_log(backend);
    assert_string_equal(test_backend_log(backend), "");
    backend_close(backend);
}

static int count_class(const char *name, void *user)
{
    (void)name;
    ++*(int *)user;
    return 0;
}

static void a_class_outlives_its_handle(void **state)
{
    (void)state;
    backend_t *backend = test_backend_new();
    class_t *a;
    int classes = 0;
    size_t count = 0;
    pid_t pids[2];
    uint64_t usage_ns = 0;
    class_open(backend, "a", &a, NULL);
    class_place(a, 7, NULL);
    class_place(a, 5, NULL);
    class_close(a);
    test_backend_set_usage(backend, "a", 42);
    assert_int_equal(backend_each_class(backend, count_class, &classes, NULL), 0);
    assert_int_equal(classes, 1);
    assert_int_equal(class_open(backend, "a", &a, NULL), 0);
    assert_int_equal(class_members(a, pids, 2, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(pids[0], 5);
    assert_int_equal(class_usage(a, &usage_ns, NULL), 0);
    assert_int_equal(usage_ns, 42);
    class_remove(a, NULL);
    classes = 0;
    backend_each_class(backend, count_class, &classes, NULL);
    assert_int_equal(classes, 0);
    backend_close(backend);
}

static void failures_come_as_ordered(void **state)
{
    (void)state;
    backend_t *backend = test_backend_new();
    class_t *a, *b;
    struct error err = {0};
    unsigned lifted = 0;
    class_open(backend, "a", &a, NULL);
    class_open(backend, "b", &b, NULL);
    test_backend_fail(backend, "share", EIO, 2);
    assert_int_equal(class_set_share(a, 1, &err), -1);
    assert_int_equal(err.code, EIO);
    assert_int_equal(backend_release_all(backend, &lifted, NULL), 1);
    assert_int_equal(lifted, 1);
    assert_string_equal(test_backend_log(backend), "open a\nopen b\nshare b max\n");
    assert_int_equal(class_set_share(a, 1, &err), 0);
    test_backend_fail(backend, "open", EPERM, 1);
    class_t *c;
    assert_int_equal(class_open(backend, "c", &c, &err), -1);
    assert_int_equal(err.code, EPERM);
    test_backend_fail(backend, "remove", EBUSY, 1);
    assert_int_equal(class_remove(a, &err), -1);
    class_close(b);
    backend_close(backend);
}

static void rules_hold_here_too(void **state)
{
    (void)state;
    backend_t *backend = test_backend_new();
    class_t *a, *b;
    struct error err = {0};
    size_t count = 9;
    assert_int_equal(class_open(backend, ".hidden", &a, &err), -1);
    assert_int_equal(err.code, EINVAL);
    class_open(backend, "a", &a, NULL);
    class_open(backend, "b", &b, NULL);
    assert_int_equal(class_place(a, 0, &err), -1);
    assert_int_equal(err.code, EINVAL);
    class_place(a, 3, NULL);
    class_place(b, 3, NULL); // a process is in one class
    class_members(a, NULL, 0, &count, NULL);
    assert_int_equal(count, 0);
    assert_int_equal(class_expel(a, 3, &err), -1);
    assert_int_equal(err.code, ESRCH);
    class_close(a);
    class_close(b);
    class_close(NULL);
    backend_close(backend);
    backend_close(NULL);
}

static void a_named_group_is_in_place(void **state)
{
    (void)state;
    backend_t *backend = test_backend_new();
    struct error err = {0};
    class_t *a = NULL;
    assert_int_equal(class_open_named(backend, "a", "../b", &a, &err), -1);
    assert_int_equal(err.code, EINVAL);
    test_backend_fail(backend, "named", ENOENT, 1);
    assert_int_equal(class_open_named(backend, "a", "user.slice", &a, &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_int_equal(class_open_named(backend, "a", "user.slice", &a, &err), 0);
    assert_true(class_is_in_place(a));
    class_set_share(a, 50000, NULL);
    class_remove(a, NULL);
    assert_string_equal(test_backend_log(backend), "named a user.slice\nshare a 50000\nremove a\n");
    backend_close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_are_recorded_in_order),
        cmocka_unit_test(a_class_outlives_its_handle),
        cmocka_unit_test(failures_come_as_ordered),
        cmocka_unit_test(rules_hold_here_too),
        cmocka_unit_test(a_named_group_is_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
