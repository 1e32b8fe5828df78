// Intercommunicators: messages, requests and collectives between two groups of the ranks. For four
// ranks.
#include "comms.h"

static const struct parameter sides[] = {{"even_odd", 0}, {"halves", 1}};

CASE_EACH(inter_messages, sides)
{
    static const int lengths[] = {0, 4, 1025, 9000, 100000};
    MPI_Comm local, inter = make_inter(value, &local);
    int me, remote_size, is_inter = 0;
    OK(MPI_Comm_rank(inter, &me));
    OK(MPI_Comm_remote_size(inter, &remote_size));
    OK(MPI_Comm_test_inter(inter, &is_inter));
    EQUAL(1, is_inter);
    EQUAL(2, remote_size);
    int peer = 1 - me; // crosswise: ranks mean the other side's
    for (int i = 0; i < 5; i++) {
        MPI_Request request;
        MPI_Status status = fresh_status();
        unsigned char *got = buffer((size_t)lengths[i] + 8);
        OK(MPI_Isend(message((size_t)lengths[i], i + me), lengths[i], MPI_BYTE, peer, TAG, inter,
                     &request));
        OK(MPI_Probe(MPI_ANY_SOURCE, TAG, inter, &status));
        STATUS(&status, peer, TAG, MPI_BYTE, lengths[i]);
        OK(MPI_Recv(got, lengths[i] + 8, MPI_BYTE, MPI_ANY_SOURCE, TAG, inter, &status));
        STATUS(&status, peer, TAG, MPI_BYTE, lengths[i]);
        FILLED(got, (size_t)lengths[i], i + peer);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Sendrecv(message(8, me), 8, MPI_BYTE, me, TAG + 1, got, lengths[i] + 8, MPI_BYTE, me,
                        TAG + 1, inter, &status));
        STATUS(&status, me, TAG + 1, MPI_BYTE, 8);
        FILLED(got, 8, me);
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

CASE_EACH(inter_persistent, sides)
{
    MPI_Comm local, inter = make_inter(value, &local);
    MPI_Request requests[2];
    int me, number = 0, got = -1;
    OK(MPI_Comm_rank(inter, &me));
    OK(MPI_Send_init(&number, 1, MPI_INT, me, TAG, inter, &requests[0]));
    OK(MPI_Recv_init(&got, 1, MPI_INT, me, TAG, inter, &requests[1]));
    for (int i = 0; i < 4; i++) {
        MPI_Status statuses[2];
        number = i + 10 * me;
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, statuses));
        STATUS(&statuses[1], me, TAG, MPI_INT, 1);
        EQUAL(i + 10 * me, got);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

CASE_EACH(inter_collectives, sides)
{
    MPI_Comm local, inter = make_inter(value, &local);
    int side = value ? rank / 2 : rank % 2, me, number, got[2] = {-1, -1};
    OK(MPI_Comm_rank(inter, &me));
    OK(MPI_Barrier(inter));
    number = side == 0 && me == 1 ? 321 : -1;
    int root = side == 1 ? 1 : me == 1 ? MPI_ROOT : MPI_PROC_NULL;
    OK(MPI_Bcast(&number, 1, MPI_INT, root, inter));
    EQUAL(side == 1 || me == 1 ? 321 : -1, number);
    number = rank;
    OK(MPI_Allgather(&number, 1, MPI_INT, got, 1, MPI_INT, inter));
    int other = 1 - side;
    EQUAL(value ? 2 * other : other, got[0]);
    EQUAL(value ? 2 * other + 1 : other + 2, got[1]);
    number = 0;
    OK(MPI_Allreduce(&rank, &number, 1, MPI_INT, MPI_SUM, inter));
    EQUAL(got[0] + got[1], number);
    int out[2] = {rank * 10, rank * 10 + 1};
    OK(MPI_Alltoall(out, 1, MPI_INT, got, 1, MPI_INT, inter));
    EQUAL((value ? 2 * other : other) * 10 + me, got[0]);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

CASE_EACH(inter_nonblocking_barrier_and_allreduce, sides)
{
    MPI_Comm local, inter = make_inter(value, &local);
    MPI_Request request;
    int sum = 0;
    OK(MPI_Ibarrier(inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int other = value ? 1 - rank / 2 : 1 - rank % 2;
    EQUAL(value ? 4 * other + 1 : 2 * other + 2, sum);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

CASE_EACH(inter_nonblocking_bcast, sides)
{
    MPI_Comm local, inter = make_inter(value, &local);
    MPI_Request request;
    int side = value ? rank / 2 : rank % 2, me, number;
    OK(MPI_Comm_rank(inter, &me));
    number = side == 0 && me == 1 ? 321 : -1;
    int root = side == 1 ? 1 : me == 1 ? MPI_ROOT : MPI_PROC_NULL;
    OK(MPI_Ibcast(&number, 1, MPI_INT, root, inter, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(side == 1 || me == 1 ? 321 : -1, number);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

CASE_EACH(inter_dup_and_merge, sides)
{
    MPI_Comm local, inter = make_inter(value, &local), other, merged;
    int side = value ? rank / 2 : rank % 2, me, size, got = -1;
    OK(MPI_Comm_dup(inter, &other));
    OK(MPI_Comm_rank(other, &me));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, me, TAG, &got, 1, MPI_INT, me, TAG, other,
                    MPI_STATUS_IGNORE));
    EQUAL(value ? (rank + 2) % 4 : rank ^ 1, got);
    OK(MPI_Intercomm_merge(inter, side, &merged));
    OK(MPI_Comm_size(merged, &size));
    EQUAL(ranks, size);
    ring_on(merged);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}
