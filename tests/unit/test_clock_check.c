// Protects how a job's ranks compare their nodes' clocks: one rank against an MPI of the test's
// own, which plays all others by what their collectives yield, and a wall clock of the test's own.
#include "pmpi/variant/clock_check.h"
#include "pmpi/variant/exchange.h"
#include "pmpi/variant/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include <cmocka.h>

enum { RANKS = 6, STEPS_MOST = 8 };

#define MS   INT64_C(1000000)
#define S    (1000 * MS)
#define NOON (INT64_C(1700000000) * S)

struct mpi_next mpi_next[2];

static struct {
    int64_t wall_ns;
    int64_t ahead_ns[RANKS];      // of this rank's clock
    bool no_room;                 // a rank has none
    bool fails;                   // MPI does
    int64_t takes_ns[STEPS_MOST]; // a reduction, by its number
    int reductions, gathers, reports;
    int64_t reported_ns;
    size_t nodes, agreeing;
} world;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    assert_int_equal(clock, CLOCK_REALTIME);
    *time = (struct timespec){.tv_sec = world.wall_ns / S, .tv_nsec = world.wall_ns % S};
    return 0;
}

int adjtimex(struct timex *state)
{
    state->status = STA_UNSYNC;
    return TIME_ERROR;
}

static int reduce(const void *own, void *result, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    assert_int_equal(datatype, MPI_INT);
    assert_int_equal(op, MPI_MIN);
    assert_int_equal(count, 1);
    world.wall_ns += world.takes_ns[world.reductions++];
    *(int *)result = world.no_room ? 0 : *(const int *)own;
    *request = MPI_REQUEST_NULL;
    return world.fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

// All ranks saw what this one did, by their own clocks. Times are the only words that are as large.
bool exchange(const void *own, void *all, size_t count)
{
    world.gathers++;
    for (int rank = 0; rank < RANKS; rank++) {
        uint64_t *words = (uint64_t *)((char *)all + (size_t)rank * count);
        memcpy(words, own, count);
        for (size_t i = 0; i < count / sizeof *words; i++) {
            if (words[i] > (uint64_t)NOON / 2)
                words[i] += (uint64_t)world.ahead_ns[rank];
        }
    }
    return true;
}

void session_report_clock(int64_t ahead_ns, size_t nodes, size_t agreeing)
{
    world.reports++;
    world.reported_ns = ahead_ns;
    world.nodes = nodes;
    world.agreeing = agreeing;
}

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.wall_ns = NOON;
    for (int i = 0; i < STEPS_MOST; i++)
        world.takes_ns[i] = MS;
    mpi_next[1].Iallreduce = reduce;
    return 0;
}

// Three nodes, of two ranks each; this is the first rank of the last.
static const int nodes[RANKS] = {0, 1, 0, 1, 4, 4};

static void check(int rank)
{
    struct clock_check_job job = {
        .rank = rank, .size = RANKS, .nodes = nodes, .time_slice_ns = (uint64_t)S};
    int steps = 0;
    clock_check_start(&job);
    while (!clock_check_go_on())
        assert_in_range(++steps, 1, STEPS_MOST);
}

static void nothing_is_said_about_clocks_that_agree(void **state)
{
    (void)state;
    world.ahead_ns[1] = world.ahead_ns[3] = 90 * MS;
    world.ahead_ns[4] = world.ahead_ns[5] = -MS;
    check(4);
    assert_int_equal(world.gathers, 1);
    assert_int_equal(world.reports, 0);
}

static void a_clock_that_is_off_is_reported(void **state)
{
    world.ahead_ns[4] = world.ahead_ns[5] = -3 * S;
    check(4);
    assert_int_equal(world.reports, 1);
    assert_true(world.reported_ns <= -2990 * MS && world.reported_ns >= -3 * S);
    assert_int_equal(world.nodes, 3);
    assert_int_equal(world.agreeing, 2);
    for (int other = 0; other < RANKS; other++) { // by nobody else, and with as many collectives
        int reductions = world.reductions;
        if (other == 4)
            continue;
        begin(state);
        world.ahead_ns[4] = world.ahead_ns[5] = -3 * S;
        check(other);
        assert_int_equal(world.reports, 0);
        assert_int_equal(world.reductions, reductions);
        assert_int_equal(world.gathers, 1);
    }
}

// A rank that had to wait for its turn makes a reduction long; the shortest one counts.
static void the_closest_round_counts(void **state)
{
    (void)state;
    world.ahead_ns[4] = world.ahead_ns[5] = 3 * S;
    world.takes_ns[0] = world.takes_ns[1] = 10 * S;
    check(4);
    assert_int_equal(world.reports, 1);

    begin(state);
    world.ahead_ns[4] = world.ahead_ns[5] = 3 * S;
    world.takes_ns[0] = world.takes_ns[1] = world.takes_ns[2] = 10 * S;
    check(4);
    assert_int_equal(world.reports, 0); // not known that well
}

static void ranks_of_a_node_whose_clock_was_set_say_nothing(void **state)
{
    (void)state;
    world.ahead_ns[4] = 3 * S; // one of the two has read it before
    check(4);
    assert_int_equal(world.reports, 0);
}

static void without_memory_nobody_goes_on(void **state)
{
    (void)state;
    world.no_room = true;
    check(4);
    assert_int_equal(world.gathers + world.reports, 0);
}

static void a_failing_mpi_ends_it(void **state)
{
    (void)state;
    world.fails = true;
    check(4);
    assert_int_equal(world.reports, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_said_about_clocks_that_agree),
        TEST(a_clock_that_is_off_is_reported),
        TEST(the_closest_round_counts),
        TEST(ranks_of_a_node_whose_clock_was_set_say_nothing),
        TEST(without_memory_nobody_goes_on),
        TEST(a_failing_mpi_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
