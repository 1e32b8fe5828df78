// A client's descriptors must not hold classd up, whatever they are: here a TCP socket that
// lingers.
#include "classd/inbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_S = 60, LINGER_S = 3600 };

struct pair {
    int client;
    int server;
};

// A connection as classd accepts it.
static struct pair pair_open(bool seal, bool *sealed)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (seal)
        *sealed = inbox_seal(listener);
    else
        setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    // Without a name the kernel gives one.
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address.sun_family), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
    struct pair pair = {client, accept(listener, NULL, NULL)};
    assert_true(pair.server >= 0);
    close(listener);
    return pair;
}

static struct pair old_kernel_pair(void)
{
    return pair_open(false, NULL);
}

static int pass(int fd, int passed, size_t length)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = "x", .iov_len = length};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
    return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

// Whose close waits for a peer that does not read.
static struct pair lingering_pair(void)
{
    static char bytes[65536];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    return (struct pair){fd, listener};
}

// Leaves the last reference to a lingering socket in the connection.
static struct pair pass_lingering(struct pair pair, size_t length)
{
    struct pair tcp = lingering_pair();
    assert_int_equal(pass(pair.client, tcp.client, length), 0);
    close(tcp.client);
    return tcp;
}

static unsigned forks;
static bool hang; // as one that waits for a file system of the client's
static pid_t hanging[INBOX_CLOSERS_MAX + 2];
static bool refuse;

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
    if (refuse) {
        errno = EAGAIN;
        return -1;
    }
    pid_t child = __real_fork();
    while (child == 0 && hang)
        pause();
    hanging[forks++ % (INBOX_CLOSERS_MAX + 2)] = child;
    return child;
}

static bool hang_at_exit;

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status)
{
    while (hang_at_exit)
        pause();
    __real__exit(status);
}

static void close_now(int socket_fd, bool sealed)
{
    struct inbox_left left = {.count = 0};
    assert_true(inbox_close(socket_fd, sealed, &left));
    inbox_close_left(&left);
    assert_int_equal(left.count, 0);
}

static void packets_are_taken_one_by_one(void **state)
{
    bool sealed;
    char bytes[8];
    struct pair pair = pair_open(true, &sealed);
    (void)state;
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(send(pair.client, "abc", 3, 0), 3);
    assert_int_equal(send(pair.client, "de", 2, 0), 2);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), 3);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), 2);
    close(pair.client);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), 0);
    close_now(pair.server, sealed);
}

// Two packets came, one had been asked for, and nobody has taken the answer.
static void assert_unread_is_told(struct pair pair, bool sealed)
{
    char bytes[8];
    assert_int_equal(send(pair.client, "abc", 3, 0), 3);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), 3);
    assert_int_equal(send(pair.client, "de", 2, 0), 2);
    assert_int_equal(send(pair.server, "answer", 6, 0), 6);
    close(pair.client);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), 2);
    assert_int_equal(inbox_take(pair.server, sealed, bytes, sizeof bytes), 0);
    close_now(pair.server, sealed);
}

static void who_goes_with_something_unread_is_told_apart(void **state)
{
    bool sealed;
    struct pair pair = pair_open(true, &sealed);
    (void)state;
    assert_unread_is_told(pair, sealed);
    assert_unread_is_told(old_kernel_pair(), false);
}

static void a_sealed_socket_takes_no_descriptors(void **state)
{
    bool sealed;
    struct pair pair = pair_open(true, &sealed);
    (void)state;
    if (!sealed)
        skip();
    assert_int_equal(pass(pair.client, STDIN_FILENO, 1), EPERM);
    close(pair.client);
    close_now(pair.server, sealed);
}

// The end of the connection, be it before the kernel has thrown away what was not read or after.
static void assert_ended(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, sizeof byte, 0);
    assert_true(got == 0 || (got < 0 && errno == ECONNRESET));
}

static void descriptors_are_left_where_they_are(void **state)
{
    char byte;
    struct pair pair = old_kernel_pair();
    (void)state;
    assert_int_equal(send(pair.client, "a", 1, 0), 1);
    assert_int_equal(pass(pair.client, STDIN_FILENO, 1), 0);
    assert_int_equal(inbox_take(pair.server, false, &byte, sizeof byte), 1);
    assert_int_equal(inbox_take(pair.server, false, &byte, sizeof byte), -1);
    assert_int_equal(errno, EPERM);
    close_now(pair.server, false);
    assert_ended(pair.client);
    close(pair.client);
}

static void nobody_waits_for_what_lingers(void **state)
{
    char byte;
    (void)state;
    for (size_t length = 0; length <= 1; length++) {
        struct pair pair = old_kernel_pair();
        struct pair tcp = pass_lingering(pair, length);
        alarm(PATIENCE_S);
        assert_int_equal(inbox_take(pair.server, false, &byte, sizeof byte), -1);
        close_now(pair.server, false);
        alarm(0);
        close(pair.client);
        close(tcp.server);
    }
}

// Behind packets that nobody has read, empty ones too, of a client that has gone.
static void nobody_waits_for_what_lingers_in_line(void **state)
{
    struct pair pair = old_kernel_pair();
    (void)state;
    assert_int_equal(send(pair.client, "a", 1, 0), 1);
    assert_int_equal(send(pair.client, "", 0, 0), 0);
    struct pair tcp = pass_lingering(pair, 0);
    close(pair.client);
    alarm(PATIENCE_S);
    close_now(pair.server, false);
    alarm(0);
    close(tcp.server);
}

// And that has left an answer unread.
static void nobody_waits_for_what_lingers_behind_an_answer(void **state)
{
    char byte;
    struct pair pair = old_kernel_pair();
    (void)state;
    assert_int_equal(send(pair.client, "a", 1, 0), 1);
    assert_int_equal(inbox_take(pair.server, false, &byte, sizeof byte), 1);
    assert_int_equal(send(pair.server, "answer", 6, 0), 6);
    struct pair tcp = pass_lingering(pair, 1);
    close(pair.client);
    alarm(PATIENCE_S);
    close_now(pair.server, false);
    alarm(0);
    close(tcp.server);
}

// Who connects, passes a descriptor and is refused does not have classd fork each time.
static void one_process_closes_many(void **state)
{
    struct inbox_left left = {.count = 0};
    unsigned before = forks;
    int ends[INBOX_LEFT_MAX + 1];
    (void)state;
    for (size_t i = 0; i <= INBOX_LEFT_MAX; i++) {
        struct pair pair = old_kernel_pair();
        assert_int_equal(pass(pair.client, STDIN_FILENO, 1), 0);
        ends[i] = pair.client;
        assert_int_equal(forks - before, 0);
        inbox_close(pair.server, false, &left);
    }
    assert_int_equal(left.count, 1);
    assert_int_equal(forks - before, 1); // for want of room
    inbox_close_left(&left);
    inbox_close_left(&left);
    assert_int_equal(left.count, 0);
    assert_int_equal(forks - before, 2);
    for (size_t i = 0; i <= INBOX_LEFT_MAX; i++) {
        assert_ended(ends[i]);
        close(ends[i]);
    }
}

static void leave_one(struct inbox_left *left, int *end, bool taken)
{
    struct pair pair = old_kernel_pair();
    assert_int_equal(pass(pair.client, STDIN_FILENO, 1), 0);
    assert_int_equal(inbox_close(pair.server, false, left), taken);
    *end = taken ? pair.client : pair.server;
    if (!taken)
        close(pair.client);
}

// They stay their owners', and are not lost.
static void what_nobody_can_close_is_refused(void **state)
{
    struct inbox_left left = {.count = 0};
    int ends[INBOX_LEFT_MAX], last;
    (void)state;
    refuse = true;
    for (size_t i = 0; i < INBOX_LEFT_MAX; i++)
        leave_one(&left, &ends[i], true);
    assert_false(inbox_has_room(&left));
    leave_one(&left, &last, false);
    refuse = false;
    assert_true(inbox_close(last, false, &left));
    inbox_close_left(&left);
    assert_int_equal(left.count, 0);
    for (size_t i = 0; i < INBOX_LEFT_MAX; i++) {
        assert_ended(ends[i]);
        close(ends[i]);
    }
}

static void so_many_processes_wait_and_no_more(void **state)
{
    struct inbox_left left = {.count = 0};
    unsigned before = forks;
    int end;
    (void)state;
    hang = true;
    for (size_t i = 0; i <= INBOX_CLOSERS_MAX; i++) {
        leave_one(&left, &end, true);
        inbox_close_left(&left);
        close(end);
    }
    assert_int_equal(forks - before, INBOX_CLOSERS_MAX);
    assert_int_equal(left.count, 1);
    hang = false;
    kill(hanging[before % (INBOX_CLOSERS_MAX + 2)], SIGKILL);
    while (left.count > 0) // until it has died
        inbox_close_left(&left);
    assert_int_equal(forks - before, INBOX_CLOSERS_MAX + 1);
    // At the end classd must not be the one who waits.
    inbox_end(&left);
    leave_one(&left, &end, true);
    inbox_close_left(&left);
    assert_int_equal(left.count, 0);
    assert_int_equal(forks - before, INBOX_CLOSERS_MAX + 2);
    close(end);
    for (unsigned i = before + 1; i < before + INBOX_CLOSERS_MAX; i++)
        kill(hanging[i % (INBOX_CLOSERS_MAX + 2)], SIGKILL);
}

// Nor does whoever waits hold what is others'.
static void who_waits_keeps_nothing_else_open(void **state)
{
    struct inbox_left left = {.count = 0};
    char byte;
    int other[2], end;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, other), 0);
    int high = fcntl(other[0], F_DUPFD_CLOEXEC, 500); // an exit closes the lowest first
    close(other[0]);
    hang_at_exit = true;
    leave_one(&left, &end, true);
    inbox_close_left(&left);
    hang_at_exit = false;
    close(high);
    alarm(PATIENCE_S);
    assert_int_equal(recv(other[1], &byte, sizeof byte, 0), 0);
    alarm(0);
    kill(left.closers[0], SIGKILL);
    assert_ended(end);
    close(end);
    close(other[1]);
}

// Of whom the listener has not let in yet.
static void nobody_waits_for_a_listener(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct inbox_left left = {.count = 0};
    socklen_t size = sizeof address;
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct pair pair = {socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), listener};
    (void)state;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address.sun_family), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(pair.client, (struct sockaddr *)&address, size), 0);
    struct pair tcp = pass_lingering(pair, 1);
    close(pair.client);
    alarm(PATIENCE_S);
    assert_true(inbox_leave(listener, &left));
    inbox_close_left(&left);
    alarm(0);
    assert_int_equal(left.count, 0);
    close(tcp.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_are_taken_one_by_one),
        cmocka_unit_test(who_goes_with_something_unread_is_told_apart),
        cmocka_unit_test(a_sealed_socket_takes_no_descriptors),
        cmocka_unit_test(descriptors_are_left_where_they_are),
        cmocka_unit_test(nobody_waits_for_what_lingers),
        cmocka_unit_test(nobody_waits_for_what_lingers_in_line),
        cmocka_unit_test(nobody_waits_for_what_lingers_behind_an_answer),
        cmocka_unit_test(one_process_closes_many),
        cmocka_unit_test(what_nobody_can_close_is_refused),
        cmocka_unit_test(so_many_processes_wait_and_no_more),
        cmocka_unit_test(who_waits_keeps_nothing_else_open),
        cmocka_unit_test(nobody_waits_for_a_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
