// Protects the verdict of CG, EP, IS and MG: the official values of all classes, written down here
// once more, and that each of them counts.
#include "bench/npb/cg/class.h"
#include "bench/npb/ep/class.h"
#include "bench/npb/is/class.h"
#include "bench/npb/mg/class.h"
#include "tests/unit/npb_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CG_TOLERANCE 1e-10
#define TOLERANCE    1e-8

static const char classes[] = {'S', 'W', 'A', 'B', 'C'};

enum { CLASSES = sizeof classes };

static const struct {
    char name;
    int order, spread, iterations, shift;
    double zeta;
} cg_official[CLASSES] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648e0},     {'W', 7000, 8, 15, 12, 1.0362595087124e1},
    {'A', 14000, 11, 15, 20, 1.7130235054029e1},   {'B', 75000, 13, 75, 60, 2.2712745482631e1},
    {'C', 150000, 15, 75, 110, 2.8973605592845e1},
};

static const struct {
    char name;
    int log2_pairs;
    double sum_x, sum_y;
} ep_official[CLASSES] = {
    {'S', 24, -3.24783465203474e3, -6.958407078382297e3},
    {'W', 25, -2.863319731645753e3, -6.320053679109499e3},
    {'A', 28, -4.295875165629892e3, -1.580732573678431e4},
    {'B', 30, 4.033815542441498e4, -2.660669192809235e4},
    {'C', 32, 4.764367927995374e4, -8.084072988043731e4},
};

static const struct {
    char name;
    int points, iterations;
    double norm;
} mg_official[CLASSES] = {
    {'S', 32, 4, 5.307707005734e-5},  {'W', 128, 4, 6.467329375339e-6},
    {'A', 256, 4, 2.433365309069e-6}, {'B', 256, 20, 1.800564401355e-6},
    {'C', 512, 20, 5.70673228574e-7},
};

// Index of a key, its rank in the first and in the last iteration.
static const struct {
    char name;
    int log2_keys, log2_values, log2_buckets;
    int probes[IS_PROBES][3];
} is_official[CLASSES] = {
    {'S',
     16,
     11,
     9,
     {{48427, 1, 10},
      {17148, 19, 28},
      {23627, 347, 356},
      {62548, 64916, 64907},
      {4431, 65462, 65453}}},
    {'W',
     20,
     16,
     10,
     {{357773, 1248, 1257},
      {934767, 11697, 11706},
      {875723, 1039986, 1039977},
      {898999, 1043895, 1043886},
      {404505, 1048017, 1048008}}},
    {'A',
     23,
     19,
     10,
     {{2112377, 104, 113},
      {662041, 17523, 17532},
      {5336171, 123928, 123937},
      {3642833, 8288932, 8288923},
      {4250760, 8388264, 8388255}}},
    {'B',
     25,
     21,
     10,
     {{41869, 33422936, 33422927},
      {812306, 10245, 10254},
      {5102857, 59150, 59159},
      {18232239, 33135280, 33135271},
      {26860214, 100, 109}}},
    {'C',
     27,
     23,
     10,
     {{44172927, 61148, 61157},
      {72999161, 882989, 882998},
      {74326391, 266291, 266300},
      {129606274, 133997594, 133997585},
      {21736814, 133525894, 133525885}}},
};

static void cg_takes_official_results_only(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct cg_class *size = cg_class_find(cg_official[i].name);
        const double zeta = cg_official[i].zeta;
        assert_non_null(size);
        assert_int_equal(size->order, cg_official[i].order);
        assert_int_equal(size->spread, cg_official[i].spread);
        assert_int_equal(size->iterations, cg_official[i].iterations);
        assert_true(size->shift == cg_official[i].shift);
        assert_true(size->zeta == zeta);
        for (int k = 0; k < CLASSES; k++)
            assert_int_equal(cg_class_verify(size, cg_official[k].zeta), i == k);
        for (int k = 0; k < NPB_NEAR; k++)
            assert_true(cg_class_verify(size, npb_inside(zeta, CG_TOLERANCE, k)));
        for (int k = 0; k < NPB_FAR; k++)
            assert_false(cg_class_verify(size, npb_outside(zeta, CG_TOLERANCE, k)));
    }
    assert_null(cg_class_find('X'));
}

static void mg_takes_official_results_only(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct mg_class *size = mg_class_find(mg_official[i].name);
        const double norm = mg_official[i].norm;
        assert_non_null(size);
        assert_int_equal(1 << size->finest, mg_official[i].points);
        assert_int_equal(size->iterations, mg_official[i].iterations);
        assert_true(size->norm == norm);
        for (int k = 0; k < CLASSES; k++)
            assert_int_equal(mg_class_verify(size, mg_official[k].norm), i == k);
        for (int k = 0; k < NPB_NEAR; k++)
            assert_true(mg_class_verify(size, npb_inside(norm, TOLERANCE, k)));
        for (int k = 0; k < NPB_FAR; k++)
            assert_false(mg_class_verify(size, npb_outside(norm, TOLERANCE, k)));
    }
    assert_null(mg_class_find('X'));
}

static void mg_smooths_as_prescribed(void **unused)
{
    (void)unused;
    const struct mg_weights weak = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
    const struct mg_weights strong = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};
    for (int i = 0; i < CLASSES; i++) {
        const struct mg_weights *wanted = i < 3 ? &weak : &strong;
        assert_memory_equal(mg_class_find(classes[i])->smoother, wanted, sizeof *wanted);
    }
}

static void ep_takes_official_results_only(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct ep_class *size = ep_class_find(ep_official[i].name);
        const double x = ep_official[i].sum_x, y = ep_official[i].sum_y;
        assert_non_null(size);
        assert_int_equal(size->log2_pairs, ep_official[i].log2_pairs);
        assert_true(size->sum_x == x && size->sum_y == y);
        for (int k = 0; k < CLASSES; k++)
            assert_int_equal(ep_class_verify(size, ep_official[k].sum_x, ep_official[k].sum_y),
                             i == k);
        for (int k = 0; k < NPB_NEAR; k++) {
            assert_true(ep_class_verify(size, npb_inside(x, TOLERANCE, k), y));
            assert_true(ep_class_verify(size, x, npb_inside(y, TOLERANCE, k)));
        }
        for (int k = 0; k < NPB_FAR; k++) {
            assert_false(ep_class_verify(size, npb_outside(x, TOLERANCE, k), y));
            assert_false(ep_class_verify(size, x, npb_outside(y, TOLERANCE, k)));
        }
    }
    assert_null(ep_class_find('X'));
}

static void is_probes_the_official_keys(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct is_class *size = is_class_find(is_official[i].name);
        assert_non_null(size);
        assert_int_equal(size->log2_keys, is_official[i].log2_keys);
        assert_int_equal(size->log2_values, is_official[i].log2_values);
        assert_int_equal(size->log2_buckets, is_official[i].log2_buckets);
        for (int p = 0; p < IS_PROBES; p++) {
            const int *probe = is_official[i].probes[p];
            assert_int_equal(size->probes[p].index, probe[0]);
            assert_int_equal(is_class_rank(&size->probes[p], 1), probe[1]);
            assert_int_equal(is_class_rank(&size->probes[p], 10), probe[2]);
        }
    }
    assert_null(is_class_find('X'));
}

static void is_wants_every_probe_and_every_key(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct is_class *size = is_class_find(is_official[i].name);
        const struct is_findings right = {.probes_right = 50,
                                          .keys = 1 << is_official[i].log2_keys};
        assert_true(is_class_verify(size, &right));
        const struct is_findings wrong[] = {
            {.probes_right = 49, .keys = right.keys},
            {.probes_right = 51, .keys = right.keys},
            {.probes_right = 0, .keys = right.keys},
            {.probes_right = 50, .keys = right.keys - 1},
            {.probes_right = 50, .keys = right.keys + 1},
            {.probes_right = 50, .keys = right.keys, .misplaced = 1},
            {.probes_right = 49, .keys = right.keys - 1, .misplaced = 1},
        };
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
            assert_false(is_class_verify(size, &wrong[k]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cg_takes_official_results_only),
        cmocka_unit_test(mg_takes_official_results_only),
        cmocka_unit_test(mg_smooths_as_prescribed),
        cmocka_unit_test(ep_takes_official_results_only),
        cmocka_unit_test(is_probes_the_official_keys),
        cmocka_unit_test(is_wants_every_probe_and_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
