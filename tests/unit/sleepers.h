// For tests of ranks that sleep while they wait: the calls of this rank, by the entry points that
// programs call, and the peers' part in the doorbell.
#ifndef COSCHED_TESTS_UNIT_SLEEPERS_H
#define COSCHED_TESTS_UNIT_SLEEPERS_H

#include "common/clock.h"
#include "pmpi/variant/block.h"
#include "pmpi/variant/contention.h"
#include "pmpi/variant/wait.h"
#include "tests/unit/mock_mpi.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define LONG_NS UINT64_C(50000000000) // longer than the mock's patience with a test that hangs
#define NEVER   UINT64_MAX

enum {
    STRANGER = 2, // a seat whose rank exchanges nothing with this process
    SEATS = 3,
    TAG = 7,
    LARGE = 9000,
    ROUNDS = 2000,
    VAIN = 40,
};

static unsigned char out[LARGE], in[LARGE];

static inline void sleeps(int seat)
{
    if (atomic_exchange(&doorbell.room->seats[seat].asleep, 1) == 0)
        atomic_fetch_add(&doorbell.room->asleep, 1);
}

static inline uint32_t rings(int seat)
{
    return atomic_load(&doorbell.room->seats[seat].rings);
}

static inline uint64_t count_of(enum stats_counter counter)
{
    return atomic_load(&stats_counters[counter]);
}

// Sleeps end by rings only, unless a test wants something else.
static inline int start(void **state)
{
    static bool started;
    const int nodes[MOCK_SIZE] = {0, 0};
    char name[DOORBELL_NAME_MAX];
    (void)state;
    if (!started)
        mock_start(MPI_THREAD_MULTIPLE);
    started = true;
    if (doorbell_create("/tmp", SEATS, name, NULL) != 0 || peers_start(nodes, MOCK_SIZE) != 0)
        return -1;
    doorbell_remove("/tmp", name);
    block.sign = BLOCK_BY_DOORBELL;
    block.spin_limit_ns = 1000;
    block.long_poll_ns = NEVER;
    block.least_ns = block.most_ns = block.by_time_ns = LONG_NS;
    wait_yields = wait_blocks = wait_collectives_polled = stats_on = core_active = true;
    wait_adapts = false;
    block.haste_until_ns = 0;
    for (int i = 0; i < STATS_COUNTERS; i++)
        stats_counters[i] = 0;
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    core_active = false;
    contention_stop();
    mock_hold_sends(MPI_COMM_NULL);
    doorbell_leave();
    peers_stop();
    return mock_messages_left() == 0 && mock_requests_left() == 0 ? 0 : -1;
}

#define OUT    out, 8, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD
#define IN     in, LARGE, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD
#define ANY_IN in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD

static inline void comes(size_t length)
{
    mock_peer_send(MPI_COMM_WORLD, TAG, out, length);
}

static inline void goes(void)
{
    assert_true(mock_peer_receive(MPI_COMM_WORLD, TAG, in, sizeof in) >= 0);
}

static inline void wait_until_asleep(int seat)
{
    while (atomic_load(&doorbell.room->seats[seat].asleep) == 0)
        sched_yield();
}

static inline void *receive(void *request)
{
    lib.Wait(request, MPI_STATUS_IGNORE);
    return NULL;
}

// How often the peer is rung by one who waits and is woken for nothing VAIN times.
static inline uint32_t rings_of_vain_wakes(void)
{
    pthread_t thread;
    MPI_Request request;
    lib.Irecv(IN, &request);
    assert_int_equal(pthread_create(&thread, NULL, receive, &request), 0);
    for (int i = 0; i < VAIN; i++) {
        wait_until_asleep(MOCK_SELF);
        sleeps(MOCK_PEER);
        doorbell_ring_those(MOCK_SELF);
    }
    wait_until_asleep(MOCK_SELF);
    uint32_t found = rings(MOCK_PEER);
    comes(8);
    doorbell_ring_those(MOCK_SELF);
    pthread_join(thread, NULL);
    return found;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

#endif
