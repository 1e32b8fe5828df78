// The library's own waits: short ones are polled, long ones cost nobody his CPU or his sleep. On a
// clock of the test's own, which goes on when somebody yields or sleeps, and by itself a little.
#include "pmpi/variant/doorbell.h"
#include "pmpi/variant/patience.h"
#include "tests/unit/mock_mpi.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define POLL_NS  UINT64_C(300)
#define YIELD_NS UINT64_C(700)

static uint64_t now_ns, complete_ns;
static uint64_t suspended_at_ns; // then for an hour; 0: never
static unsigned yields, naps;
static uint64_t longest_nap_ns, yielded_until_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_sched_yield(void);
int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = (time_t)(now_ns / NS_PER_SEC),
                             .tv_nsec = (long)(now_ns % NS_PER_SEC)};
    return 0;
}

int __wrap_sched_yield(void)
{
    yields++;
    now_ns += YIELD_NS;
    yielded_until_ns = now_ns;
    return 0;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
    uint64_t nap_ns = (uint64_t)length->tv_sec * NS_PER_SEC + (uint64_t)length->tv_nsec;
    (void)left;
    naps++;
    now_ns += nap_ns;
    if (nap_ns > longest_nap_ns)
        longest_nap_ns = nap_ns;
    return 0;
}

static void sleeps(int seat)
{
    if (atomic_exchange(&doorbell.room->seats[seat].asleep, 1) == 0)
        atomic_fetch_add(&doorbell.room->asleep, 1);
}

// The peer goes back to sleep whenever it was woken.
static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)status;
    now_ns += POLL_NS;
    if (suspended_at_ns != 0 && now_ns >= suspended_at_ns) {
        now_ns += 3600 * NS_PER_SEC;
        suspended_at_ns = 0;
    }
    if (doorbell.room != NULL)
        sleeps(MOCK_PEER);
    *flag = now_ns >= complete_ns;
    if (*flag)
        *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static bool wait_for(uint64_t length_ns, uint64_t timeout_ns)
{
    MPI_Request request = 1;
    complete_ns = now_ns + length_ns;
    return patience_wait(&request, timeout_ns);
}

// --- the tests -----------------------------------------------------------------------------------

static void a_short_wait_does_not_sleep(void **state)
{
    (void)state;
    assert_true(wait_for(NS_PER_MS / 2, PATIENCE_FOR_EVER));
    assert_true(yields > 0);
    assert_int_equal(naps, 0);
}

static void a_long_wait_sleeps_most_of_the_time(void **state)
{
    uint64_t began_ns = now_ns;
    (void)state;
    assert_true(wait_for(NS_PER_SEC, PATIENCE_FOR_EVER));
    assert_true(naps > 0);
    assert_true(yielded_until_ns - began_ns < 2 * NS_PER_MS);
    assert_true(longest_nap_ns <= NS_PER_MS);
    assert_true(now_ns - complete_ns <= NS_PER_MS + POLL_NS);
}

static void who_sleeps_is_woken_now_and_then_only(void **state)
{
    char name[DOORBELL_NAME_MAX];
    (void)state;
    assert_int_equal(doorbell_create("/tmp", MOCK_SIZE, name, NULL), 0);
    doorbell_remove("/tmp", name);
    assert_true(wait_for(10 * NS_PER_SEC, PATIENCE_FOR_EVER));
    uint32_t rings = atomic_load(&doorbell.room->seats[MOCK_PEER].rings);
    doorbell_leave();
    assert_true(rings > 0);
    assert_true(rings < 32);
    assert_true(yields + naps > 32 * rings);
}

static void patience_ends(void **state)
{
    uint64_t began_ns = now_ns;
    (void)state;
    assert_false(wait_for(PATIENCE_FOR_EVER / 2, 5 * NS_PER_SEC));
    assert_true(now_ns - began_ns >= 5 * NS_PER_SEC);
    assert_true(now_ns - began_ns < 6 * NS_PER_SEC);
}

static void a_suspended_job_is_not_late(void **state)
{
    (void)state;
    suspended_at_ns = now_ns + 2 * NS_PER_SEC;
    assert_true(wait_for(3604 * NS_PER_SEC, 5 * NS_PER_SEC));
    suspended_at_ns = now_ns + 2 * NS_PER_SEC;
    assert_false(wait_for(3606 * NS_PER_SEC, 5 * NS_PER_SEC));
}

static int start(void **state)
{
    static bool started;
    (void)state;
    if (!started)
        mock_start(MPI_THREAD_SINGLE);
    started = true;
    mpi_next[1].Test = test;
    now_ns = NS_PER_SEC;
    yields = naps = 0;
    longest_nap_ns = yielded_until_ns = 0;
    return 0;
}

#define TEST(function) cmocka_unit_test_setup(function, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_short_wait_does_not_sleep),           TEST(a_long_wait_sleeps_most_of_the_time),
        TEST(who_sleeps_is_woken_now_and_then_only), TEST(patience_ends),
        TEST(a_suspended_job_is_not_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
