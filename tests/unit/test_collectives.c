// Blocking collectives are polled on all members of a communicator or on none: so never with
// members of another job, who may wait in another way, or be without the library.
#include "pmpi/variant/peers.h"
#include "pmpi/variant/strangers.h"
#include "pmpi/variant/wait.h"
#include "tests/unit/mock_mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    MEMBERS = 200, // of the communicators that strangers are in, the last of them
    STRANGE_GROUP = 0x50000,
    COMMS = 16,
};

static MPI_Comm strange[COMMS]; // the test's communicators with strangers
static int strange_count;
static MPI_Comm merged; // what the next merge gives
static int blocking, nonblocking;
static int asked; // whether it is an intercommunicator: which is an error if it is none at all
static MPI_Comm between = MPI_COMM_NULL; // that is one
static __typeof__(mpi_next[1].Comm_group) mock_group;
static __typeof__(mpi_next[1].Group_size) mock_size;

static int count_blocking(MPI_Comm comm)
{
    (void)comm;
    blocking++;
    return MPI_SUCCESS;
}

static int count_nonblocking(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    *request = MPI_REQUEST_NULL;
    nonblocking++;
    return MPI_SUCCESS;
}

static int test_inter(MPI_Comm comm, int *flag)
{
    asked++;
    *flag = comm == between;
    return comm == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS;
}

static int group_of(MPI_Comm comm, MPI_Group *group)
{
    for (int i = 0; i < strange_count; i++) {
        if (strange[i] == comm) {
            *group = STRANGE_GROUP;
            return MPI_SUCCESS;
        }
    }
    return mock_group(comm, group);
}

// Of an intercommunicator the strangers are on the other side.
static int remote_group_of(MPI_Comm comm, MPI_Group *group)
{
    return group_of(comm, group);
}

static int local_group_of(MPI_Comm comm, MPI_Group *group)
{
    return comm == between ? mock_group(comm, group) : group_of(comm, group);
}

static int size_of(MPI_Group group, int *size)
{
    if (group != STRANGE_GROUP)
        return mock_size(group, size);
    *size = MEMBERS;
    return MPI_SUCCESS;
}

static int translate(MPI_Group from, int count, const int ranks[], MPI_Group to, int translated[])
{
    (void)to;
    for (int i = 0; i < count; i++)
        translated[i] = from != STRANGE_GROUP     ? ranks[i]
                        : ranks[i] == MEMBERS - 1 ? MPI_UNDEFINED
                                                  : ranks[i] % MOCK_SIZE;
    return MPI_SUCCESS;
}

static int give_merged(MPI_Comm inter, int high, MPI_Comm *made)
{
    (void)inter, (void)high;
    *made = merged;
    return MPI_SUCCESS;
}

static int give_introduced(MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag,
                           MPI_Comm *made)
{
    (void)local, (void)leader, (void)peer, (void)remote, (void)tag;
    *made = between;
    return MPI_SUCCESS;
}

static int idup_merged(MPI_Comm comm, MPI_Comm *made, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return give_merged(comm, 0, made);
}

static MPI_Comm stranger_comm(void)
{
    return strange[strange_count++] = mock_comm();
}

static bool polled(MPI_Comm comm)
{
    blocking = nonblocking = 0;
    assert_int_equal(lib.Barrier(comm), MPI_SUCCESS);
    assert_int_equal(blocking + nonblocking, 1);
    return nonblocking == 1;
}

static MPI_Comm merge(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    merged = comm;
    assert_int_equal(lib.Intercomm_merge(mock_comm(), 0, &made), MPI_SUCCESS);
    return made;
}

// --- the tests -----------------------------------------------------------------------------------

static void own_communicators_are_polled(void)
{
    MPI_Comm dup = MPI_COMM_NULL;
    assert_true(polled(MPI_COMM_WORLD));
    assert_true(polled(mock_comm()));
    assert_int_equal(lib.Comm_dup(MPI_COMM_WORLD, &dup), MPI_SUCCESS);
    assert_true(polled(dup));
    assert_true(polled(merge(mock_comm())));
}

static void those_with_strangers_are_not(void)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Comm model = merge(stranger_comm());
    assert_false(polled(model));
    merged = stranger_comm();
    assert_int_equal(lib.Comm_idup(model, &made, &request), MPI_SUCCESS);
    assert_false(polled(made));
    assert_false(polled(stranger_comm())); // made where the library did not see it
}

// Whoever makes an error of a call hears of it once, from that call.
static void no_communicator_is_not_asked_about(void)
{
    asked = 0;
    assert_false(polled(MPI_COMM_NULL));
    assert_int_equal(asked, 0);
}

static void both(void **state)
{
    (void)state;
    own_communicators_are_polled();
    those_with_strangers_are_not();
    own_communicators_are_polled();
    no_communicator_is_not_asked_about();
}

static void known_ones_are_not_asked_about(void)
{
    MPI_Comm dup = MPI_COMM_NULL, inter;
    between = mock_comm();
    assert_int_equal(lib.Comm_dup(MPI_COMM_WORLD, &dup), MPI_SUCCESS);
    inter = merge(between);
    asked = 0;
    assert_true(polled(dup));
    assert_false(polled(inter));
    assert_int_equal(asked, 0);
    between = MPI_COMM_NULL;
}

static void introduce(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    between = comm;
    assert_int_equal(lib.Intercomm_create(MPI_COMM_WORLD, 0, mock_comm(), 1, 0, &made),
                     MPI_SUCCESS);
}

static int count_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)buffer, (void)count, (void)type, (void)root;
    return count_blocking(comm);
}

static int count_ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                        MPI_Request *request)
{
    (void)buffer, (void)count, (void)type, (void)root;
    return count_nonblocking(comm, request);
}

static int count_alltoall(const void *in, int count, MPI_Datatype type, void *out, int out_count,
                          MPI_Datatype out_type, MPI_Comm comm)
{
    (void)in, (void)count, (void)type, (void)out, (void)out_count, (void)out_type;
    return count_blocking(comm);
}

static int count_ialltoall(const void *in, int count, MPI_Datatype type, void *out, int out_count,
                           MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request)
{
    (void)in, (void)count, (void)type, (void)out, (void)out_count, (void)out_type;
    return count_nonblocking(comm, request);
}

static int count_neighbor(const void *in, int count, MPI_Datatype type, void *out, int out_count,
                          MPI_Datatype out_type, MPI_Comm comm)
{
    return count_alltoall(in, count, type, out, out_count, out_type, comm);
}

static int count_ineighbor(const void *in, int count, MPI_Datatype type, void *out, int out_count,
                           MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request)
{
    return count_ialltoall(in, count, type, out, out_count, out_type, comm, request);
}

static int comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = MOCK_SIZE;
    return MPI_SUCCESS;
}

static bool polled_bcast(int count)
{
    blocking = nonblocking = 0;
    assert_int_equal(lib.Bcast(NULL, count, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(blocking + nonblocking, 1);
    return nonblocking == 1;
}

static bool polled_alltoall(int count)
{
    blocking = nonblocking = 0;
    assert_int_equal(lib.Alltoall(NULL, count, MPI_INT, NULL, count, MPI_INT, MPI_COMM_WORLD),
                     MPI_SUCCESS);
    assert_int_equal(blocking + nonblocking, 1);
    return nonblocking == 1;
}

// MPICH 4.0's nonblocking broadcast counts bytes with 32 bits: it fails, or ends early.
static void large_ones_are_left_to_the_mpi(void **state)
{
    (void)state;
    assert_true(polled_bcast(1 << 28));
    assert_false(polled_bcast(1 << 29));
    assert_true(polled_alltoall((1 << 28) / MOCK_SIZE));
    assert_false(polled_alltoall((1 << 29) / MOCK_SIZE));
    blocking = nonblocking = 0; // another neighbour may receive little, and decides alike
    lib.Neighbor_allgather(NULL, 1, MPI_INT, NULL, 1 << 29, MPI_INT, MPI_COMM_WORLD);
    assert_int_equal(nonblocking, 1);
}

static MPI_Datatype sized; // of which MPI was asked last
static __typeof__(mpi_next[1].Type_size_x) mock_type_size;

static int note_type(MPI_Datatype type, MPI_Count *size)
{
    sized = type;
    return mock_type_size(type, size);
}

// MPI would tell of it to the error handler of MPI_COMM_WORLD.
static void nobody_asks_for_the_size_of_what_is_no_type(void **state)
{
    const MPI_Datatype wrong = (MPI_Datatype)MPI_COMM_WORLD;
    MPI_Datatype right;
    (void)state;
    assert_int_equal(mpi_next[1].Type_contiguous(1, MPI_INT, &right), MPI_SUCCESS);
    mpi_next[1].Type_commit(&right);
    lib.Bcast(NULL, 1, right, 0, MPI_COMM_WORLD);
    assert_int_equal(sized, right);
    blocking = nonblocking = 0;
    lib.Bcast(NULL, 1, wrong, 0, MPI_COMM_WORLD);
    assert_int_equal(nonblocking, 1); // which tells its own
    assert_int_equal(sized, right);
    assert_int_equal(mock_requests_left(), 0);
    mpi_next[1].Type_free(&right);
}

// One rank has spawned them; the others have made no call that brings strangers.
static void who_is_introduced_to_strangers_knows(void **state)
{
    (void)state;
    introduce(mock_comm());
    assert_false(strangers_came());
    introduce(stranger_comm());
    assert_true(strangers_came());
    between = MPI_COMM_NULL;
}

static void both_sides_are_looked_at(void)
{
    introduce(mock_comm());
    assert_true(peers_ours(between));
    introduce(stranger_comm());
    assert_false(peers_ours(between));
    between = MPI_COMM_NULL;
}

static void with_peers(void **state)
{
    const int nodes[MOCK_SIZE] = {0, 0};
    assert_int_equal(peers_start(nodes, MOCK_SIZE), 0);
    both(state);
    known_ones_are_not_asked_about();
    both_sides_are_looked_at();
    peers_stop();
}

static int start(void **state)
{
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    mock_group = mpi_next[1].Comm_group;
    mock_size = mpi_next[1].Group_size;
    mock_type_size = mpi_next[1].Type_size_x;
    for (int i = 0; i < 2; i++) {
        mpi_next[i].Barrier = count_blocking;
        mpi_next[i].Ibarrier = count_nonblocking;
        mpi_next[i].Comm_size = comm_size;
        mpi_next[i].Type_size_x = note_type;
        mpi_next[i].Bcast = count_bcast;
        mpi_next[i].Ibcast = count_ibcast;
        mpi_next[i].Alltoall = count_alltoall;
        mpi_next[i].Neighbor_allgather = count_neighbor;
        mpi_next[i].Ineighbor_allgather = count_ineighbor;
        mpi_next[i].Ialltoall = count_ialltoall;
        mpi_next[i].Intercomm_merge = give_merged;
        mpi_next[i].Intercomm_create = give_introduced;
        mpi_next[i].Comm_idup = idup_merged;
        mpi_next[i].Comm_group = local_group_of;
        mpi_next[i].Comm_remote_group = remote_group_of;
        mpi_next[i].Comm_test_inter = test_inter;
        mpi_next[i].Group_size = size_of;
        mpi_next[i].Group_translate_ranks = translate;
    }
    core_active = wait_collectives_polled = true;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both),
        cmocka_unit_test(large_ones_are_left_to_the_mpi),
        cmocka_unit_test(nobody_asks_for_the_size_of_what_is_no_type),
        cmocka_unit_test(who_is_introduced_to_strangers_knows),
        cmocka_unit_test(with_peers),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
