// What NAS prescribes for LU: sizes and official results of each class. No MPI call.
#ifndef COSCHED_BENCH_LU_CLASS_H
#define COSCHED_BENCH_LU_CLASS_H

#include "bench/npb/lu/result.h"

#include <stdbool.h>

struct lu_class {
    char name;
    int points; // in each direction
    int steps;
    double time_step;
    struct lu_result official;
};

// Null where there is no such class.
const struct lu_class *lu_class_find(char name);

// Prints norms and integral beside the official values; true if they are those.
bool lu_class_verify(const struct lu_class *size, const struct lu_result *result);

#endif
