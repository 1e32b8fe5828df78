// Pieces of the library that are timed by themselves, in one process without MPI.
#ifndef COSCHED_BENCH_MICRO_PIECES_H
#define COSCHED_BENCH_MICRO_PIECES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// run() does the thing `times` times: calls for a nanosecond's work would cost more than the work.
struct piece {
    const char *name;
    void (*run)(size_t times);
};

// Ended by an entry without a name.
extern const struct piece pieces[];

#ifdef __cplusplus
}
#endif

#endif
