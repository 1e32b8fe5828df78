// Who has asked the last of its peers answers the others for a while, and nobody else does.
#include "pmpi/front/ucx.h"

#include "common/clock.h"
#include "tests/unit/mock_ucx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LINGER_NS (3 * NS_PER_MS)

// The library's, as an MPI calls them.
signed char ucp_worker_create(void *context, const void *params, void **worker);
void ucp_worker_destroy(void *worker);
void *ucp_disconnect_nb(void *connection);
unsigned ucp_worker_progress(void *worker);

static int connection;

static uint64_t time_of_closing(void)
{
    uint64_t begin_ns = clock_now_ns();
    assert_ptr_equal(ucp_disconnect_nb(&connection), &connection);
    return clock_now_ns() - begin_ns;
}

static void no_worker_is_known_that_was_not_made(void **state)
{
    (void)state;
    void *worker = NULL;
    mock_ucx_fails = 1;
    assert_int_equal(ucp_worker_create(NULL, NULL, &worker), -3);
    mock_ucx_fails = 0;
    ucx_linger(1, LINGER_NS);
    assert_true(time_of_closing() >= LINGER_NS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mock_ucx_progressed[i], 0);
}

static void the_last_close_lingers(void **state)
{
    (void)state;
    void *worker = NULL;
    int before = mock_ucx_disconnected;
    assert_int_equal(ucp_worker_create(NULL, NULL, &worker), 0);
    assert_ptr_equal(worker, &mock_ucx_progressed[0]);
    ucp_disconnect_nb(&connection); // not armed
    ucx_linger(3, LINGER_NS);
    ucp_disconnect_nb(&connection);
    ucp_disconnect_nb(&connection);
    assert_int_equal(mock_ucx_progressed[0], 0);
    assert_true(time_of_closing() >= LINGER_NS);
    int progressed = mock_ucx_progressed[0];
    assert_true(progressed > 0); // who yields beside others may be away for all of the while
    ucp_disconnect_nb(&connection);
    assert_int_equal(mock_ucx_progressed[0], progressed);
    assert_int_equal(mock_ucx_disconnected - before, 5);
}

static void every_worker_answers_while_there_is_one(void **state)
{
    (void)state;
    void *second = NULL, *third = NULL;
    assert_int_equal(ucp_worker_create(NULL, NULL, &second), 0);
    assert_int_equal(ucp_worker_create(NULL, NULL, &third), 0);
    ucp_worker_destroy(second);
    assert_int_equal(mock_ucx_destroyed, 1);
    ucx_linger(1, LINGER_NS);
    ucp_disconnect_nb(&connection);
    assert_int_equal(mock_ucx_progressed[1], 0);
    assert_true(mock_ucx_progressed[2] > 0);
}

static int looks;

static void look(void)
{
    looks++;
}

static void who_asked_is_told_of_polls_in_vain(void **state)
{
    (void)state;
    void *worker = NULL;
    assert_int_equal(ucp_worker_create(NULL, NULL, &worker), 0);
    int *progressed = worker, before = *progressed;
    assert_int_equal(ucp_worker_progress(worker), 0);
    assert_int_equal(ucp_worker_progress(worker), 0);
    assert_int_equal(looks, 0);
    ucx_when_nothing_moved(look);
    assert_int_equal(ucp_worker_progress(worker), 0);
    assert_int_equal(looks, 1);
    mock_ucx_moves = 7;
    assert_int_equal(ucp_worker_progress(worker), 7);
    mock_ucx_moves = 0;
    assert_int_equal(looks, 1);
    assert_int_equal(*progressed - before, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_worker_is_known_that_was_not_made),
        cmocka_unit_test(the_last_close_lingers),
        cmocka_unit_test(every_worker_answers_while_there_is_one),
        cmocka_unit_test(who_asked_is_told_of_polls_in_vain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
