// When a job is told to look for more slots, which its node could give it: soon after somebody has
// come or gone there, or it has lost some. Where nobody has, it has looked in vain, as another of
// its nodes has none to give, or as it was in the way of another job, which will look again, too;
// then more and more rarely, and by lot.
#ifndef COSCHED_CLASSD_POLICY_LOOKS_H
#define COSCHED_CLASSD_POLICY_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#define LOOKS_PAUSE UINT64_C(20) // slots from one time to the next, at least

// Of a job; all zero in the beginning.
struct looks {
    uint64_t turn;    // the slot in which it was last told; 0: never
    uint64_t pause;   // for about so many slots it is not told again while the company is the same
    uint64_t company; // who was there then
    bool lost;        // slots, since then
};

// Whether the job is told in slot `turn`, which counts as done. `company` is another number when
// somebody has come or gone, `lot` any number that is not the same for all jobs and times.
bool looks_due(struct looks *looks, uint64_t turn, uint64_t company, uint64_t lot);

// The job has lost slots, so it is told again as soon as when somebody has come or gone.
void looks_note_loss(struct looks *looks);

#endif
