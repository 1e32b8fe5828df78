// Processes that meet at run time: spawned ones, and groups that connect.
#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 18 };

static const char *program;

// Messages of every technique, both ways, over an intercommunicator; a spawned child does the same.
static int exchange_over(MPI_Comm inter, int peer)
{
    static const int lengths[] = {0, 4, 1024, 1025, 8193, 100000};
    int wrong = 0;
    for (int i = 0; i < 6; i++) {
        unsigned char *bytes = malloc(100000), *got = malloc(100000), *expected = malloc(100000);
        MPI_Request request;
        MPI_Status status = fresh_status();
        int count = -1;
        fill(bytes, (size_t)lengths[i], i);
        fill(expected, (size_t)lengths[i], i);
        wrong += MPI_Isend(bytes, lengths[i], MPI_BYTE, peer, TAG, inter, &request) != MPI_SUCCESS;
        wrong += MPI_Probe(peer, MPI_ANY_TAG, inter, &status) != MPI_SUCCESS;
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != lengths[i];
        wrong += MPI_Recv(got, 100000, MPI_BYTE, peer, MPI_ANY_TAG, inter, &status) != 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != lengths[i] || status.MPI_SOURCE != peer || status.MPI_TAG != TAG;
        wrong += memcmp(got, expected, (size_t)lengths[i]) != 0;
        wrong += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        free(bytes);
        free(got);
        free(expected);
    }
    return wrong;
}

// Blocking collectives on a communicator of processes with and without a MPI_COMM_WORLD in common,
// and on those made of it, each with its number of members. Alike on all of them.
static int sums_of_all(MPI_Comm merged, int size)
{
    MPI_Comm dup, split;
    int sum = 0, wrong = 0, me = 0, number = 1;
    MPI_Comm_rank(merged, &me);
    MPI_Comm_dup(merged, &dup);
    MPI_Comm_split(merged, 0, -me, &split);
    MPI_Comm all[] = {merged, dup, split};
    for (int i = 0; i < 3; i++) {
        wrong += MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, all[i]) != MPI_SUCCESS;
        wrong += sum != size;
        wrong += MPI_Bcast(&sum, 1, MPI_INT, size - 1, all[i]) != MPI_SUCCESS;
        wrong += MPI_Barrier(all[i]) != MPI_SUCCESS;
    }
    MPI_Comm_free(&split);
    MPI_Comm_free(&dup);
    return wrong;
}

// What a spawned process does: as many exchanges as its parents do, then a merge and sums.
static int child_main(int argc, char **argv)
{
    MPI_Comm parent, merged;
    int me, size, together, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_remote_size(parent, &size);
    for (int peer = 0; peer < size; peer++)
        wrong += me == 0 ? exchange_over(parent, peer) : 0;
    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Comm_size(merged, &together);
    wrong += sums_of_all(merged, together);
    if (me == 0)
        MPI_Send(&wrong, 1, MPI_INT, 0, TAG, parent);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    return conform_main(argc, argv, MPI_THREAD_SINGLE);
}

static const struct parameter children[] = {{"1", 1}, {"2", 2}};

CASE_EACH(spawn, children)
{
    MPI_Comm inter, merged;
    int size = 0, wrong = -1;
    char flag[] = "--child", *arguments[] = {flag, NULL};
    return_all_errors();
    if (MPI_Comm_spawn(program, arguments, (int)value, MPI_INFO_NULL, 0, comm, &inter,
                       MPI_ERRCODES_IGNORE) != MPI_SUCCESS) {
        skip("this MPI cannot spawn here");
        return;
    }
    OK(MPI_Comm_remote_size(inter, &size));
    EQUAL(value, size);
    EQUAL(0, exchange_over(inter, 0));
    OK(MPI_Intercomm_merge(inter, 0, &merged));
    EQUAL(0, sums_of_all(merged, ranks + (int)value));
    if (rank == 0) {
        OK(MPI_Recv(&wrong, 1, MPI_INT, 0, TAG, inter, MPI_STATUS_IGNORE));
        EQUAL(0, wrong);
    }
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_disconnect(&inter));
}

CASE(accept_and_connect)
{
    // Rank 0 and rank 1 meet as if they did not know each other.
    MPI_Comm inter, merged;
    char port[MPI_MAX_PORT_NAME] = "";
    int opened = rank == 0;
    return_all_errors();
    if (rank == 0)
        opened = MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS;
    OK(MPI_Bcast(&opened, 1, MPI_INT, 0, comm));
    if (!opened) {
        skip("this MPI has no ports here");
        return;
    }
    if (rank > 1)
        return;
    if (rank == 0) {
        OK(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, TAG, comm));
        OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    } else {
        OK(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, comm, MPI_STATUS_IGNORE));
        OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    }
    EQUAL(0, exchange_over(inter, 0));
    OK(MPI_Intercomm_merge(inter, rank, &merged));
    EQUAL(0, sums_of_all(merged, 2));
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_disconnect(&inter));
    if (rank == 0)
        OK(MPI_Close_port(port));
}
