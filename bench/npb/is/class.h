// What NAS prescribes for IS: sizes and official results of each class. No MPI call.
#ifndef COSCHED_BENCH_IS_CLASS_H
#define COSCHED_BENCH_IS_CLASS_H

#include <stdbool.h>

enum { IS_ITERATIONS = 10, IS_PROBES = 5 };

// Keys whose rank is officially known: of the key at `index` of the whole sequence it is
// `rank + iteration * step`, because every iteration changes one small and one large key.
struct is_probe {
    int index;
    int rank;
    int step;
};

struct is_class {
    char name;
    int log2_keys;
    int log2_values;
    int log2_buckets;
    struct is_probe probes[IS_PROBES];
};

// What verification counts; nothing but ints, so that it is one MPI message.
struct is_findings {
    int probes_right; // in all iterations
    int keys;
    int misplaced;
};

enum { IS_FINDINGS_INTS = sizeof(struct is_findings) / sizeof(int) };

// Null where there is no such class.
const struct is_class *is_class_find(char name);

// The official rank of a probed key in an iteration, from 1.
int is_class_rank(const struct is_probe *probe, int iteration);

// Prints what was found; true if all probed keys had their ranks, and all keys were there and in
// order.
bool is_class_verify(const struct is_class *size, const struct is_findings *found);

#endif
