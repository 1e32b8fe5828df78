// What NAS prescribes for CG: sizes and official result of each class. No MPI call.
#ifndef COSCHED_BENCH_CG_CLASS_H
#define COSCHED_BENCH_CG_CLASS_H

#include <stdbool.h>

struct cg_class {
    char name;
    int order;
    int spread; // nonzeros of the vectors the matrix is made of
    int iterations;
    double shift;
    double zeta; // official result
};

// Null where there is no such class.
const struct cg_class *cg_class_find(char name);

// Prints `zeta` beside the official value; true if it is that.
bool cg_class_verify(const struct cg_class *size, double zeta);

#endif
