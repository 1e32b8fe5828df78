// Results on either side of a tolerance.
#ifndef COSCHED_TESTS_NPB_NEAR_H
#define COSCHED_TESTS_NPB_NEAR_H

#include <math.h>

enum { NPB_NEAR = 3, NPB_FAR = 7 };

// A result that must be taken for `official`; `i` is 0 .. NPB_NEAR - 1.
static inline double npb_inside(double official, double tolerance, int i)
{
    const double errors[NPB_NEAR] = {0, 0.95, -0.95};
    return official * (1 + errors[i] * tolerance);
}

// One that must not; `i` is 0 .. NPB_FAR - 1.
static inline double npb_outside(double official, double tolerance, int i)
{
    const double wrong[NPB_FAR] = {
        official * (1 + 1.05 * tolerance),
        official * (1 - 1.05 * tolerance),
        -official,
        0,
        NAN,
        INFINITY,
        -INFINITY,
    };
    return wrong[i];
}

#endif
