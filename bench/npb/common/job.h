// One MPI job that runs one kernel: arguments, repetitions, timing, verdict. A kernel is a table of
// functions; its main() hands the table over and does nothing else.
#ifndef COSCHED_BENCH_NPB_JOB_H
#define COSCHED_BENCH_NPB_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct npb_job {
    char size_class;
    int repeat;  // repetitions wanted; 0: as `seconds` says, or one
    int seconds; // no repetition begins later than this; 0: as `repeat` says
    int rank;
    int ranks;
};

struct npb_kernel {
    const char *name;

    // Untimed: makes the data of the job's class in `*state`, and says on rank 0 what it is.
    // Returns null, or why the job cannot be: a phrase that ends up on standard error. All ranks
    // must return the same, and a refusal leaves nothing to release.
    const char *(*prepare)(const struct npb_job *job, void **state);

    // The timed part, from its very beginning: a repetition knows nothing of the one before.
    void (*run)(void *state);

    // Untimed, on all ranks, after each run: makes what verify() needs and run() did not compute.
    // Null where there is no such thing.
    void (*conclude)(void *state);

    // Prints what the last run computed beside the official values; true if it is correct. Called
    // on rank 0 only.
    bool (*verify)(const void *state);

    // Operations of one run on all ranks, as NAS counts them for this kernel.
    double (*operations)(const void *state);

    void (*release)(void *state);
};

// The whole of main(): `KERNEL CLASS [--repeat N | --seconds S]`. Initializes and finalizes MPI. Returns the exit
// status, the same on all ranks: 0 if all repetitions verified, 1 if not, 2 if they could not
// begin.
int npb_job_main(int argc, char **argv, const struct npb_kernel *kernel);

// Zeroed memory for `count` elements, to be freed with free(). Does not come back without it: a
// rank that lacks memory aborts the job.
void *npb_job_allocate(size_t count, size_t element_bytes);

// The same for at least one element, beginning at a cache line. `element_bytes` is a multiple of
// 64.
void *npb_job_allocate_lines(size_t count, size_t element_bytes);

#endif
