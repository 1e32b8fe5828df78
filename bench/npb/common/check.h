// The verdict on a number that NAS has published. No MPI call.
#ifndef COSCHED_BENCH_NPB_CHECK_H
#define COSCHED_BENCH_NPB_CHECK_H

#include <stdbool.h>

// Prints one line that compares a result with its official value, and returns whether the relative
// error is at most `tolerance`. NaN never is.
bool npb_check_value(const char *name, double value, double official, double tolerance);

#endif
