// The header carrier's promise: programs see their messages, statuses and buffers as if no header
// travelled, and a peer finds one in front of every message. Through the entry points that programs
// call. Datatypes and requests are in test_header_types.c and _requests.c.
#include "tests/unit/header_peer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// --- sends ---------------------------------------------------------------------------------------

static void send_each_size(void)
{
    for (int i = 0; i < BORDERS; i++) {
        int length = border_sizes[i];
        unsigned seed = (unsigned)i + 1;
        unsigned char *buf = new_buffer((size_t)length);
        MPI_Request request = MPI_REQUEST_NULL;
        fill(buf, (size_t)length, seed);
        assert_int_equal(lib.Send(buf, length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD), 0);
        assert_peer_receives(TAG, (size_t)length, seed);
        assert_int_equal(lib.Isend(buf, length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request),
                         0);
        assert_int_equal(lib.Wait(&request, MPI_STATUS_IGNORE), 0);
        assert_peer_receives(TAG, (size_t)length, seed);
        assert_untouched(buf + length, MARGIN);
        free(buf);
    }
}

static void every_message_has_a_header(void **state)
{
    (void)state;
    send_each_size();
    mock_status(STATUS_SCHEDULED | STATUS_CONTENDED); // blocking calls are polled
    send_each_size();
    mock_status(STATUS_CONTENDED);
    send_each_size();
}

static void elements_at_the_borders_are_whole(void **state)
{
    const int counts[] = {0, 1, 127, 128, 129, 1023, 1024, 1025};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t length = (size_t)counts[i] * sizeof(double);
        unsigned char *buf = new_buffer(length);
        MPI_Status status;
        fill(buf, length, 3);
        lib.Send(buf, counts[i], MPI_DOUBLE, MOCK_PEER, TAG, MPI_COMM_WORLD);
        assert_peer_receives(TAG, length, 3);
        peer_sends(TAG, length, 4);
        lib.Recv(buf, counts[i], MPI_DOUBLE, MOCK_PEER, TAG, MPI_COMM_WORLD, &status);
        assert_status(&status, TAG, length);
        assert_filled(buf, length, 4);
        assert_untouched(buf + length, MARGIN);
        free(buf);
    }
}

// The memory of a message stays until the peer has taken it, whatever happens in between.
static void a_send_under_way_keeps_its_memory(void **state)
{
    enum { SENDS = 20 };
    unsigned char bufs[SENDS][300];
    MPI_Request requests[SENDS];
    int flag = 1;
    (void)state;
    mock_hold_sends(MPI_COMM_WORLD);
    for (int i = 0; i < SENDS; i++) {
        fill(bufs[i], sizeof bufs[i], (unsigned)i);
        lib.Isend(bufs[i], sizeof bufs[i], MPI_BYTE, MOCK_PEER, i, MPI_COMM_WORLD, &requests[i]);
        lib.Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        assert_false(flag);
    }
    for (int i = SENDS - 1; i >= 0; i--) {
        assert_peer_receives(i, sizeof bufs[i], (unsigned)i);
        lib.Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        assert_true(flag);
        assert_int_equal(requests[i], MPI_REQUEST_NULL);
        lib.Send(bufs[0], 100, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD); // uses memory again
        assert_peer_receives(TAG, 100, 0);
    }
}

static void nobody_gets_no_header(void **state)
{
    int number = 1;
    MPI_Status status;
    (void)state;
    assert_int_equal(lib.Send(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD), 0);
    assert_int_equal(lib.Recv(&number, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status), 0);
    assert_int_equal(number, 1);
    assert_int_equal(mock_bytes(&status), 0);
    // Nor do communicators that the library has not seen being made.
    MPI_Comm foreign = mock_comm();
    assert_int_equal(lib.Send(&number, 1, MPI_INT, MOCK_PEER, TAG, foreign), 0);
    assert_int_equal(mock_peer_receive(foreign, TAG, &number, sizeof number), sizeof number);
}

// --- receives ------------------------------------------------------------------------------------

static void receive_shorter(size_t room, size_t length, bool early)
{
    unsigned char *buf = new_buffer(room);
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    if (!early)
        peer_sends(TAG, length, 9);
    lib.Irecv(buf, (int)room, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    if (early)
        peer_sends(TAG, length, 9);
    assert_int_equal(lib.Wait(&request, &status), 0);
    assert_status(&status, TAG, length);
    assert_filled(buf, length, 9);
    assert_untouched(buf + length, room - length + MARGIN);
    assert_int_equal(request, MPI_REQUEST_NULL);

    free(buf);
    buf = new_buffer(room);
    peer_sends(TAG, length, 10);
    assert_int_equal(
        lib.Recv(buf, (int)room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
        0);
    assert_status(&status, TAG, length);
    assert_filled(buf, length, 10);
    assert_untouched(buf + length, room - length + MARGIN);
    free(buf);
}

static void a_short_message_leaves_the_rest_untouched(void **state)
{
    (void)state;
    for (int contended = 0; contended < 2; contended++) {
        for (int i = 0; i < BORDERS; i++) {
            for (int k = 0; k <= i; k++)
                receive_shorter((size_t)border_sizes[i], (size_t)border_sizes[k], k % 2 == 0);
        }
        mock_status(STATUS_SCHEDULED | STATUS_CONTENDED);
    }
}

static void receive_too_long(size_t room, size_t length)
{
    unsigned char *buf = new_buffer(room);
    MPI_Status statuses[2];
    MPI_Request requests[2];
    peer_sends(TAG, length, 5);
    assert_int_equal(lib.Recv(buf, (int)room, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, statuses),
                     MPI_ERR_TRUNCATE);
    assert_untouched(buf + room, MARGIN);

    memset(buf, UNTOUCHED, room);
    peer_sends(TAG, length, 5);
    peer_sends(TAG, 0, 5);
    for (int i = 0; i < 2; i++)
        lib.Irecv(buf, (int)room, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[i]);
    assert_int_equal(lib.Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    assert_int_equal(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    assert_int_equal(statuses[1].MPI_ERROR, MPI_SUCCESS);
    assert_status(&statuses[1], TAG, 0);
    assert_untouched(buf + room, MARGIN);
    free(buf);
}

static void a_long_message_is_cut_where_the_buffer_ends(void **state)
{
    (void)state;
    receive_too_long(0, 1);
    receive_too_long(100, 101);
    receive_too_long(1024, 1025);
    receive_too_long(8192, 8193);
    receive_too_long(8193, 9000);
}

static void a_cancelled_receive_is_untouched(void **state)
{
    (void)state;
    for (int i = 0; i < BORDERS; i++) {
        unsigned char *buf = new_buffer((size_t)border_sizes[i]);
        MPI_Request request;
        MPI_Status status;
        int cancelled = 0;
        lib.Irecv(buf, border_sizes[i], MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
        assert_int_equal(lib.Cancel(&request), 0);
        assert_int_equal(lib.Wait(&request, &status), 0);
        lib.Test_cancelled(&status, &cancelled);
        assert_true(cancelled);
        assert_untouched(buf, (size_t)border_sizes[i] + MARGIN);
        free(buf);
    }
    assert_int_equal(mock_session_requests(), 0);
}

// --- probes --------------------------------------------------------------------------------------

static void probes_count_the_payload(void **state)
{
    (void)state;
    for (int i = 0; i < BORDERS; i++) {
        size_t length = (size_t)border_sizes[i];
        unsigned char *buf = new_buffer(length);
        MPI_Status status;
        MPI_Message message;
        MPI_Request request;
        int flag = 0;
        mock_status(i % 2 == 0 ? STATUS_SCHEDULED : STATUS_SCHEDULED | STATUS_CONTENDED);
        peer_sends(TAG, length, 1);
        peer_sends(TAG, length, 2);
        peer_sends(TAG, length, 3);
        lib.Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        assert_status(&status, TAG, length);
        lib.Iprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &flag, &status);
        assert_true(flag);
        assert_status(&status, TAG, length);
        lib.Recv(buf, (int)length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        assert_filled(buf, length, 1);

        lib.Mprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &message, &status);
        assert_status(&status, TAG, length);
        lib.Mrecv(buf, (int)length, MPI_BYTE, &message, &status);
        assert_status(&status, TAG, length);
        assert_filled(buf, length, 2);

        lib.Improbe(MOCK_PEER, TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        assert_true(flag);
        lib.Imrecv(buf, (int)length, MPI_BYTE, &message, &request);
        lib.Wait(&request, &status);
        assert_status(&status, TAG, length);
        assert_filled(buf, length, 3);
        assert_untouched(buf + length, MARGIN);
        free(buf);
    }
}

static void a_matched_message_is_kept_by_a_faulty_receive(void **state)
{
    unsigned char buf[200 + MARGIN];
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    (void)state;
    memset(buf, UNTOUCHED, sizeof buf);
    peer_sends(TAG, 200, 1);
    lib.Mprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &message, &status);
    assert_int_equal(lib.Mrecv(buf, -1, MPI_BYTE, &message, &status), MPI_ERR_COUNT);
    assert_int_equal(lib.Imrecv(buf, 1, MPI_DATATYPE_NULL, &message, &request), MPI_ERR_TYPE);
    assert_int_equal(lib.Mrecv(buf, 200, MPI_BYTE, &message, &status), 0);
    assert_status(&status, TAG, 200);
    assert_filled(buf, 200, 1);
    assert_untouched(buf + 200, MARGIN);
}

// --- requests for the CPU ------------------------------------------------------------------------

static void peer_notices(bool scheduled)
{
    const unsigned char notice[8] = {scheduled};
    mock_peer_send(private_comm, NOTICE_TAG, notice, sizeof notice);
    carrier_drain();
}

static void receive_one(bool scheduled, bool look_first)
{
    char byte = 'x';
    MPI_Request request;
    int flag;
    peer_sends_as(scheduled, TAG, &byte, 1);
    lib.Irecv(&byte, 1, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    if (look_first)
        lib.Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    lib.Wait(&request, MPI_STATUS_IGNORE);
}

// The message alone speaks here: by notice, the peer has last said that it is idle.
static void an_idle_receiver_of_a_scheduled_sender_asks_once(void **state)
{
    (void)state;
    peer_notices(false);
    receive_one(true, false);
    assert_int_equal(mock_session_requests(), 0); // scheduled itself
    mock_status(STATUS_CONTENDED);
    carrier_look();
    receive_one(false, false);
    assert_int_equal(mock_session_requests(), 0);
    receive_one(true, false);
    assert_int_equal(mock_session_requests(), 1);
    char byte = 'x';
    peer_sends_as(true, TAG, &byte, 1);
    lib.Recv(&byte, 1, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    assert_int_equal(mock_session_requests(), 1);
}

static void looking_twice_at_a_message_asks_no_more(void **state)
{
    char byte = 'x';
    struct header header = {.magic = HEADER_MAGIC, .scheduled = 1, .length = 1};
    (void)state;
    // Without the program's own looks, which are worth a request of their own.
    struct wire *wire = wire_new(1);
    wire->incoming = wire->bounced = true;
    wire->user = &byte;
    wire->bytes = 1;
    peer_notices(false);
    mock_status(STATUS_CONTENDED);
    carrier_look();
    *wire->header = header;
    header_arrived(wire, MPI_SUCCESS, MPI_STATUS_IGNORE);
    header_arrived(wire, MPI_SUCCESS, MPI_STATUS_IGNORE);
    assert_int_equal(mock_session_requests(), 1);
    wire_free(wire);
}

// --- MPI_Bsend -----------------------------------------------------------------------------------

static void a_buffer_holds_what_it_would_without_us(void **state)
{
    enum { SENDS = 10, LENGTH = 24 };
    const int size = SENDS * (LENGTH + MPI_BSEND_OVERHEAD);
    unsigned char *buffer = new_buffer((size_t)size);
    unsigned char bytes[LENGTH];
    (void)state;
    for (int round = 0; round < 2; round++) {
        void *detached = NULL;
        int detached_size = 0;
        assert_int_equal(lib.Buffer_attach(buffer, size), 0);
        assert_int_equal(lib.Buffer_attach(buffer, size), MPI_ERR_BUFFER);
        for (unsigned i = 0; i < SENDS; i++) {
            fill(bytes, LENGTH, i);
            assert_int_equal(lib.Bsend(bytes, LENGTH, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD), 0);
        }
        for (unsigned i = 0; i < SENDS; i++)
            assert_peer_receives(TAG, LENGTH, i);
        assert_int_equal(lib.Buffer_detach(&detached, &detached_size), 0);
        assert_ptr_equal(detached, buffer);
        assert_int_equal(detached_size, size);
    }
    assert_untouched(buffer + size, MARGIN);
    free(buffer);
}

// A header more for each message that fits, but no more than an int says.
static void a_large_buffer_grows_as_far_as_it_can(void **state)
{
    static const int sizes[] = {1500000000, 1800000000, INT_MAX - 100, INT_MAX};
    unsigned char byte;
    (void)state;
    void *room = malloc(INT_MAX);
    free(room);
    if (room == NULL)
        skip();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *detached = NULL;
        int size = 0;
        assert_int_equal(lib.Buffer_attach(&byte, sizes[i]), 0);
        assert_int_equal(mpi_next[1].Buffer_detach(&detached, &size), 0);
        assert_in_range(size, sizes[i] < INT_MAX ? sizes[i] + 32 : sizes[i], INT_MAX);
        assert_ptr_not_equal(detached, &byte);
        assert_int_equal(mpi_next[1].Buffer_attach(detached, size), 0);
        assert_int_equal(lib.Buffer_detach(&detached, &size), 0);
        assert_ptr_equal(detached, &byte);
        assert_int_equal(size, sizes[i]);
    }
}

// --- a peer without the library ------------------------------------------------------------------

static void a_bare_message_is_delivered(void **state)
{
    const int lengths[] = {0, 1, 3, 4, 15, 16, 17, 100, 4000};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t length = (size_t)lengths[i], room = 4000;
        unsigned char *buf = new_buffer(room), *bytes = malloc(length + 1);
        MPI_Status status;
        MPI_Request request;
        fill(bytes, length, 6);
        mock_peer_send(MPI_COMM_WORLD, TAG, bytes, length);
        assert_int_equal(
            lib.Recv(buf, (int)room, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &status), 0);
        assert_status(&status, TAG, length);
        assert_filled(buf, length, 6);
        assert_untouched(buf + length, room - length + MARGIN);

        memset(buf, UNTOUCHED, room);
        lib.Irecv(buf, (int)room, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
        mock_peer_send(MPI_COMM_WORLD, TAG, bytes, length);
        assert_int_equal(lib.Waitall(1, &request, MPI_STATUSES_IGNORE), 0);
        assert_filled(buf, length, 6);
        assert_untouched(buf + length, room - length + MARGIN);
        free(bytes);
        free(buf);
    }
    assert_int_equal(mock_session_requests(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(every_message_has_a_header),
        TEST(elements_at_the_borders_are_whole),
        TEST(a_send_under_way_keeps_its_memory),
        TEST(nobody_gets_no_header),
        TEST(a_short_message_leaves_the_rest_untouched),
        TEST(a_long_message_is_cut_where_the_buffer_ends),
        TEST(a_cancelled_receive_is_untouched),
        TEST(probes_count_the_payload),
        TEST(a_matched_message_is_kept_by_a_faulty_receive),
        TEST(an_idle_receiver_of_a_scheduled_sender_asks_once),
        TEST(looking_twice_at_a_message_asks_no_more),
        TEST(a_buffer_holds_what_it_would_without_us),
        TEST(a_large_buffer_grows_as_far_as_it_can),
        TEST(a_bare_message_is_delivered),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
