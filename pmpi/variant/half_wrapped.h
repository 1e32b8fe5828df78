// The end of a job of which some ranks run the library and some do not.
#ifndef COSCHED_PMPI_VARIANT_HALF_WRAPPED_H
#define COSCHED_PMPI_VARIANT_HALF_WRAPPED_H

#include "pmpi/variant/core.h"

#include <stdint.h>

// The one place where the library ends a program: the ranks cannot agree because some of them do
// not run the library, so its duplicate of MPI_COMM_WORLD, made by `request`, will never be
// complete, and the first collective operation of the others may already have been paired with it.
// The first of those that run it says which ranks they are, on which hosts, which are missing, and
// the launcher's remedy.
//
// Returns where all ranks turn out to run it: they have said so, or the request is complete. Then
// there is only more to wait.
void half_wrapped_end(int rank, int size, MPI_Request *request);

// How often this rank has asked all others in there, at most 255 times.
uint8_t half_wrapped_roll_calls(void);

// When all ranks are here: takes off MPI_COMM_WORLD what rank `from` has sent this one in so many
// roll calls, before the program could receive it.
void half_wrapped_take(int rank, int size, int from, uint8_t roll_calls);

#endif
