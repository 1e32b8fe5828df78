// Ranks that have a CPU each: calls go straight to the MPI until somebody else computes there, and
// again when nobody has done so for a while; what one rank has noticed holds for all of its job.
#include "pmpi/variant/outsiders.h"

#include "common/status_page.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_NS (1000 * NS_PER_SEC)

static int depth, barriers, level, tests;
static uint64_t queued_ns;
static bool is_queued; // the rank stands in line all the time
static bool is_told = true;

static bool queued(uint64_t *so_far_ns)
{
    if (is_queued)
        queued_ns += LONG_NS;
    *so_far_ns = queued_ns;
    return is_told;
}

static int barrier(MPI_Comm comm)
{
    (void)comm;
    barriers++;
    depth = core_depth;
    return MPI_SUCCESS;
}

static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)request, (void)status;
    tests++;
    *flag = 1;
    return MPI_SUCCESS;
}

static int wait_for(MPI_Request *request, MPI_Status *status)
{
    (void)request, (void)status;
    return MPI_SUCCESS;
}

static int query_level(int *provided)
{
    *provided = level;
    return MPI_SUCCESS;
}

// Blocking calls of the program, more than there are between two looks.
static void go_on(void)
{
    for (int i = 0; i < 3000; i++)
        lib.Barrier(MPI_COMM_WORLD);
}

// Whether the next call goes straight to the MPI.
static bool is_direct(void)
{
    depth = -1;
    lib.Barrier(MPI_COMM_WORLD);
    return depth == 0;
}

static int start(void **state)
{
    char name[DOORBELL_NAME_MAX];
    (void)state;
    outsiders.window_ns = 0;
    outsiders.hold_ns = LONG_NS;
    outsiders.queued_ns = queued;
    is_queued = false;
    if (doorbell_create("/tmp", MOCK_SIZE, name, NULL) != 0)
        return -1;
    doorbell_remove("/tmp", name);
    wait_yields = wait_blocks = false;
    wait_adapts = true;
    outsiders_start();
    core_active = true;
    go_on(); // what was before is not known
    return 0;
}

static int stop(void **state)
{
    (void)state;
    core_active = false;
    outsiders_stop();
    doorbell_leave();
    return 0;
}

static void alone_calls_are_the_mpis(void **state)
{
    (void)state;
    int before = barriers;
    go_on();
    assert_int_equal(barriers - before, 3000);
    assert_true(is_direct());
    assert_false(wait_yields);
    assert_true(atomic_load(&doorbell.room->word) == STATUS_WORD_FREE);
}

static void beside_others_a_rank_is_polite(void **state)
{
    MPI_Request request = MPI_REQUEST_NULL;
    (void)state;
    is_queued = true;
    go_on();
    assert_true(wait_yields && wait_blocks);
    assert_false(wait_collectives_polled); // which all ranks would have to do at once
    assert_false(is_direct());
    int before = tests;
    lib.Wait(&request, MPI_STATUS_IGNORE);
    assert_true(tests > before);
}

static void what_was_noticed_holds_for_a_while(void **state)
{
    (void)state;
    is_queued = true;
    go_on();
    is_queued = false;
    go_on();
    assert_true(wait_yields);
    atomic_store(&doorbell.room->outsiders_until_ns, 1); // long ago
    go_on();
    assert_false(wait_yields || wait_blocks);
    assert_true(is_direct());
    is_queued = true; // and anew
    go_on();
    assert_true(wait_yields);
}

static void what_one_rank_says_holds_for_all(void **state)
{
    (void)state;
    uint64_t word = atomic_load(&doorbell.room->word);
    atomic_store(&doorbell.room->outsiders_until_ns, UINT64_MAX);
    atomic_store(&doorbell.room->word, word + 1);
    assert_false(is_direct());
    assert_true(wait_yields);
    atomic_store(&doorbell.room->word, word + 2);
    is_direct(); // this one learns it
    assert_false(wait_yields);
    assert_true(is_direct());
}

static void *call_from_another_thread(void *unused)
{
    (void)unused;
    go_on();
    return NULL;
}

// Its time in line is its own.
static void only_the_first_thread_looks(void **state)
{
    pthread_t thread;
    (void)state;
    is_queued = true;
    pthread_create(&thread, NULL, call_from_another_thread, NULL);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&doorbell.room->word) == STATUS_WORD_FREE);
}

static void who_cannot_tell_takes_no_part(void **state)
{
    (void)state;
    level = MPI_THREAD_SERIALIZED;
    assert_true(outsiders_possible());
    level = MPI_THREAD_MULTIPLE;
    assert_false(outsiders_possible());
    level = MPI_THREAD_SINGLE;
    is_told = false;
    assert_false(outsiders_possible());
    is_told = true;
}

static void at_the_end_nothing_is_looked_at(void **state)
{
    stop(state);
    assert_true(session_word() != STATUS_WORD_FREE || doorbell.room == NULL);
    is_queued = true;
    go_on();
    assert_false(wait_yields);
    assert_int_equal(start(state), 0);
}

// The kernel's own account: a thread that shares a CPU with another one stands in line.
static void the_kernel_tells(void **state)
{
    uint64_t before, after;
    (void)state;
    bool (*ask)(uint64_t *) = outsiders.queued_ns;
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    outsiders.queued_ns = outsiders_queued_ns;
    assert_true(outsiders.queued_ns(&before));
    assert_true(outsiders.queued_ns(&after));
    assert_true(after >= before);
    outsiders.queued_ns = ask;
}

static int start_all(void **state)
{
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    for (int i = 0; i < 2; i++) {
        mpi_next[i].Barrier = barrier;
        mpi_next[i].Test = test;
        mpi_next[i].Wait = wait_for;
        mpi_next[i].Query_thread = query_level;
    }
    wire_start();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest cases[] = {
        TEST(alone_calls_are_the_mpis),
        TEST(beside_others_a_rank_is_polite),
        TEST(what_was_noticed_holds_for_a_while),
        TEST(what_one_rank_says_holds_for_all),
        TEST(only_the_first_thread_looks),
        TEST(who_cannot_tell_takes_no_part),
        TEST(at_the_end_nothing_is_looked_at),
        TEST(the_kernel_tells),
    };
    return cmocka_run_group_tests(cases, start_all, NULL);
}
