// What wakes a process that sleeps until something has come: data on its stream sockets, and only
// data that somebody takes.
#include "tests/unit/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SHORT_NS UINT64_C(1000000)
#define LONG_NS  UINT64_C(60000000000) // longer than the test may take

struct pair {
    int ours, peers;
};

// Connected before the first call, since new sockets are not looked up at once.
static struct pair one, other;

static struct pair connect_pair(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    struct pair pair;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    pair.ours = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(pair.ours, (struct sockaddr *)&address, sizeof address), 0);
    pair.peers = accept(listener, NULL, NULL);
    assert_true(pair.peers >= 0);
    close(listener);
    return pair;
}

static int connect_all(void **state)
{
    (void)state;
    one = connect_pair();
    other = connect_pair();
    return 0;
}

static void put(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void take(int fd)
{
    char byte;
    assert_int_equal(read(fd, &byte, 1), 1);
}

static void *put_later(void *fd)
{
    usleep(20000);
    put(*(int *)fd);
    return NULL;
}

static bool sleeps(uint64_t most_ns)
{
    bool heard;
    enum arrivals came = arrivals_sleep(most_ns, -1, &heard);
    assert_false(heard);
    assert_int_not_equal(came, ARRIVALS_UNKNOWN);
    return came == ARRIVALS_CAME;
}

static bool hears(uint64_t most_ns, int ear)
{
    bool heard;
    enum arrivals came = arrivals_sleep(most_ns, ear, &heard);
    assert_int_equal(came, heard ? ARRIVALS_CAME : ARRIVALS_NONE);
    return heard;
}

static void nothing_comes(void **state)
{
    (void)state;
    assert_false(sleeps(SHORT_NS));
}

static void data_wakes(void **state)
{
    (void)state;
    pthread_t sender;
    assert_int_equal(pthread_create(&sender, NULL, put_later, &one.peers), 0);
    assert_true(sleeps(LONG_NS));
    pthread_join(sender, NULL);
    take(one.ours);
    assert_false(sleeps(SHORT_NS));
}

static void data_that_is_there_already_counts(void **state)
{
    (void)state;
    put(one.peers);
    assert_true(sleeps(LONG_NS));
    take(one.ours);
}

// Who took what is said while another thread sleeps on it would let that one sleep on.
static void one_thread_hears_at_a_time(void **state)
{
    (void)state;
    struct listener listener;
    bool heard;
    listener_start(&listener);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(arrivals_sleep(LONG_NS, listener.ends[0], &heard), ARRIVALS_UNKNOWN);
        assert_false(heard);
    }
    listener_stop(&listener);
}

static void data_that_nobody_takes_keeps_nobody_awake(void **state)
{
    (void)state;
    int woken = 0;
    put(one.peers);
    while (sleeps(SHORT_NS))
        assert_in_range(++woken, 1, 10);
    assert_in_range(woken, 1, 10);
    put(other.peers); // the other sockets still count
    assert_true(sleeps(LONG_NS));
    take(other.ours);
    take(one.ours);
    assert_false(sleeps(SHORT_NS));
    put(one.peers); // and so does this one again
    assert_true(sleeps(LONG_NS));
    take(one.ours);
}

// As in the midst of a long message: more has come with each look.
static void data_that_is_taken_counts_though_there_is_always_more(void **state)
{
    (void)state;
    put(one.peers);
    for (int i = 0; i < 20; i++) {
        put(one.peers);
        assert_true(sleeps(SHORT_NS));
        take(one.ours);
    }
    take(one.ours);
    assert_false(sleeps(SHORT_NS));
}

static void *take_all_later(void *fd)
{
    char bytes[65536];
    usleep(20000);
    while (recv(*(int *)fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    return NULL;
}

// What goes out is moved by polls, too.
static void room_for_more_to_send_wakes(void **state)
{
    (void)state;
    static const char bytes[65536];
    pthread_t reader;
    int woken = 0;
    do {
        while (send(one.ours, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
            continue;
    } while (sleeps(SHORT_NS)); // until both ends are full
    assert_int_equal(pthread_create(&reader, NULL, take_all_later, &one.peers), 0);
    assert_true(sleeps(LONG_NS));
    pthread_join(reader, NULL);
    while (sleeps(SHORT_NS)) { // no more, once all has gone out
        take_all_later(&one.peers);
        assert_in_range(++woken, 1, 10);
    }
}

static void descriptors_that_became_something_else_do_no_harm(void **state)
{
    (void)state;
    int gone = other.ours, woken = 0;
    close(other.ours);
    sleeps(SHORT_NS);
    int file = open("/dev/null", O_RDONLY); // always ready
    assert_true(file >= 0);
    assert_int_equal(dup2(file, gone), gone);
    while (sleeps(SHORT_NS))
        assert_in_range(++woken, 1, 10);
    put(one.peers);
    assert_true(sleeps(LONG_NS));
    take(one.ours);
    close(file);
}

static void an_ear_wakes_too(void **state)
{
    (void)state;
    int ends[2];
    pthread_t sender;
    assert_int_equal(pipe(ends), 0);
    assert_false(hears(SHORT_NS, ends[0]));
    assert_int_equal(pthread_create(&sender, NULL, put_later, &ends[1]), 0);
    assert_true(hears(LONG_NS, ends[0]));
    pthread_join(sender, NULL);
    take(ends[0]);
    assert_false(hears(SHORT_NS, ends[0]));
    put(ends[1]);
    assert_false(sleeps(SHORT_NS));
    put(one.peers); // is looked at first
    bool heard;
    assert_int_equal(arrivals_sleep(LONG_NS, ends[0], &heard), ARRIVALS_CAME);
    assert_false(heard);
    take(one.ours);
    close(ends[0]);
    close(ends[1]);
    put(one.peers);
    assert_true(sleeps(LONG_NS));
    take(one.ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_comes),
        cmocka_unit_test(data_wakes),
        cmocka_unit_test(data_that_is_there_already_counts),
        cmocka_unit_test(an_ear_wakes_too),
        cmocka_unit_test(one_thread_hears_at_a_time),
        cmocka_unit_test(data_that_nobody_takes_keeps_nobody_awake),
        cmocka_unit_test(data_that_is_taken_counts_though_there_is_always_more),
        cmocka_unit_test(room_for_more_to_send_wakes),
        cmocka_unit_test(descriptors_that_became_something_else_do_no_harm),
    };
    return cmocka_run_group_tests(tests, connect_all, NULL);
}
