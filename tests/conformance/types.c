// Datatypes: what arrives must be what MPI_Pack and MPI_Unpack would have carried over, and
// whatever lies in a type's gaps must stay as it was.
#include "conform.h"

#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 3 };

// `count` elements go from rank 0 to rank 1, in memory of `extent` bytes that begins `before` bytes
// before the buffer's address. Every byte of the receiver's memory is then compared with a local
// MPI_Pack and MPI_Unpack.
static void carry_over(MPI_Datatype type, int count, size_t before, size_t extent)
{
    MPI_Status status = fresh_status();
    MPI_Request request;
    int packed_size = 0, place = 0;
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        unsigned char *source = message(extent, nonblocking), *got = buffer(extent);
        if (rank == 0 && nonblocking) {
            OK(MPI_Isend(source + before, count, type, 1, TAG, comm, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (rank == 0) {
            OK(MPI_Send(source + before, count, type, 1, TAG, comm));
        } else if (nonblocking) {
            OK(MPI_Irecv(got + before, count, type, 0, TAG, comm, &request));
            OK(MPI_Wait(&request, &status));
        } else {
            OK(MPI_Recv(got + before, count, type, 0, TAG, comm, &status));
        }
        if (rank == 0) {
            FILLED(source, extent, nonblocking);
            continue;
        }
        STATUS(&status, 0, TAG, type, count);
        unsigned char *expected = buffer(extent);
        OK(MPI_Pack_size(count, type, comm, &packed_size));
        unsigned char *packed = buffer((size_t)packed_size);
        OK(MPI_Pack(source + before, count, type, packed, packed_size, &place, comm));
        int end = place;
        place = 0;
        OK(MPI_Unpack(packed, end, &place, expected + before, count, type, comm));
        size_t first = 0;
        while (first < extent && got[first] == expected[first])
            first++;
        EQUAL(extent, first); // the first byte that differs
        place = 0;
    }
}

#define EACH_PREDEFINED(X)                                                                         \
    X(CHAR)                                                                                        \
    X(SHORT)                                                                                       \
    X(INT)                                                                                         \
    X(LONG)                                                                                        \
    X(LONG_LONG)                                                                                   \
    X(UNSIGNED_CHAR)                                                                               \
    X(FLOAT) X(DOUBLE) X(LONG_DOUBLE) X(C_BOOL) X(C_FLOAT_COMPLEX) X(C_DOUBLE_COMPLEX)             \
        X(C_LONG_DOUBLE_COMPLEX) X(WCHAR) X(INT64_T) X(UINT16_T) X(AINT) X(OFFSET) X(2INT)         \
            X(FLOAT_INT) X(DOUBLE_INT) X(LONG_INT) X(SHORT_INT) X(LONG_DOUBLE_INT)
enum predefined {
#define X(name) P_##name,
    EACH_PREDEFINED(X)
#undef X
};
static const struct parameter predefined_types[] = {
#define X(name) {#name, P_##name},
    EACH_PREDEFINED(X)
#undef X
};

static MPI_Datatype predefined_type(long which)
{
    switch ((enum predefined)which) {
#define X(name)                                                                                    \
    case P_##name:                                                                                 \
        return MPI_##name;
        EACH_PREDEFINED(X)
#undef X
    }
    return MPI_DATATYPE_NULL;
}

static void carry_predefined(long which, int bytes)
{
    MPI_Datatype type = predefined_type(which);
    MPI_Aint lower, extent;
    OK(MPI_Type_get_extent(type, &lower, &extent));
    carry_over(type, bytes / (int)extent, 0, (size_t)(bytes / extent * extent));
}

CASE_EACH(predefined_few, predefined_types)
{
    carry_predefined(value, 96);
}

CASE_EACH(predefined_6KiB, predefined_types)
{
    carry_predefined(value, 6144);
}

CASE_EACH(predefined_200KiB, predefined_types)
{
    carry_predefined(value, 204800);
}

// --- Derived types -------------------------------------------------------------------------------

enum shape {
    CONTIGUOUS,
    VECTOR,
    HVECTOR_UNALIGNED,
    INDEXED,
    INDEXED_BACKWARDS,
    STRUCT,
    STRUCT_LONG_DOUBLE,
    RESIZED_SMALLER,
    RESIZED_LARGER,
    NEGATIVE_LOWER_BOUND,
    NEGATIVE_STRIDE,
    SUBARRAY,
    NESTED,
    DUPLICATE,
};
static const struct parameter shapes[] = {
    {"contiguous", CONTIGUOUS},
    {"vector", VECTOR},
    {"hvector_unaligned", HVECTOR_UNALIGNED},
    {"indexed", INDEXED},
    {"indexed_backwards", INDEXED_BACKWARDS},
    {"struct", STRUCT},
    {"struct_long_double", STRUCT_LONG_DOUBLE},
    {"resized_smaller", RESIZED_SMALLER},
    {"resized_larger", RESIZED_LARGER},
    {"negative_lower_bound", NEGATIVE_LOWER_BOUND},
    {"negative_stride", NEGATIVE_STRIDE},
    {"subarray", SUBARRAY},
    {"nested", NESTED},
    {"duplicate", DUPLICATE},
};

static MPI_Datatype make(enum shape shape)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, inner = MPI_DATATYPE_NULL;
    switch (shape) {
    case CONTIGUOUS:
        OK(MPI_Type_contiguous(5, MPI_INT, &type));
        break;
    case VECTOR:
        OK(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
        break;
    case HVECTOR_UNALIGNED:
        OK(MPI_Type_create_hvector(4, 1, 7, MPI_SHORT, &type));
        break;
    case INDEXED: {
        int lengths[] = {1, 3, 0, 2}, places[] = {0, 2, 6, 9};
        OK(MPI_Type_indexed(4, lengths, places, MPI_SHORT, &type));
        break;
    }
    case INDEXED_BACKWARDS: {
        int places[] = {6, 3, 0};
        OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type));
        break;
    }
    case STRUCT: {
        int lengths[] = {1, 1, 3};
        MPI_Aint places[] = {0, 8, 17};
        MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
        OK(MPI_Type_create_struct(3, lengths, places, types, &inner));
        OK(MPI_Type_create_resized(inner, 0, 24, &type));
        break;
    }
    case STRUCT_LONG_DOUBLE: {
        int lengths[] = {1, 1, 1};
        MPI_Aint places[] = {0, 16, 32};
        MPI_Datatype types[] = {MPI_CHAR, MPI_LONG_DOUBLE, MPI_INT};
        OK(MPI_Type_create_struct(3, lengths, places, types, &inner));
        OK(MPI_Type_create_resized(inner, 0, 48, &type));
        break;
    }
    case RESIZED_SMALLER: { // elements interleave: 4 bytes at 0, 4 at 12, the next 4 further on
        OK(MPI_Type_vector(2, 1, 1000, MPI_INT, &inner));
        OK(MPI_Type_create_resized(inner, 0, 4, &type));
        break;
    }
    case RESIZED_LARGER:
        OK(MPI_Type_create_resized(MPI_INT, 0, 20, &type));
        break;
    case NEGATIVE_LOWER_BOUND: {
        int lengths[] = {1, 1};
        MPI_Aint places[] = {-12, 4};
        OK(MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &inner));
        OK(MPI_Type_create_resized(inner, -16, 32, &type));
        break;
    }
    case NEGATIVE_STRIDE:
        OK(MPI_Type_create_hvector(4, 1, -8, MPI_INT, &inner));
        OK(MPI_Type_create_resized(inner, -24, 28, &type));
        break;
    case SUBARRAY: {
        int whole[] = {4, 6}, part[] = {2, 3}, start[] = {1, 2};
        OK(MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_SHORT, &type));
        break;
    }
    case NESTED:
        inner = make(STRUCT);
        OK(MPI_Type_vector(2, 1, 2, inner, &type));
        break;
    case DUPLICATE:
        inner = make(VECTOR);
        OK(MPI_Type_dup(inner, &type));
        break;
    }
    if (inner != MPI_DATATYPE_NULL)
        OK(MPI_Type_free(&inner));
    OK(MPI_Type_commit(&type));
    return type;
}

static void carry_shape(long shape, int count)
{
    MPI_Datatype type = make((enum shape)shape);
    MPI_Aint lower, extent, true_lower, true_extent;
    OK(MPI_Type_get_extent(type, &lower, &extent));
    OK(MPI_Type_get_true_extent(type, &true_lower, &true_extent));
    size_t before = true_lower < 0 ? (size_t)-true_lower : 0;
    size_t behind = (size_t)((count - 1) * extent + true_lower + true_extent);
    carry_over(type, count, before, before + behind);
    OK(MPI_Type_free(&type));
}

CASE_EACH(derived_one, shapes)
{
    carry_shape(value, 1);
}

CASE_EACH(derived_40, shapes)
{
    carry_shape(value, 40);
}

CASE_EACH(derived_400, shapes)
{
    carry_shape(value, 400);
}

CASE_EACH(derived_20000, shapes)
{
    carry_shape(value, value == RESIZED_SMALLER ? 900 : 20000);
}

CASE_EACH(sendrecv_replace, shapes)
{
    // 300 elements replaced by the other rank's; gaps stay one's own.
    MPI_Datatype type = make((enum shape)value);
    MPI_Aint lower, extent, true_lower, true_extent;
    int packed_size, end = 0, place = 0, count = 300;
    MPI_Status status = fresh_status();
    OK(MPI_Type_get_extent(type, &lower, &extent));
    OK(MPI_Type_get_true_extent(type, &true_lower, &true_extent));
    size_t before = true_lower < 0 ? (size_t)-true_lower : 0;
    size_t length = before + (size_t)((count - 1) * extent + true_lower + true_extent);
    unsigned char *mine = message(length, rank), *theirs = message(length, 1 - rank);
    unsigned char *expected = message(length, rank);
    OK(MPI_Pack_size(count, type, comm, &packed_size));
    unsigned char *packed = buffer((size_t)packed_size);
    OK(MPI_Pack(theirs + before, count, type, packed, packed_size, &end, comm));
    OK(MPI_Unpack(packed, end, &place, expected + before, count, type, comm));
    OK(MPI_Sendrecv_replace(mine + before, count, type, 1 - rank, TAG, 1 - rank, TAG, comm,
                            &status));
    STATUS(&status, 1 - rank, TAG, type, count);
    CHECK(memcmp(mine, expected, length) == 0);
    OK(MPI_Type_free(&type));
}

// --- Types that differ on both sides -------------------------------------------------------------

static const struct parameter element_counts[] = {
    {"3", 3}, {"250", 250}, {"1500", 1500}, {"4000", 4000}, {"50000", 50000}};

CASE_EACH(vector_into_contiguous, element_counts)
{
    MPI_Datatype strided;
    MPI_Status status = fresh_status();
    double *numbers = buffer((size_t)value * 3 * sizeof *numbers);
    OK(MPI_Type_vector((int)value, 1, 3, MPI_DOUBLE, &strided));
    OK(MPI_Type_commit(&strided));
    for (int back = 0; back < 2; back++) {
        if (rank == back) {
            for (long i = 0; i < value; i++)
                numbers[back ? i : i * 3] = (double)i + 0.5;
            if (back)
                OK(MPI_Send(numbers, (int)value, MPI_DOUBLE, 0, TAG, comm));
            else
                OK(MPI_Send(numbers, 1, strided, 1, TAG, comm));
            memset(numbers, UNTOUCHED_BYTE, (size_t)value * 3 * sizeof *numbers);
        } else {
            if (back)
                OK(MPI_Recv(numbers, 1, strided, 1, TAG, comm, &status));
            else
                OK(MPI_Recv(numbers, (int)value, MPI_DOUBLE, 0, TAG, comm, &status));
            STATUS(&status, back, TAG, MPI_DOUBLE, (int)value);
            long good = 0;
            for (long i = 0; i < value; i++)
                good += numbers[back ? i * 3 : i] == (double)i + 0.5;
            EQUAL(value, good);
            if (back)
                UNTOUCHED(numbers + 1, 2 * sizeof *numbers);
            else
                UNTOUCHED(numbers + value, (size_t)value * 2 * sizeof *numbers);
        }
    }
    OK(MPI_Type_free(&strided));
}

struct long_pair {
    long double real;
    double other;
};

CASE_EACH(struct_into_its_parts, element_counts)
{
    // long double and double by turns: elements that straddle every border.
    MPI_Datatype record, unsized;
    MPI_Status status = fresh_status();
    int lengths[] = {1, 1};
    MPI_Aint places[] = {offsetof(struct long_pair, real), offsetof(struct long_pair, other)};
    MPI_Datatype types[] = {MPI_LONG_DOUBLE, MPI_DOUBLE};
    OK(MPI_Type_create_struct(2, lengths, places, types, &unsized));
    OK(MPI_Type_create_resized(unsized, 0, sizeof(struct long_pair), &record));
    OK(MPI_Type_commit(&record));
    struct long_pair *pairs = buffer((size_t)value * sizeof *pairs);
    if (rank == 0) {
        for (long i = 0; i < value; i++)
            pairs[i] = (struct long_pair){(long double)i / 3, (double)i / 7};
        OK(MPI_Send(pairs, (int)value, record, 1, TAG, comm));
    } else {
        int elements = 0;
        long good = 0;
        OK(MPI_Recv(pairs, (int)value, record, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, record, (int)value);
        OK(MPI_Get_elements(&status, record, &elements));
        EQUAL(2 * value, elements);
        for (long i = 0; i < value; i++)
            good += pairs[i].real == (long double)i / 3 && pairs[i].other == (double)i / 7;
        EQUAL(value, good);
    }
    OK(MPI_Type_free(&unsized));
    OK(MPI_Type_free(&record));
}

CASE_EACH(packed_into_typed, element_counts)
{
    long double *numbers = buffer((size_t)value * sizeof *numbers);
    MPI_Status status = fresh_status();
    if (rank == 0) {
        int size, place = 0;
        for (long i = 0; i < value; i++)
            numbers[i] = (long double)i / 3;
        OK(MPI_Pack_size((int)value, MPI_LONG_DOUBLE, comm, &size));
        void *packed = buffer((size_t)size);
        OK(MPI_Pack(numbers, (int)value, MPI_LONG_DOUBLE, packed, size, &place, comm));
        OK(MPI_Send(packed, place, MPI_PACKED, 1, TAG, comm));
    } else {
        long good = 0;
        OK(MPI_Recv(numbers, (int)value, MPI_LONG_DOUBLE, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_LONG_DOUBLE, (int)value);
        for (long i = 0; i < value; i++)
            good += numbers[i] == (long double)i / 3;
        EQUAL(value, good);
    }
}

CASE_EACH(typed_into_packed, element_counts)
{
    struct {
        double d;
        int i;
    } *pairs = buffer((size_t)value * sizeof *pairs);
    MPI_Status status = fresh_status();
    for (long i = 0; rank == 0 && i < value; i++) {
        pairs[i].d = (double)i / 3;
        pairs[i].i = (int)i;
    }
    if (rank == 0) {
        OK(MPI_Send(pairs, (int)value, MPI_DOUBLE_INT, 1, TAG, comm));
    } else {
        int size, count, place = 0;
        long good = 0;
        OK(MPI_Pack_size((int)value, MPI_DOUBLE_INT, comm, &size));
        void *packed = buffer((size_t)size);
        OK(MPI_Recv(packed, size, MPI_PACKED, 0, TAG, comm, &status));
        OK(MPI_Get_count(&status, MPI_PACKED, &count));
        OK(MPI_Unpack(packed, count, &place, pairs, (int)value, MPI_DOUBLE_INT, comm));
        EQUAL(count, place);
        for (long i = 0; i < value; i++)
            good += pairs[i].d == (double)i / 3 && pairs[i].i == (int)i;
        EQUAL(value, good);
    }
}

CASE_EACH(packed_of_several_types, element_counts)
{
    // A count, that many doubles, a text: sent packed, received packed, unpacked by its contents.
    int size = (int)value * 8 + 64, place = 0, count = 0;
    char *packed = buffer((size_t)size), text[8] = "";
    double *numbers = buffer((size_t)value * sizeof *numbers);
    MPI_Status status = fresh_status();
    if (rank == 0) {
        count = (int)value;
        for (long i = 0; i < value; i++)
            numbers[i] = (double)i * 1.25;
        OK(MPI_Pack(&count, 1, MPI_INT, packed, size, &place, comm));
        OK(MPI_Pack(numbers, count, MPI_DOUBLE, packed, size, &place, comm));
        OK(MPI_Pack("the end", 8, MPI_CHAR, packed, size, &place, comm));
        OK(MPI_Send(packed, place, MPI_PACKED, 1, TAG, comm));
    } else {
        int length = 0;
        OK(MPI_Probe(0, TAG, comm, &status));
        OK(MPI_Get_count(&status, MPI_PACKED, &length));
        OK(MPI_Recv(packed, length, MPI_PACKED, 0, TAG, comm, &status));
        OK(MPI_Unpack(packed, length, &place, &count, 1, MPI_INT, comm));
        EQUAL(value, count);
        OK(MPI_Unpack(packed, length, &place, numbers, (int)value, MPI_DOUBLE, comm));
        OK(MPI_Unpack(packed, length, &place, text, 8, MPI_CHAR, comm));
        CHECK(strcmp(text, "the end") == 0);
        CHECK(numbers[value - 1] == (double)(value - 1) * 1.25);
        EQUAL(length, place);
    }
}

// --- Addresses -----------------------------------------------------------------------------------

CASE_EACH(bottom, element_counts)
{
    // Two arrays by their absolute addresses.
    int *first = buffer((size_t)value * sizeof *first);
    double *second = buffer((size_t)value * sizeof *second);
    MPI_Datatype both;
    MPI_Status status = fresh_status();
    int lengths[] = {(int)value, (int)value};
    MPI_Aint places[2];
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    OK(MPI_Get_address(first, &places[0]));
    OK(MPI_Get_address(second, &places[1]));
    OK(MPI_Type_create_struct(2, lengths, places, types, &both));
    OK(MPI_Type_commit(&both));
    for (long i = 0; rank == 0 && i < value; i++) {
        first[i] = (int)i;
        second[i] = (double)-i;
    }
    for (int i = 0; i < 2; i++) {
        long good = 0;
        MPI_Request request;
        if (rank == i) {
            OK(MPI_Send(MPI_BOTTOM, 1, both, 1 - i, TAG, comm));
            memset(first, 0, (size_t)value * sizeof *first);
            memset(second, 0, (size_t)value * sizeof *second);
        } else {
            OK(MPI_Irecv(MPI_BOTTOM, 1, both, i, TAG, comm, &request));
            OK(MPI_Wait(&request, &status));
            STATUS(&status, i, TAG, both, 1);
            for (long j = 0; j < value; j++)
                good += first[j] == (int)j && second[j] == (double)-j;
            EQUAL(value, good);
        }
    }
    OK(MPI_Type_free(&both));
}

CASE(bottom_in_sendrecv)
{
    int number = rank + 5, got = 0, length = 1;
    MPI_Aint from, to;
    MPI_Datatype out, in;
    OK(MPI_Get_address(&number, &from));
    OK(MPI_Get_address(&got, &to));
    OK(MPI_Type_create_hindexed(1, &length, &from, MPI_INT, &out));
    OK(MPI_Type_create_hindexed(1, &length, &to, MPI_INT, &in));
    OK(MPI_Type_commit(&out));
    OK(MPI_Type_commit(&in));
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, out, 1 - rank, TAG, MPI_BOTTOM, 1, in, 1 - rank, TAG, comm,
                    MPI_STATUS_IGNORE));
    EQUAL(6 - rank, got);
    OK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, out, 1 - rank, TAG, 1 - rank, TAG, comm,
                            MPI_STATUS_IGNORE));
    EQUAL(6 - rank, number);
    OK(MPI_Type_free(&out));
    OK(MPI_Type_free(&in));
}

// --- Lives of types ------------------------------------------------------------------------------

CASE_EACH(freed_before_completion, element_counts)
{
    MPI_Datatype strided, inner;
    MPI_Request request;
    MPI_Status status = fresh_status();
    double *numbers = buffer((size_t)value * 2 * sizeof *numbers);
    OK(MPI_Type_contiguous(1, MPI_DOUBLE, &inner));
    OK(MPI_Type_vector((int)value, 1, 2, inner, &strided));
    OK(MPI_Type_commit(&strided));
    OK(MPI_Type_free(&inner));
    if (rank == 0) {
        for (long i = 0; i < value; i++)
            numbers[i * 2] = (double)i;
        OK(MPI_Isend(numbers, 1, strided, 1, TAG, comm, &request));
    } else {
        OK(MPI_Irecv(numbers, 1, strided, 0, TAG, comm, &request));
    }
    OK(MPI_Type_free(&strided));
    // Others take its place.
    for (int i = 0; i < 4; i++) {
        OK(MPI_Type_vector(2, 1, 5 + i, MPI_CHAR, &inner));
        OK(MPI_Type_commit(&inner));
        OK(MPI_Type_free(&inner));
    }
    OK(MPI_Wait(&request, &status));
    if (rank == 1) {
        long good = 0;
        STATUS(&status, 0, TAG, MPI_DOUBLE, (int)value);
        for (long i = 0; i < value; i++)
            good += numbers[i * 2] == (double)i;
        EQUAL(value, good);
        UNTOUCHED(numbers + 1, sizeof *numbers);
    }
}

CASE(handles_that_are_used_again)
{
    // Each round's type most likely has the handle of the last one, and another layout.
    for (int round = 1; round <= 30; round++) {
        MPI_Datatype type;
        int *numbers = buffer(40000);
        MPI_Status status = fresh_status();
        OK(MPI_Type_vector(300, 1, round % 5 + 1, MPI_INT, &type));
        OK(MPI_Type_commit(&type));
        if (rank == 0) {
            for (int i = 0; i < 300; i++)
                numbers[i * (round % 5 + 1)] = i + round;
            OK(MPI_Send(numbers, 1, type, 1, TAG, comm));
        } else {
            int good = 0;
            OK(MPI_Recv(numbers, 1, type, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, type, 1);
            for (int i = 0; i < 300; i++)
                good += numbers[i * (round % 5 + 1)] == i + round;
            EQUAL(300, good);
        }
        OK(MPI_Type_free(&type));
    }
}

CASE(one_element_sent_many_times)
{
    // Sends may read the same memory more than once; a type may name it more than once, too.
    MPI_Datatype repeated, unsized;
    MPI_Status status = fresh_status();
    int number = 77, got[500] = {0}, good = 0;
    OK(MPI_Type_create_resized(MPI_INT, 0, 0, &unsized));
    OK(MPI_Type_contiguous(500, unsized, &repeated));
    OK(MPI_Type_commit(&repeated));
    if (rank == 0) {
        OK(MPI_Send(&number, 1, repeated, 1, TAG, comm));
    } else {
        OK(MPI_Recv(got, 500, MPI_INT, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_INT, 500);
        for (int i = 0; i < 500; i++)
            good += got[i] == 77;
        EQUAL(500, good);
    }
    OK(MPI_Type_free(&unsized));
    OK(MPI_Type_free(&repeated));
}

CASE(derived_receive_of_a_shorter_message)
{
    // 100 records can be had, 7 and a half come.
    MPI_Datatype record = make(CONTIGUOUS);
    MPI_Status status = fresh_status();
    int count = 0, elements = 0;
    unsigned char *got = buffer(2000);
    if (rank == 0) {
        OK(MPI_Send(message(152, 1), 38, MPI_INT, 1, TAG, comm));
    } else {
        OK(MPI_Recv(got, 100, record, 0, TAG, comm, &status));
        OK(MPI_Get_count(&status, record, &count));
        EQUAL(MPI_UNDEFINED, count);
        OK(MPI_Get_elements(&status, record, &elements));
        EQUAL(38, elements);
        FILLED(got, 152, 1);
        UNTOUCHED(got + 152, 2000 - 152);
    }
    OK(MPI_Type_free(&record));
}

CASE(blocks_far_apart)
{
    MPI_Datatype far;
    MPI_Status status = fresh_status();
    enum { STRIDE = 300000 };
    char *memory = buffer(3 * STRIDE);
    OK(MPI_Type_create_hvector(3, 1000, STRIDE, MPI_CHAR, &far));
    OK(MPI_Type_commit(&far));
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            fill(memory + i * STRIDE, 1000, i);
        OK(MPI_Send(memory, 1, far, 1, TAG, comm));
    } else {
        OK(MPI_Recv(memory, 1, far, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_CHAR, 3000);
        for (int i = 0; i < 3; i++) {
            FILLED(memory + i * STRIDE, 1000, i);
            UNTOUCHED(memory + i * STRIDE + 1000, STRIDE - 1000);
        }
    }
    OK(MPI_Type_free(&far));
}
