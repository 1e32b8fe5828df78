// The header carrier's promise: programs see their messages, statuses and buffers as if no header
// travelled, and a peer finds one in front of every message. Through the entry points that programs
// call.
#include "common/status_page.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    TAG = 1000,
    NOTICE_TAG = 1, // of the carrier's own messages
    MARGIN = 64,    // behind every buffer; must stay as it is
    UNTOUCHED = 0xee,
    MANY = HEADER_BATCH_OWN * 2 + 5,
};

static const int border_sizes[] = {0, 1, 15, 16, 17, 1023, 1024, 1025, 8191, 8192, 8193, 100000};
enum { BORDERS = sizeof border_sizes / sizeof *border_sizes };

static MPI_Comm private_comm;

static void fill(void *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(seed + i * 7 + i / 251);
}

static void assert_filled(const void *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        assert_int_equal(((const unsigned char *)bytes)[i],
                         (unsigned char)(seed + i * 7 + i / 251));
}

static void assert_untouched(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        assert_int_equal(((const unsigned char *)bytes)[i], UNTOUCHED);
}

// A buffer with a margin, all of it marked.
static unsigned char *new_buffer(size_t length)
{
    unsigned char *bytes = malloc(length + MARGIN);
    memset(bytes, UNTOUCHED, length + MARGIN);
    return bytes;
}

static void peer_sends_as(bool scheduled, int tag, const void *payload, size_t length)
{
    struct header header = {.magic = HEADER_MAGIC, .scheduled = scheduled, .length = length};
    unsigned char *bytes = malloc(sizeof header + length);
    memcpy(bytes, &header, sizeof header);
    if (length > 0)
        memcpy(bytes + sizeof header, payload, length);
    mock_peer_send(MPI_COMM_WORLD, tag, bytes, sizeof header + length);
    free(bytes);
}

static void peer_sends(int tag, size_t length, unsigned seed)
{
    unsigned char *payload = malloc(length + 1);
    fill(payload, length, seed);
    peer_sends_as(true, tag, payload, length);
    free(payload);
}

// Rank 1 receives a message with a header; the payload is given back, to be freed.
static unsigned char *peer_receives(int tag, size_t length, bool scheduled)
{
    struct header header;
    unsigned char *bytes = malloc(sizeof header + length);
    assert_int_equal(mock_peer_receive(MPI_COMM_WORLD, tag, bytes, sizeof header + length),
                     (long)(sizeof header + length));
    memcpy(&header, bytes, sizeof header);
    assert_int_equal(header.magic, HEADER_MAGIC);
    assert_int_equal(header.scheduled, scheduled);
    assert_int_equal(header.length, length);
    memmove(bytes, bytes + sizeof header, length);
    return bytes;
}

static void assert_peer_receives(int tag, size_t length, unsigned seed)
{
    unsigned char *payload = peer_receives(tag, length, !session_word_idle(session_word()));
    assert_filled(payload, length, seed);
    free(payload);
}

static void assert_status(const MPI_Status *status, int tag, size_t bytes)
{
    assert_int_equal(status->MPI_SOURCE, MOCK_PEER);
    assert_int_equal(status->MPI_TAG, tag);
    assert_int_equal(mock_bytes(status), bytes);
}

static void drop_notices(void)
{
    char notice[64];
    while (mock_peer_receive(private_comm, NOTICE_TAG, notice, sizeof notice) >= 0)
        ;
}

// As lifecycle does it, with the peer on another node. Once, as in a program.
static int start(void **state)
{
    const int nodes[MOCK_SIZE] = {0, 1};
    const bool remote[MOCK_SIZE] = {false, true};
    (void)state;
    mock_start(MPI_THREAD_SINGLE);
    mock_status(STATUS_SCHEDULED);
    private_comm = mock_comm();
    if (peers_start(nodes, MOCK_SIZE) != 0 ||
        carrier_start(private_comm, MOCK_SIZE, remote, true) != 0)
        return -1;
    header_start(private_comm, MOCK_SELF);
    core_active = true;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    core_active = false;
    header_stop();
    drop_notices();
    carrier_stop();
    peers_stop();
    return mock_requests_left() + mock_types_left() + mock_messages_left();
}

// Every test begins scheduled and alone, and leaves nothing behind.
static int begin(void **state)
{
    (void)state;
    mock_status(STATUS_SCHEDULED);
    mock_session_requests();
    return 0;
}

static int end(void **state)
{
    (void)state;
    mock_hold_sends(MPI_COMM_NULL);
    mock_status(STATUS_SCHEDULED);
    carrier_look();
    drop_notices();
    if (mock_requests_left() + mock_types_left() + mock_messages_left() == 0)
        return 0;
    fprintf(stderr, "left: %d requests, %d datatypes, %d messages\n", mock_requests_left(),
            mock_types_left(), mock_messages_left());
    return -1;
}

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

// --- datatypes -----------------------------------------------------------------------------------

// The first and the last of three integers.
static MPI_Datatype new_gapped(bool commit)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {0, 2 * sizeof(int)};
    const MPI_Datatype of[2] = {MPI_INT, MPI_INT};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    assert_int_equal(lib.Type_create_struct(2, lengths, places, of, &type), 0);
    if (commit)
        assert_int_equal(lib.Type_commit(&type), 0);
    return type;
}

// Integer i of the message is in this place of the buffer.
static int gapped(int i)
{
    return i / 2 * 3 + i % 2 * 2;
}

static void exchange_gapped(MPI_Datatype type, int count)
{
    size_t length = (size_t)count * 2 * sizeof(int), room = (size_t)count * 3 * sizeof(int);
    int *numbers = malloc(length + 1), *buf = (int *)(void *)new_buffer(room);
    MPI_Status status;
    for (int i = 0; i < count * 2; i++)
        buf[gapped(i)] = numbers[i] = i * 1001;
    assert_int_equal(lib.Send(buf, count, type, MOCK_PEER, TAG, MPI_COMM_WORLD), 0);
    unsigned char *payload = peer_receives(TAG, length, true);
    assert_memory_equal(payload, numbers, length);
    free(payload);

    memset(buf, UNTOUCHED, room);
    peer_sends_as(true, TAG, numbers, length);
    assert_int_equal(lib.Recv(buf, count, type, MOCK_PEER, TAG, MPI_COMM_WORLD, &status), 0);
    assert_status(&status, TAG, length);
    for (int i = 0; i < count * 2; i++)
        assert_int_equal(buf[gapped(i)], numbers[i]);
    for (int i = 0; i < count; i++)
        assert_untouched(&buf[i * 3 + 1], sizeof(int));
    assert_untouched(&buf[count * 3], MARGIN);
    free(buf);
    free(numbers);
}

static void a_derived_type_keeps_its_gaps(void **state)
{
    MPI_Datatype type = new_gapped(true);
    (void)state;
    // 8 bytes each: packed up to 1024 of them, then a structure.
    const int counts[] = {1, 2, 127, 128, 129, 1000, 2000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        exchange_gapped(type, counts[i]);
    lib.Type_free(&type);
}

// The program may free the datatype, and does so, before the message is there.
static void a_freed_type_is_good_until_the_end(void **state)
{
    MPI_Datatype type = new_gapped(true);
    int buf[6], numbers[4] = {1, 2, 3, 4};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    (void)state;
    memset(buf, UNTOUCHED, sizeof buf);
    mock_hold_sends(MPI_COMM_WORLD);
    lib.Irecv(buf, 2, type, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[0]);
    int out[3] = {5, 6, 7};
    lib.Isend(out, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[1]);
    lib.Type_free(&type);
    peer_sends_as(true, TAG, numbers, sizeof numbers);
    unsigned char *payload = peer_receives(TAG, 2 * sizeof(int), true);
    assert_memory_equal(payload, ((const int[]){5, 7}), 2 * sizeof(int));
    free(payload);
    assert_int_equal(lib.Waitall(2, requests, statuses), 0);
    assert_status(&statuses[0], TAG, sizeof numbers);
    for (int i = 0; i < 4; i++)
        assert_int_equal(buf[gapped(i)], numbers[i]);
}

static void data_may_lie_anywhere(void **state)
{
    int number = 42, received = 0;
    const int one = 1;
    MPI_Aint place = (MPI_Aint)&number;
    const MPI_Datatype of = MPI_INT;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    (void)state;
    lib.Type_create_struct(1, &one, &place, &of, &type);
    lib.Type_commit(&type);
    assert_int_equal(lib.Send(MPI_BOTTOM, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD), 0);
    unsigned char *payload = peer_receives(TAG, sizeof number, true);
    memcpy(&received, payload, sizeof received);
    free(payload);
    assert_int_equal(received, 42);
    received = 43;
    peer_sends_as(true, TAG, &received, sizeof received);
    assert_int_equal(
        lib.Recv(MPI_BOTTOM, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
    assert_int_equal(number, 43);
    lib.Type_free(&type);
}

static void wrong_arguments_are_reported_and_nothing_is_sent(void **state)
{
    MPI_Datatype type = new_gapped(false);
    int buf[3] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    (void)state;
    assert_int_equal(lib.Send(buf, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD), MPI_ERR_TYPE);
    assert_int_equal(lib.Isend(buf, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD, &request),
                     MPI_ERR_TYPE);
    assert_int_equal(lib.Irecv(buf, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD, &request),
                     MPI_ERR_TYPE);
    assert_int_equal(lib.Send(buf, -1, MPI_INT, MOCK_PEER, TAG, MPI_COMM_WORLD), MPI_ERR_COUNT);
    assert_int_equal(lib.Send(buf, 1, MPI_DATATYPE_NULL, MOCK_PEER, TAG, MPI_COMM_WORLD),
                     MPI_ERR_TYPE);
    assert_int_equal(mock_messages_left(), 0);
    lib.Type_free(&type);
}

// --- more than a count holds ---------------------------------------------------------------------

#define LONG_BYTES ((size_t)3 << 30)

static MPI_Datatype new_long(void)
{
    const int lengths[3] = {1 << 30, 1 << 30, 1 << 30};
    const MPI_Aint places[3] = {0, (MPI_Aint)1 << 30, (MPI_Aint)2 << 30};
    const MPI_Datatype of[3] = {MPI_BYTE, MPI_BYTE, MPI_BYTE};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    assert_int_equal(lib.Type_create_struct(3, lengths, places, of, &type), 0);
    assert_int_equal(lib.Type_commit(&type), 0);
    return type;
}

static size_t length_of(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    assert_true(count <= INT_MAX);
    assert_int_equal(mpi_next[1].Type_size_x(type, &size), 0);
    return (size_t)(size * count);
}

static size_t moved;
static void *moved_to;

// Instead of three gigabytes.
static int move_nothing(const void *from, int from_count, MPI_Datatype from_type, int dest,
                        int out_tag, void *to, int to_count, MPI_Datatype to_type, int source,
                        int in_tag, MPI_Comm comm, MPI_Status *status)
{
    (void)from, (void)dest, (void)out_tag, (void)source, (void)in_tag, (void)comm, (void)status;
    moved = length_of(from_count, from_type);
    moved_to = to;
    assert_true(moved <= length_of(to_count, to_type));
    return MPI_SUCCESS;
}

static void assert_holds(const struct parcel *parcel, size_t bytes)
{
    assert_int_equal(parcel->rc, MPI_SUCCESS);
    assert_non_null(parcel->wire);
    assert_int_equal(length_of(parcel->count, parcel->type), sizeof(struct header) + bytes);
}

static void a_copy_may_be_longer_than_a_count(void **state)
{
    MPI_Datatype type = new_long();
    struct parcel out, in;
    char user;
    (void)state;
    out = header_out_copy(&user, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD);
    assert_holds(&out, LONG_BYTES);
    assert_int_equal(moved, LONG_BYTES);
    assert_ptr_equal(moved_to, out.wire->header + 1);
    header_sent(&out);
    in = header_in(HEADER_JOINED, &user, 1, type, MOCK_PEER, TAG, MPI_COMM_WORLD);
    assert_holds(&in, LONG_BYTES);
    in.wire->header->magic = HEADER_MAGIC;
    in.wire->header->length = LONG_BYTES - 1;
    header_received(&in, MPI_SUCCESS, MPI_STATUS_IGNORE);
    assert_int_equal(moved, LONG_BYTES - 1);
    assert_ptr_equal(moved_to, &user);
    lib.Type_free(&type);
}

// With the header it is just too long.
static void a_header_may_make_it_so(void **state)
{
    struct parcel in;
    char user;
    (void)state;
    for (int length = INT_MAX - 17; length < INT_MAX - 13; length++) {
        in = header_in(HEADER_JOINED, &user, length, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD);
        assert_holds(&in, (size_t)length);
        header_received(&in, MPI_SUCCESS, MPI_STATUS_IGNORE);
    }
}

static __typeof__(mpi_next[1].Sendrecv) mock_Sendrecv;
static __typeof__(mpi_next[1].Pack_c) mock_Pack_c;

// As an MPI without large counts.
static int begin_long(void **state)
{
    mock_Sendrecv = mpi_next[1].Sendrecv;
    mock_Pack_c = mpi_next[1].Pack_c;
    mpi_next[1].Sendrecv = move_nothing;
    mpi_next[1].Pack_c = NULL;
    return begin(state);
}

static int end_long(void **state)
{
    mpi_next[1].Sendrecv = mock_Sendrecv;
    mpi_next[1].Pack_c = mock_Pack_c;
    return end(state);
}

// --- requests ------------------------------------------------------------------------------------

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
            header_look_after_orphans();
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
    assert_false(header_orphans);
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
    header_look_after_orphans();
    assert_false(header_orphans);
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
        TEST(a_derived_type_keeps_its_gaps),
        TEST(a_freed_type_is_good_until_the_end),
        TEST(data_may_lie_anywhere),
        TEST(wrong_arguments_are_reported_and_nothing_is_sent),
        cmocka_unit_test_setup_teardown(a_copy_may_be_longer_than_a_count, begin_long, end_long),
        cmocka_unit_test_setup_teardown(a_header_may_make_it_so, begin_long, end_long),
        TEST(a_restarted_send_has_what_is_there_now),
        TEST(a_restarted_receive_gets_what_comes_now),
        TEST(a_persistent_receive_that_an_error_ends_is_forgotten),
        TEST(a_freed_receive_is_looked_after),
        TEST(freed_sends_arrive),
        TEST(any_of_mixed_requests),
        TEST(some_of_mixed_requests),
        TEST(all_of_mixed_requests),
        TEST(many_requests_without_statuses),
        TEST(a_look_at_a_request_does_not_end_it),
        TEST(probes_count_the_payload),
        TEST(an_idle_receiver_of_a_scheduled_sender_asks_once),
        TEST(looking_twice_at_a_message_asks_no_more),
        TEST(a_buffer_holds_what_it_would_without_us),
        TEST(a_bare_message_is_delivered),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
