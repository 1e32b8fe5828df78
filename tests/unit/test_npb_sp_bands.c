// Protects the systems of SP and the waves they are solved for.
#include "bench/npb/sp/bands.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 9 };

static const double damping[5] = {0.1, -0.4, 0.6, -0.4, 0.1};
static const double signs[SP_MATRICES] = {0, 1, -1};
static const int matrix_of[SP_WAVES] = {SP_CARRIED, SP_CARRIED, SP_CARRIED, SP_UP, SP_DOWN};

static void randomize(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)rand() / RAND_MAX - 0.5;
}

// The factor of the wave `distance` points up in the equation at the second of `points`.
static double factor(const struct sp_point *points, int distance, double sign, int lane)
{
    const struct sp_point *point = &points[1 + distance];
    double sum = damping[2 + distance];
    if (distance == 0)
        return sum + 1 + 2 * point->diffusion[lane];
    if (distance * distance == 1)
        sum += distance * (point->convection[lane] + sign * point->sound[lane]) -
               point->diffusion[lane];
    return sum;
}

static void check_line(const struct sp_point *points, adi_lanes rights[][SP_WAVES],
                       adi_lanes waves[][SP_WAVES])
{
    for (int n = 0; n < POINTS; n++) {
        for (int m = 0; m < SP_WAVES; m++) {
            for (int lane = 0; lane < ADI_LANES; lane++) {
                double sum = 0;
                for (int distance = -2; distance <= 2; distance++) {
                    if (n + distance >= 0 && n + distance < POINTS)
                        sum += factor(points + n, distance, signs[matrix_of[m]], lane) *
                               waves[n + distance][m][lane];
                }
                assert_true(fabs(sum - rights[n][m][lane]) < 1e-12);
            }
        }
    }
}

// A line between two surfaces, where all is 0.
static void lines_fulfil_their_equations(void **unused)
{
    (void)unused;
    srand(5);
    static struct sp_point points[POINTS + 2]; // one more on either end
    static adi_lanes rights[POINTS][SP_WAVES], waves[POINTS + 2][SP_WAVES];
    static struct sp_row rows[POINTS + 2]; // two solved ones, of zeros, in front
    randomize((double *)points, sizeof points / (sizeof(double)));
    randomize((double *)rights, sizeof rights / sizeof(double));
    for (int n = 0; n < POINTS + 2; n++) {
        for (int lane = 0; lane < ADI_LANES; lane++)
            points[n].diffusion[lane] += 1.5;
    }
    for (int n = 0; n < POINTS; n++) {
        memcpy(rows[n + 2].right, rights[n], sizeof rights[n]);
        sp_bands_solve(&points[n], &points[n + 1], &points[n + 2], damping, &rows[n], &rows[n + 1],
                       &rows[n + 2]);
    }
    for (int n = POINTS - 1; n >= 0; n--)
        sp_bands_substitute(&rows[n + 2], (const adi_lanes *)waves[n + 1],
                            (const adi_lanes *)waves[n + 2], waves[n]);
    check_line(points, rights, waves);
}

static void three_turns_change_nothing(void **unused)
{
    (void)unused;
    adi_lanes waves[4][SP_WAVES];
    randomize((double *)waves[0], sizeof waves[0] / sizeof(double));
    for (int i = 0; i < 3; i++)
        sp_waves_turn((const adi_lanes *)waves[i], waves[i + 1]);
    for (int m = 0; m < SP_WAVES; m++) {
        for (int lane = 0; lane < ADI_LANES; lane++)
            assert_true(fabs(waves[3][m][lane] - waves[0][m][lane]) < 1e-14);
    }
}

// Sound that goes along x is, seen along y, pressure alone and a shear.
static void turned_sound_is_half_sound_and_shear(void **unused)
{
    (void)unused;
    adi_lanes waves[SP_WAVES] = {0}, turned[SP_WAVES];
    waves[SP_SOUND_UP][0] = 1;
    sp_waves_turn((const adi_lanes *)waves, turned);
    assert_true(fabs(turned[SP_SOUND_UP][0] - 0.5) < 1e-15);
    assert_true(fabs(turned[SP_SOUND_DOWN][0] - 0.5) < 1e-15);
    assert_true(fabs(turned[SP_OTHER_SHEAR][0] - sqrt(0.5)) < 1e-15);
    assert_true(turned[SP_SHEAR][0] == 0 && turned[SP_ENTROPY][0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fulfil_their_equations),
        cmocka_unit_test(three_turns_change_nothing),
        cmocka_unit_test(turned_sound_is_half_sound_and_shear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
