// wait = block: who waits sleeps, and who may have moved something wakes those that do. Through the
// entry points that programs call; the test plays the peers' part in the doorbell, too.
#include "tests/unit/listener.h"
#include "tests/unit/sleepers.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

// --- who rings -----------------------------------------------------------------------------------

// Rank 1 sleeps before a call and is awake after it.
#define RINGS(call)                                                                                \
    do {                                                                                           \
        uint32_t before = rings(MOCK_PEER);                                                        \
        sleeps(MOCK_PEER);                                                                         \
        assert_int_equal(call, MPI_SUCCESS);                                                       \
        assert_int_equal(rings(MOCK_PEER), before + 1);                                            \
        assert_int_equal(doorbell.room->seats[MOCK_PEER].asleep, 0);                               \
    } while (0)

static void sends_ring(void **state)
{
    (void)state;
    MPI_Request request;
    RINGS(lib.Send(OUT));
    goes();
    RINGS(lib.Isend(OUT, &request));
    RINGS(lib.Wait(&request, MPI_STATUS_IGNORE));
    goes();
    RINGS(lib.Send_init(OUT, &request));
    RINGS(lib.Start(&request));
    RINGS(lib.Wait(&request, MPI_STATUS_IGNORE));
    RINGS(lib.Request_free(&request));
    goes();
    comes(8);
    RINGS(lib.Sendrecv(out, 8, MPI_BYTE, MOCK_PEER, TAG, IN, MPI_STATUS_IGNORE));
    goes();
}

static void receives_ring(void **state)
{
    (void)state;
    MPI_Request request;
    MPI_Message message;
    comes(8);
    RINGS(lib.Recv(IN, MPI_STATUS_IGNORE));
    comes(LARGE); // received by polls of its own
    RINGS(lib.Recv(ANY_IN, MPI_STATUS_IGNORE));
    RINGS(lib.Irecv(IN, &request));
    comes(8);
    RINGS(lib.Wait(&request, MPI_STATUS_IGNORE));
    comes(8);
    RINGS(lib.Probe(MOCK_PEER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    RINGS(lib.Mprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    RINGS(lib.Mrecv(in, LARGE, MPI_BYTE, &message, MPI_STATUS_IGNORE));
}

static void completions_ring(void **state)
{
    (void)state;
    MPI_Request requests[2];
    int index, flag, count, indices[2];
    for (int i = 0; i < 2; i++)
        lib.Irecv(IN, &requests[i]);
    comes(8);
    RINGS(lib.Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    comes(8);
    RINGS(lib.Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2; i++)
        lib.Irecv(IN, &requests[i]);
    comes(8);
    RINGS(lib.Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE));
    comes(8);
    RINGS(lib.Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE));
    assert_true(flag);
    lib.Irecv(IN, &requests[0]);
    comes(8);
    RINGS(lib.Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    assert_true(flag);
}

static int complete_generalized(MPI_Request request)
{
    (void)request;
    return MPI_SUCCESS;
}

// It is a thread of this process that waits for it.
static void completing_a_generalized_request_rings(void **state)
{
    (void)state;
    for (int entry = 0; entry < 2; entry++)
        mpi_next[entry].Grequest_complete = complete_generalized;
    uint32_t before = rings(MOCK_SELF);
    sleeps(MOCK_SELF);
    assert_int_equal(lib.Grequest_complete(MPI_REQUEST_NULL), MPI_SUCCESS);
    assert_int_equal(rings(MOCK_SELF), before + 1);
}

static void only_the_receiver_of_a_message_is_rung(void **state)
{
    (void)state;
    sleeps(STRANGER);
    RINGS(lib.Send(OUT));
    goes();
    comes(8);
    RINGS(lib.Recv(IN, MPI_STATUS_IGNORE));
    assert_int_equal(rings(STRANGER), 0);
}

// A program that looks all the time would keep everybody awake.
static void looking_in_vain_rings_now_and_then(void **state)
{
    (void)state;
    int flag = 0;
    unsigned looks = 0;
    for (; rings(MOCK_PEER) < 3; looks++) {
        sleeps(MOCK_PEER);
        lib.Iprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    assert_true(looks > 3);
}

// --- who sleeps ----------------------------------------------------------------------------------

// Messages from rank 1, each when this rank has gone to sleep.
static void *send_to_the_sleeper(void *count)
{
    for (int i = 0; i < *(int *)count; i++) {
        wait_until_asleep(MOCK_SELF);
        comes(8);
        doorbell_ring_those(MOCK_SELF);
    }
    return NULL;
}

static void every_wait_sleeps_until_it_is_rung(void **state)
{
    (void)state;
    pthread_t thread;
    MPI_Request request;
    MPI_Message message;
    int messages = 5, index, count;
    assert_int_equal(pthread_create(&thread, NULL, send_to_the_sleeper, &messages), 0);
    assert_int_equal(lib.Recv(IN, MPI_STATUS_IGNORE), MPI_SUCCESS);
    lib.Irecv(IN, &request);
    assert_int_equal(lib.Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    lib.Irecv(IN, &request);
    assert_int_equal(lib.Waitany(1, &request, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    lib.Irecv(IN, &request);
    assert_int_equal(lib.Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    assert_int_equal(lib.Mprobe(MOCK_PEER, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE),
                     MPI_SUCCESS);
    pthread_join(thread, NULL);
    lib.Mrecv(in, LARGE, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    assert_true(count_of(STATS_SLEEPS) > 0);
    assert_int_equal(count_of(STATS_OVERSLEPT), 0);
    assert_int_equal(doorbell.room->asleep, 0);
}

static void *answer(void *stopping)
{
    while (!atomic_load((_Atomic bool *)stopping)) {
        unsigned char bytes[8];
        if (mock_peer_receive(MPI_COMM_WORLD, TAG, bytes, sizeof bytes) < 0)
            continue;
        comes(8);
        doorbell_ring(MOCK_SELF);
    }
    return NULL;
}

// A lost ring would show as a sleep to its end.
static void no_message_is_slept_through(void **state)
{
    (void)state;
    pthread_t thread;
    _Atomic bool stopping = false;
    block.spin_limit_ns = 1;
    assert_int_equal(pthread_create(&thread, NULL, answer, (void *)&stopping), 0);
    for (int i = 0; i < ROUNDS; i++) {
        lib.Send(OUT);
        assert_int_equal(lib.Recv(IN, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    stopping = true;
    pthread_join(thread, NULL);
    assert_int_equal(count_of(STATS_OVERSLEPT), 0);
}

// Its polls may have answered somebody: a rendezvous, a collective operation.
static void who_goes_to_sleep_rings_first(void **state)
{
    (void)state;
    pthread_t thread;
    MPI_Request request;
    lib.Irecv(IN, &request);
    sleeps(MOCK_PEER);
    assert_int_equal(pthread_create(&thread, NULL, receive, &request), 0);
    wait_until_asleep(MOCK_SELF);
    assert_int_equal(rings(MOCK_PEER), 1);
    comes(8);
    doorbell_ring_those(MOCK_SELF);
    pthread_join(thread, NULL);
}

// How many polls are made between "asleep" and the sleep.
static int last_polls(bool looks_late)
{
    struct block_wait wait = {.looks_late = looks_late};
    uint64_t before = count_of(STATS_SLEEPS);
    int polls = 0;
    while (count_of(STATS_SLEEPS) == before) {
        polls += doorbell_announced;
        block_pause(&wait, MOCK_PEER);
    }
    return polls;
}

// Where that is between a poll and the look at what it has found, what came before "asleep" was
// said, and did not ring, has not been seen by then.
static void who_looks_late_polls_once_more_before_the_sleep(void **state)
{
    (void)state;
    block.spin_limit_ns = block.least_ns = block.most_ns = 1;
    assert_int_equal(last_polls(false), 1);
    assert_int_equal(last_polls(true), 2);
    assert_int_equal(last_polls(true), 2);
}

// Each that wakes for nothing and sleeps again would wake the other.
static void two_that_wait_for_a_third_get_to_sleep(void **state)
{
    (void)state;
    assert_in_range(rings_of_vain_wakes(), 1, VAIN / 2);
}

// --- wait = auto ---------------------------------------------------------------------------------

static void contended_until(uint64_t until_ns)
{
    wait_adapts = true;
    atomic_store(contention.until_ns, until_ns);
}

static void *send_in_a_while(void *nothing)
{
    while (count_of(STATS_YIELDS) < VAIN && count_of(STATS_SLEEPS) == 0)
        sched_yield();
    comes(8);
    doorbell_ring(MOCK_SELF);
    return nothing;
}

static void auto_yields_where_nobody_else_computes(void **state)
{
    (void)state;
    pthread_t thread;
    contended_until(0);
    assert_int_equal(pthread_create(&thread, NULL, send_in_a_while, NULL), 0);
    assert_int_equal(lib.Recv(IN, MPI_STATUS_IGNORE), MPI_SUCCESS);
    pthread_join(thread, NULL);
    assert_true(count_of(STATS_YIELDS) >= VAIN);
    assert_int_equal(count_of(STATS_SLEEPS), 0);
}

static void auto_sleeps_while_somebody_does(void **state)
{
    (void)state;
    contended_until(NEVER);
    every_wait_sleeps_until_it_is_rung(state);
    assert_int_equal(count_of(STATS_YIELDS), 0);
}

static void auto_yields_again_when_nobody_does_any_more(void **state)
{
    (void)state;
    contended_until(1);
    auto_yields_where_nobody_else_computes(state);
    assert_int_equal(atomic_load(contention.until_ns), 0);
}

// It may have answered one who went to sleep before.
static void who_yields_rings_those_who_sleep(void **state)
{
    (void)state;
    pthread_t thread;
    MPI_Request request;
    contended_until(0);
    lib.Irecv(IN, &request);
    assert_int_equal(pthread_create(&thread, NULL, receive, &request), 0);
    for (uint32_t seen = 0; seen < 3; seen = rings(MOCK_PEER)) {
        sleeps(MOCK_PEER);
        sched_yield();
    }
    comes(8);
    pthread_join(thread, NULL);
}

// --- without a sign ------------------------------------------------------------------------------

static void *send_silently(void *nothing)
{
    usleep(20000);
    comes(8);
    return nothing;
}

static void receive_what_nobody_rings_for(void)
{
    pthread_t thread;
    block.least_ns = block.most_ns = block.by_time_ns = 1000;
    assert_int_equal(pthread_create(&thread, NULL, send_silently, NULL), 0);
    assert_int_equal(lib.Recv(IN, MPI_STATUS_IGNORE), MPI_SUCCESS);
    pthread_join(thread, NULL);
    assert_true(count_of(STATS_OVERSLEPT) > 0);
}

static void a_sleep_that_nobody_ends_ends(void **state)
{
    (void)state;
    receive_what_nobody_rings_for();
}

static void with_a_window_sleeps_go_by_the_clock(void **state)
{
    (void)state;
    block_without_sign();
    receive_what_nobody_rings_for();
    assert_int_equal(rings(MOCK_SELF), 0);
}

static void without_a_doorbell_sleeps_go_by_the_clock(void **state)
{
    (void)state;
    doorbell_leave();
    block.sign = BLOCK_BY_SOCKETS;
    receive_what_nobody_rings_for();
}

static int connection[2];

static void connect_to_myself(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    connection[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(connection[0], (struct sockaddr *)&address, length), 0);
    connection[1] = accept(listener, NULL, NULL);
    assert_true(connection[1] >= 0);
    close(listener);
}

static void wait_that_ends_after_a_sleep(void)
{
    struct block_wait wait = {0};
    uint64_t sleeps_before = count_of(STATS_SLEEPS);
    do {
        block_pause(&wait, MOCK_PEER);
    } while (count_of(STATS_SLEEPS) == sleeps_before);
}

// Of a wait that has been long already.
static uint64_t sleep_ns(void)
{
    uint64_t before_ns = clock_now_ns();
    struct block_wait wait = {.began_ns = before_ns - 4 * LONG_NS, .paused_ns = before_ns};
    block_pause(&wait, MOCK_PEER);
    return clock_now_ns() - before_ns;
}

// Who has not looked at the sockets himself does not know that they have said something.
static void wait_beside_a_thread_that_sleeps(void)
{
    struct listener other;
    listener_start(&other);
    wait_that_ends_after_a_sleep();
    listener_stop(&other);
}

// As over InfiniBand: waits end, and sockets have said nothing.
static void sockets_that_say_nothing_are_not_waited_for(void **state)
{
    (void)state;
    connect_to_myself();
    doorbell_leave();
    block.sign = BLOCK_BY_SOCKETS;
    block.least_ns = block.by_time_ns = 1000;
    block.most_ns = 20 * NS_PER_MS;
    for (int i = 0; i < 4; i++)
        wait_that_ends_after_a_sleep();
    assert_true(sleep_ns() >= 20 * NS_PER_MS);
    wait_that_ends_after_a_sleep();
    block.most_ns = LONG_NS;
    assert_true(sleep_ns() < LONG_NS);
    wait_beside_a_thread_that_sleeps();
    assert_true(sleep_ns() < LONG_NS);
    assert_int_equal(write(connection[0], "x", 1), 1);
    wait_that_ends_after_a_sleep(); // by what has come
    block.most_ns = 20 * NS_PER_MS;
    assert_int_equal(read(connection[1], in, sizeof in), 1);
    assert_true(sleep_ns() >= 20 * NS_PER_MS);
    assert_int_equal(close(connection[0]) | close(connection[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_ring),
        TEST(receives_ring),
        TEST(completions_ring),
        TEST(completing_a_generalized_request_rings),
        TEST(only_the_receiver_of_a_message_is_rung),
        TEST(looking_in_vain_rings_now_and_then),
        TEST(every_wait_sleeps_until_it_is_rung),
        TEST(no_message_is_slept_through),
        TEST(who_goes_to_sleep_rings_first),
        TEST(who_looks_late_polls_once_more_before_the_sleep),
        TEST(two_that_wait_for_a_third_get_to_sleep),
        TEST(auto_yields_where_nobody_else_computes),
        TEST(auto_sleeps_while_somebody_does),
        TEST(auto_yields_again_when_nobody_does_any_more),
        TEST(who_yields_rings_those_who_sleep),
        TEST(a_sleep_that_nobody_ends_ends),
        TEST(sockets_that_say_nothing_are_not_waited_for),
        TEST(with_a_window_sleeps_go_by_the_clock),
        TEST(without_a_doorbell_sleeps_go_by_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
