// Protects the verdict on numbers: a relative tolerance that holds on both sides, which nothing but
// a number gets past, and for each of five norms.
#include "bench/npb/cfd/verify.h"
#include "bench/npb/common/check.h"
#include "tests/unit/npb_near.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const double officials[] = {1, -1, 519.5078707457, -6.958407078382297e3, 5.706732285740e-7};
static const double tolerances[] = {1e-12, 1e-10, 1e-8};

enum {
    OFFICIALS = sizeof officials / sizeof *officials,
    TOLERANCES = sizeof tolerances / sizeof *tolerances,
};

static void what_is_within_the_tolerance_is_right(void **unused)
{
    (void)unused;
    for (int i = 0; i < OFFICIALS; i++) {
        for (int k = 0; k < TOLERANCES; k++) {
            for (int n = 0; n < NPB_NEAR; n++) {
                double value = npb_inside(officials[i], tolerances[k], n);
                assert_true(npb_check_value("value", value, officials[i], tolerances[k]));
            }
        }
    }
}

static void what_is_outside_of_it_is_wrong(void **unused)
{
    (void)unused;
    for (int i = 0; i < OFFICIALS; i++) {
        for (int k = 0; k < TOLERANCES; k++) {
            for (int n = 0; n < NPB_FAR; n++) {
                double value = npb_outside(officials[i], tolerances[k], n);
                assert_false(npb_check_value("value", value, officials[i], tolerances[k]));
            }
        }
    }
}

static void the_tolerance_itself_is_within(void **unused)
{
    (void)unused;
    assert_true(npb_check_value("value", 1.25, 1, 0.25));
    assert_true(npb_check_value("value", 0.75, 1, 0.25));
    assert_false(npb_check_value("value", 1.25 + DBL_EPSILON, 1, 0.25));
}

static void nothing_is_close_to_no_official_number(void **unused)
{
    (void)unused;
    assert_false(npb_check_value("value", 0, 0, 1e-8));
    assert_false(npb_check_value("value", 1, NAN, 1e-8));
    assert_false(npb_check_value("value", INFINITY, INFINITY, 1e-8));
}

static const double norms[CFD_QUANTITIES] = {1.7e-1, 1.3e-2, 3.3e2, 2.6e-5, 1.9e3};

static void norms_are_right_together(void **unused)
{
    (void)unused;
    double found[CFD_QUANTITIES];
    assert_true(cfd_verify_norms("norm", norms, norms));
    for (int n = 0; n < NPB_NEAR; n++) {
        for (int m = 0; m < CFD_QUANTITIES; m++)
            found[m] = npb_inside(norms[m], 1e-8, n);
        assert_true(cfd_verify_norms("norm", found, norms));
    }
}

static void one_wrong_norm_is_enough(void **unused)
{
    (void)unused;
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        for (int n = 0; n < NPB_FAR; n++) {
            double found[CFD_QUANTITIES];
            memcpy(found, norms, sizeof found);
            found[m] = npb_outside(norms[m], 1e-8, n);
            assert_false(cfd_verify_norms("norm", found, norms));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_within_the_tolerance_is_right),
        cmocka_unit_test(what_is_outside_of_it_is_wrong),
        cmocka_unit_test(the_tolerance_itself_is_within),
        cmocka_unit_test(nothing_is_close_to_no_official_number),
        cmocka_unit_test(norms_are_right_together),
        cmocka_unit_test(one_wrong_norm_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
