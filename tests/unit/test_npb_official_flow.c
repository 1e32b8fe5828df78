// Protects the verdict of LU, BT and SP: the official values of all classes, written down here once
// more, and that each of them counts.
#include "bench/npb/bt/class.h"
#include "bench/npb/lu/class.h"
#include "bench/npb/sp/class.h"
#include "tests/unit/npb_near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TOLERANCE 1e-8

struct official {
    char name;
    int points, steps;
    double time_step;
    double residual[CFD_QUANTITIES], error[CFD_QUANTITIES];
    double integral; // of LU only
};

static const struct official lu_official[] = {
    {'S',
     12,
     50,
     0.5,
     {1.6196343210976702e-2, 2.1976745164821318e-3, 1.5179927653399185e-3, 1.5029584435994323e-3,
      3.4264073155896461e-2},
     {6.4223319957960924e-4, 8.4144342047347926e-5, 5.8588269616485186e-5, 5.847422259515735e-5,
      1.3103347914111294e-3},
     7.8418928865937083e0},
    {'W',
     33,
     300,
     0.0015,
     {1.236511638192e1, 1.317228477799e0, 2.550120713095e0, 2.326187750252e0, 2.826799444189e1},
     {4.867877144216e-1, 5.064652880982e-2, 9.28181810196e-2, 8.570126542733e-2, 1.084277417792e0},
     1.161399311023e1},
    {'A',
     64,
     250,
     2,
     {7.7902107606689367e2, 6.340276525969287e1, 1.9499249727292479e2, 1.7845301160418537e2,
      1.8384760349464247e3},
     {2.9964085685471943e1, 2.8194576365003349e0, 7.3473412698774742e0, 6.7139225687777051e0,
      7.0715315688392578e1},
     2.6030925604886277e1},
    {'B',
     102,
     250,
     2,
     {3.5532672969982736e3, 2.6214750795310692e2, 8.833372185095219e2, 7.7812774739425265e2,
      7.3087969592545314e3},
     {1.1401176380212709e2, 8.1098963655421574e0, 2.8480597317698308e1, 2.5905394567832939e1,
      2.6054907504857413e2},
     4.7887162703308227e1},
    {'C',
     162,
     250,
     2,
     {1.03766980323537846e4, 8.92212458801008552e2, 2.56238814582660871e3, 2.19194343857831427e3,
      1.78078057261061185e4},
     {2.15986399716949279e2, 1.557895592398636e1, 5.41318863077207766e1, 4.82262643154045421e1,
      4.55902910043250358e2},
     6.664045535721813e1},
};

static const struct official bt_official[] = {
    {'S',
     12,
     60,
     0.01,
     {1.7034283709541311e-1, 1.2975252070034097e-2, 3.2527926989486055e-2, 2.6436421275166801e-2,
      1.921178413174443e-1},
     {4.9976913345811579e-4, 4.5195666782961927e-5, 7.3973765172921357e-5, 7.3821238632439731e-5,
      8.9269630987491446e-4},
     0},
    {'W',
     24,
     200,
     0.0008,
     {1.125590409344e2, 1.180007595731e1, 2.710329767846e1, 2.469174937669e1, 2.638427874317e2},
     {4.419655736008e0, 4.638531260002e-1, 1.011551749967e0, 9.235878729944e-1, 1.018045837718e1},
     0},
    {'A',
     64,
     200,
     0.0008,
     {1.0806346714637264e2, 1.1319730901220813e1, 2.5974354511582465e1, 2.366562254467891e1,
      2.5278963211748344e2},
     {4.2348416040525025e0, 4.4390282496995698e-1, 9.669248013634565e-1, 8.8302063039765474e-1,
      9.7379901770829278e0},
     0},
    {'B',
     102,
     200,
     0.0003,
     {1.4233597229287254e3, 9.9330522590150238e1, 3.5646025644535285e2, 3.2485447959084092e2,
      3.2707541254659363e3},
     {5.2969847140936856e1, 4.4632896115670668e0, 1.3122573342210174e1, 1.2006925323559144e1,
      1.2459576151035986e2},
     0},
    {'C',
     162,
     200,
     0.0001,
     {6.2398116551764615e3, 5.0793239190423964e2, 1.5423530093013596e3, 1.330238792929119e3,
      1.1604087428436455e4},
     {1.6462008369091265e2, 1.1497107903824313e1, 4.1207446207461508e1, 3.7087651059694167e1,
      3.6211053051841265e2},
     0},
};

static const struct official sp_official[] = {
    {'S',
     12,
     100,
     0.015,
     {2.7470315451339479e-2, 1.0360746705285417e-2, 1.6235745065095532e-2, 1.5840557224455615e-2,
      3.484904060936246e-2},
     {2.7289258557377227e-5, 1.0364446640837285e-5, 1.6154798287166471e-5, 1.5750704994480102e-5,
      3.4177666183390531e-5},
     0},
    {'W',
     36,
     400,
     0.0015,
     {1.893253733584e-3, 1.717075447775e-4, 2.778153350936e-4, 2.887475409984e-4,
      3.143611161242e-3},
     {7.542088599534e-5, 6.512852253086e-6, 1.049092285688e-5, 1.128838671535e-5,
      1.212845639773e-4},
     0},
    {'A',
     64,
     400,
     0.0015,
     {2.4799822399300195e0, 1.1276337964368832e0, 1.5028977888770491e0, 1.4217816211695179e0,
      2.129211303513828e0},
     {1.090014029782055e-4, 3.7343951769282091e-5, 5.0092785406541633e-5, 4.7671093939528255e-5,
      1.3621613399213001e-4},
     0},
    {'B',
     102,
     400,
     0.001,
     {6.903293579998e1, 3.095134488084e1, 4.103336647017e1, 3.864769009604e1, 5.643482272596e1},
     {9.810006190188e-3, 1.02282790567e-3, 1.720597911692e-3, 1.694479428231e-3, 1.847456263981e-2},
     0},
    {'C',
     162,
     400,
     0.00067,
     {5.881691581829e2, 2.454417603569e2, 3.293829191851e2, 3.081924971891e2, 4.597223799176e2},
     {2.598120500183e-1, 2.590888922315e-2, 5.13288641632e-2, 4.806073419454e-2, 5.483377491301e-1},
     0},
};

enum { CLASSES = sizeof lu_official / sizeof *lu_official };

static bool lu_accepts(const struct lu_class *size, const struct official *found)
{
    struct lu_result result = {.integral = found->integral};
    memcpy(result.residual, found->residual, sizeof result.residual);
    memcpy(result.error, found->error, sizeof result.error);
    return lu_class_verify(size, &result);
}

static bool accepts(const void *size, bool is_lu, const struct official *found)
{
    return is_lu ? lu_accepts(size, found) : adi_class_verify(size, found->residual, found->error);
}

// `number` is one of `found`: within the tolerance it may be anything, outside it nothing.
static void check_number(const void *size, bool is_lu, const struct official *found, double *number)
{
    const double official = *number;
    for (int i = 0; i < NPB_NEAR; i++) {
        *number = npb_inside(official, TOLERANCE, i);
        assert_true(accepts(size, is_lu, found));
    }
    for (int i = 0; i < NPB_FAR; i++) {
        *number = npb_outside(official, TOLERANCE, i);
        assert_false(accepts(size, is_lu, found));
    }
    *number = official;
}

static void check_verdict(const void *size, bool is_lu, const struct official *official)
{
    struct official found = *official;
    assert_true(accepts(size, is_lu, &found));
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        check_number(size, is_lu, &found, &found.residual[m]);
        check_number(size, is_lu, &found, &found.error[m]);
    }
    if (is_lu)
        check_number(size, is_lu, &found, &found.integral);
}

static void lu_takes_official_results_only(void **unused)
{
    (void)unused;
    for (int i = 0; i < CLASSES; i++) {
        const struct lu_class *size = lu_class_find(lu_official[i].name);
        assert_non_null(size);
        assert_int_equal(size->points, lu_official[i].points);
        assert_int_equal(size->steps, lu_official[i].steps);
        assert_true(size->time_step == lu_official[i].time_step);
        for (int k = 0; k < CLASSES; k++)
            assert_int_equal(lu_accepts(size, &lu_official[k]), i == k);
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            assert_true(size->official.residual[m] == lu_official[i].residual[m]);
            assert_true(size->official.error[m] == lu_official[i].error[m]);
        }
        assert_true(size->official.integral == lu_official[i].integral);
        check_verdict(size, true, &lu_official[i]);
    }
    assert_null(lu_class_find('X'));
}

static void check_solver(const struct adi_class *classes, const struct official *official)
{
    for (int i = 0; i < CLASSES; i++) {
        const struct adi_class *size = adi_class_find(classes, official[i].name);
        assert_non_null(size);
        assert_int_equal(size->points, official[i].points);
        assert_int_equal(size->time_steps, official[i].steps);
        assert_true(size->time_step == official[i].time_step);
        for (int k = 0; k < CLASSES; k++)
            assert_int_equal(accepts(size, false, &official[k]), i == k);
        for (int m = 0; m < CFD_QUANTITIES; m++) {
            assert_true(size->residual[m] == official[i].residual[m]);
            assert_true(size->error[m] == official[i].error[m]);
        }
        check_verdict(size, false, &official[i]);
    }
    assert_null(adi_class_find(classes, 'X'));
}

static void bt_takes_official_results_only(void **unused)
{
    (void)unused;
    check_solver(bt_classes, bt_official);
}

static void sp_takes_official_results_only(void **unused)
{
    (void)unused;
    check_solver(sp_classes, sp_official);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lu_takes_official_results_only),
        cmocka_unit_test(bt_takes_official_results_only),
        cmocka_unit_test(sp_takes_official_results_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
