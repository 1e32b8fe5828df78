// Protects the operators of kernel MG against the plain formulas of the report, on boxes of all
// shapes that a rank can get, down to a single point and none.
#include "bench/npb/mg/field.h"

#include "bench/npb/common/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOLERANCE 1e-13

static const struct mg_box boxes[] = {{2, 2, 2}, {1, 1, 1}, {16, 4, 8}, {1, 2, 4}, {4, 8, 1}};

enum { BOXES = sizeof boxes / sizeof *boxes };

static void assert_close(double value, double expected)
{
    assert_true(fabs(value - expected) <= TOLERANCE);
}

static double *make_field(const struct mg_box *box, uint64_t seed)
{
    double *field = calloc(mg_field_size(box), sizeof *field);
    assert_non_null(field);
    npb_random_fill(&seed, field, mg_field_size(box));
    return field;
}

static double at(const struct mg_box *box, const double *field, int x, int y, int z)
{
    return field[mg_field_row(box, y, z) + (size_t)x];
}

static bool inside(const struct mg_box *box, int x, int y, int z)
{
    return x >= 1 && x <= box->nx && y >= 1 && y <= box->ny && z >= 1 && z <= box->nz;
}

// The 27 points around one, each with the weight of its distance.
static double apply(const struct mg_box *box, const struct mg_weights *weights, const double *field,
                    int x, int y, int z)
{
    const double by_distance[] = {weights->centre, weights->face, weights->edge, weights->corner};
    double sum = 0;
    for (int k = -1; k <= 1; k++) {
        for (int j = -1; j <= 1; j++) {
            for (int i = -1; i <= 1; i++)
                sum += by_distance[abs(i) + abs(j) + abs(k)] * at(box, field, x + i, y + j, z + k);
        }
    }
    return sum;
}

// What an operator should write: a function of the point.
typedef double expectation(const struct mg_box *box, const void *context, int x, int y, int z);

// In the box what is expected, and in its halo what was there before.
static void check_field(const struct mg_box *box, const double *before, const double *after,
                        expectation *expect, const void *context)
{
    for (int z = 0; z < box->nz + 2; z++) {
        for (int y = 0; y < box->ny + 2; y++) {
            for (int x = 0; x < box->nx + 2; x++) {
                double expected =
                    inside(box, x, y, z) ? expect(box, context, x, y, z) : at(box, before, x, y, z);
                assert_close(at(box, after, x, y, z), expected);
            }
        }
    }
}

struct fields {
    const double *input, *before;
    struct mg_weights weights;
};

static double expect_residual(const struct mg_box *box, const void *context, int x, int y, int z)
{
    const struct fields *fields = context;
    return at(box, fields->before, x, y, z) - apply(box, &fields->weights, fields->input, x, y, z);
}

static double expect_smoothed(const struct mg_box *box, const void *context, int x, int y, int z)
{
    const struct fields *fields = context;
    return at(box, fields->before, x, y, z) + apply(box, &fields->weights, fields->input, x, y, z);
}

static void residual_is_what_the_laplacian_leaves(void **unused)
{
    (void)unused;
    for (int b = 0; b < BOXES; b++) {
        double *u = make_field(&boxes[b], 11), *right = make_field(&boxes[b], 13);
        double *residual = make_field(&boxes[b], 13), *other = make_field(&boxes[b], 17);
        struct fields fields = {u, right, {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12}};
        mg_field_residual(&boxes[b], u, residual, residual);
        check_field(&boxes[b], right, residual, expect_residual, &fields);

        mg_field_residual(&boxes[b], u, right, other);
        double *halo = make_field(&boxes[b], 17);
        check_field(&boxes[b], halo, other, expect_residual, &fields);
        free(u);
        free(right);
        free(residual);
        free(other);
        free(halo);
    }
}

static void smoothing_adds_the_weighted_neighbours(void **unused)
{
    (void)unused;
    const struct mg_weights weights = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
    for (int b = 0; b < BOXES; b++) {
        double *residual = make_field(&boxes[b], 11);
        double *before = make_field(&boxes[b], 13), *u = make_field(&boxes[b], 13);
        mg_field_smooth(&boxes[b], &weights, residual, u);
        struct fields fields = {residual, before, weights};
        check_field(&boxes[b], before, u, expect_smoothed, &fields);
        free(residual);
        free(before);
        free(u);
    }
}

// Levels over each other: halved; with a single fine point that is a coarse one; and with one that
// is none, on a rank without coarse points. Mixed along the axes.
static const struct mg_pair pairs[] = {
    {{8, 4, 2}, {4, 2, 1}, {0, 0, 0}},  {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {{1, 1, 1}, {0, 0, 0}, {0, 0, 0}},  {{1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{16, 1, 1}, {8, 1, 0}, {0, 1, 0}}, {{1, 2, 1}, {1, 1, 0}, {1, 0, 0}},
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

static double expect_restricted(const struct mg_box *box, const void *context, int x, int y, int z)
{
    (void)box;
    const struct mg_weights weights = {1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16};
    const struct mg_pair *pair = ((const void *const *)context)[0];
    return apply(&pair->fine, &weights, ((const void *const *)context)[1], 2 * x - pair->shift[0],
                 2 * y - pair->shift[1], 2 * z - pair->shift[2]);
}

static void restriction_weighs_the_points_around(void **unused)
{
    (void)unused;
    for (int p = 0; p < PAIRS; p++) {
        const struct mg_box *box = &pairs[p].coarse;
        double *fine = make_field(&pairs[p].fine, 11);
        double *before = make_field(box, 13), *coarse = make_field(box, 13);
        mg_field_restrict(&pairs[p], fine, coarse);
        const void *context[] = {&pairs[p], fine};
        check_field(box, before, coarse, expect_restricted, context);
        free(fine);
        free(before);
        free(coarse);
    }
}

// The mean of the coarse points at and next to `twice` / 2, along one axis after the other.
static double interpolate(const struct mg_box *box, const double *coarse, const int twice[3])
{
    double sum = 0;
    for (int corner = 0; corner < 8; corner++) {
        int place[3];
        for (int axis = 0; axis < 3; axis++)
            place[axis] = (twice[axis] + ((corner >> axis) & 1)) / 2;
        sum += at(box, coarse, place[0], place[1], place[2]) / 8;
    }
    return sum;
}

static void prolongation_interpolates_also_in_the_halo(void **unused)
{
    (void)unused;
    for (int p = 0; p < PAIRS; p++) {
        const struct mg_box *box = &pairs[p].fine;
        double *coarse = make_field(&pairs[p].coarse, 11);
        double *before = make_field(box, 13), *fine = make_field(box, 13);
        mg_field_prolong(&pairs[p], coarse, fine);
        for (int z = 0; z < box->nz + 2; z++) {
            for (int y = 0; y < box->ny + 2; y++) {
                for (int x = 0; x < box->nx + 2; x++) {
                    const int twice[] = {x + pairs[p].shift[0], y + pairs[p].shift[1],
                                         z + pairs[p].shift[2]};
                    double added = interpolate(&pairs[p].coarse, coarse, twice);
                    assert_close(at(box, fine, x, y, z), at(box, before, x, y, z) + added);
                }
            }
        }
        free(coarse);
        free(before);
        free(fine);
    }
}

static void size_is_measured_without_the_halo(void **unused)
{
    (void)unused;
    for (int b = 0; b < BOXES; b++) {
        const struct mg_box *box = &boxes[b];
        double *field = make_field(box, 11);
        double sum = 0, largest = 0;
        for (int z = 0; z < box->nz + 2; z++) {
            for (int y = 0; y < box->ny + 2; y++) {
                for (int x = 0; x < box->nx + 2; x++) {
                    double *value = &field[mg_field_row(box, y, z) + (size_t)x];
                    *value = inside(box, x, y, z) ? -*value : 1000;
                    sum += inside(box, x, y, z) ? *value * *value : 0;
                    largest = inside(box, x, y, z) ? fmax(largest, -*value) : largest;
                }
            }
        }
        struct mg_size size = mg_field_measure(box, field);
        assert_true(fabs(size.square_sum - sum) <= 1e-10);
        assert_true(size.largest == largest);
        free(field);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residual_is_what_the_laplacian_leaves),
        cmocka_unit_test(smoothing_adds_the_weighted_neighbours),
        cmocka_unit_test(restriction_weighs_the_points_around),
        cmocka_unit_test(prolongation_interpolates_also_in_the_halo),
        cmocka_unit_test(size_is_measured_without_the_halo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
