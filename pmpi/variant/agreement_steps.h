// The steps by which a job comes by its slots under policy gang, the same on all ranks: what its
// nodes are asked next, by what all of them have answered. Pure; doc/design/gang.md, section 3.
#ifndef COSCHED_PMPI_VARIANT_AGREEMENT_STEPS_H
#define COSCHED_PMPI_VARIANT_AGREEMENT_STEPS_H

#include "common/slots.h"

enum agreement_step { AGREEMENT_ASKS, AGREEMENT_RESERVES, AGREEMENT_TAKES, AGREEMENT_DONE };

struct agreement {
    enum agreement_step step;
    uint64_t seed;
    unsigned asked;             // how often
    uint32_t term;              // of what is taken
    struct slots_offer offer;   // of all nodes together, in the answers to the first step
    struct slots_choice choice; // what is to be reserved, or taken
    uint64_t given;             // of that, by all nodes, in the answers to these
    uint64_t taken;             // by all nodes, at last
};

// `last_term` is that of the job's last agreement, 0: none.
struct agreement agreement_new(uint64_t seed, uint32_t last_term);

// All nodes have answered: the next step.
void agreement_step_on(struct agreement *agreement);

#endif
