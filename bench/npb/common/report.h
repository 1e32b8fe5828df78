// What a kernel measures and prints.
#ifndef COSCHED_BENCH_NPB_REPORT_H
#define COSCHED_BENCH_NPB_REPORT_H

#include <stdbool.h>

// A stopwatch on MPI_Wtime(); zero it to begin.
struct npb_timer {
    double started_s;
    double total_s;
};

void npb_timer_start(struct npb_timer *timer);
void npb_timer_stop(struct npb_timer *timer);

// The largest total among all ranks, on all ranks. Collective.
double npb_timer_slowest_s(const struct npb_timer *timer);

struct npb_result {
    const char *kernel;
    char size_class;
    int ranks;
    int repeat;
    double seconds;    // of all repetitions together, of the slowest rank
    double operations; // of all repetitions together
    bool verified;     // every one of them
};

// Prints the summary for people, then, as the last line, the one for programs:
//   NPB kernel=cg class=A ranks=2 repeat=1 seconds=0.412 mops=3634.1 verified=yes
void npb_report_result(const struct npb_result *result);

#endif
