// Rank 1 of a job under the header carrier, for its tests: what it sends and receives has a header
// in front. And how a test begins and ends.
#ifndef COSCHED_TESTS_UNIT_HEADER_PEER_H
#define COSCHED_TESTS_UNIT_HEADER_PEER_H

#include "common/status_page.h"
#include "pmpi/variant/carrier.h"
#include "pmpi/variant/header.h"
#include "pmpi/variant/wire.h"
#include "tests/unit/mock_mpi.h"
#include "tests/unit/mock_session.h"

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

static inline void fill(void *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(seed + i * 7 + i / 251);
}

static inline void assert_filled(const void *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        assert_int_equal(((const unsigned char *)bytes)[i],
                         (unsigned char)(seed + i * 7 + i / 251));
}

static inline void assert_untouched(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        assert_int_equal(((const unsigned char *)bytes)[i], UNTOUCHED);
}

// A buffer with a margin, all of it marked.
static inline unsigned char *new_buffer(size_t length)
{
    unsigned char *bytes = malloc(length + MARGIN);
    memset(bytes, UNTOUCHED, length + MARGIN);
    return bytes;
}

static inline void peer_sends_as(bool scheduled, int tag, const void *payload, size_t length)
{
    struct header header = {.magic = HEADER_MAGIC, .scheduled = scheduled, .length = length};
    unsigned char *bytes = malloc(sizeof header + length);
    memcpy(bytes, &header, sizeof header);
    if (length > 0)
        memcpy(bytes + sizeof header, payload, length);
    mock_peer_send(MPI_COMM_WORLD, tag, bytes, sizeof header + length);
    free(bytes);
}

static inline void peer_sends(int tag, size_t length, unsigned seed)
{
    unsigned char *payload = malloc(length + 1);
    fill(payload, length, seed);
    peer_sends_as(true, tag, payload, length);
    free(payload);
}

// Rank 1 receives a message with a header; the payload is given back, to be freed.
static inline unsigned char *peer_receives(int tag, size_t length, bool scheduled)
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

static inline void assert_peer_receives(int tag, size_t length, unsigned seed)
{
    unsigned char *payload = peer_receives(tag, length, !session_word_idle(session_word()));
    assert_filled(payload, length, seed);
    free(payload);
}

static inline void assert_status(const MPI_Status *status, int tag, size_t bytes)
{
    assert_int_equal(status->MPI_SOURCE, MOCK_PEER);
    assert_int_equal(status->MPI_TAG, tag);
    assert_int_equal(mock_bytes(status), bytes);
}

static inline void drop_notices(void)
{
    char notice[64];
    while (mock_peer_receive(private_comm, NOTICE_TAG, notice, sizeof notice) >= 0)
        ;
}

// As lifecycle does it, with the peer on another node. Once, as in a program.
static inline int start(void **state)
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

static inline int stop(void **state)
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
static inline int begin(void **state)
{
    (void)state;
    mock_status(STATUS_SCHEDULED);
    mock_session_requests();
    return 0;
}

static inline int end(void **state)
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

#endif
