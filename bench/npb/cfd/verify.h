// The verdict of LU, SP and BT on norms of five quantities.
#ifndef COSCHED_BENCH_CFD_VERIFY_H
#define COSCHED_BENCH_CFD_VERIFY_H

#include "bench/npb/cfd/cfd.h"

#include <stdbool.h>

// Relative, of the official values of all three.
#define CFD_TOLERANCE 1e-8

// Prints a line for each quantity, headed by `what` and its number from 1; true if all are within
// CFD_TOLERANCE.
bool cfd_verify_norms(const char *what, const double norms[CFD_QUANTITIES],
                      const double official[CFD_QUANTITIES]);

#endif
