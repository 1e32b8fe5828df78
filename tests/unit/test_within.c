// A reduction is the MPI's own also where ranks yield, as a nonblocking one may add in another
// order; and inside it, as in other calls that are left to the MPI, a rank gives its CPU away, and
// sleeps while its job is idle.
#include "pmpi/variant/wire.h"
#include "pmpi/variant/within.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { POLLS = 100 };

static int reductions, polled;

static void poll_in_vain(void)
{
    for (int i = 0; i < POLLS; i++)
        mock_look();
}

static int reduce_to_all(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    (void)in, (void)out, (void)count, (void)type, (void)op, (void)comm;
    reductions++;
    poll_in_vain();
    return MPI_SUCCESS;
}

static int reduce_to_root(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                          int root, MPI_Comm comm)
{
    (void)root;
    return reduce_to_all(in, out, count, type, op, comm);
}

static int reduce_and_scatter(const void *in, void *out, const int counts[], MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm)
{
    return reduce_to_all(in, out, counts[0], type, op, comm);
}

static int reduce_polled(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request)
{
    (void)in, (void)out, (void)count, (void)type, (void)op, (void)comm;
    *request = MPI_REQUEST_NULL;
    polled++;
    return MPI_SUCCESS;
}

static int reduce_to_root_polled(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                                 int root, MPI_Comm comm, MPI_Request *request)
{
    (void)root;
    return reduce_polled(in, out, count, type, op, comm, request);
}

static int reduce_and_scatter_polled(const void *in, void *out, const int counts[],
                                     MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                     MPI_Request *request)
{
    return reduce_polled(in, out, counts[0], type, op, comm, request);
}

static int split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
    (void)comm, (void)color, (void)key;
    poll_in_vain();
    *made = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int level = MPI_THREAD_SINGLE;

static int query_level(int *provided)
{
    *provided = level;
    return MPI_SUCCESS;
}

static int detach(void *buffer, int *size)
{
    *(void **)buffer = NULL;
    *size = 0;
    poll_in_vain();
    return MPI_SUCCESS;
}

static int exchange(void *buf, int count, MPI_Datatype type, int dest, int out_tag, int source,
                    int in_tag, MPI_Comm comm, MPI_Status *status)
{
    (void)buf, (void)count, (void)type, (void)dest, (void)out_tag, (void)source, (void)in_tag;
    (void)comm, (void)status;
    poll_in_vain();
    return MPI_SUCCESS;
}

static uint64_t yields(void)
{
    return atomic_load(&stats_counters[STATS_YIELDS]);
}

static void reductions_are_never_polled(void **state)
{
    double in = 1, out;
    const int counts[MOCK_SIZE] = {1, 0};
    (void)state;
    lib.Reduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    lib.Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    lib.Scan(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    lib.Exscan(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    lib.Reduce_scatter(&in, &out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    lib.Reduce_scatter_block(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    assert_int_equal(reductions, 6);
    assert_int_equal(polled, 0);
}

static void the_cpu_is_given_away_inside(void **state)
{
    double in = 1, out;
    MPI_Comm made;
    void *buffer;
    int size;
    uint64_t before = yields();
    (void)state;
    lib.Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    assert_true(yields() - before > POLLS / 2);
    assert_true(yields() - before < POLLS); // not with the first polls
    before = yields();
    lib.Comm_split(MPI_COMM_WORLD, 0, 0, &made);
    assert_true(yields() - before > POLLS / 2);
    before = yields();
    lib.Buffer_detach((void *)&buffer, &size);
    assert_true(yields() - before > POLLS / 2);
    before = yields(); // of what there can be no copy
    lib.Sendrecv_replace(MPI_BOTTOM, 1, MPI_BYTE, MOCK_PEER, 1, MOCK_PEER, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    assert_true(yields() - before > POLLS / 2);
}

static void it_is_not_outside(void **state)
{
    uint64_t before = yields();
    (void)state;
    poll_in_vain();
    assert_int_equal(yields(), before);
}

static jmp_buf way_out;

static int leave(MPI_Comm comm)
{
    (void)comm;
    longjmp(way_out, 1);
}

static int poll_barrier(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    *request = MPI_REQUEST_NULL;
    poll_in_vain();
    return MPI_SUCCESS;
}

// An error handler may leave a call, which has no end then.
static void a_call_that_was_left_is_over_with_the_next(void **state)
{
    (void)state;
    wait_collectives_polled = false;
    if (setjmp(way_out) == 0)
        lib.Barrier(MPI_COMM_WORLD);
    assert_true(core_within);
    wait_collectives_polled = true;
    uint64_t before = yields();
    lib.Barrier(MPI_COMM_WORLD);
    assert_int_equal(yields(), before);
    assert_false(core_within);
}

// Some calls have more arguments than registers take: the rest is between two of our frames.
static void a_call_with_more_arguments_is_the_next_one_too(void **state)
{
    (void)state;
    wait_collectives_polled = false;
    if (setjmp(way_out) == 0)
        lib.Barrier(MPI_COMM_WORLD);
    assert_true(core_within);
    wait_collectives_polled = true;
    lib.Sendrecv_replace(MPI_BOTTOM, 1, MPI_BYTE, MOCK_PEER, 1, MOCK_PEER, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    assert_false(core_within);
}

static void nobody_else_gives_it_away(void **state)
{
    double in = 1, out;
    uint64_t before = yields();
    (void)state;
    wait_yields = false;
    lib.Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wait_yields = true;
    assert_int_equal(yields(), before);
}

static uint64_t sleeps_in_a_reduction(bool alone)
{
    double in = 1, out;
    uint64_t before = atomic_load(&stats_counters[STATS_SLEEPS]);
    level = alone ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    within_start();
    wait_blocks = true;
    lib.Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wait_blocks = false;
    return atomic_load(&stats_counters[STATS_SLEEPS]) - before;
}

static void nobody_sleeps_where_other_threads_may_need_mpi(void **state)
{
    (void)state;
    block.sign = BLOCK_BY_TIME;
    block.spin_limit_ns = 0;
    assert_true(sleeps_in_a_reduction(true) > 0);
    assert_int_equal(sleeps_in_a_reduction(false), 0);
}

static int naps;

// What arrivals_sleep() sleeps by, here without sleeping.
int ppoll(struct pollfd *sockets, nfds_t count, const struct timespec *most, const sigset_t *mask)
{
    (void)sockets, (void)count, (void)mask;
    naps += most != NULL && most->tv_nsec > 0;
    return 0;
}

static int naps_in_a_reduction(uint16_t flags, int provided)
{
    double in = 1, out;
    bool yielded = wait_yields;
    level = provided;
    carrier.on = true;
    wait_yields = wait_collectives_polled = false;
    within_start();
    mock_status(flags);
    naps = 0;
    lib.Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    mock_status(STATUS_SCHEDULED);
    carrier.on = false;
    wait_yields = wait_collectives_polled = yielded;
    return naps;
}

// Its polls would use up what the scheduled job leaves it, and be missing when its peers answer.
static void a_rank_of_an_idle_job_sleeps_inside(void **state)
{
    (void)state;
    assert_true(naps_in_a_reduction(STATUS_CONTENDED, MPI_THREAD_SINGLE) > 0);
    assert_int_equal(naps_in_a_reduction(STATUS_CONTENDED, MPI_THREAD_MULTIPLE), 0);
    assert_int_equal(naps_in_a_reduction(STATUS_CONTENDED | STATUS_SCHEDULED, MPI_THREAD_SINGLE),
                     0);
    assert_int_equal(naps_in_a_reduction(STATUS_SCHEDULED, MPI_THREAD_SINGLE), 0);
}

static int spawn(const char *command, char *argv[], int count, MPI_Info info, int root,
                 MPI_Comm comm, MPI_Comm *made, int codes[])
{
    (void)command, (void)argv, (void)count, (void)info, (void)root, (void)codes;
    return split(comm, 0, 0, made);
}

static uint64_t sleeps_in_a_spawn(bool adapts, int provided)
{
    uint64_t before = atomic_load(&stats_counters[STATS_SLEEPS]);
    MPI_Comm made;
    level = provided;
    wait_adapts = adapts;
    wait_yields = false;
    lib.Comm_spawn("x", NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made, NULL);
    wait_yields = true;
    wait_adapts = false;
    return atomic_load(&stats_counters[STATS_SLEEPS]) - before;
}

// They may be started on this rank's CPU, which it would take from them.
static void who_waits_for_strangers_sleeps(void **state)
{
    (void)state;
    block.spin_limit_ns = 0;
    assert_true(sleeps_in_a_spawn(true, MPI_THREAD_SINGLE) > 0);
    assert_int_equal(sleeps_in_a_spawn(true, MPI_THREAD_MULTIPLE), 0);
    assert_int_equal(sleeps_in_a_spawn(false, MPI_THREAD_SINGLE), 0); // who spins spins
    assert_int_equal(naps_in_a_reduction(STATUS_CONTENDED | STATUS_SCHEDULED, MPI_THREAD_SINGLE),
                     0);
}

// The call that brings them may be left, and only a whole one ends it: there is no short one then.
static void no_call_is_settled_after_strangers(void **state)
{
    (void)state;
    atomic_store(&carrier.settled, STATUS_WORD_FREE);
    sleeps_in_a_spawn(true, MPI_THREAD_SINGLE);
    assert_int_equal(carrier.settled, 0);
}

static int start(void **state)
{
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    for (int i = 0; i < 2; i++) {
        struct mpi_next *next = &mpi_next[i];
        next->Reduce = reduce_to_root;
        next->Allreduce = next->Scan = next->Exscan = next->Reduce_scatter_block = reduce_to_all;
        next->Reduce_scatter = reduce_and_scatter;
        next->Ireduce = reduce_to_root_polled;
        next->Iallreduce = next->Iscan = next->Iexscan = next->Ireduce_scatter_block =
            reduce_polled;
        next->Ireduce_scatter = reduce_and_scatter_polled;
        next->Comm_split = split;
        next->Comm_spawn = spawn;
        next->Sendrecv_replace = exchange;
        next->Query_thread = query_level;
        next->Buffer_detach = detach;
        next->Barrier = leave;
        next->Ibarrier = poll_barrier;
    }
    wire_start();
    core_active = stats_on = wait_yields = wait_collectives_polled = true;
    within_start();
    return mock_look == NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_are_never_polled),
        cmocka_unit_test(the_cpu_is_given_away_inside),
        cmocka_unit_test(it_is_not_outside),
        cmocka_unit_test(a_call_that_was_left_is_over_with_the_next),
        cmocka_unit_test(a_call_with_more_arguments_is_the_next_one_too),
        cmocka_unit_test(nobody_else_gives_it_away),
        cmocka_unit_test(nobody_sleeps_where_other_threads_may_need_mpi),
        cmocka_unit_test(a_rank_of_an_idle_job_sleeps_inside),
        cmocka_unit_test(who_waits_for_strangers_sleeps),
        cmocka_unit_test(no_call_is_settled_after_strangers),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
