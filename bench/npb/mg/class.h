// What NAS prescribes for MG: sizes and official result of each class. No MPI call.
#ifndef COSCHED_BENCH_MG_CLASS_H
#define COSCHED_BENCH_MG_CLASS_H

#include "bench/npb/mg/field.h"

#include <stdbool.h>

struct mg_class {
    char name;
    int finest; // level
    int iterations;
    const struct mg_weights *smoother;
    double norm; // official result
};

// Null where there is no such class.
const struct mg_class *mg_class_find(char name);

// Prints `norm` beside the official value; true if it is that.
bool mg_class_verify(const struct mg_class *size, double norm);

#endif
