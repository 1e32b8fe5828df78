// Processes that register with classd and do nothing else, and what classd then takes for its work.
//
//     stubs RUNTIME_DIR JOBS PROCESSES
//
// makes JOBS jobs of PROCESSES processes each and then obeys lines on its standard input:
//
//     requests N       N requests in turn of the first two jobs, one at a time, each from sending
//     it
//                      until the job's page says that it is scheduled; prints each time in ns
//     wakes N          the same with a process that does nothing but say at once that a packet
//     came:
//                      what the machine takes for its part; prints each time in ns
//     wakes_apart N    the same with both kept to different CPUs
//     flood N          N requests as fast as they go; prints the ns until the last is handled
//     switches N       N SWITCHes; prints the ns of each, from sending it until its reply
//
// It answers "ready" when all have registered, and ends with its input.
#include "common/client.h"
#include "common/clock.h"
#include "common/status_page.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 30000, PAUSE_US = 500, URGENT_NICE = -15 };

#define REQUEST_MOST_NS (10 * NS_PER_SEC) // then classd is not there any more

static const char *runtime_dir;

// The process that asks for a job, through two pipes.
struct asker {
    int commands[2];
    int answers[2];
};

struct order {
    char kind; // 'r': one timed request, 'f': many
    uint32_t count;
};

static _Noreturn void give_up(const char *what, const struct error *err)
{
    fprintf(stderr, "stubs: %s: %s\n", what, err->text);
    _exit(1);
}

static int connect_to_classd(void)
{
    struct error err;
    int fd = client_connect(runtime_dir, &err);
    while (fd < 0 && err.code == EAGAIN) {
        usleep(1000);
        fd = client_connect(runtime_dir, &err);
    }
    if (fd < 0)
        give_up("connect", &err);
    return fd;
}

// Returns the descriptor of the job's page.
static int register_with(int fd, unsigned job, unsigned rank, unsigned ranks)
{
    struct error err;
    struct protocol_request request = protocol_request_new(PROTOCOL_REGISTER, 1);
    struct protocol_reply reply;
    int page_fd = -1;
    snprintf(request.register_.job_id, sizeof request.register_.job_id, "stub%u", job);
    request.register_.width = 1;
    request.register_.rank = rank;
    request.register_.ranks = ranks;
    if (client_transact(fd, &request, &reply, &page_fd, TIMEOUT_MS, &err) < 0)
        give_up("register", &err);
    return page_fd;
}

static void send_request(int fd)
{
    struct error err;
    struct protocol_request request = protocol_request_new(PROTOCOL_SCHEDULE, 2);
    while (client_send(fd, &request, &err) < 0) {
        if (err.code != EAGAIN)
            give_up("request", &err);
        usleep(50);
    }
}

static bool is_scheduled(const struct status_page *page)
{
    return (status_word_flags(atomic_load_explicit(&page->word, memory_order_relaxed)) &
            STATUS_SCHEDULED) != 0;
}

static uint64_t one_request(int fd, const struct status_page *page)
{
    if (is_scheduled(page))
        return 0; // the first of all, when this job holds the CPU already
    uint64_t begin_ns = clock_now_ns();
    send_request(fd);
    while (!is_scheduled(page)) {
        if (clock_now_ns() - begin_ns > REQUEST_MOST_NS) {
            fputs("stubs: classd does not answer\n", stderr);
            _exit(1);
        }
    }
    return clock_now_ns() - begin_ns;
}

static uint64_t many_requests(int fd, uint32_t count)
{
    struct error err;
    struct protocol_request last = protocol_request_new(PROTOCOL_QUERY, 3);
    struct protocol_reply reply;
    uint64_t begin_ns = clock_now_ns();
    last.query.kind = PROTOCOL_QUERY_NODE;
    for (uint32_t i = 0; i < count; i++)
        send_request(fd);
    if (client_transact(fd, &last, &reply, NULL, TIMEOUT_MS, &err) < 0)
        give_up("query", &err);
    return clock_now_ns() - begin_ns;
}

static _Noreturn void ask_on_order(const struct asker *asker, int fd, int page_fd)
{
    struct error err;
    const struct status_page *page;
    struct order order;
    if (status_page_map(page_fd, &page, &err) < 0)
        give_up("page", &err);
    while (read(asker->commands[0], &order, sizeof order) == sizeof order) {
        uint64_t ns = order.kind == 'r' ? one_request(fd, page) : many_requests(fd, order.count);
        if (write(asker->answers[1], &ns, sizeof ns) != sizeof ns)
            break;
    }
    _exit(0);
}

// One process of a job; with an asker it obeys, without one it sleeps.
static void start_process(unsigned job, unsigned rank, unsigned ranks, const struct asker *asker)
{
    int ready[2];
    char byte = 0;
    if (pipe(ready) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = connect_to_classd();
        int page_fd = register_with(fd, job, rank, ranks);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        if (asker != NULL)
            ask_on_order(asker, fd, page_fd);
        close(fd); // a lost connection is no exit
        for (;;)
            pause();
    }
    close(ready[1]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1) {
        fprintf(stderr, "stubs: process %u of job %u did not register\n", rank, job);
        exit(1);
    }
    close(ready[0]);
}

static uint64_t order(const struct asker *asker, char kind, uint32_t count)
{
    struct order order = {.kind = kind, .count = count};
    uint64_t ns = 0;
    if (write(asker->commands[1], &order, sizeof order) != sizeof order ||
        read(asker->answers[0], &ns, sizeof ns) != sizeof ns)
        exit(1);
    return ns;
}

static uint64_t one_switch(int fd, uint32_t sequence)
{
    struct error err;
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, sequence);
    struct protocol_reply reply;
    uint64_t begin_ns = clock_now_ns();
    if (client_transact(fd, &request, &reply, NULL, TIMEOUT_MS, &err) < 0)
        give_up("switch", &err);
    return clock_now_ns() - begin_ns;
}

// ---- the machine's part

// A process that waits for packets and counts them where its parent looks.
struct echo {
    int fd;
    _Atomic uint32_t *seen;
};

// The CPU with that number among those that this process may use.
static cpu_set_t only_cpu(int number)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) < 0)
        exit(1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && number-- == 0)
            CPU_SET(cpu, &one);
    }
    return one;
}

// As classd does (classd/urgent.c).
static void become_urgent(void)
{
    const struct sched_param priority = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) != 0)
        setpriority(PRIO_PROCESS, 0, URGENT_NICE);
}

static struct echo start_echo(const cpu_set_t *cpus)
{
    int ends[2];
    void *shared = mmap(NULL, sizeof(_Atomic uint32_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
        exit(1);
    if (fork() == 0) {
        struct protocol_request packet;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        become_urgent();
        if (cpus != NULL && sched_setaffinity(0, sizeof *cpus, cpus) < 0)
            _exit(1);
        while (read(ends[1], &packet, sizeof packet) > 0)
            atomic_fetch_add_explicit((_Atomic uint32_t *)shared, 1, memory_order_relaxed);
        _exit(0);
    }
    close(ends[1]);
    return (struct echo){.fd = ends[0], .seen = shared};
}

static uint64_t one_wake(const struct echo *echo)
{
    uint32_t seen = atomic_load_explicit(echo->seen, memory_order_relaxed);
    uint64_t begin_ns = clock_now_ns();
    send_request(echo->fd);
    while (atomic_load_explicit(echo->seen, memory_order_relaxed) == seen)
        ;
    return clock_now_ns() - begin_ns;
}

static uint64_t one_wake_apart(const struct echo *echo, const cpu_set_t *here)
{
    cpu_set_t before;
    if (sched_getaffinity(0, sizeof before, &before) < 0 ||
        sched_setaffinity(0, sizeof *here, here) < 0)
        exit(1);
    uint64_t ns = one_wake(echo);
    sched_setaffinity(0, sizeof before, &before);
    return ns;
}

static void obey(const struct asker askers[2])
{
    cpu_set_t here = only_cpu(0), there = only_cpu(1);
    struct echo echo = start_echo(NULL);
    struct echo far_echo = CPU_COUNT(&there) == 1 ? start_echo(&there) : echo;
    char line[64], what[32];
    unsigned count;
    int fd = connect_to_classd();
    while (fgets(line, sizeof line, stdin) != NULL && sscanf(line, "%31s %u", what, &count) == 2) {
        if (strcmp(what, "flood") == 0)
            printf("%llu\n", (unsigned long long)order(&askers[0], 'f', count));
        for (unsigned i = 0; i < count && strcmp(what, "flood") != 0; i++) {
            uint64_t ns = strcmp(what, "requests") == 0      ? order(&askers[(i + 1) % 2], 'r', 1)
                          : strcmp(what, "wakes") == 0       ? one_wake(&echo)
                          : strcmp(what, "wakes_apart") == 0 ? one_wake_apart(&far_echo, &here)
                                                             : one_switch(fd, i + 1);
            printf("%llu\n", (unsigned long long)ns);
            usleep(PAUSE_US);
        }
        fflush(stdout);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    struct asker askers[2];
    if (argc != 4) {
        fprintf(stderr, "usage: stubs RUNTIME_DIR JOBS PROCESSES\n");
        return 2;
    }
    runtime_dir = argv[1];
    unsigned jobs = (unsigned)atoi(argv[2]), processes = (unsigned)atoi(argv[3]);
    for (unsigned i = 0; i < 2; i++) {
        if (pipe(askers[i].commands) < 0 || pipe(askers[i].answers) < 0)
            return 1;
    }
    for (unsigned job = 0; job < jobs; job++) {
        for (unsigned rank = 0; rank < processes; rank++)
            start_process(job, rank, processes, job < 2 && rank == 0 ? &askers[job] : NULL);
    }
    // So that who waits for an answer learns that there will be none.
    for (unsigned i = 0; i < 2; i++)
        close(askers[i].answers[1]);
    puts("ready");
    fflush(stdout);
    obey(askers);
    return 0;
}
