// Ranks that have a CPU each: calls go straight to the MPI until somebody else computes there, and
// again when nobody has done so for a while; what one rank has noticed holds for all of its job.
#include "pmpi/variant/outsiders.h"

#include "common/clock.h"
#include "common/status_page.h"
#include "common/units.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/wait.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
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
    outsiders.hold_ns = outsiders.hold_most_ns = LONG_NS;
    outsiders.queued_ns = queued;
    outsiders.others_ns = outsiders_others_ns;
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
    assert_true(atomic_load(&doorbell.room->outsiders.word) == STATUS_WORD_FREE);
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

static uint64_t less_each_time(void)
{
    static uint64_t said_ns = LONG_NS;
    return said_ns -= 100;
}

// Two clocks are read one after the other: their difference may shrink.
static void clocks_that_disagree_a_little_hide_nobody(void **state)
{
    (void)state;
    outsiders.others_ns = less_each_time;
    is_queued = true;
    go_on();
    assert_true(wait_yields);
}

static void what_was_noticed_holds_for_a_while(void **state)
{
    (void)state;
    is_queued = true;
    go_on();
    is_queued = false;
    go_on();
    assert_true(wait_yields);
    atomic_store(&doorbell.room->outsiders.until_ns, 1); // long ago
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
    uint64_t word = atomic_load(&doorbell.room->outsiders.word);
    atomic_store(&doorbell.room->outsiders.until_ns, UINT64_MAX);
    atomic_store(&doorbell.room->outsiders.word, word + 1);
    assert_false(is_direct());
    assert_true(wait_yields);
    atomic_store(&doorbell.room->outsiders.word, word + 2);
    is_direct(); // this one learns it
    assert_false(wait_yields);
    assert_true(is_direct());
}

// On several machines each goes by itself.
static void a_rank_that_can_tell_nobody_is_polite_by_itself(void **state)
{
    (void)state;
    stop(state);
    outsiders.hold_ns = outsiders.hold_most_ns = 0;
    outsiders_start();
    core_active = true;
    go_on();
    assert_true(is_direct());
    is_queued = true;
    int polite = 0;
    for (int i = 0; i < 1000 && !polite; i++) {
        lib.Barrier(MPI_COMM_WORLD);
        polite = wait_yields;
    }
    assert_true(polite);
    is_queued = false;
    go_on();
    assert_false(wait_yields);
    assert_true(is_direct());
}

// By whatever calls, of whatever thread.
static void politeness_ends_without_who_began_it(void **state)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag;
    (void)state;
    is_queued = true;
    go_on();
    is_queued = false;
    assert_true(wait_yields);
    atomic_store(&doorbell.room->outsiders.until_ns, 1); // long ago
    for (int i = 0; i < 1000; i++)
        lib.Test(&request, &flag, MPI_STATUS_IGNORE);
    assert_false(wait_yields);
}

static bool stands_for_ns(uint64_t in_line_ns, uint64_t *so_far_ns)
{
    *so_far_ns = queued_ns += in_line_ns;
    return true;
}

static uint64_t share_percent, asked_ns;

static bool queued_for_a_share(uint64_t *so_far_ns)
{
    uint64_t now_ns = clock_now_ns(), before_ns = asked_ns;
    asked_ns = now_ns;
    return stands_for_ns((now_ns - before_ns) / 100 * share_percent, so_far_ns);
}

// For so many windows of a millisecond and more, whether the rank was polite in one.
static bool is_noticed(uint64_t percent)
{
    share_percent = percent;
    asked_ns = clock_now_ns();
    outsiders.queued_ns = queued_for_a_share;
    outsiders.window_ns = NS_PER_MS;
    bool noticed = false;
    for (uint64_t end_ns = clock_now_ns() + 30 * NS_PER_MS; clock_now_ns() < end_ns;) {
        lib.Barrier(MPI_COMM_WORLD);
        noticed = noticed || wait_yields;
    }
    return noticed;
}

static void a_tenth_of_the_time_in_line_is_too_much(void **state)
{
    (void)state;
    assert_false(is_noticed(5));
    assert_true(is_noticed(20));
}

// A window of much, and then none.
static bool queued_once(uint64_t *so_far_ns)
{
    static bool odd;
    odd = !odd;
    return stands_for_ns(odd ? LONG_NS : 0, so_far_ns);
}

static void a_single_window_says_nothing(void **state)
{
    (void)state;
    outsiders.queued_ns = queued_once;
    go_on();
    assert_false(wait_yields);
}

static void calls_that_become_rare_are_looked_at_soon(void **state)
{
    (void)state;
    outsiders.window_ns = NS_PER_MS;
    go_on(); // thousands in a window
    is_queued = true;
    int calls = 0;
    for (; calls < 200 && !wait_yields; calls++) {
        struct timespec window = {.tv_nsec = 2 * NS_PER_MS};
        nanosleep(&window, NULL);
        lib.Barrier(MPI_COMM_WORLD);
    }
    assert_true(calls < 50);
}

static void *compute(void *go)
{
    while (*(atomic_bool *)go)
        continue;
    return NULL;
}

// A program's own threads are no outsiders.
static void own_threads_do_not_count(void **state)
{
    pthread_t thread;
    atomic_bool go = true;
    (void)state;
    struct timespec before;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    uint64_t before_ns = (uint64_t)before.tv_sec * NS_PER_SEC + (uint64_t)before.tv_nsec;
    outsiders.window_ns = 20 * NS_PER_MS; // several ticks of the clocks
    outsiders_stop();
    outsiders_start();
    is_queued = true;
    pthread_create(&thread, NULL, compute, &go);
    bool noticed = false;
    for (uint64_t end_ns = clock_now_ns() + 200 * NS_PER_MS; clock_now_ns() < end_ns;) {
        struct timespec moment = {.tv_nsec = NS_PER_MS};
        nanosleep(&moment, NULL); // the other thread has a CPU
        lib.Barrier(MPI_COMM_WORLD);
        noticed = noticed || wait_yields;
    }
    go = false;
    pthread_join(thread, NULL);
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    if ((uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec - before_ns < 150 * NS_PER_MS)
        skip(); // the machine had no CPU for it
    assert_false(noticed);
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
    assert_true(atomic_load(&doorbell.room->outsiders.word) == STATUS_WORD_FREE);
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
    uint64_t word = atomic_load(&doorbell.room->outsiders.word);
    atomic_store(&doorbell.room->outsiders.word, word + 2);
    assert_true(session_word() == word + 2);
    outsiders_stop();
    assert_true(session_word() != word + 2);
    stop(state);
    is_queued = true;
    go_on();
    assert_false(wait_yields);
    assert_int_equal(start(state), 0);
}

static atomic_bool is_over;

static void *spin(void *unused)
{
    (void)unused;
    while (!is_over) {
    }
    return NULL;
}

// The kernel's own account: a thread that shares a CPU with another one stands in line.
static void the_kernel_tells(void **state)
{
    uint64_t before, after = 0;
    pthread_t thread;
    cpu_set_t all, one;
    (void)state;
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    assert_true(outsiders_queued_ns(&before));
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    is_over = false;
    assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0); // on the same CPU
    uint64_t deadline_ns = clock_now_ns() + 30 * NS_PER_SEC;
    do
        assert_true(outsiders_queued_ns(&after));
    while (after <= before + 20 * NS_PER_MS && clock_now_ns() < deadline_ns);
    is_over = true;
    pthread_join(thread, NULL);
    sched_setaffinity(0, sizeof all, &all);
    assert_true(after > before + 20 * NS_PER_MS);
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
        TEST(clocks_that_disagree_a_little_hide_nobody),
        TEST(what_was_noticed_holds_for_a_while),
        TEST(what_one_rank_says_holds_for_all),
        TEST(a_rank_that_can_tell_nobody_is_polite_by_itself),
        TEST(politeness_ends_without_who_began_it),
        TEST(a_tenth_of_the_time_in_line_is_too_much),
        TEST(a_single_window_says_nothing),
        TEST(calls_that_become_rare_are_looked_at_soon),
        TEST(own_threads_do_not_count),
        TEST(only_the_first_thread_looks),
        TEST(who_cannot_tell_takes_no_part),
        TEST(at_the_end_nothing_is_looked_at),
        TEST(the_kernel_tells),
    };
    return cmocka_run_group_tests(cases, start_all, NULL);
}
