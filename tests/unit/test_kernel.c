// What `coschedctl doctor` makes of a kernel's release.
#include "ctl/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_what_is_missing_is_known_by_the_version(void **state)
{
    (void)state;
    assert_int_equal(kernel_kind("4.18.0-553.el8_10.x86_64"), KERNEL_TOO_OLD);
    assert_int_equal(kernel_kind("5.2.21"), KERNEL_TOO_OLD);
    assert_int_equal(kernel_kind("5.3.0"), KERNEL_WITHOUT_KILL);
    assert_int_equal(kernel_kind("5.13.19"), KERNEL_WITHOUT_KILL);
    assert_int_equal(kernel_kind("5.14.0-503.el9.x86_64"), KERNEL_GOOD);
    assert_int_equal(kernel_kind("6.1.0-43-amd64"), KERNEL_GOOD);
}

static void test_what_starves_others_is_known_by_the_version(void **state)
{
    (void)state;
    assert_int_equal(kernel_kind("6.12.57+deb13-amd64"), KERNEL_GOOD);
    assert_int_equal(kernel_kind("6.13.0"), KERNEL_STARVES_OTHERS);
    assert_int_equal(kernel_kind("6.17.0-8-generic"), KERNEL_STARVES_OTHERS);
    assert_int_equal(kernel_kind("6.18"), KERNEL_STARVES_OTHERS);
    assert_int_equal(kernel_kind("6.18.44-cloud"), KERNEL_STARVES_OTHERS);
    assert_int_equal(kernel_kind("6.18.45"), KERNEL_GOOD);
    assert_int_equal(kernel_kind("6.18.50"), KERNEL_GOOD);
    assert_int_equal(kernel_kind("6.19.5"), KERNEL_STARVES_OTHERS);
    assert_int_equal(kernel_kind("7.0.0"), KERNEL_GOOD);
}

static void test_what_is_no_release_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(kernel_kind(""), KERNEL_UNKNOWN);
    assert_int_equal(kernel_kind("6"), KERNEL_UNKNOWN);
    assert_int_equal(kernel_kind("FreeBSD"), KERNEL_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_missing_is_known_by_the_version),
        cmocka_unit_test(test_what_starves_others_is_known_by_the_version),
        cmocka_unit_test(test_what_is_no_release_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
