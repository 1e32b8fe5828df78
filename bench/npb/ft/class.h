// What NAS prescribes for FT: sizes and official results of each class.
#ifndef COSCHED_BENCH_FT_CLASS_H
#define COSCHED_BENCH_FT_CLASS_H

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

#endif
