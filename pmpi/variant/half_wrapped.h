// The end of a job of which some ranks run the library and some do not.
#ifndef COSCHED_PMPI_VARIANT_HALF_WRAPPED_H
#define COSCHED_PMPI_VARIANT_HALF_WRAPPED_H

// The one place where the library ends a program: the ranks cannot agree because some of them do
// not run the library, so its duplicate of MPI_COMM_WORLD will never be complete, and the first
// collective operation of the others may already have been paired with it. The first of those that
// run it says which ranks they are, on which hosts, which are missing, and the launcher's remedy.
void half_wrapped_end(int rank, int size);

#endif
