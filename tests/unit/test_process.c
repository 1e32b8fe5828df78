// Whether somebody is still there, asked while a signal comes in.
#include "classd/peer.h"
#include "classd/process.h"
#include "common/pidfd.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned interruptions; // to come

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (interruptions == 0)
        return __real_poll(fds, count, timeout_ms);
    interruptions--;
    errno = EINTR;
    return -1;
}

static void who_lives_is_alive(void **state)
{
    (void)state;
    int pidfd = pidfd_of(getpid());
    assert_true(pidfd >= 0);
    interruptions = 2;
    assert_true(process_alive(pidfd));
    close(pidfd);
}

static void who_has_ended_is_not(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    int pidfd = pidfd_of(child);
    assert_true(pidfd >= 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    interruptions = 2;
    assert_false(process_alive(pidfd));
    close(pidfd);
}

static void a_client_that_waits_has_not_hung_up(void **state)
{
    (void)state;
    struct error err = {0};
    struct peer peer;
    uint64_t start_time;
    int ends[2], pidfd = -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(peer_identify(ends[0], &peer, &err), 0);
    interruptions = 1;
    if (peer_pin(ends[0], &peer, &pidfd, &start_time, &err) < 0)
        fail_msg("%s", err.text);
    close(pidfd);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lives_is_alive),
        cmocka_unit_test(who_has_ended_is_not),
        cmocka_unit_test(a_client_that_waits_has_not_hung_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
