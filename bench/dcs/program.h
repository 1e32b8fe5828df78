// What the programs of this folder have in common: arguments, one timed part between two barriers,
// and the line for programs with which it ends.
#ifndef COSCHED_BENCH_DCS_PROGRAM_H
#define COSCHED_BENCH_DCS_PROGRAM_H

#include <stdbool.h>

struct program {
    const char *name;
    int rank;
    int ranks;
    double started_s;     // wall clock, of the timed part
    double cpu_started_s; // CPU time of this process then
};

// Initializes MPI. `usage` says what the arguments are. Ends the program, on all ranks with status
// 2, where there are not `count` numbers from 1 to 2^31 - 1 (from 0 for those beyond `positive`),
// which otherwise are in `numbers`.
struct program program_begin(int *argc, char ***argv, const char *name, const char *usage,
                             int positive, int count, int *numbers);

// The timed part begins, on all ranks at once.
void program_start(struct program *program);

// It is over on this rank. Rank 0 prints, when it is on all,
//   DCS program=barrier ranks=2 seconds=2.113 cpu_s=2.071 verified=yes
// where `seconds` are those of the slowest rank and `cpu_s` is the mean over the ranks, and
// finalizes MPI. `correct` is what this rank knows; all have to. Returns the exit status.
int program_end(const struct program *program, bool correct);

#endif
