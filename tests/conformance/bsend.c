// Buffered sends in buffers that are exactly as large as they must be.
#include "conform.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 11 };

static const struct parameter lengths[] = {{"0", 0},        {"8", 8},       {"1016", 1016},
                                           {"1025", 1025},  {"8192", 8192}, {"8193", 8193},
                                           {"64KiB", 65536}};

static int room_for(int count, MPI_Datatype type)
{
    int size = 0;
    OK(MPI_Pack_size(count, type, comm, &size));
    return size + MPI_BSEND_OVERHEAD;
}

static void *attach(int size)
{
    void *space = buffer((size_t)size);
    OK(MPI_Buffer_attach(space, size));
    return space;
}

// The user's own address and size come back.
static void detach(const void *space, int size)
{
    void *detached = NULL;
    int detached_size = -1;
    OK(MPI_Buffer_detach(&detached, &detached_size));
    CHECK(detached == space);
    EQUAL(size, detached_size);
}

CASE_EACH(exact_room_for_one, lengths)
{
    int length = (int)value, size = room_for(length, MPI_BYTE);
    for (int i = 0; i < 3; i++) {
        if (rank == 0) {
            void *space = attach(size);
            OK(MPI_Bsend(message((size_t)length, i), length, MPI_BYTE, 1, TAG, comm));
            detach(space, size);
        } else {
            MPI_Status status = fresh_status();
            unsigned char *got = buffer((size_t)length);
            OK(MPI_Recv(got, length, MPI_BYTE, 0, TAG, comm, &status));
            STATUS(&status, 0, TAG, MPI_BYTE, length);
            FILLED(got, (size_t)length, i);
        }
    }
}

CASE_EACH(exact_room_for_many, lengths)
{
    // None is received before all have been sent; refilled several times.
    enum { MESSAGES = 10 };
    int length = (int)value, size = MESSAGES * room_for(length, MPI_BYTE);
    void *space = rank == 0 ? attach(size) : NULL;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; rank == 0 && i < MESSAGES; i++)
            OK(MPI_Bsend(message((size_t)length, i + round), length, MPI_BYTE, 1, TAG, comm));
        meet();
        for (int i = 0; rank == 1 && i < MESSAGES; i++) {
            unsigned char *got = buffer((size_t)length);
            OK(MPI_Recv(got, length, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            FILLED(got, (size_t)length, i + round);
        }
        if (rank == 0) { // all has left the buffer when it can be detached
            detach(space, size);
            OK(MPI_Buffer_attach(space, size));
        }
        meet();
    }
    if (rank == 0)
        detach(space, size);
}

CASE(exact_room_for_mixed_lengths)
{
    static const int sizes[] = {8, 70000, 0, 1024, 9000, 1, 8193};
    int size = 0;
    for (int i = 0; i < 7; i++)
        size += room_for(sizes[i], MPI_BYTE);
    void *space = rank == 0 ? attach(size) : NULL;
    for (int i = 0; rank == 0 && i < 7; i++)
        OK(MPI_Bsend(message((size_t)sizes[i], i), sizes[i], MPI_BYTE, 1, TAG, comm));
    meet();
    for (int i = 0; rank == 1 && i < 7; i++) {
        unsigned char *got = buffer((size_t)sizes[i]);
        OK(MPI_Recv(got, sizes[i], MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        FILLED(got, (size_t)sizes[i], i);
    }
    if (rank == 0)
        detach(space, size);
}

CASE_EACH(ibsend, lengths)
{
    enum { MESSAGES = 4 };
    int length = (int)value, size = MESSAGES * room_for(length, MPI_BYTE);
    MPI_Request requests[MESSAGES];
    if (rank == 0) {
        void *space = attach(size);
        for (int i = 0; i < MESSAGES; i++) {
            unsigned char *bytes = message((size_t)length, i);
            OK(MPI_Ibsend(bytes, length, MPI_BYTE, 1, TAG, comm, &requests[i]));
            OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE)); // does not depend on the receiver
            memset(bytes, 0, (size_t)length);
        }
        meet();
        detach(space, size);
    } else {
        meet();
        for (int i = 0; i < MESSAGES; i++) {
            unsigned char *got = buffer((size_t)length);
            OK(MPI_Recv(got, length, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            FILLED(got, (size_t)length, i);
        }
    }
}

CASE(not_waiting_for_the_receiver)
{
    // Both send at once, then both receive: only with buffers this cannot deadlock.
    int length = 200000, size = room_for(length, MPI_BYTE);
    unsigned char *got = buffer((size_t)length);
    void *space = attach(size);
    OK(MPI_Bsend(message((size_t)length, rank), length, MPI_BYTE, 1 - rank, TAG, comm));
    OK(MPI_Recv(got, length, MPI_BYTE, 1 - rank, TAG, comm, MPI_STATUS_IGNORE));
    FILLED(got, (size_t)length, 1 - rank);
    detach(space, size);
}

CASE(derived_type)
{
    MPI_Datatype every_other;
    double numbers[2000];
    OK(MPI_Type_vector(1000, 1, 2, MPI_DOUBLE, &every_other));
    OK(MPI_Type_commit(&every_other));
    int size = room_for(1, every_other);
    if (rank == 0) {
        void *space = attach(size);
        for (int i = 0; i < 2000; i++)
            numbers[i] = i;
        OK(MPI_Bsend(numbers, 1, every_other, 1, TAG, comm));
        detach(space, size);
    } else {
        MPI_Status status = fresh_status();
        int good = 0;
        OK(MPI_Recv(numbers, 1000, MPI_DOUBLE, 0, TAG, comm, &status));
        STATUS(&status, 0, TAG, MPI_DOUBLE, 1000);
        for (int i = 0; i < 1000; i++)
            good += numbers[i] == 2 * i;
        EQUAL(1000, good);
    }
    OK(MPI_Type_free(&every_other));
}

CASE(detach_waits_for_delivery)
{
    // What was in the buffer has left it after the detach, and may be overwritten.
    int length = 50000, size = room_for(length, MPI_BYTE);
    if (rank == 0) {
        void *space = attach(size);
        OK(MPI_Bsend(message((size_t)length, 1), length, MPI_BYTE, 1, TAG, comm));
        detach(space, size);
        memset(space, 0, (size_t)size);
    } else {
        unsigned char *got = buffer((size_t)length);
        OK(MPI_Recv(got, length, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        FILLED(got, (size_t)length, 1);
    }
}

CASE(no_room)
{
    // Too large for the buffer: an error, and the next one that fits goes through.
#ifdef OPEN_MPI
    skip("Open MPI cannot detach the buffer afterwards");
    return;
#endif
    int size = room_for(100, MPI_BYTE), number = 3, got = 0;
    if (rank == 0) {
        void *space = attach(size);
        unsigned char *bytes = message(100000, 1);
        int rc = MPI_Bsend(bytes, 100000, MPI_BYTE, 1, TAG, comm);
        CHECK(rc != MPI_SUCCESS);
        note("%s", class_name(rc));
        OK(MPI_Bsend(&number, 1, MPI_INT, 1, TAG, comm));
        detach(space, size);
    } else {
        OK(MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
        EQUAL(3, got);
    }
}

CASE(no_buffer)
{
    // An error, or, where there is room elsewhere, none.
    return_all_errors();
    int number = 3, size = 0;
    void *space = NULL;
    if (rank == 0) {
        int rc = MPI_Bsend(&number, 1, MPI_INT, 1, TAG, comm);
        note("%s", class_name(rc));
        rc = MPI_Buffer_detach(&space, &size);
        note("%s", class_name(rc));
    }
}

CASE(second_attach_is_refused)
{
    return_all_errors();
    int size = room_for(100, MPI_BYTE);
    void *space = attach(size), *other = buffer((size_t)size);
    int rc = MPI_Buffer_attach(other, size);
    CHECK(rc != MPI_SUCCESS);
    note("%s", class_name(rc));
    detach(space, size);
}

CASE(self)
{
    int length = 5000, size = room_for(length, MPI_BYTE);
    unsigned char *got = buffer((size_t)length);
    void *space = attach(size);
    OK(MPI_Bsend(message((size_t)length, 2), length, MPI_BYTE, rank, TAG, comm));
    OK(MPI_Recv(got, length, MPI_BYTE, rank, TAG, comm, MPI_STATUS_IGNORE));
    FILLED(got, (size_t)length, 2);
    detach(space, size);
}

CASE(attached_across_communicators)
{
    // One buffer serves all communicators.
    MPI_Comm other;
    OK(MPI_Comm_dup(comm, &other));
    MPI_Comm comms[] = {comm, other, MPI_COMM_WORLD};
    int size = 3 * room_for(1, MPI_INT), got = 0;
    void *space = attach(size);
    for (int i = 0; i < 3; i++)
        OK(MPI_Bsend(&i, 1, MPI_INT, 1 - rank, TAG, comms[i]));
    for (int i = 2; i >= 0; i--) {
        OK(MPI_Recv(&got, 1, MPI_INT, 1 - rank, TAG, comms[i], MPI_STATUS_IGNORE));
        EQUAL(i, got);
    }
    detach(space, size);
    OK(MPI_Comm_free(&other));
}
