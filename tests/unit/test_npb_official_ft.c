// Protects the verdict of FT: the official checksums of all classes, written down here once more,
// and that each of them counts.
#include "bench/npb/ft/class.h"
#include "tests/unit/npb_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TOLERANCE 1e-12

static const struct official {
    char name;
    int points[3];
    int iterations;
    struct ft_checksum checksums[FT_MOST_ITERATIONS];
} official[] = {
    {'S',
     {64, 64, 64},
     6,
     {{5.546087004964e2, 4.845363331978e2},
      {5.546385409189e2, 4.865304269511e2},
      {5.546148406171e2, 4.883910722336e2},
      {5.545423607415e2, 4.901273169046e2},
      {5.544255039624e2, 4.917475857993e2},
      {5.542683411902e2, 4.932597244941e2}}},
    {'W',
     {128, 128, 32},
     6,
     {{5.673612178944e2, 5.293246849175e2},
      {5.631436885271e2, 5.282149986629e2},
      {5.59402408997e2, 5.270996558037e2},
      {5.56069804702e2, 5.260027904925e2},
      {5.53089899125e2, 5.249400845633e2},
      {5.504159734538e2, 5.239212247086e2}}},
    {'A',
     {256, 256, 128},
     6,
     {{5.046735008193e2, 5.11404790551e2},
      {5.059412319734e2, 5.098809666433e2},
      {5.069376896287e2, 5.098144042213e2},
      {5.077892868474e2, 5.101336130759e2},
      {5.085233095391e2, 5.104914655194e2},
      {5.091487099959e2, 5.107917842803e2}}},
    {'B',
     {512, 256, 256},
     20,
     {{5.177643571579e2, 5.077803458597e2}, {5.154521291263e2, 5.088249431599e2},
      {5.146409228649e2, 5.096208912659e2}, {5.142378756213e2, 5.101023387619e2},
      {5.139626667737e2, 5.103976610617e2}, {5.137423460082e2, 5.105948019802e2},
      {5.135547056878e2, 5.107404165783e2}, {5.133910925466e2, 5.108576573661e2},
      {5.13247070539e2, 5.109577278523e2},  {5.131197729984e2, 5.110460304483e2},
      {5.130070319283e2, 5.1112524338e2},   {5.129070537032e2, 5.111968077718e2},
      {5.128182883502e2, 5.112616233064e2}, {5.127393733383e2, 5.113203605551e2},
      {5.12669106202e2, 5.113735928093e2},  {5.126064276004e2, 5.114218460548e2},
      {5.12550407657e2, 5.11465613976e2},   {5.12500233172e2, 5.115053595966e2},
      {5.124551951846e2, 5.115415130407e2}, {5.124146770029e2, 5.115744692211e2}}},
    {'C',
     {512, 512, 512},
     20,
     {{5.195078707457e2, 5.149019699238e2}, {5.155422171134e2, 5.127578201997e2},
      {5.144678022222e2, 5.122251847514e2}, {5.140150594328e2, 5.121090289018e2},
      {5.13755042681e2, 5.121143685824e2},  {5.135811056728e2, 5.121496764568e2},
      {5.134569343165e2, 5.121870921893e2}, {5.133651975661e2, 5.122193250322e2},
      {5.132955192805e2, 5.122454735794e2}, {5.132410471738e2, 5.122663649603e2},
      {5.131971141679e2, 5.122830879827e2}, {5.131605205716e2, 5.122965869718e2},
      {5.131290734194e2, 5.123075927445e2}, {5.131012720314e2, 5.123166486553e2},
      {5.130760908195e2, 5.123241541685e2}, {5.130528295923e2, 5.123304037599e2},
      {5.130310107773e2, 5.123356167976e2}, {5.130103090133e2, 5.123399592211e2},
      {5.129905029333e2, 5.123435588985e2}, {5.129714421109e2, 5.123465164008e2}}},
};

enum { CLASSES = sizeof official / sizeof *official };

static void classes_are_the_official_ones(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct ft_class *size = ft_class_find(official[i].name);
        assert_non_null(size);
        assert_int_equal(size->nx, official[i].points[0]);
        assert_int_equal(size->ny, official[i].points[1]);
        assert_int_equal(size->nz, official[i].points[2]);
        assert_int_equal(size->iterations, official[i].iterations);
        for (int t = 0; t < size->iterations; t++) {
            assert_true(size->official[t].re == official[i].checksums[t].re);
            assert_true(size->official[t].im == official[i].checksums[t].im);
        }
    }
    assert_null(ft_class_find('X'));
}

static void only_its_own_class_is_right(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        for (int k = 0; k < CLASSES; k++)
            assert_int_equal(
                ft_class_verify(ft_class_find(official[i].name), official[k].checksums), i == k);
    }
}

// The checksum of one iteration moved by a part of its own length.
static bool accepts_moved(const struct official *from, int t, double re, double im)
{
    struct ft_checksum found[FT_MOST_ITERATIONS];
    memcpy(found, from->checksums, sizeof found);
    double length = hypot(found[t].re, found[t].im);
    found[t].re += re * length;
    found[t].im += im * length;
    return ft_class_verify(ft_class_find(from->name), found);
}

static void each_iteration_counts(void **unused)
{
    (void)unused;
    const double inside = 0.95 * TOLERANCE, outside = 1.05 * TOLERANCE;
    for (int i = 0; i < CLASSES; i++) {
        for (int t = 0; t < official[i].iterations; t++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                assert_true(accepts_moved(&official[i], t, sign * inside, 0));
                assert_true(accepts_moved(&official[i], t, 0, sign * inside));
                assert_true(accepts_moved(&official[i], t, 0.6 * inside, 0.8 * sign * inside));
                assert_false(accepts_moved(&official[i], t, sign * outside, 0));
                assert_false(accepts_moved(&official[i], t, 0, sign * outside));
                assert_false(accepts_moved(&official[i], t, 0.6 * outside, 0.8 * sign * outside));
            }
        }
    }
}

static void no_other_number_is_right(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct ft_class *size = ft_class_find(official[i].name);
        struct ft_checksum found[FT_MOST_ITERATIONS];
        memcpy(found, official[i].checksums, sizeof found);
        for (int t = 0; t < size->iterations; t++) {
            const struct ft_checksum right = found[t];
            for (int k = 0; k < NPB_FAR; k++) {
                // An error of the larger part's tolerance is one of the whole's.
                found[t].re = npb_outside(right.re, 2 * TOLERANCE, k);
                assert_false(ft_class_verify(size, found));
                found[t].re = right.re;
                found[t].im = npb_outside(right.im, 2 * TOLERANCE, k);
                assert_false(ft_class_verify(size, found));
                found[t] = right;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_the_official_ones),
        cmocka_unit_test(only_its_own_class_is_right),
        cmocka_unit_test(each_iteration_counts),
        cmocka_unit_test(no_other_number_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
