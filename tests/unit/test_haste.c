// wait = block, and something large that may be on its way: whoever polls may be moving pieces of
// it for one who sleeps.
#include "tests/unit/sleepers.h"

#include <string.h>

static void haste_for(uint64_t ns)
{
    atomic_store(&block.haste_until_ns, clock_now_ns() + ns);
}

static uint64_t haste(void)
{
    uint64_t until_ns = atomic_load(&block.haste_until_ns), now = clock_now_ns();
    return until_ns > now ? until_ns - now : 0;
}

// Pieces may have been moved by polls that are too short to tell.
static void who_waits_for_something_large_rings_before_each_sleep(void **state)
{
    (void)state;
    haste_for(LONG_NS);
    assert_in_range(rings_of_vain_wakes(), VAIN, 2 * VAIN);
}

static void what_is_large_and_posted_makes_haste(void **state)
{
    (void)state;
    static unsigned char big[1 << 20];
    MPI_Request request;
    lib.Isend(big, LARGE, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    lib.Wait(&request, MPI_STATUS_IGNORE);
    goes();
    assert_int_equal(block.haste_until_ns, 0);
    uint64_t before_ns = clock_now_ns();
    lib.Irecv(big, sizeof big, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    assert_true(block.haste_until_ns > before_ns + NS_PER_MS);
    comes(8);
    lib.Wait(&request, MPI_STATUS_IGNORE);
    block.haste_until_ns = 0;
    wait_blocks = false; // who never sleeps does not ask
    lib.Irecv(big, sizeof big, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &request);
    assert_int_equal(block.haste_until_ns, 0);
    wait_blocks = true;
    comes(8);
    lib.Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < VAIN; i++)
        block_expect(UINT64_MAX);
    assert_in_range(haste(), 0, NS_PER_SEC); // not for ever
}

static bool hastes(int rc)
{
    assert_int_equal(rc, MPI_SUCCESS);
    bool is_in_haste = block.haste_until_ns != 0;
    block.haste_until_ns = 0;
    return is_in_haste;
}

static void what_is_large_and_persistent_makes_haste_with_each_start(void **state)
{
    (void)state;
    static unsigned char big[1 << 20];
    MPI_Request requests[2];
    bool known_in_time = true;
    for (int round = 0; round < 2; round++) {
        wait_blocks = known_in_time; // those who may sleep later are told of in time
        outsiders_on = !known_in_time;
        assert_false(hastes(
            lib.Send_init(big, LARGE, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[0])));
        assert_false(hastes(
            lib.Recv_init(big, 1 << 18, MPI_INT, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[1])));
        wait_blocks = true;
        outsiders_on = false;
        assert_false(hastes(lib.Start(&requests[0])));
        assert_true(hastes(lib.Start(&requests[1])));
        comes(8);
        lib.Waitall(2, requests, MPI_STATUSES_IGNORE);
        goes();
        assert_true(hastes(lib.Startall(2, requests)));
        comes(8);
        lib.Waitall(2, requests, MPI_STATUSES_IGNORE);
        goes();
        lib.Request_free(&requests[0]);
        lib.Request_free(&requests[1]);
        known_in_time = false;
    }
    // By a handle that was another's.
    lib.Send_init(big, LARGE, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[0]);
    lib.Send_init(big, LARGE, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, &requests[1]);
    assert_false(hastes(lib.Startall(2, requests)));
    lib.Waitall(2, requests, MPI_STATUSES_IGNORE);
    goes();
    goes();
    lib.Request_free(&requests[0]);
    lib.Request_free(&requests[1]);
}

static int make_partitioned(const void *buf, int partitions, MPI_Count count, MPI_Datatype type,
                            int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    (void)buf, (void)partitions, (void)count, (void)type, (void)dest, (void)tag, (void)comm,
        (void)info;
    *request = TAG;
    return MPI_SUCCESS;
}

static int make_collective(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm,
                           MPI_Info info, MPI_Request *request)
{
    return make_partitioned(buf, 1, count, type, root, TAG, comm, info, request);
}

static int start_it(MPI_Request *request)
{
    assert_int_equal(*request, TAG);
    return MPI_SUCCESS;
}

static int make_ready(int partition, MPI_Request request)
{
    (void)partition;
    return start_it(&request);
}

static void partitions_and_persistent_collectives_make_haste_too(void **state)
{
    (void)state;
    struct mpi_next before[2] = {mpi_next[0], mpi_next[1]};
    MPI_Request request;
    for (int entry = 0; entry < 2; entry++) {
        mpi_next[entry].Psend_init = make_partitioned;
        mpi_next[entry].Bcast_init = make_collective;
        mpi_next[entry].Start = start_it;
        mpi_next[entry].Pready = make_ready;
    }
    lib.Bcast_init(in, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    assert_false(hastes(lib.Start(&request)));
    lib.Psend_init(out, 2, LARGE, MPI_BYTE, MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    assert_true(hastes(lib.Start(&request)));
    assert_true(hastes(lib.Pready(0, request)));
    lib.Bcast_init(in, LARGE, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    assert_true(hastes(lib.Start(&request)));
    wait_forgets(&request);
    wait_whole = false;
    memcpy(mpi_next, before, sizeof before);
}

static void rung_after_its_haste(struct block_wait *wait)
{
    block.spin_limit_ns = LONG_NS;
    while (haste() != 0)
        block_pause(wait, MOCK_PEER);
    block.spin_limit_ns = wait->spin_until_ns = 0;
    block_pause(wait, MOCK_PEER); // the last poll before the sleep
    doorbell_ring_those(MOCK_SELF);
    block_pause(wait, MOCK_PEER);
    if (doorbell_announced)
        doorbell_withdraw();
}

static void haste_is_over_after_a_while_and_again_when_somebody_comes(void **state)
{
    (void)state;
    struct block_wait wait = {.began_ns = 0};
    haste_for(2 * NS_PER_MS);
    uint64_t first_ns = block.haste_until_ns;
    rung_after_its_haste(&wait);
    uint64_t again_ns = block.haste_until_ns;
    assert_true(again_ns > first_ns);
    assert_true(wait.rests_until_ns - again_ns >= again_ns - wait.began_ns);
    wait.hurried_ns = NS_PER_MS; // not before it has rested
    wait.rests_until_ns = UINT64_MAX;
    block.haste_until_ns = 0;
    rung_after_its_haste(&wait);
    assert_int_equal(block.haste_until_ns, 0);
}

static void a_poll_that_takes_long_rings(void **state)
{
    (void)state;
    pthread_t thread;
    MPI_Request request;
    lib.Irecv(IN, &request);
    block.long_poll_ns = 0;
    block.spin_limit_ns = LONG_NS;
    haste_for(LONG_NS);
    assert_int_equal(pthread_create(&thread, NULL, receive, &request), 0);
    for (uint32_t seen = 0; seen < VAIN; seen = rings(MOCK_PEER)) {
        sleeps(MOCK_PEER);
        sched_yield();
    }
    comes(8);
    pthread_join(thread, NULL);
}

static struct block_wait waited_until(uint64_t before_ns, uint64_t poll_took_ns)
{
    return (struct block_wait){.began_ns = before_ns - LONG_NS,
                               .paused_ns = before_ns,
                               .polled_ns = clock_now_ns() - poll_took_ns,
                               .spin_until_ns = before_ns + LONG_NS};
}

// Without haste it may be the poll of many requests, or a slow machine: then all of them take long.
static void a_poll_that_takes_longer_than_others_rings(void **state)
{
    (void)state;
    uint64_t now_ns = clock_now_ns();
    struct block_wait wait = waited_until(now_ns, NS_PER_SEC);
    block.long_poll_ns = 2000;
    wait.shortest_ns = NS_PER_SEC / 2;
    sleeps(MOCK_PEER);
    block_pause(&wait, MOCK_PEER);
    assert_int_equal(rings(MOCK_PEER), 0);
    wait = waited_until(now_ns, NS_PER_SEC);
    wait.shortest_ns = 1000;
    block_pause(&wait, MOCK_PEER);
    assert_int_equal(rings(MOCK_PEER), 1);
}

// As long as all others, it would otherwise end the rank's own sleep, too, each time.
static void slow_polls_keep_nobody_awake(void **state)
{
    (void)state;
    pthread_t thread;
    MPI_Request request;
    lib.Irecv(IN, &request);
    block.long_poll_ns = 0;
    block.least_ns = block.most_ns = NS_PER_MS;
    assert_int_equal(pthread_create(&thread, NULL, receive, &request), 0);
    uint64_t begun_ns = clock_now_ns();
    bool sleeps_out = false;
    while (!sleeps_out && clock_now_ns() - begun_ns < 20 * NS_PER_SEC) {
        sleeps_out = count_of(STATS_OVERSLEPT) >= VAIN;
        sched_yield();
    }
    comes(8);
    doorbell_ring_those(MOCK_SELF);
    pthread_join(thread, NULL);
    assert_true(sleeps_out);
}

static void with_something_large_sleeps_are_short(void **state)
{
    (void)state;
    uint64_t before_ns = clock_now_ns();
    struct block_wait wait = {.began_ns = before_ns - 4 * LONG_NS, .paused_ns = before_ns};
    block.least_ns = block.by_time_ns = 1000;
    block.spin_limit_ns = 0;
    haste_for(LONG_NS);
    block_pause(&wait, MOCK_PEER); // the last poll before the sleep
    block_pause(&wait, MOCK_PEER);
    assert_int_equal(count_of(STATS_OVERSLEPT), 1);
    assert_true(clock_now_ns() - before_ns < LONG_NS);
    assert_false(doorbell_announced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_waits_for_something_large_rings_before_each_sleep),
        TEST(what_is_large_and_posted_makes_haste),
        TEST(what_is_large_and_persistent_makes_haste_with_each_start),
        TEST(partitions_and_persistent_collectives_make_haste_too),
        TEST(haste_is_over_after_a_while_and_again_when_somebody_comes),
        TEST(a_poll_that_takes_long_rings),
        TEST(a_poll_that_takes_longer_than_others_rings),
        TEST(slow_polls_keep_nobody_awake),
        TEST(with_something_large_sleeps_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
