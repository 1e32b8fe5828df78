// Communicators: made in every way, messages and collectives on each, attributes, names, lives. For
// four ranks; in the lab two are on each node, so that some communicators span nodes and some do
// not.
#include "comms.h"

#include <string.h>

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

// Which it has to wait for, and does under MPICH.
CASE(disconnect_with_freed_requests)
{
    static const int lengths[] = {8, 5000, 300000};
    static unsigned char in[3][300000], out[3][300000]; // for good: not all MPIs wait
    for (int i = 0; i < 3; i++) {
        MPI_Comm other;
        MPI_Request request;
        OK(MPI_Comm_dup(comm, &other));
        OK(MPI_Irecv(in[i], lengths[i], MPI_BYTE, rank ^ 1, TAG, other, &request));
        OK(MPI_Request_free(&request));
        OK(MPI_Issend(out[i], lengths[i], MPI_BYTE, rank ^ 1, TAG, other, &request));
        OK(MPI_Request_free(&request));
        OK(MPI_Comm_disconnect(&other));
        CHECK(other == MPI_COMM_NULL);
        meet();
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
