// Whether ranks of this job share their CPUs with each other: then a rank that waits had better
// give its CPU away. Known at MPI_Init, without a scheduler.
#ifndef COSCHED_PMPI_VARIANT_CROWDING_H
#define COSCHED_PMPI_VARIANT_CROWDING_H

#include <stdbool.h>
#include <stdint.h>

// Where a rank may run and how much of it it needs; every rank tells all others.
struct crowding_place {
    uint64_t
        cpus_id;   // the same for ranks on one machine that may use the same CPUs, or share a limit
    uint32_t cpus; // how many these are
    uint32_t width;    // CPUs that the rank can use at once: its threads
    bool limited;      // `cpus` is a limit on CPU bandwidth, rounded up
    uint8_t unused[3]; // named, so that no chance bytes are sent
};

// This process's place. Ranks that are bound to different CPUs are in different places, also where
// these overlap: such a binding is the user's own. `runtime_dir` is classd's.
struct crowding_place crowding_own_place(const char *runtime_dir);

// Do the ranks in `place` need more CPUs than there are?
bool crowding_at(const struct crowding_place *places, int ranks,
                 const struct crowding_place *place);

// Is that so anywhere? Sorts the places, so that all ranks compute the same in little time.
bool crowding_anywhere(struct crowding_place *places, int ranks);

#endif
