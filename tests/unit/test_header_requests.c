// Requests under the header carrier: persistent, freed, looked at and mixed with others.
#include "tests/unit/header_peer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_restarted_send_has_what_is_there_now(void **state)
{
    (void)state;
    for (int i = 0; i < BORDERS; i++) {
        size_t length = (size_t)border_sizes[i];
        unsigned char *buf = new_buffer(length);
        MPI_Request request;
        mock_hold_sends(i % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL);
        lib.Send_init(buf, (int)length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
        for (unsigned round = 1; round <= 3; round++) {
            mock_status(round % 2 == 0 ? STATUS_CONTENDED : STATUS_SCHEDULED);
            fill(buf, length, round);
            assert_int_equal(lib.Start(&request), 0);
            assert_peer_receives(TAG, length, round);
            assert_int_equal(lib.Wait(&request, MPI_STATUS_IGNORE), 0);
            assert_int_not_equal(request, MPI_REQUEST_NULL);
        }
        assert_int_equal(lib.Request_free(&request), 0);
        free(buf);
    }
}

static void a_restarted_receive_gets_what_comes_now(void **state)
{
    (void)state;
    for (int i = 0; i < BORDERS; i++) {
        size_t room = (size_t)border_sizes[i];
        unsigned char *buf = new_buffer(room);
        MPI_Request request;
        lib.Recv_init(buf, (int)room, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
        for (unsigned round = 1; round <= 3; round++) {
            size_t length = round == 2 ? room / 2 : room;
            MPI_Status status;
            memset(buf, UNTOUCHED, room);
            assert_int_equal(lib.Startall(1, &request), 0);
            peer_sends(TAG, length, round);
            assert_int_equal(lib.Wait(&request, &status), 0);
            assert_status(&status, TAG, length);
            assert_filled(buf, length, round);
            assert_untouched(buf + length, room - length + MARGIN);
            // Waiting for one that is not started gives an empty status and touches nothing.
            memset(buf, UNTOUCHED, room);
            assert_int_equal(lib.Wait(&request, &status), 0);
            assert_int_equal(mock_bytes(&status), 0);
            assert_int_equal(status.MPI_SOURCE, MPI_ANY_SOURCE);
            assert_untouched(buf, room + MARGIN);
        }
        assert_int_equal(lib.Request_free(&request), 0);
        free(buf);
    }
}

static void a_persistent_receive_that_an_error_ends_is_forgotten(void **state)
{
    unsigned char buf[200];
    MPI_Request request;
    (void)state;
    mock_errors_end = true;
    lib.Recv_init(buf, sizeof buf, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    lib.Start(&request);
    peer_sends(TAG, sizeof buf + 1, 1);
    assert_int_equal(lib.Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    mock_errors_end = false;
    // So nothing is known under the handle that is none.
    assert_int_equal(request, MPI_REQUEST_NULL);
    assert_int_equal(lib.Start(&request), MPI_ERR_REQUEST);
    assert_int_equal(lib.Request_free(&request), MPI_ERR_REQUEST);
    assert_int_equal(mock_requests_left(), 0);
}

static void a_freed_receive_is_looked_after(void **state)
{
    int flag;
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        for (int i = 0; i < BORDERS; i++) {
            size_t length = (size_t)border_sizes[i];
            unsigned char *buf = new_buffer(length);
            MPI_Request request;
            if (persistent) {
                lib.Recv_init(buf, (int)length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
                lib.Start(&request);
            } else {
                lib.Irecv(buf, (int)length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
            }
            assert_int_equal(lib.Request_free(&request), 0);
            assert_int_equal(request, MPI_REQUEST_NULL);
            orphans_look();
            assert_untouched(buf, length);
            peer_sends(TAG, length, 8);
            // The next look of the program will do.
            lib.Iprobe(MOCK_PEER, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            assert_filled(buf, length, 8);
            assert_untouched(buf + length, MARGIN);
            assert_int_equal(mock_requests_left(), 0);
            free(buf);
        }
    }
    assert_false(orphans_exist);
}

// Nothing is under way any more on a communicator that is disconnected.
static void a_freed_receive_is_looked_after_when_a_communicator_goes(void **state)
{
    unsigned char buf[200];
    MPI_Request request;
    MPI_Comm other;
    (void)state;
    memset(buf, UNTOUCHED, sizeof buf);
    lib.Comm_dup(MPI_COMM_WORLD, &other);
    lib.Irecv(buf, sizeof buf, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    lib.Request_free(&request);
    peer_sends(TAG, sizeof buf, 8);
    assert_untouched(buf, sizeof buf);
    assert_int_equal(lib.Comm_free(&other), 0);
    assert_filled(buf, sizeof buf, 8);
    assert_false(orphans_exist);
}

static MPI_Comm disconnected;
static int (*really_test)(MPI_Request *request, int *flag, MPI_Status *status);

// The peer gets there while this rank waits.
static int test_and_receive(MPI_Request *request, int *flag, MPI_Status *status)
{
    static int calls;
    unsigned char got[300];
    if (++calls % 10 == 0)
        mock_peer_receive(disconnected, TAG, got, sizeof got);
    return really_test(request, flag, status);
}

static int disconnect_when_nothing_is_under_way(MPI_Comm *comm)
{
    assert_int_equal(mock_requests_left(), 1); // of MPI_COMM_WORLD
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

// MPICH waits in MPI_Comm_disconnect, where nobody looks after the library's requests.
static void freed_requests_are_over_before_their_communicator(void **state)
{
    unsigned char bytes[200];
    MPI_Request request;
    (void)state;
    really_test = mpi_next[1].Test;
    mpi_next[0].Comm_disconnect = disconnect_when_nothing_is_under_way;
    lib.Irecv(bytes, sizeof bytes, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    lib.Request_free(&request);
    for (int i = 0; i < 2; i++) {
        lib.Comm_dup(MPI_COMM_WORLD, &disconnected);
        mock_hold_sends(disconnected);
        lib.Isend(bytes, sizeof bytes, MPI_BYTE, MOCK_PEER, TAG, disconnected, &request);
        lib.Request_free(&request);
        assert_int_equal(mock_requests_left(), 2);
        mpi_next[1].Test = test_and_receive;
        assert_int_equal(lib.Comm_disconnect(&disconnected), 0);
        mpi_next[1].Test = really_test;
    }
    peer_sends(TAG, sizeof bytes, 8);
    orphans_look();
    assert_false(orphans_exist);
    assert_int_equal(mock_requests_left(), 0);
}

static void freed_sends_arrive(void **state)
{
    unsigned char bufs[3][200];
    int flag;
    (void)state;
    mock_hold_sends(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        fill(bufs[i], sizeof bufs[i], (unsigned)i);
        lib.Isend(bufs[i], sizeof bufs[i], MPI_BYTE, MOCK_PEER, i, MPI_COMM_WORLD, &request);
        lib.Request_free(&request);
    }
    assert_peer_receives(1, sizeof bufs[1], 1); // in the middle of the list
    lib.Iprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    assert_int_equal(mock_requests_left(), 2);
    assert_peer_receives(0, sizeof bufs[0], 0);
    assert_peer_receives(2, sizeof bufs[2], 2);
    orphans_look();
    assert_false(orphans_exist);
    assert_int_equal(mock_requests_left(), 0);
}

enum { PATIENCE_S = 60 };

static jmp_buf handler;
static int (*test)(MPI_Request *request, int *flag, MPI_Status *status);

static int test_and_jump(MPI_Request *request, int *flag, MPI_Status *status)
{
    mpi_next[1].Test = test;
    test(request, flag, status);
    longjmp(handler, 1);
}

// Of the program's, for an error that is found in a look after what it has freed.
static void a_handler_that_jumps_holds_nobody_up(void **state)
{
    unsigned char bytes[200];
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); // what it takes along is lost
#endif
    fill(bytes, sizeof bytes, 0);
    mock_hold_sends(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        MPI_Request request;
        alarm(PATIENCE_S);
        lib.Isend(bytes, sizeof bytes, MPI_BYTE, MOCK_PEER, i, MPI_COMM_WORLD, &request);
        lib.Request_free(&request);
        alarm(0);
        assert_peer_receives(i, sizeof bytes, 0);
        test = mpi_next[1].Test;
        if (i == 0 && setjmp(handler) == 0) {
            mpi_next[1].Test = test_and_jump;
            orphans_look();
            fail();
        }
    }
    orphans_look();
    assert_false(orphans_exist);
    assert_int_equal(mock_requests_left(), 0);
}

// A program that does nothing else would fill its memory with those that have arrived.
static void who_only_sends_and_frees_keeps_few(void **state)
{
    enum { SENDS = 2000, FEW = 200 };
    unsigned char bytes[8] = {0}, got[64];
    (void)state;
    mock_hold_sends(MPI_COMM_WORLD);
    for (int i = 0; i < SENDS; i++) {
        MPI_Request request;
        lib.Isend(bytes, sizeof bytes, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
        lib.Request_free(&request);
        mock_peer_receive(MPI_COMM_WORLD, TAG, got, sizeof got);
        assert_in_range(mock_requests_left(), 0, FEW);
    }
    orphans_look();
    assert_int_equal(mock_requests_left(), 0);
}

// Null, not started, the library's own kind, and one that it knows nothing of.
struct mixture {
    MPI_Request requests[6];
    unsigned char big[9000], small[40], foreign[40];
    MPI_Comm elsewhere;
};

enum { MIX_NULL, MIX_BIG, MIX_INACTIVE, MIX_FOREIGN, MIX_SMALL, MIX_SEND, MIXED };

static void mix(struct mixture *mixture)
{
    static char nothing[8];
    MPI_Request *requests = mixture->requests;
    memset(mixture, UNTOUCHED, sizeof *mixture);
    mixture->elsewhere = mock_comm();
    requests[MIX_NULL] = MPI_REQUEST_NULL;
    lib.Irecv(mixture->big, sizeof mixture->big, MPI_BYTE, MOCK_PEER, MIX_BIG, MPI_COMM_WORLD,
              &requests[MIX_BIG]);
    lib.Recv_init(nothing, sizeof nothing, MPI_BYTE, MOCK_PEER, MIX_INACTIVE, MPI_COMM_WORLD,
                  &requests[MIX_INACTIVE]);
    lib.Irecv(mixture->foreign, sizeof mixture->foreign, MPI_BYTE, MOCK_PEER, MIX_FOREIGN,
              mixture->elsewhere, &requests[MIX_FOREIGN]);
    lib.Irecv(mixture->small, sizeof mixture->small, MPI_BYTE, MPI_ANY_SOURCE, MIX_SMALL,
              MPI_COMM_WORLD, &requests[MIX_SMALL]);
    mock_hold_sends(MPI_COMM_WORLD);
    lib.Isend(nothing, sizeof nothing, MPI_BYTE, MOCK_PEER, MIX_SEND, MPI_COMM_WORLD,
              &requests[MIX_SEND]);
}

static void let_arrive(struct mixture *mixture, int which)
{
    char bytes[40];
    switch (which) {
    case MIX_BIG:
        peer_sends(MIX_BIG, 8500, 1);
        break;
    case MIX_SMALL:
        peer_sends(MIX_SMALL, 17, 2);
        break;
    case MIX_FOREIGN:
        fill(bytes, 30, 3);
        mock_peer_send(mixture->elsewhere, MIX_FOREIGN, bytes, 30);
        break;
    default:
        free(peer_receives(MIX_SEND, 8, true));
    }
}

static void assert_arrived(const struct mixture *mixture, int which, const MPI_Status *status)
{
    if (which == MIX_BIG) {
        assert_status(status, MIX_BIG, 8500);
        assert_filled(mixture->big, 8500, 1);
        assert_untouched(mixture->big + 8500, sizeof mixture->big - 8500);
    } else if (which == MIX_SMALL) {
        assert_status(status, MIX_SMALL, 17);
        assert_filled(mixture->small, 17, 2);
        assert_untouched(mixture->small + 17, sizeof mixture->small - 17);
    } else if (which == MIX_FOREIGN) {
        assert_status(status, MIX_FOREIGN, 30);
        assert_filled(mixture->foreign, 30, 3);
        assert_untouched(mixture->foreign + 30, sizeof mixture->foreign - 30);
    }
    if (which != MIX_INACTIVE)
        assert_int_equal(mixture->requests[which], MPI_REQUEST_NULL);
}

static const int arrivals[] = {MIX_SMALL, MIX_FOREIGN, MIX_SEND, MIX_BIG};
enum { ARRIVALS = sizeof arrivals / sizeof *arrivals };

static void any_of_a_mixture(bool wait, bool contended)
{
    struct mixture mixture;
    MPI_Status status;
    int index = -1, flag = 0;
    if (contended)
        mock_status(STATUS_SCHEDULED | STATUS_CONTENDED);
    mix(&mixture);
    for (int i = 0; i < ARRIVALS; i++) {
        assert_int_equal(lib.Testany(MIXED, mixture.requests, &index, &flag, &status), 0);
        assert_false(flag);
        let_arrive(&mixture, arrivals[i]);
        if (wait)
            assert_int_equal(lib.Waitany(MIXED, mixture.requests, &index, &status), 0);
        else
            assert_int_equal(lib.Testany(MIXED, mixture.requests, &index, &flag, &status), 0);
        assert_int_equal(index, arrivals[i]);
        assert_arrived(&mixture, index, &status);
    }
    assert_int_equal(lib.Waitany(MIXED, mixture.requests, &index, &status), 0);
    assert_int_equal(index, MPI_UNDEFINED);
    lib.Request_free(&mixture.requests[MIX_INACTIVE]);
}

static void any_of_mixed_requests(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        any_of_a_mixture(i % 2 == 0, i / 2 == 0);
}

static void some_of_a_mixture(bool wait, bool contended)
{
    struct mixture mixture;
    MPI_Status statuses[MIXED];
    int indices[MIXED], count = -1;
    if (contended)
        mock_status(STATUS_SCHEDULED | STATUS_CONTENDED);
    mix(&mixture);
    for (int i = 0; i < ARRIVALS; i += 2) {
        assert_int_equal(lib.Testsome(MIXED, mixture.requests, &count, indices, statuses), 0);
        assert_int_equal(count, 0);
        let_arrive(&mixture, arrivals[i]);
        let_arrive(&mixture, arrivals[i + 1]);
        if (wait)
            assert_int_equal(lib.Waitsome(MIXED, mixture.requests, &count, indices, statuses), 0);
        else
            assert_int_equal(lib.Testsome(MIXED, mixture.requests, &count, indices, statuses), 0);
        assert_int_equal(count, 2);
        for (int k = 0; k < count; k++) {
            assert_true(indices[k] == arrivals[i] || indices[k] == arrivals[i + 1]);
            assert_arrived(&mixture, indices[k], &statuses[k]);
        }
    }
    assert_int_equal(lib.Waitsome(MIXED, mixture.requests, &count, indices, statuses), 0);
    assert_int_equal(count, MPI_UNDEFINED);
    lib.Request_free(&mixture.requests[MIX_INACTIVE]);
}

static void some_of_mixed_requests(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        some_of_a_mixture(i % 2 == 0, i / 2 == 0);
}

static void all_of_a_mixture(bool wait, bool contended)
{
    struct mixture mixture;
    MPI_Status statuses[MIXED];
    int flag = 0;
    if (contended)
        mock_status(STATUS_SCHEDULED | STATUS_CONTENDED);
    mix(&mixture);
    for (int i = 0; i < ARRIVALS; i++) {
        assert_int_equal(lib.Testall(MIXED, mixture.requests, &flag, statuses), 0);
        assert_false(flag);
        let_arrive(&mixture, arrivals[i]);
    }
    if (wait)
        assert_int_equal(lib.Waitall(MIXED, mixture.requests, statuses), 0);
    else
        assert_int_equal(lib.Testall(MIXED, mixture.requests, &flag, statuses), 0);
    assert_true(wait || flag);
    for (int i = 0; i < MIXED; i++)
        assert_arrived(&mixture, i, &statuses[i]);
    assert_int_equal(mock_bytes(&statuses[MIX_INACTIVE]), 0);
    lib.Request_free(&mixture.requests[MIX_INACTIVE]);
}

static void all_of_mixed_requests(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        all_of_a_mixture(i % 2 == 0, i / 2 == 0);
}

static void begin_many(unsigned char bufs[MANY][16], MPI_Request requests[MANY])
{
    memset(bufs, UNTOUCHED, MANY * sizeof *bufs);
    for (int i = 0; i < MANY; i++)
        lib.Irecv(bufs[i], sizeof bufs[i], MPI_BYTE, MOCK_PEER, i, MPI_COMM_WORLD, &requests[i]);
}

static void assert_many(unsigned char bufs[MANY][16])
{
    for (int i = 0; i < MANY; i++) {
        assert_filled(bufs[i], 9, (unsigned)i);
        assert_untouched(bufs[i] + 9, sizeof bufs[i] - 9);
    }
}

static void many_requests_without_statuses(void **state)
{
    unsigned char bufs[MANY][16];
    MPI_Request requests[MANY];
    int indices[MANY], count, index, flag = 0;
    (void)state;
    begin_many(bufs, requests);
    for (int i = 0; i < MANY; i++)
        peer_sends(i, 9, (unsigned)i);
    assert_int_equal(lib.Waitall(MANY, requests, MPI_STATUSES_IGNORE), 0);
    assert_many(bufs);

    begin_many(bufs, requests);
    for (int i = 0; i < MANY; i++) {
        lib.Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE);
        assert_false(flag);
        peer_sends(i, 9, (unsigned)i);
    }
    lib.Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE);
    assert_true(flag);
    assert_many(bufs);

    begin_many(bufs, requests);
    for (int done = 0; done < MANY; done += count) {
        for (int i = done; i < done + 3 && i < MANY; i++)
            peer_sends(MANY - 1 - i, 9, (unsigned)(MANY - 1 - i));
        lib.Waitsome(MANY, requests, &count, indices, MPI_STATUSES_IGNORE);
        assert_in_range(count, 1, 3);
    }
    assert_many(bufs);

    begin_many(bufs, requests);
    for (int i = MANY - 1; i >= 0; i--) {
        peer_sends(i, 9, (unsigned)i);
        lib.Waitany(MANY, requests, &index, MPI_STATUS_IGNORE);
        assert_int_equal(index, i);
    }
    assert_many(bufs);
}

static void a_look_at_a_request_does_not_end_it(void **state)
{
    unsigned char buf[100];
    MPI_Request request;
    MPI_Status status;
    int flag = 1;
    (void)state;
    memset(buf, UNTOUCHED, sizeof buf);
    lib.Irecv(buf, sizeof buf, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    lib.Request_get_status(request, &flag, &status);
    assert_false(flag);
    peer_sends(TAG, 33, 4);
    for (int i = 0; i < 2; i++) {
        lib.Request_get_status(request, &flag, &status);
        assert_true(flag);
        assert_status(&status, TAG, 33);
        assert_filled(buf, 33, 4);
    }
    buf[0] = 99; // the operation is complete: the buffer is the program's
    assert_int_equal(lib.Wait(&request, &status), 0);
    assert_status(&status, TAG, 33);
    assert_int_equal(buf[0], 99);
    assert_untouched(buf + 33, sizeof buf - 33);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_restarted_send_has_what_is_there_now),
        TEST(a_restarted_receive_gets_what_comes_now),
        TEST(a_persistent_receive_that_an_error_ends_is_forgotten),
        TEST(a_freed_receive_is_looked_after),
        TEST(a_freed_receive_is_looked_after_when_a_communicator_goes),
        TEST(freed_requests_are_over_before_their_communicator),
        TEST(freed_sends_arrive),
        TEST(a_handler_that_jumps_holds_nobody_up),
        TEST(who_only_sends_and_frees_keeps_few),
        TEST(any_of_mixed_requests),
        TEST(some_of_mixed_requests),
        TEST(all_of_mixed_requests),
        TEST(many_requests_without_statuses),
        TEST(a_look_at_a_request_does_not_end_it),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
