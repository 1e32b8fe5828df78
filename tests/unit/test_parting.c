// When ranks go on into the real MPI_Finalize: when all run at once, or when patience ends.
#include "pmpi/variant/parting.h"

#include "common/clock.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BESIDE_OTHERS = STATUS_SCHEDULED | STATUS_CONTENDED, IDLE = STATUS_CONTENDED };

static struct status_page page;
static int exchanges, own_state[8];
static int apart_for; // exchanges in which another rank does not run
static int idle_for;  // exchanges after which this one is scheduled
static uint64_t slow_ns;

static int reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                  MPI_Request *request)
{
    (void)count, (void)type, (void)op, (void)comm;
    uint64_t until_ns = clock_now_ns() + slow_ns;
    int own = *(const int *)in, other = exchanges < apart_for ? PARTING_APART : PARTING_ALONE;
    assert_true(exchanges < 8);
    own_state[exchanges++] = own;
    while (clock_now_ns() < until_ns) {
    }
    *(int *)out = own > other ? own : other;
    *request = MPI_REQUEST_NULL;
    if (exchanges == idle_for)
        mock_status(BESIDE_OTHERS);
    return MPI_SUCCESS;
}

static int begin(void **state)
{
    (void)state;
    page = (struct status_page){.time_slice_ns = 100 * NS_PER_MS, .degree = 2};
    mock_page(&page);
    mock_turn(0);
    mock_status(STATUS_SCHEDULED);
    exchanges = apart_for = idle_for = 0;
    slow_ns = 0;
    memset(own_state, 0, sizeof own_state);
    return 0;
}

static void who_is_alone_meets_once(void **state)
{
    (void)state;
    assert_int_equal(parting_meet(mock_comm(), true), PARTING_ALONE);
    assert_int_equal(exchanges, 1);
}

// The first exchange says nothing about who runs: ranks come when they like.
static void who_takes_turns_meets_until_all_run(void **state)
{
    (void)state;
    mock_status(BESIDE_OTHERS);
    apart_for = 3;
    assert_int_equal(parting_meet(mock_comm(), true), PARTING_TOGETHER);
    assert_int_equal(exchanges, 4);
    assert_int_equal(own_state[0], PARTING_APART);
    assert_int_equal(own_state[1], PARTING_TOGETHER);
}

static void all_go_by_the_one_that_takes_turns(void **state)
{
    (void)state;
    apart_for = 2;
    assert_int_equal(parting_meet(mock_comm(), true), PARTING_ALONE);
    assert_int_equal(exchanges, 3);
}

static void a_slow_exchange_is_not_one_of_running_ranks(void **state)
{
    (void)state;
    mock_status(BESIDE_OTHERS);
    slow_ns = 11 * NS_PER_MS;
    page.time_slice_ns = 5 * NS_PER_MS; // of 30 ms patience
    assert_int_equal(parting_meet(mock_comm(), true), PARTING_TOGETHER);
    assert_in_range(exchanges, 3, 4);
    assert_int_equal(own_state[1], PARTING_APART);
}

static void an_idle_rank_waits_for_its_turn_and_not_for_ever(void **state)
{
    (void)state;
    mock_status(IDLE);
    page.time_slice_ns = NS_PER_MS;
    uint64_t begin_ns = clock_now_ns();
    assert_int_equal(parting_meet(mock_comm(), true), PARTING_LATE);
    assert_true(clock_now_ns() - begin_ns >= 6 * NS_PER_MS); // two rounds of three slices
    assert_int_equal(exchanges, 1);
}

// Another MPI does not hang.
static void no_rank_waits_where_nothing_is_asked(void **state)
{
    (void)state;
    mock_status(IDLE);
    page.time_slice_ns = 1000 * NS_PER_SEC;
    assert_int_equal(parting_meet(mock_comm(), false), PARTING_ALONE);
    assert_int_equal(exchanges, 1);
}

static void who_is_about_to_be_stopped_does_not_run(void **state)
{
    (void)state;
    struct parting_place place = {
        .contended = true, .scheduled = true, .slice_ns = NS_PER_SEC, .slice_left_ns = 200000};
    assert_false(parting_runs(&place));
    place.slice_left_ns = UINT64_MAX;
    assert_true(parting_runs(&place));
    place.slice_ns = place.slice_left_ns = NS_PER_MS; // shorter than what leaving takes
    assert_true(parting_runs(&place));
    place.scheduled = false;
    assert_false(parting_runs(&place));
    place.contended = false;
    assert_true(parting_runs(&place));
}

static int start(void **state)
{
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    mpi_next[0].Iallreduce = mpi_next[1].Iallreduce = reduce;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(who_is_alone_meets_once, begin),
        cmocka_unit_test_setup(who_takes_turns_meets_until_all_run, begin),
        cmocka_unit_test_setup(all_go_by_the_one_that_takes_turns, begin),
        cmocka_unit_test_setup(a_slow_exchange_is_not_one_of_running_ranks, begin),
        cmocka_unit_test_setup(an_idle_rank_waits_for_its_turn_and_not_for_ever, begin),
        cmocka_unit_test_setup(no_rank_waits_where_nothing_is_asked, begin),
        cmocka_unit_test_setup(who_is_about_to_be_stopped_does_not_run, begin),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
