// A program of MPI sessions only: no MPI_Init, no MPI_COMM_WORLD. Prints lines as the others do.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4

static int rank;
static int cases, failures;

static void report(const char *name, MPI_Comm comm, int wrong)
{
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, comm);
    cases++;
    failures += all != 0;
    if (rank == 0)
        printf("%s %s\n", all == 0 ? "ok" : "FAILED", name);
    fflush(stdout);
}

static int exchange(MPI_Comm comm)
{
    static const int lengths[] = {0, 8, 1025, 9000, 100000};
    static char bytes[100000], got[100000];
    int wrong = 0, peer = 1 - rank;
    for (int i = 0; i < 5; i++) {
        MPI_Status status;
        int count = -1;
        memset(bytes, 'a' + i, (size_t)lengths[i]);
        MPI_Sendrecv(bytes, lengths[i], MPI_BYTE, peer, i, got, 100000, MPI_BYTE, MPI_ANY_SOURCE,
                     MPI_ANY_TAG, comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != lengths[i] || status.MPI_SOURCE != peer || status.MPI_TAG != i;
        wrong += memcmp(bytes, got, (size_t)lengths[i]) != 0;
    }
    return wrong;
}

int main(void)
{
    int names = 0, number = 1, sum = 0;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, half;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &names);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    report("process_sets", comm, names < 2);
    report("messages", comm, exchange(comm));
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    report("collectives", comm, sum != 2);
    MPI_Comm_split(comm, rank, 0, &half);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, half);
    report("split", comm, sum != 1);
    MPI_Comm_free(&half);
    report("messages_again", comm, exchange(comm));
    if (rank == 0) {
        printf("end: %d cases, %d failed\n", cases, failures);
        fflush(stdout);
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session); // no second session: MPICH 4.0 crashes in it
    return 0;
}

#else

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("skipped sessions: this MPI is older than MPI 4\nend: 1 cases, 0 failed\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

#endif
