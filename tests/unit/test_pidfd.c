// Protects that whoever is not there is said to be so, whatever the kernel's word for it is.
#include "common/pidfd.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t thread_id;
static pthread_barrier_t told;

static void *tell_id(void *unused)
{
    thread_id = gettid();
    pthread_barrier_wait(&told);
    pthread_barrier_wait(&told); // looked at
    return unused;
}

// What kernels say of a thread an older one (6.1) also said of a process that was just being reaped.
static void no_process_is_no_process_for_whatever_reason(void **state)
{
    (void)state;
    pthread_t thread;
    int pidfd = pidfd_of(getpid());
    assert_true(pidfd >= 0);
    close(pidfd);
    assert_int_equal(pthread_barrier_init(&told, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, tell_id, NULL), 0);
    pthread_barrier_wait(&told);
    assert_int_equal(pidfd_of(thread_id), -1);
    assert_int_equal(errno, ESRCH);
    pthread_barrier_wait(&told);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pidfd_of(thread_id), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(pidfd_of(0), -1);
    assert_int_equal(errno, EINVAL);
    pthread_barrier_destroy(&told);
}

// A mount of the calling process's own.
static bool mount_hiding(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", 0, "hidepid=2,gid=54321") == 0 && setuid(99) == 0;
}

static void who_is_hidden_is_told_from_who_is_gone(void **state)
{
    (void)state;
    int status;
    pid_t gone = fork(), looker;
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_false(pidfd_hidden(getpid()));
    assert_false(pidfd_hidden(gone));
    looker = fork();
    if (looker == 0) {
        if (!mount_hiding())
            _exit(77);
        _exit(!pidfd_hidden(getppid()) + 2 * pidfd_hidden(getpid()) + 4 * pidfd_hidden(gone));
    }
    assert_int_equal(waitpid(looker, &status, 0), looker);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_process_is_no_process_for_whatever_reason),
        cmocka_unit_test(who_is_hidden_is_told_from_who_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
