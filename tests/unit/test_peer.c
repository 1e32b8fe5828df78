// Who a client is on kernels before 6.5, which know its number only: a number that somebody else's
// process has got since is not the client's.
#include "classd/peer.h"
#include "classd/process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);

enum { PEERPIDFD = 77 };

// An older kernel.
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    if (level != SOL_SOCKET || name != PEERPIDFD)
        return __real_getsockopt(fd, level, name, value, size);
    errno = ENOPROTOOPT;
    return -1;
}

struct scene {
    int ends[2];
    pid_t child;
    struct peer peer;
    struct error err;
};

// The child has a number, and the socket of whoever connected is still held open.
static void begin(struct scene *scene)
{
    *scene = (struct scene){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scene->ends), 0);
    scene->child = fork();
    if (scene->child == 0)
        for (;;)
            pause();
    assert_true(scene->child > 0);
    scene->peer = (struct peer){.uid = getuid(), .pid = scene->child};
}

static int pin(struct scene *scene)
{
    int pidfd = -1;
    uint64_t start_time = 0, own = 0;
    int rc = peer_pin(scene->ends[0], &scene->peer, &pidfd, &start_time, &scene->err);
    if (rc == 0) {
        assert_int_equal(process_start_time(scene->child, &own, &scene->err), 0);
        assert_int_equal(start_time, own);
        assert_true(process_alive(pidfd));
        close(pidfd);
    }
    return rc;
}

static void end(struct scene *scene)
{
    kill(scene->child, SIGKILL);
    waitpid(scene->child, NULL, 0);
    close(scene->ends[0]);
    if (scene->ends[1] >= 0)
        close(scene->ends[1]);
}

static void a_process_of_the_clients_user_is_the_client(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    assert_int_equal(pin(&scene), 0);
    end(&scene);
}

static void another_users_process_is_not(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.peer.uid = getuid() + 1;
    assert_int_equal(pin(&scene), -1);
    assert_int_equal(scene.err.code, ESRCH);
    end(&scene);
}

static void who_has_hung_up_or_ended_is_not(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    kill(scene.child, SIGKILL);
    waitpid(scene.child, NULL, 0);
    assert_int_equal(pin(&scene), -1);
    assert_int_equal(scene.err.code, ESRCH);
    end(&scene);
    begin(&scene);
    close(scene.ends[1]);
    scene.ends[1] = -1;
    kill(scene.child, SIGKILL);
    waitpid(scene.child, NULL, 0);
    assert_int_equal(pin(&scene), -1);
    assert_int_equal(scene.err.code, ETIMEDOUT);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_of_the_clients_user_is_the_client),
        cmocka_unit_test(another_users_process_is_not),
        cmocka_unit_test(who_has_hung_up_or_ended_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
