// What NAS prescribes for FT: sizes and official results of each class. No MPI call.
#ifndef COSCHED_BENCH_FT_CLASS_H
#define COSCHED_BENCH_FT_CLASS_H

#include <stdbool.h>

struct ft_checksum {
    double re, im;
};

enum { FT_MOST_ITERATIONS = 20 };

struct ft_class {
    char name;
    int nx, ny, nz; // powers of two
    int iterations;
    struct ft_checksum official[FT_MOST_ITERATIONS]; // after each iteration
};

// Null where there is no such class.
const struct ft_class *ft_class_find(char name);

// Prints the checksum of each iteration beside the official value; true if all are those.
bool ft_class_verify(const struct ft_class *size, const struct ft_checksum *checksums);

#endif
