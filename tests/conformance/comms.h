// What those about communicators share: one that is made, and a check of one, however it was made.
#ifndef COSCHED_TESTS_CONFORMANCE_COMMS_H
#define COSCHED_TESTS_CONFORMANCE_COMMS_H

#include "conform.h"

enum { TAG = 12 };

// Every rank sends to the next one, in several lengths, and receives by name and by wildcard.
static inline void ring_on(MPI_Comm on)
{
    static const int lengths[] = {4, 2000, 20000};
    int me, size, sum = 0;
    OK(MPI_Comm_rank(on, &me));
    OK(MPI_Comm_size(on, &size));
    int next = (me + 1) % size, last = (me + size - 1) % size;
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        MPI_Status status = fresh_status();
        unsigned char *got = buffer((size_t)lengths[i] + 8);
        OK(MPI_Isend(message((size_t)lengths[i], me + i), lengths[i], MPI_BYTE, next, TAG, on,
                     &request));
        if (i == 1) {
            OK(MPI_Probe(MPI_ANY_SOURCE, TAG, on, &status));
            STATUS(&status, last, TAG, MPI_BYTE, lengths[i]);
        }
        OK(MPI_Recv(got, lengths[i] + 8, MPI_BYTE, i == 0 ? last : MPI_ANY_SOURCE, TAG, on,
                    &status));
        STATUS(&status, last, TAG, MPI_BYTE, lengths[i]);
        FILLED(got, (size_t)lengths[i], last + i);
        UNTOUCHED(got + lengths[i], 8);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, on));
    EQUAL(size * (size - 1) / 2, sum);
}

// The even ranks on one side, the odd ones on the other; or the first half and the second.
static inline MPI_Comm make_inter(bool by_halves, MPI_Comm *local)
{
    MPI_Comm inter;
    int side = by_halves ? rank / 2 : rank % 2;
    int other_leader = side == 1 ? 0 : by_halves ? 2 : 1;
    OK(MPI_Comm_split(comm, side, rank, local));
    OK(MPI_Intercomm_create(*local, 0, comm, other_leader, 99, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    return inter;
}

#endif
