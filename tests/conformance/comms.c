// Communicators: made in every way, messages and collectives on each, attributes, names, lives. For
// four ranks; in the lab two are on each node, so that some communicators span nodes and some do
// not.
#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 12 };

// Every rank sends to the next one, in several lengths, and receives by name and by wildcard.
static void ring_on(MPI_Comm on)
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

CASE(dup)
{
    MPI_Comm other;
    OK(MPI_Comm_dup(comm, &other));
    ring_on(other);
    OK(MPI_Comm_free(&other));
    CHECK(other == MPI_COMM_NULL);
}

CASE(idup)
{
    MPI_Comm other;
    MPI_Request request;
    OK(MPI_Comm_idup(comm, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ring_on(other);
    OK(MPI_Comm_free(&other));
}

CASE(dup_with_info)
{
    MPI_Comm other;
    OK(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &other));
    ring_on(other);
    OK(MPI_Comm_free(&other));
}

CASE(split_in_pairs)
{
    MPI_Comm part;
    OK(MPI_Comm_split(comm, rank / 2, rank, &part));
    ring_on(part);
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_split(comm, rank % 2, rank, &part));
    ring_on(part);
    OK(MPI_Comm_free(&part));
}

CASE(split_reversed)
{
    MPI_Comm part;
    int me;
    OK(MPI_Comm_split(comm, 0, -rank, &part));
    OK(MPI_Comm_rank(part, &me));
    EQUAL(ranks - 1 - rank, me);
    ring_on(part);
    OK(MPI_Comm_free(&part));
}

CASE(split_leaving_some_out)
{
    MPI_Comm part;
    OK(MPI_Comm_split(comm, rank == 1 ? MPI_UNDEFINED : 7, 0, &part));
    CHECK((rank == 1) == (part == MPI_COMM_NULL));
    if (rank != 1) {
        ring_on(part);
        OK(MPI_Comm_free(&part));
    }
}

CASE(split_type_shared)
{
    MPI_Comm part;
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part));
    ring_on(part);
    OK(MPI_Comm_free(&part));
}

CASE(create)
{
    MPI_Group all, some;
    MPI_Comm part;
    int members[] = {3, 0, 2}, me;
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_incl(all, 3, members, &some));
    OK(MPI_Comm_create(comm, some, &part));
    CHECK((rank == 1) == (part == MPI_COMM_NULL));
    if (rank != 1) {
        OK(MPI_Comm_rank(part, &me));
        EQUAL(rank == 3 ? 0 : rank == 0 ? 1 : 2, me);
        ring_on(part);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&all));
}

CASE(create_group)
{
    MPI_Group all, some;
    MPI_Comm part;
    int members[] = {1, 2};
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_incl(all, 2, members, &some));
    if (rank == 1 || rank == 2) {
        OK(MPI_Comm_create_group(comm, some, 5, &part));
        ring_on(part);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Group_free(&some));
    OK(MPI_Group_free(&all));
}

CASE(self_dup)
{
    MPI_Comm alone;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &alone));
    ring_on(alone);
    OK(MPI_Comm_free(&alone));
}

// --- Intercommunicators --------------------------------------------------------------------------

// The even ranks on one side, the odd ones on the other; or the first half and the second.
static MPI_Comm make_inter(bool by_halves, MPI_Comm *local)
{
    MPI_Comm inter;
    int side = by_halves ? rank / 2 : rank % 2;
    int other_leader = side == 1 ? 0 : by_halves ? 2 : 1;
    OK(MPI_Comm_split(comm, side, rank, local));
    OK(MPI_Intercomm_create(*local, 0, comm, other_leader, 99, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    return inter;
}

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

// --- Lives of communicators ----------------------------------------------------------------------

CASE(handles_that_are_used_again)
{
    // A freed handle soon names another communicator: one within a node, one that spans nodes, an
    // intercommunicator. What a library remembers of the old one must not be used.
    for (int i = 0; i < 12; i++) {
        MPI_Comm made, local = MPI_COMM_NULL;
        if (i % 3 == 2)
            made = make_inter(i % 2, &local);
        else
            OK(MPI_Comm_split(comm, i % 3 == 0 ? rank / 2 : rank % 2, i % 2 ? -rank : rank, &made));
        if (i % 3 == 2) {
            int me, got = -1;
            OK(MPI_Comm_rank(made, &me));
            OK(MPI_Sendrecv(&i, 1, MPI_INT, me, TAG, &got, 1, MPI_INT, me, TAG, made,
                            MPI_STATUS_IGNORE));
            EQUAL(i, got);
            OK(MPI_Comm_free(&local));
        } else {
            int me, got = -1, mine = rank;
            MPI_Status status = fresh_status();
            OK(MPI_Comm_rank(made, &me));
            OK(MPI_Sendrecv(&mine, 1, MPI_INT, 1 - me, TAG, &got, 1, MPI_INT, MPI_ANY_SOURCE, TAG,
                            made, &status));
            STATUS(&status, 1 - me, TAG, MPI_INT, 1);
            EQUAL(i % 3 == 0 ? rank ^ 1 : (rank + 2) % 4, got);
        }
        OK(MPI_Comm_free(&made));
    }
}

CASE(disconnect)
{
    MPI_Comm other;
    for (int i = 0; i < 3; i++) {
        int got = -1;
        OK(MPI_Comm_dup(comm, &other));
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, rank ^ 1, TAG, &got, 1, MPI_INT, rank ^ 1, TAG, other,
                        MPI_STATUS_IGNORE));
        EQUAL(rank ^ 1, got);
        OK(MPI_Comm_disconnect(&other));
        CHECK(other == MPI_COMM_NULL);
    }
}

CASE(freed_with_operations_pending)
{
    // They complete as if the handle were still there.
    static const int lengths[] = {8, 5000, 300000};
    for (int i = 0; i < 3; i++) {
        MPI_Comm other;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        unsigned char *got = buffer((size_t)lengths[i]);
        OK(MPI_Comm_dup(comm, &other));
        OK(MPI_Irecv(got, lengths[i], MPI_BYTE, (rank + 2) % 4, TAG, other, &requests[0]));
        OK(MPI_Isend(message((size_t)lengths[i], rank), lengths[i], MPI_BYTE, (rank + 2) % 4, TAG,
                     other, &requests[1]));
        OK(MPI_Comm_free(&other));
        OK(MPI_Waitall(2, requests, statuses));
        STATUS(&statuses[0], (rank + 2) % 4, TAG, MPI_BYTE, lengths[i]);
        FILLED(got, (size_t)lengths[i], (rank + 2) % 4);
    }
}

CASE(many_at_once)
{
    enum { COUNT = 250 };
    static MPI_Comm comms[COUNT];
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comms[i]));
    for (int i = 0; i < COUNT; i += 7) {
        int got = -1;
        wrong += MPI_Sendrecv(&i, 1, MPI_INT, 0, TAG, &got, 1, MPI_INT, 0, TAG, comms[i],
                              MPI_STATUS_IGNORE) != MPI_SUCCESS;
        wrong += got != i;
    }
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Comm_free(&comms[i]));
    EQUAL(0, wrong);
}

CASE(many_spanning_at_once)
{
    enum { COUNT = 40 };
    static MPI_Comm comms[COUNT];
    int got[COUNT], numbers[COUNT], wrong = 0;
    MPI_Request requests[2 * COUNT];
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Comm_dup(comm, &comms[i]));
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], &requests[i]));
    for (int i = COUNT - 1; i >= 0; i--) {
        numbers[i] = 3 * i;
        OK(MPI_Isend(&numbers[i], 1, MPI_INT, (rank + 1) % ranks, i, comms[i],
                     &requests[COUNT + i]));
    }
    OK(MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != 3 * i;
    EQUAL(0, wrong);
    for (int i = 0; i < COUNT; i++)
        OK(MPI_Comm_free(&comms[i]));
}

// --- What hangs on communicators -----------------------------------------------------------------

static int copied, deleted;

static int copy_attribute(MPI_Comm old, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)old;
    (void)keyval;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm from, int keyval, void *value, void *extra)
{
    (void)from;
    (void)keyval;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

CASE(attributes_are_copied_once)
{
    int keyval, exists = 0, number = 5, *found = NULL;
    MPI_Comm other;
    MPI_Request request;
    copied = deleted = 0;
    OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, NULL));
    OK(MPI_Comm_set_attr(comm, keyval, &number));
    ring_on(comm); // messages copy nothing
    EQUAL(0, copied);
    OK(MPI_Comm_dup(comm, &other));
    EQUAL(1, copied);
    OK(MPI_Comm_get_attr(other, keyval, &found, &exists));
    CHECK(exists && found == &number);
    ring_on(other);
    EQUAL(1, copied);
    OK(MPI_Comm_free(&other));
    EQUAL(1, deleted);
    OK(MPI_Comm_idup(comm, &other, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EQUAL(2, copied);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_split(comm, 0, 0, &other));
    EQUAL(2, copied);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_delete_attr(comm, keyval));
    EQUAL(3, deleted);
    OK(MPI_Comm_free_keyval(&keyval));
}

CASE(attributes_of_world)
{
    // Set on MPI_COMM_WORLD, used as ever, never copied behind the program's back.
    int keyval, number = 5;
    copied = deleted = 0;
    OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &number));
    ring_on(MPI_COMM_WORLD);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(0, copied);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
    EQUAL(1, deleted);
    OK(MPI_Comm_free_keyval(&keyval));
}

CASE(names)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    OK(MPI_Comm_set_name(comm, "my own"));
    ring_on(comm);
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK(strcmp(name, "my own") == 0);
    MPI_Comm other;
    OK(MPI_Comm_dup(comm, &other));
    OK(MPI_Comm_get_name(other, name, &length));
    note("duplicate's name has length %d", length);
    OK(MPI_Comm_free(&other));
}

CASE(compare)
{
    MPI_Comm other, reversed;
    int result = -1;
    OK(MPI_Comm_dup(comm, &other));
    OK(MPI_Comm_split(comm, 0, -rank, &reversed));
    OK(MPI_Comm_compare(comm, comm, &result));
    EQUAL(MPI_IDENT, result);
    OK(MPI_Comm_compare(comm, other, &result));
    EQUAL(MPI_CONGRUENT, result);
    OK(MPI_Comm_compare(comm, reversed, &result));
    EQUAL(MPI_SIMILAR, result);
    OK(MPI_Comm_compare(comm, MPI_COMM_SELF, &result));
    EQUAL(MPI_UNEQUAL, result);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free(&reversed));
}

// --- Topologies ----------------------------------------------------------------------------------

CASE(cart_shift)
{
    MPI_Comm cart;
    int dims[] = {2, 2}, periods[] = {1, 0}, coordinates[2], me;
    OK(MPI_Cart_create(comm, 2, dims, periods, 0, &cart));
    OK(MPI_Comm_rank(cart, &me));
    OK(MPI_Cart_coords(cart, me, 2, coordinates));
    for (int dimension = 0; dimension < 2; dimension++) {
        int source, dest, got = -1;
        MPI_Status status = fresh_status();
        OK(MPI_Cart_shift(cart, dimension, 1, &source, &dest));
        OK(MPI_Sendrecv(&me, 1, MPI_INT, dest, TAG, &got, 1, MPI_INT, source, TAG, cart, &status));
        if (source == MPI_PROC_NULL) {
            STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_INT, 0);
            EQUAL(-1, got);
        } else {
            STATUS(&status, source, TAG, MPI_INT, 1);
            EQUAL(source, got);
        }
    }
    ring_on(cart);
    OK(MPI_Comm_free(&cart));
}

CASE(cart_sub)
{
    MPI_Comm cart, line;
    int dims[] = {2, 2}, periods[] = {0, 0};
    OK(MPI_Cart_create(comm, 2, dims, periods, 0, &cart));
    for (int dimension = 0; dimension < 2; dimension++) {
        int keep[] = {dimension == 0, dimension == 1}, size;
        OK(MPI_Cart_sub(cart, keep, &line));
        OK(MPI_Comm_size(line, &size));
        EQUAL(2, size);
        ring_on(line);
        OK(MPI_Comm_free(&line));
    }
    OK(MPI_Comm_free(&cart));
}

CASE(graph)
{
    MPI_Comm graph;
    int index[] = {2, 4, 6, 8}, edges[] = {1, 3, 0, 2, 1, 3, 2, 0}, out, got[2] = {-1, -1};
    OK(MPI_Graph_create(comm, 4, index, edges, 0, &graph));
    ring_on(graph);
    out = rank;
    OK(MPI_Neighbor_allgather(&out, 1, MPI_INT, got, 1, MPI_INT, graph));
    EQUAL(edges[2 * rank], got[0]);
    EQUAL(edges[2 * rank + 1], got[1]);
    OK(MPI_Comm_free(&graph));
}

static MPI_Comm make_ring_graph(void)
{
    MPI_Comm ring;
    int from = (rank + ranks - 1) % ranks, to = (rank + 1) % ranks;
    OK(MPI_Dist_graph_create_adjacent(comm, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &ring));
    return ring;
}

CASE(neighbor_collectives)
{
    MPI_Comm ring = make_ring_graph();
    int from = (rank + ranks - 1) % ranks, got = -1, one = 1, zero = 0;
    MPI_Aint no_bytes = 0;
    MPI_Datatype type = MPI_INT;
    OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_allgatherv(&rank, 1, MPI_INT, &got, &one, &zero, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_alltoallv(&rank, &one, &zero, MPI_INT, &got, &one, &zero, MPI_INT, ring));
    EQUAL(from, got);
    got = -1;
    OK(MPI_Neighbor_alltoallw(&rank, &one, &no_bytes, &type, &got, &one, &no_bytes, &type, ring));
    EQUAL(from, got);
    OK(MPI_Comm_free(&ring));
}

CASE(nonblocking_neighbor_collectives)
{
    MPI_Comm ring = make_ring_graph();
    int from = (rank + ranks - 1) % ranks, got[5] = {-1, -1, -1, -1, -1}, one = 1, zero = 0;
    MPI_Aint no_bytes = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Request requests[5];
    OK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, &got[0], 1, MPI_INT, ring, &requests[0]));
    OK(MPI_Ineighbor_allgatherv(&rank, 1, MPI_INT, &got[1], &one, &zero, MPI_INT, ring,
                                &requests[1]));
    OK(MPI_Ineighbor_alltoall(&rank, 1, MPI_INT, &got[2], 1, MPI_INT, ring, &requests[2]));
    OK(MPI_Ineighbor_alltoallv(&rank, &one, &zero, MPI_INT, &got[3], &one, &zero, MPI_INT, ring,
                               &requests[3]));
    OK(MPI_Ineighbor_alltoallw(&rank, &one, &no_bytes, &type, &got[4], &one, &no_bytes, &type, ring,
                               &requests[4]));
    OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 5; i++)
        EQUAL(from, got[i]);
    ring_on(ring);
    OK(MPI_Comm_free(&ring));
}

CASE(dist_graph_create)
{
    MPI_Comm star;
    int source = 0, degree = rank == 0 ? 3 : 0, to[] = {1, 2, 3}, in = 0, out = 0, weighted,
        got = -1;
    OK(MPI_Dist_graph_create(comm, rank == 0, &source, &degree, to, MPI_UNWEIGHTED, MPI_INFO_NULL,
                             0, &star));
    OK(MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted));
    EQUAL(rank == 0 ? 0 : 1, in);
    EQUAL(rank == 0 ? 3 : 0, out);
    OK(MPI_Neighbor_allgather(&ranks, 1, MPI_INT, &got, 1, MPI_INT, star));
    EQUAL(rank == 0 ? -1 : ranks, got);
    ring_on(star);
    OK(MPI_Comm_free(&star));
}

// --- Wildcards among several senders -------------------------------------------------------------

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
