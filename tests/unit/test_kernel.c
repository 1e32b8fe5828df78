// What `coschedctl doctor` makes of a kernel's release.
#include "ctl/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *release;
    enum kernel_kind kind;
} known[] = {
    {"", KERNEL_UNKNOWN},
    {"6", KERNEL_UNKNOWN},
    {"FreeBSD", KERNEL_UNKNOWN},
    {"4.18.0-553.el8_10.x86_64", KERNEL_TOO_OLD},
    {"5.2.21", KERNEL_TOO_OLD},
    {"5.3.0", KERNEL_WITHOUT_KILL},
    {"5.13.19", KERNEL_WITHOUT_KILL},
    {"5.14.0-503.el9.x86_64", KERNEL_GOOD},
    {"6.1.0-43-amd64", KERNEL_GOOD},
    {"6.12.57+deb13-amd64", KERNEL_GOOD},
    {"6.13.0", KERNEL_STARVES_OTHERS},
    {"6.17.0-8-generic", KERNEL_STARVES_OTHERS},
    {"6.18", KERNEL_STARVES_OTHERS},
    {"6.18.44-cloud", KERNEL_STARVES_OTHERS},
    {"6.18.45", KERNEL_GOOD},
    {"6.18.50", KERNEL_GOOD},
    {"6.19.5", KERNEL_STARVES_OTHERS},
    {"7.0.0", KERNEL_GOOD},
};

static void is_known_by_its_release(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (kernel_kind(known[i].release) != known[i].kind)
            fail_msg("%s: %d", known[i].release, (int)kernel_kind(known[i].release));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_known_by_its_release)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
