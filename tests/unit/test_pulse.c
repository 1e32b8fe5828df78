// timerd's side of the connection to a classd of the test's own: who is taken for silent.
#include "common/client.h"
#include "common/units.h"
#include "timerd/pulse.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINE_MAX_LENGTH = 8 };

struct fake {
    struct config config;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    int listener;
    struct pulse pulse;
};

static int start(void **state)
{
    struct fake *fake = calloc(1, sizeof *fake);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 30}; // with who does not come
    assert_non_null(fake);
    config_defaults(&fake->config);
    strcpy(fake->config.runtime_dir, "/tmp/cosched-test-XXXXXX");
    assert_non_null(mkdtemp(fake->config.runtime_dir));
    fake->config.time_slice_ns = 10 * NS_PER_SEC;
    snprintf(fake->path, sizeof fake->path, "%.64s/" PROTOCOL_SOCKET_NAME,
             fake->config.runtime_dir);
    memcpy(address.sun_path, fake->path, sizeof address.sun_path);
    fake->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    setsockopt(fake->listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listener, 1), 0);
    pulse_init(&fake->pulse, &fake->config, 0);
    *state = fake;
    return 0;
}

static int stop(void **state)
{
    struct fake *fake = *state;
    pulse_fini(&fake->pulse);
    close(fake->listener);
    unlink(fake->path);
    rmdir(fake->config.runtime_dir);
    free(fake);
    return 0;
}

static void *let_one_in(void *argument)
{
    const struct fake *fake = argument;
    usleep(5000);
    return (void *)(intptr_t)accept(fake->listener, NULL, NULL);
}

static void fill_line(const struct fake *fake, int *others)
{
    struct error err;
    for (int i = 0; i < LINE_MAX_LENGTH; i++)
        others[i] = client_connect(fake->config.runtime_dir, &err);
    assert_int_equal(others[LINE_MAX_LENGTH - 1], -1);
}

// It would wait for the next tick, where there may be none either, and take classd for silent.
static void a_place_in_the_line_is_waited_for(void **state)
{
    struct fake *fake = *state;
    // On a busy machine nobody may be let in for as long as a tick can wait.
    for (int i = 0; i < 50 && fake->pulse.fd < 0; i++) {
        int others[LINE_MAX_LENGTH];
        pthread_t thread;
        void *accepted;
        fill_line(fake, others);
        assert_int_equal(pthread_create(&thread, NULL, let_one_in, fake), 0);
        assert_false(pulse_beat(&fake->pulse, fake->config.time_slice_ns));
        pthread_join(thread, &accepted);
        close((int)(intptr_t)accepted);
        for (int k = 0; k < LINE_MAX_LENGTH; k++) {
            if (others[k] >= 0)
                close(others[k]);
        }
    }
    assert_true(fake->pulse.fd >= 0);
}

// classd's end of the connection that the pulse has opened.
static int let_in(const struct fake *fake)
{
    int connection = accept(fake->listener, NULL, NULL);
    assert_true(connection >= 0);
    return connection;
}

static struct protocol_request take_request(int connection)
{
    uint8_t bytes[sizeof(struct protocol_request) + 1];
    struct protocol_request request;
    ssize_t length = recv(connection, bytes, sizeof bytes, 0);
    assert_true(length > 0);
    assert_int_equal(protocol_check_request(bytes, (size_t)length, &request, NULL), 0);
    return request;
}

// Like a classd that is restarted after it has ended at a SWITCH.
static enum pulse_news end_at_switch(struct fake *fake, uint64_t now_ns)
{
    assert_false(pulse_beat(&fake->pulse, now_ns));
    int connection = let_in(fake);
    assert_int_equal(take_request(connection).header.command, PROTOCOL_SWITCH);
    close(connection);
    return pulse_listen(&fake->pulse, now_ns + NS_PER_MS);
}

static enum pulse_news answer(struct fake *fake, uint64_t now_ns)
{
    assert_false(pulse_beat(&fake->pulse, now_ns));
    int connection = let_in(fake);
    struct protocol_request request = take_request(connection);
    struct protocol_reply reply = protocol_reply_new(&request, 0);
    assert_int_equal(send(connection, &reply, sizeof reply, 0), sizeof reply);
    enum pulse_news news = pulse_listen(&fake->pulse, now_ns);
    close(connection);
    assert_int_equal(pulse_listen(&fake->pulse, now_ns), PULSE_NOTHING);
    return news;
}

// Somebody restarts it, so there is a connection at each tick, and never a turn.
static void who_ends_at_each_switch_is_silent(void **state)
{
    struct fake *fake = *state;
    uint64_t slice_ns = fake->config.time_slice_ns;
    assert_int_equal(end_at_switch(fake, slice_ns), PULSE_NOTHING);
    assert_int_equal(end_at_switch(fake, 2 * slice_ns), PULSE_SILENT);
    assert_int_equal(end_at_switch(fake, 3 * slice_ns), PULSE_SILENT);
    assert_int_equal(answer(fake, 4 * slice_ns), PULSE_ANSWERED);
    assert_int_equal(end_at_switch(fake, 5 * slice_ns), PULSE_NOTHING);
    assert_int_equal(answer(fake, 6 * slice_ns), PULSE_ANSWERED);
}

static void describe_node(struct fake *fake, int connection, uint64_t slice_ns)
{
    struct protocol_request request = take_request(connection);
    struct protocol_reply reply = protocol_reply_new(&request, 0);
    assert_int_equal(request.header.command, PROTOCOL_QUERY);
    assert_int_equal(request.query.kind, PROTOCOL_QUERY_NODE);
    reply.node.time_slice_ns = slice_ns;
    assert_int_equal(pulse_listen(&fake->pulse, 0), PULSE_NOTHING); // and does not wait
    assert_int_equal(send(connection, &reply, sizeof reply, 0), sizeof reply);
}

// The next tick by the old one may be an hour away.
static void a_classd_that_has_come_is_asked_for_its_slice(void **state)
{
    struct fake *fake = *state;
    fake->config.timer_align = true;
    pulse_look(&fake->pulse);
    int connection = let_in(fake);
    describe_node(fake, connection, NS_PER_SEC);
    assert_int_equal(pulse_listen(&fake->pulse, 0), PULSE_FOUND);
    assert_int_equal(fake->pulse.switched.time_slice_ns, NS_PER_SEC);
    assert_int_equal(fake->pulse.switched.align, 1);
    pulse_look(&fake->pulse); // it is known now
    assert_false(pulse_beat(&fake->pulse, fake->config.time_slice_ns));
    assert_int_equal(take_request(connection).header.command, PROTOCOL_SWITCH);
    close(connection);
}

// A late answer to that is none to the SWITCH, and no sign that there will be one.
static void who_tells_its_slice_may_be_silent(void **state)
{
    struct fake *fake = *state;
    uint64_t slice_ns = fake->config.time_slice_ns;
    pulse_look(&fake->pulse);
    int connection = let_in(fake);
    assert_false(pulse_beat(&fake->pulse, slice_ns));
    describe_node(fake, connection, NS_PER_SEC);
    assert_int_equal(pulse_listen(&fake->pulse, slice_ns), PULSE_NOTHING);
    assert_true(pulse_beat(&fake->pulse, 2 * slice_ns));
    close(connection);
    assert_int_equal(pulse_listen(&fake->pulse, 2 * slice_ns), PULSE_NOTHING);
    assert_int_equal(end_at_switch(fake, 3 * slice_ns), PULSE_SILENT);
    pulse_look(&fake->pulse);
    connection = let_in(fake);
    describe_node(fake, connection, NS_PER_SEC);
    assert_int_equal(pulse_listen(&fake->pulse, 3 * slice_ns), PULSE_SILENT);
    close(connection);
}

int main(void)
{
#define with_fake(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        with_fake(a_place_in_the_line_is_waited_for),
        with_fake(who_ends_at_each_switch_is_silent),
        with_fake(a_classd_that_has_come_is_asked_for_its_slice),
        with_fake(who_tells_its_slice_may_be_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
