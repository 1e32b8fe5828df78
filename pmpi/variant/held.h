// Whether a rank whose job is said to be idle is held to a share indeed. It sleeps while it waits
// then, which is wrong for one that is not: whoever has lifted the limits, timerd or an admin, may
// not have been able to say so. But other jobs' slices may be as long as they like, so that a job
// has been idle for long says nothing. A rank that has been for some minutes polls for some
// milliseconds of CPU time and sees how long these take. Pure.
#ifndef COSCHED_PMPI_VARIANT_HELD_H
#define COSCHED_PMPI_VARIANT_HELD_H

#include <stdbool.h>
#include <stdint.h>

// Of a thread, all zero at first.
struct held {
    uint32_t epoch;          // of the word that says that the job is idle
    bool free;               // it is not held, whatever that word says
    uint64_t since_ns;       // the word has been believed since then; 0: there was none
    uint64_t trial_ns;       // polls since then to find out; 0: does not
    uint64_t trial_spent_ns; // CPU time of the thread, then
};

// Asked while the job is said to be idle, by a word of this epoch. `spent_ns` is the thread's CPU
// time. True: it is held, as far as is known, and may sleep.
bool held_believed(struct held *held, uint32_t epoch, uint64_t now_ns, uint64_t spent_ns);

#endif
