// The MPI_COMM_WORLDs that a job's processes on this node belong to: the one that it was started
// with, and those that were spawned from it and joined it. Memory only.
//
// Who started a process tells it which one is its own and which one has spawned that, as numbers
// that are the same for all of its processes on a node; 0: it was not told.
#ifndef COSCHED_CLASSD_WORLDS_H
#define COSCHED_CLASSD_WORLDS_H

#include "common/status_page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world {
    uint64_t key;
    uint64_t parent;
    uint32_t ranks;     // its size
    uint32_t processes; // here
};

struct worlds {
    struct world *all; // in no order
    size_t count;
    size_t room;
};

// One more process of the world that is as *said from now on, but for `processes`. Returns 0, or -1
// when memory is short; then nothing has changed.
int worlds_enter(struct worlds *worlds, const struct world *said);

// One process less. Without any the world is forgotten; as soon as everybody has told his, so are
// those that were taken over, and of which nobody is there.
void worlds_leave(struct worlds *worlds, uint64_t key);

void worlds_free(struct worlds *worlds);

// What the next classd is to know, and what the last one knew: worlds whose processes have not told
// theirs again. Where memory is short, or room, some are missing.
void worlds_keep(const struct worlds *worlds, struct status_world kept[STATUS_WORLDS_MAX]);
void worlds_take_over(struct worlds *worlds, const struct status_world kept[STATUS_WORLDS_MAX]);

// Is this world, or one that it has spawned, among them? Never of world 0.
bool worlds_have(const struct worlds *worlds, uint64_t key);

// How many ranks the job has, by what is known here. World 0 speaks for the whole job: its
// processes are of a launcher that tells nothing, or of a job that was taken over, of which others
// may have told their world since.
uint32_t worlds_ranks(const struct worlds *worlds);

// How many ranks its largest world has; 0: none is known.
uint32_t worlds_largest(const struct worlds *worlds);

#endif
