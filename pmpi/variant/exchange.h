// Everybody's words to everybody, over the job's communicator, while the job starts.
#ifndef COSCHED_PMPI_VARIANT_EXCHANGE_H
#define COSCHED_PMPI_VARIANT_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

// Collective on job.comm: puts the `bytes` at `own` of rank i at all + i * bytes, on all ranks, in
// a number of steps that is the logarithm of the ranks (J. Bruck et al.), each with one peer to
// send to and one to receive from. Open MPI's MPI_Iallgather has each rank send to all others at
// once, and so keep a connection to each for as long as the job lives, where it makes none before
// it needs one. False when MPI fails.
bool exchange(const void *own, void *all, size_t bytes);

// What rank `rank` of `size` does when it has the words of `have` ranks, from its own on: it sends
// the first `count` of these to `to`, and puts as many of `from` behind its own. Pure.
struct exchange_step {
    int to, from, count;
};
struct exchange_step exchange_step(int rank, int size, int have);

// Turns `count` elements of `bytes` each, so that the first one becomes that of place `places`.
// Pure.
void exchange_turn(void *elements, size_t count, size_t bytes, size_t places);

#endif
