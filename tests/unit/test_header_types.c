// Datatypes under the header carrier: gaps, places and lives of types, and more than a count holds.
#include "tests/unit/header_peer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_derived_type_keeps_its_gaps),
        TEST(a_freed_type_is_good_until_the_end),
        TEST(data_may_lie_anywhere),
        TEST(wrong_arguments_are_reported_and_nothing_is_sent),
        cmocka_unit_test_setup_teardown(a_copy_may_be_longer_than_a_count, begin_long, end_long),
        cmocka_unit_test_setup_teardown(a_header_may_make_it_so, begin_long, end_long),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
