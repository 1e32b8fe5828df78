// What NAS prescribes for BT and SP: sizes and official results of each class. No MPI call.
#ifndef COSCHED_BENCH_ADI_CLASS_H
#define COSCHED_BENCH_ADI_CLASS_H

#include "bench/npb/cfd/cfd.h"

#include <stdbool.h>

enum { ADI_CLASSES = 5 };

struct adi_class {
    char name;
    int points; // on an edge of the cube
    int time_steps;
    double time_step;
    double residual[CFD_QUANTITIES]; // official: norms of the right side after the last step
    double error[CFD_QUANTITIES];    // and of the state's distance from the exact one
};

// Null where there is no such class among the ADI_CLASSES `classes`.
const struct adi_class *adi_class_find(const struct adi_class *classes, char name);

// Prints norms beside the official values; true if they are those.
bool adi_class_verify(const struct adi_class *size, const double residual[CFD_QUANTITIES],
                      const double error[CFD_QUANTITIES]);

#endif
