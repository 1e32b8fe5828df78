// Wildcards among several senders. For four ranks.
#include "comms.h"

static const struct parameter wildcard_lengths[] = {{"4", 4}, {"5000", 5000}, {"100000", 100000}};

CASE_EACH(gather_by_wildcard, wildcard_lengths)
{
    // Three senders, three messages each; per sender they arrive in order.
    int next[4] = {0}, length = (int)value;
    MPI_Request requests[9];
    unsigned char *got[9];
    if (rank != 0) {
        for (int i = 0; i < 3; i++)
            OK(MPI_Send(message((size_t)length, rank * 3 + i), length, MPI_BYTE, 0, rank, comm));
        return;
    }
    for (int i = 0; i < 9; i++) {
        got[i] = buffer((size_t)length);
        OK(MPI_Irecv(got[i], length, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]));
    }
    MPI_Status statuses[9];
    OK(MPI_Waitall(9, requests, statuses));
    for (int i = 0; i < 9; i++) {
        int source = statuses[i].MPI_SOURCE;
        if (!CHECK(source >= 1 && source <= 3))
            continue;
        STATUS(&statuses[i], source, source, MPI_BYTE, length);
        FILLED(got[i], (size_t)length, source * 3 + next[source]++);
    }
    for (int i = 1; i < 4; i++)
        EQUAL(3, next[i]);
}

CASE_EACH(choose_by_probe, wildcard_lengths)
{
    int length = (int)value, seen = 0;
    if (rank != 0) {
        OK(MPI_Send(message((size_t)length, rank), length, MPI_BYTE, 0, TAG, comm));
        return;
    }
    for (int i = 0; i < 3; i++) {
        MPI_Status status = fresh_status();
        MPI_Message matched;
        OK(MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &matched, &status));
        int source = status.MPI_SOURCE;
        unsigned char *got = buffer((size_t)length);
        OK(MPI_Mrecv(got, length, MPI_BYTE, &matched, &status));
        STATUS(&status, source, TAG, MPI_BYTE, length);
        FILLED(got, (size_t)length, source);
        seen |= 1 << source;
    }
    EQUAL(14, seen);
}

CASE(wildcards_and_named_receives)
{
    // The named receives keep theirs, whatever the wildcard gets.
    int got[3] = {-1, -1, -1};
    MPI_Request requests[3];
    MPI_Status statuses[3];
    if (rank == 0) {
        OK(MPI_Irecv(&got[0], 1, MPI_INT, 2, TAG, comm, &requests[0]));
        OK(MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, TAG + 1, comm, &requests[1]));
        OK(MPI_Irecv(&got[2], 1, MPI_INT, 1, TAG, comm, &requests[2]));
    }
    meet();
    if (rank == 0) {
        OK(MPI_Waitall(3, requests, statuses));
        STATUS(&statuses[0], 2, TAG, MPI_INT, 1);
        STATUS(&statuses[1], 3, TAG + 1, MPI_INT, 1);
        STATUS(&statuses[2], 1, TAG, MPI_INT, 1);
        CHECK(got[0] == 2 && got[1] == 3 && got[2] == 1);
    } else {
        OK(MPI_Send(&rank, 1, MPI_INT, 0, rank == 3 ? TAG + 1 : TAG, comm));
    }
}
