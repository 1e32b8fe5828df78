// Ranks of communicators are those of MPI_COMM_WORLD as MPI says, and it is asked about the fewest:
// some take a step for each member of either group.
#include "pmpi/variant/peers.h"
#include "tests/unit/mock_mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

static int translated; // ranks
static int (*mock_translate)(MPI_Group, int, const int[], MPI_Group, int[]);

// Ranks of all communicators but MPI_COMM_WORLD are the other way round.
static int translate(MPI_Group one, int count, const int ranks[], MPI_Group other, int result[])
{
    translated += count;
    int rc = mock_translate(one, count, ranks, other, result);
    for (int i = 0; i < count; i++)
        result[i] = MOCK_SIZE - 1 - result[i];
    return rc;
}

static int taken(void)
{
    int count = translated;
    translated = 0;
    return count;
}

static int groups; // that were not freed
static int (*mock_group)(MPI_Comm, MPI_Group *);
static int (*mock_group_free)(MPI_Group *);

static int group_of(MPI_Comm comm, MPI_Group *group)
{
    groups++;
    return mock_group(comm, group);
}

static int free_group(MPI_Group *group)
{
    groups--;
    return mock_group_free(group);
}

static int duplicate_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made)
{
    (void)info;
    return mpi_next[1].Comm_dup(comm, made);
}

static int split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    (void)color;
    (void)key;
    return mpi_next[1].Comm_dup(comm, made);
}

static int start(void **state)
{
    const int nodes[MOCK_SIZE] = {0, 1};
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    mock_translate = mpi_next[1].Group_translate_ranks;
    mock_group = mpi_next[1].Comm_group;
    mock_group_free = mpi_next[1].Group_free;
    for (int entry = 0; entry < 2; entry++) {
        mpi_next[entry].Group_translate_ranks = translate;
        mpi_next[entry].Comm_group = group_of;
        mpi_next[entry].Group_free = free_group;
        mpi_next[entry].Comm_dup_with_info = duplicate_with_info;
        mpi_next[entry].Comm_split = split;
    }
    core_active = true;
    return peers_start(nodes, MOCK_SIZE);
}

static int stop(void **state)
{
    (void)state;
    core_active = false;
    peers_stop();
    return groups;
}

static void assert_known(MPI_Comm comm, bool as_world)
{
    for (int i = 0; i < MOCK_SIZE; i++)
        assert_int_equal(peers_world_rank(comm, i), as_world ? i : MOCK_SIZE - 1 - i);
    assert_int_equal(peers_world_rank(comm, MOCK_SIZE), PEERS_UNKNOWN);
    assert_true(peers_spans(comm));
}

static void the_world_is_not_asked_for(void **state)
{
    (void)state;
    assert_int_equal(taken(), 0);
    assert_known(MPI_COMM_WORLD, true);
    assert_int_equal(peers_find(MPI_COMM_WORLD, 1), 1);
    assert_true(peers_find_spans(MPI_COMM_WORLD));
    assert_int_equal(taken(), 0);
}

static void who_is_talked_to_is_asked_about_once(void **state)
{
    MPI_Comm made;
    (void)state;
    assert_int_equal(lib.Comm_split(MPI_COMM_WORLD, 0, 0, &made), MPI_SUCCESS);
    assert_int_equal(taken(), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(peers_world_rank(made, 0), MOCK_SIZE - 1);
    assert_int_equal(taken(), 1);
    assert_true(peers_ours(made));
    assert_true(peers_spans(made));
    assert_int_equal(taken(), MOCK_SIZE);
    assert_known(made, false);
    assert_int_equal(taken(), 0);
    assert_int_equal(lib.Comm_free(&made), MPI_SUCCESS);
}

// However many are made, and in whatever order they go.
static void the_group_goes_with_the_last_one(void **state)
{
    MPI_Comm made[3];
    int before = groups;
    (void)state;
    assert_int_equal(lib.Comm_split(MPI_COMM_WORLD, 0, 0, &made[0]), MPI_SUCCESS);
    assert_int_equal(lib.Comm_dup(made[0], &made[1]), MPI_SUCCESS);
    assert_int_equal(lib.Comm_dup(made[1], &made[2]), MPI_SUCCESS);
    assert_int_equal(groups - before, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(groups - before, 1);
        assert_int_equal(lib.Comm_free(&made[i]), MPI_SUCCESS);
    }
    assert_int_equal(groups - before, 0);
}

static void duplicates_are_as_what_they_are_of(void **state)
{
    MPI_Comm world, made, again;
    (void)state;
    assert_int_equal(lib.Comm_dup(MPI_COMM_WORLD, &world), MPI_SUCCESS);
    assert_int_equal(taken(), 0);
    assert_known(world, true);
    assert_int_equal(lib.Comm_split(world, 0, 0, &made), MPI_SUCCESS);
    assert_known(made, false);
    taken();
    assert_int_equal(lib.Comm_dup_with_info(made, MPI_INFO_NULL, &again), MPI_SUCCESS);
    assert_int_equal(lib.Comm_free(&made), MPI_SUCCESS);
    assert_known(again, false);
    assert_int_equal(taken(), 0);
    assert_int_equal(lib.Comm_free(&again), MPI_SUCCESS);
    assert_int_equal(lib.Comm_free(&world), MPI_SUCCESS);
}

// As of the one that MPI_Comm_get_parent gives.
static void duplicates_of_unknown_ones_are_asked_for(void **state)
{
    MPI_Comm unknown = mock_comm(), made;
    (void)state;
    assert_int_equal(peers_world_rank(unknown, 0), PEERS_UNKNOWN);
    assert_int_equal(lib.Comm_dup(unknown, &made), MPI_SUCCESS);
    assert_known(made, false);
    assert_int_equal(lib.Comm_free(&made), MPI_SUCCESS);
}

static int keep(MPI_Comm *comm)
{
    (void)comm;
    return MPI_ERR_OTHER;
}

// A callback that deletes an attribute has refused. Peers go on as before, with headers or without.
static void one_that_is_not_freed_stays_known(void **state)
{
    MPI_Comm made, unknown = mock_comm();
    __typeof__(mpi_next[0].Comm_free) free_it = mpi_next[0].Comm_free;
    (void)state;
    assert_int_equal(lib.Comm_split(MPI_COMM_WORLD, 0, 0, &made), MPI_SUCCESS);
    mpi_next[0].Comm_free = keep;
    assert_int_equal(lib.Comm_free(&made), MPI_ERR_OTHER);
    assert_known(made, false);
    taken();
    assert_int_equal(lib.Comm_free(&unknown), MPI_ERR_OTHER);
    assert_int_equal(taken(), 0);
    mpi_next[0].Comm_free = free_it;
    assert_int_equal(lib.Comm_free(&made), MPI_SUCCESS);
    assert_int_equal(peers_world_rank(made, 0), PEERS_UNKNOWN);
}

// As by a callback of the program's: the handle may come back for a communicator of one node.
static void one_that_a_callback_frees_is_forgotten(void **state)
{
    MPI_Comm made, freed;
    __typeof__(mpi_next[0].Comm_free) free_it = mpi_next[0].Comm_free;
    (void)state;
    assert_int_equal(lib.Comm_split(MPI_COMM_WORLD, 0, 0, &made), MPI_SUCCESS);
    freed = made;
    core_go_in();
    mpi_next[0].Comm_free = keep;
    assert_int_equal(lib.Comm_free(&made), MPI_ERR_OTHER);
    assert_known(made, false);
    mpi_next[0].Comm_free = free_it;
    assert_int_equal(lib.Comm_free(&made), MPI_SUCCESS);
    core_come_out();
    assert_int_equal(peers_world_rank(freed, 0), PEERS_UNKNOWN);
    assert_false(peers_spans(freed));
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

// The table is large, and hardly any of it is ever touched: not at the end either, for milliseconds
// of each program.
static void the_end_touches_what_was_used(void **state)
{
    const int nodes[MOCK_SIZE] = {0, 1};
    MPI_Comm made;
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); // it touches memory of its own
#endif
    peers_stop();
    assert_int_equal(peers_start(nodes, MOCK_SIZE), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(lib.Comm_dup(MPI_COMM_WORLD, &made), MPI_SUCCESS);
    long before = faults();
    peers_stop();
    assert_in_range(faults() - before, 0, 100);
    assert_int_equal(peers_start(nodes, MOCK_SIZE), 0);
    assert_known(MPI_COMM_WORLD, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_world_is_not_asked_for),
        cmocka_unit_test(who_is_talked_to_is_asked_about_once),
        cmocka_unit_test(the_group_goes_with_the_last_one),
        cmocka_unit_test(duplicates_are_as_what_they_are_of),
        cmocka_unit_test(duplicates_of_unknown_ones_are_asked_for),
        cmocka_unit_test(one_that_is_not_freed_stays_known),
        cmocka_unit_test(one_that_a_callback_frees_is_forgotten),
        cmocka_unit_test(the_end_touches_what_was_used),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
