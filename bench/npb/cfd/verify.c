#include "bench/npb/cfd/verify.h"

#include "bench/npb/common/check.h"

#include <stdio.h>

bool cfd_verify_norms(const char *what, const double norms[CFD_QUANTITIES],
                      const double official[CFD_QUANTITIES])
{
    bool all = true;
    for (int m = 0; m < CFD_QUANTITIES; m++) {
        char name[32];
        snprintf(name, sizeof name, "%s %d", what, m + 1);
        all &= npb_check_value(name, norms[m], official[m], CFD_TOLERANCE);
    }
    return all;
}
