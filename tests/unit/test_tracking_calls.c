// Protects programs from suspensions, on the real cgroups of this machine: which system calls end
// early when who waits in them is suspended and resumed is as doc/design/tracking.md, section 2,
// says, by each means. Those of which it says that they may are not made to.
#include "tests/unit/real_tracking.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 5, STILL_WAITS = -1, AN_HOUR_S = 3600 };

enum ends_early {
    NEVER,
    BY_V2_OR_SIGNALS, // by v2's freezer
    BY_STOPPING,      // by either freezer, too
};

// What the call returned, of each: 0, or errno; STILL_WAITS.
static atomic_int *returned;
static int semaphore;

static const struct timespec an_hour = {.tv_sec = AN_HOUR_S};

static int wait_in_poll(void)
{
    return poll(NULL, 0, -1);
}

static int wait_in_select(void)
{
    return select(0, NULL, NULL, NULL, NULL);
}

static int wait_in_read(void)
{
    int ends[2];
    char byte;
    return pipe(ends) == 0 ? (int)read(ends[0], &byte, 1) : -1;
}

static int wait_in_accept(void)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (const struct sockaddr *)&any, sizeof any.sun_family) != 0 || listen(fd, 1) != 0)
        return -1;
    return accept(fd, NULL, NULL);
}

static int wait_in_futex(void)
{
    static uint32_t word;
    return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static int wait_in_waitpid(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    return waitpid(child, NULL, 0);
}

static int wait_in_nanosleep(void)
{
    return nanosleep(&an_hour, NULL);
}

static int receive(long timeout_s)
{
    const struct timeval timeout = {.tv_sec = timeout_s};
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0)
        return -1;
    return (int)recv(ends[0], &byte, 1, 0);
}

static int wait_in_recv(void)
{
    return receive(0);
}

static int wait_in_recv_with_timeout(void)
{
    return receive(AN_HOUR_S);
}

static int wait_in_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &an_hour);
}

static int wait_in_epoll_wait(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, -1);
}

static int wait_in_semop(void)
{
    struct sembuf take = {.sem_op = -1};
    return semop(semaphore, &take, 1);
}

static int wait_in_semtimedop(void)
{
    struct sembuf take = {.sem_op = -1};
    return semtimedop(semaphore, &take, 1, &an_hour);
}

static const struct {
    const char *name;
    int (*wait)(void);
    enum ends_early ends_early;
} calls[] = {
    {"poll", wait_in_poll, NEVER},
    {"select", wait_in_select, NEVER},
    {"read", wait_in_read, NEVER},
    {"accept", wait_in_accept, NEVER},
    {"futex", wait_in_futex, NEVER},
    {"waitpid", wait_in_waitpid, NEVER},
    {"nanosleep", wait_in_nanosleep, NEVER},
    {"recv", wait_in_recv, NEVER},
    {"recv with a timeout", wait_in_recv_with_timeout, BY_V2_OR_SIGNALS},
    {"sigtimedwait", wait_in_sigtimedwait, BY_V2_OR_SIGNALS},
    {"epoll_wait", wait_in_epoll_wait, BY_STOPPING},
    {"semop", wait_in_semop, BY_STOPPING},
    {"semtimedop", wait_in_semtimedop, BY_STOPPING},
};

enum { CALLS = sizeof calls / sizeof *calls };

// One process for each call.
static void wait_in_all(void)
{
    unsigned call = 0;
    while (call + 1 < CALLS && fork() == 0)
        call++;
    atomic_store(&board->pids[call], getpid());
    atomic_fetch_add(&board->started, 1);
    int rc = calls[call].wait();
    atomic_store(&returned[call], rc < 0 ? errno : 0);
    for (;;)
        pause();
}

static char state_of(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(length > 0);
    return strrchr(text, ')')[2];
}

static void wait_until_all_sleep(void)
{
    for (unsigned call = 0; call < CALLS; call++)
        for (int ms = 0; state_of(atomic_load(&board->pids[call])) != 'S'; ms++) {
            assert_true(ms < DEADLINE_MS);
            nap_ms(1);
        }
}

static bool may_end_early(enum ends_early when, enum class_means means)
{
    bool v2 = strcmp(backend_name(backend), "v2") == 0;
    if (means == CLASS_BY_SHARE || when == NEVER)
        return false;
    return when == BY_STOPPING || means == CLASS_BY_SIGNALS || v2;
}

static void suspend_and_resume(enum class_means means)
{
    const struct class_suspension how = {.means = means};
    memset(board, 0, sizeof *board);
    for (unsigned call = 0; call < CALLS; call++)
        atomic_store(&returned[call], STILL_WAITS);
    begin(wait_in_all);
    wait_for(CALLS);
    for (int i = 0; i < TIMES; i++) {
        wait_until_all_sleep();
        suspend(&how);
        nap_ms(1);
        resume();
    }
    nap_ms(1);
    wait_until_all_sleep();
    for (unsigned call = 0; call < CALLS; call++) {
        int code = atomic_load(&returned[call]);
        bool early = code == EINTR && may_end_early(calls[call].ends_early, means);
        if (code != STILL_WAITS && !early)
            fail_msg("%s ended: %s", calls[call].name, strerror(code));
    }
    kill_part(0, 0);
}

static void by_share_no_call_ends_early(void **state)
{
    (void)state;
    suspend_and_resume(CLASS_BY_SHARE);
}

static void by_the_freezer_few_calls_end_early(void **state)
{
    (void)state;
    if (!class_has_freezer(class_))
        skip();
    suspend_and_resume(CLASS_BY_FREEZER);
}

static void by_signals_few_calls_end_early(void **state)
{
    (void)state;
    suspend_and_resume(CLASS_BY_SIGNALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        real(by_share_no_call_ends_early),
        real(by_the_freezer_few_calls_end_early),
        real(by_signals_few_calls_end_early),
    };
    returned = mmap(NULL, CALLS * sizeof *returned, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    if (returned == MAP_FAILED || semaphore < 0)
        return 1;
    int rc = tests_begin() ? tests_end(cmocka_run_group_tests(tests, NULL, NULL)) : 77;
    semctl(semaphore, 0, IPC_RMID);
    return rc;
}
