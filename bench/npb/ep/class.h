// What NAS prescribes for EP: sizes and official results of each class. No MPI call.
#ifndef COSCHED_BENCH_EP_CLASS_H
#define COSCHED_BENCH_EP_CLASS_H

#include <stdbool.h>

struct ep_class {
    char name;
    int log2_pairs;
    double sum_x, sum_y; // official results
};

// Null where there is no such class.
const struct ep_class *ep_class_find(char name);

// Prints both sums beside the official values; true if they are those.
bool ep_class_verify(const struct ep_class *size, double sum_x, double sum_y);

#endif
