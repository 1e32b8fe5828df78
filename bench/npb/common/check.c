#include "bench/npb/common/check.h"

#include <math.h>
#include <stdio.h>

bool npb_check_value(const char *name, double value, double official, double tolerance)
{
    double error = fabs((value - official) / official);
    bool close = error <= tolerance;
    printf("  %-5s %22.14e  official %22.14e  relative error %.1e  %s\n", name, value, official,
           error, close ? "correct" : "WRONG");
    return close;
}
