// Protects a client's waits for classd: they have an end, what comes late or unasked is no answer,
// and what went wrong is said plainly.
#include "common/client.h"
#include "common/protocol.h"
#include "tests/unit/good_request.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct pair {
    int client;
    int server;
};

static struct pair pair_open(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){fds[0], fds[1]};
}

static void pair_close(struct pair pair)
{
    close(pair.client);
    close(pair.server);
}

static void answer(int server, const struct protocol_request *request, int status)
{
    struct protocol_reply reply = protocol_reply_new(request, status);
    assert_int_equal(send(server, &reply, sizeof reply, 0), sizeof reply);
}

static void late_replies_are_dropped(void **state)
{
    struct protocol_request old = protocol_request_new(PROTOCOL_SWITCH, UINT32_MAX);
    struct protocol_request new = protocol_request_new(PROTOCOL_SWITCH, 1); // wrapped around
    struct protocol_reply reply;
    struct pair pair = pair_open();
    (void)state;
    answer(pair.server, &old, 0);
    answer(pair.server, &new, 0);
    assert_int_equal(client_transact(pair.client, &new, &reply, NULL, 10000, NULL), 0);
    assert_int_equal(reply.header.sequence, 1);
    pair_close(pair);
}

static void say_turn(int server, uint32_t sequence)
{
    struct protocol_request unasked = protocol_request_new(PROTOCOL_TURN, sequence);
    answer(server, &unasked, 0);
}

static void what_is_said_unasked_is_no_answer(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 7);
    struct protocol_reply reply;
    struct pair pair = pair_open();
    char byte;
    (void)state;
    say_turn(pair.server, 0);
    say_turn(pair.server, 7);
    answer(pair.server, &request, 0);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, NULL), 0);
    assert_int_equal(reply.header.command, PROTOCOL_SWITCH);
    assert_int_equal(client_discard(pair.client), 0);
    say_turn(pair.server, 0);
    answer(pair.server, &request, 0); // too late
    assert_int_equal(client_discard(pair.client), 0);
    assert_int_equal(recv(pair.client, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    close(pair.server);
    assert_int_equal(client_discard(pair.client), -1);
    close(pair.client);
}

static void *chatter(void *server)
{
    struct protocol_request unasked = protocol_request_new(PROTOCOL_TURN, 0);
    struct protocol_reply reply = protocol_reply_new(&unasked, 0);
    while (send(*(int *)server, &reply, sizeof reply, MSG_NOSIGNAL) > 0)
        continue;
    return NULL;
}

// A false one that says something all the time, and never what was asked.
static void a_talkative_server_is_not_waited_for_either(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 7);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    pthread_t thread;
    int room = 400000;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, chatter, &pair.server), 0);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    close(pair.client);
    pthread_join(thread, NULL);
    close(pair.server);
    pair = pair_open();
    assert_int_equal(setsockopt(pair.server, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    for (int i = 0; i < 260; i++)
        assert_int_equal(send(pair.server, "", 1, MSG_DONTWAIT), 1);
    assert_int_equal(client_discard(pair.client), -1);
    pair_close(pair);
}

static void a_silent_server_is_not_waited_for(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 1);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    (void)state;
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    while (client_send(pair.client, &request, &err) == 0)
        continue;
    assert_int_equal(err.code, EAGAIN);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    pair_close(pair);
}

static void refusals_are_told_from_faults(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 1);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    (void)state;
    answer(pair.server, &request, EPERM);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_int_equal(err.code, EPERM);
    assert_int_equal(reply.header.status, EPERM);

    struct protocol_request other = protocol_request_new(PROTOCOL_EXIT, 1);
    answer(pair.server, &other, EPERM);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_int_equal(err.code, EPROTO);
    assert_int_equal(reply.header.status, 0);

    close(pair.server);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_true(err.code == ECONNRESET || err.code == EPIPE);
    close(pair.client);
}

static void an_old_server_is_said_plainly(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_TRACE, 1);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    (void)state;
    answer(pair.server, &request, EOPNOTSUPP);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_int_equal(err.code, EOPNOTSUPP);
    assert_non_null(strstr(err.text, "does not know this command: restart classd"));
    assert_int_equal(reply.header.status, EOPNOTSUPP);

    // Its own word, in a reply that says more, and of a command that depends on the policy.
    request = good_request(PROTOCOL_SUSPEND);
    reply = protocol_reply_new(&request, EOPNOTSUPP);
    strcpy(reply.tracked.text, "there is no freezer here");
    assert_int_equal(send(pair.server, &reply, sizeof reply, 0), sizeof reply);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_null(strstr(err.text, "restart"));
    assert_string_equal(reply.tracked.text, "there is no freezer here");
    request = protocol_request_new(PROTOCOL_OFFER, 1);
    answer(pair.server, &request, EOPNOTSUPP);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_null(strstr(err.text, "restart"));
    pair_close(pair);
}

static void no_server_is_said_plainly(void **state)
{
    struct error err;
    char name[200];
    (void)state;
    assert_int_equal(client_connect("/nonexistent", &err), -1);
    assert_int_equal(err.code, ENOENT);
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(client_connect(name, &err), -1);
    assert_int_equal(err.code, ENAMETOOLONG);
}

// A classd's socket below a directory of its own; as few may wait in line as can be.
static int listen_below(char *dir, char path[108])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(dir));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" PROTOCOL_SOCKET_NAME, dir);
    snprintf(path, 108, "%s", address.sun_path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 0), 0);
    return listener;
}

static void who_waits_in_line_gets_a_connection(void **state)
{
    char dir[] = "/tmp/cosched-test-XXXXXX", path[108];
    struct error err;
    int listener = listen_below(dir, path);
    (void)state;
    int first = client_connect(dir, NULL);
    assert_true(first >= 0);
    assert_int_equal(client_connect(dir, &err), -1);
    assert_int_equal(err.code, EAGAIN);
    assert_int_equal(client_connect_within(dir, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        _exit(accept(listener, NULL, NULL) < 0);
    }
    int second = client_connect_within(dir, 60000, NULL);
    assert_true(second >= 0);
    assert_true(fcntl(second, F_GETFL) & O_NONBLOCK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(first);
    close(second);
    close(listener);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_replies_are_dropped),
        cmocka_unit_test(what_is_said_unasked_is_no_answer),
        cmocka_unit_test(a_silent_server_is_not_waited_for),
        cmocka_unit_test(a_talkative_server_is_not_waited_for_either),
        cmocka_unit_test(refusals_are_told_from_faults),
        cmocka_unit_test(an_old_server_is_said_plainly),
        cmocka_unit_test(no_server_is_said_plainly),
        cmocka_unit_test(who_waits_in_line_gets_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
