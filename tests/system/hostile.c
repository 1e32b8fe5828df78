// A client that means harm: `hostile RUNTIME_DIR UID JOB ATTACK` becomes the user, joins the job
// (or none, "-") and attacks until SIGTERM, then prints how often it did. test_hostile.py looks at
// what comes of it.
#include "common/client.h"
#include "common/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    REPLY_TIMEOUT_MS = 1000,
    HELD_MAX = 4096,
    CROWD_MAX = 2000,
    JOIN_TRIES = 100,
    FDS_PER_PACKET = 253, // the kernel's limit
    STORM_BREADTH = 8,
    STORM_S = 120,
    PROCESSES_MAX = 100,
};

static volatile sig_atomic_t stopped;

struct attacker {
    const char *runtime_dir;
    const char *job;
    int fd; // the connection that has joined the job
    uint32_t sequence;
    int held[HELD_MAX];
    size_t held_count;
};

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

static struct protocol_request request(struct attacker *attacker, enum protocol_command command)
{
    return protocol_request_new(command, ++attacker->sequence);
}

static struct protocol_request registration(struct attacker *attacker, const char *job)
{
    struct protocol_request wish = request(attacker, PROTOCOL_REGISTER);
    snprintf(wish.register_.job_id, sizeof wish.register_.job_id, "%s", job);
    wish.register_.width = wish.register_.ranks = 1;
    return wish;
}

// -1 after a short wait when classd takes no connections now.
static int connect_classd(const struct attacker *attacker)
{
    int fd = client_connect(attacker->runtime_dir, NULL);
    if (fd < 0)
        poll(NULL, 0, 1);
    return fd;
}

// False when classd has hung up.
static bool send_request(int fd, const struct protocol_request *request)
{
    struct error err = {0};
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    while (client_send(fd, request, &err) < 0) {
        if (err.code != EAGAIN || stopped)
            return false;
        poll(&writable, 1, 100);
    }
    return true;
}

// The status of the answer, or -1 without one.
static int ask(int fd, const struct protocol_request *request)
{
    struct protocol_reply reply;
    int rc = client_transact(fd, request, &reply, NULL, REPLY_TIMEOUT_MS, NULL);
    return rc == 0 || reply.header.status > 0 ? reply.header.status : -1;
}

static void random_name(char name[16])
{
    snprintf(name, 16, "r%lx", (unsigned long)random());
}

// ---- attacks; each is called again and again and returns how often it struck

static unsigned spin(struct attacker *attacker)
{
    (void)attacker;
    for (volatile unsigned i = 0; i < 10000000; i++)
        ;
    return 0;
}

static int own_connection(struct attacker *attacker)
{
    if (attacker->fd < 0)
        attacker->fd = connect_classd(attacker);
    return attacker->fd;
}

static unsigned flood(struct attacker *attacker, const struct protocol_request *request)
{
    if (own_connection(attacker) < 0)
        return 0;
    if (send_request(attacker->fd, request))
        return 1;
    close(attacker->fd);
    attacker->fd = -1;
    return 0;
}

static unsigned schedule(struct attacker *attacker)
{
    struct protocol_request wish = request(attacker, PROTOCOL_SCHEDULE);
    return flood(attacker, &wish);
}

// Questions whose answers are never read.
static unsigned unread(struct attacker *attacker)
{
    struct protocol_request question = request(attacker, PROTOCOL_QUERY);
    question.query.kind = PROTOCOL_QUERY_NODE;
    return flood(attacker, &question);
}

static unsigned again(struct attacker *attacker)
{
    struct protocol_request wish = registration(attacker, attacker->job);
    return own_connection(attacker) >= 0 && ask(attacker->fd, &wish) >= 0;
}

// Registrations as fast as classd takes them, with the replies read. Returns how many it answered.
static unsigned registrations(struct attacker *attacker)
{
    struct protocol_request wish = registration(attacker, attacker->job);
    struct error err;
    char reply[sizeof(struct protocol_reply)];
    unsigned count = 0;
    if (own_connection(attacker) < 0)
        return 0;
    // Without room for control data the kernel closes the descriptor that comes with a reply. Who
    // does not take his replies is dropped.
    while (client_send(attacker->fd, &wish, &err) == 0) {
        while (recv(attacker->fd, reply, sizeof reply, MSG_DONTWAIT) > 0)
            count++;
    }
    if (err.code != EAGAIN) {
        close(attacker->fd);
        attacker->fd = -1;
    }
    return count;
}

// A class is made and removed for each.
static unsigned come_and_go(struct attacker *attacker)
{
    struct protocol_request leave = request(attacker, PROTOCOL_EXIT);
    unsigned count = again(attacker);
    return attacker->fd >= 0 && ask(attacker->fd, &leave) >= 0 ? count + 1 : count;
}

static unsigned connections(struct attacker *attacker)
{
    int fd = connect_classd(attacker);
    if (fd < 0)
        return 0;
    close(fd);
    return 1;
}

// Takes every connection that classd gives, and does not let go.
static unsigned hold(struct attacker *attacker)
{
    int fd = attacker->held_count < HELD_MAX ? connect_classd(attacker) : -1;
    if (fd < 0) {
        poll(NULL, 0, 10);
        return 0;
    }
    attacker->held[attacker->held_count++] = fd;
    return 1;
}

// Very many connections, each of which always has something to say.
static unsigned crowd(struct attacker *attacker)
{
    struct protocol_request wish = request(attacker, PROTOCOL_SCHEDULE);
    struct error err;
    unsigned count = 0;
    if (attacker->held_count < CROWD_MAX)
        hold(attacker);
    for (size_t i = 0; i < attacker->held_count; i++)
        count += client_send(attacker->held[i], &wish, &err) == 0;
    return count;
}

static unsigned garbage(struct attacker *attacker)
{
    unsigned char bytes[300];
    int fd = connect_classd(attacker);
    if (fd < 0)
        return 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)random();
    ssize_t sent = send(fd, bytes, (size_t)random() % sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
    return sent >= 0;
}

// Registrations whose replies, with a descriptor each, stay in the sockets.
static unsigned in_flight(struct attacker *attacker)
{
    struct protocol_request wish = registration(attacker, attacker->job);
    struct error err;
    if (hold(attacker) == 0)
        return 0;
    int fd = attacker->held[attacker->held_count - 1];
    unsigned count = 0;
    for (int i = 0; i < 64 && client_send(fd, &wish, &err) == 0; i++)
        count++;
    return count;
}

// A child joins a job of its own and dies at once.
static unsigned children(struct attacker *attacker)
{
    char name[16];
    random_name(name);
    pid_t child = fork();
    if (child == 0) {
        struct protocol_request wish = registration(attacker, name);
        int fd = connect_classd(attacker);
        _exit(fd >= 0 && ask(fd, &wish) == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Two processes at a time: what counts is that they are never the same. It ends with its parent,
// and in any case after a while.
static void storm(pid_t parent)
{
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(STORM_S);
    while (getppid() == parent) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child > 0)
            waitpid(child, NULL, 0);
        else
            poll(NULL, 0, 10);
    }
    _exit(0);
}

// Comes and goes with descendants that never stop forking.
static unsigned fork_storm(struct attacker *attacker)
{
    static int raging;
    pid_t parent = getpid();
    for (; raging < STORM_BREADTH; raging++) {
        if (fork() == 0)
            storm(parent);
    }
    return come_and_go(attacker);
}

// ---- descriptors in packets

static bool send_descriptors(int fd, const struct protocol_request *request, const int *fds,
                             size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(FDS_PER_PACKET * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof *request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)),
                                      .cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static unsigned descriptors(struct attacker *attacker)
{
    struct protocol_request wish = request(attacker, PROTOCOL_SCHEDULE);
    int fds[FDS_PER_PACKET];
    int fd = connect_classd(attacker);
    if (fd < 0)
        return 0;
    for (size_t i = 0; i < FDS_PER_PACKET; i++)
        fds[i] = STDIN_FILENO;
    bool sent = send_descriptors(fd, &wish, fds, FDS_PER_PACKET);
    close(fd);
    return sent;
}

// A TCP connection whose close waits for a peer that does not read.
static int lingering_socket(void)
{
    static char bytes[65536];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct linger linger = {.l_onoff = 1, .l_linger = 3600};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        perror("lingering socket");
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    return fd; // the listener stays open: its queue holds the other end
}

static unsigned linger(struct attacker *attacker)
{
    struct protocol_request wish = request(attacker, PROTOCOL_SCHEDULE);
    int fd = connect_classd(attacker);
    if (fd < 0)
        return 0;
    int passed = lingering_socket();
    bool sent = send_descriptors(fd, &wish, &passed, 1);
    if (sent)
        close(passed); // from now on classd has the last one
    attacker->held[attacker->held_count++ % HELD_MAX] = fd;
    poll(NULL, 0, 100);
    return sent;
}

static const struct {
    const char *name;
    unsigned (*strike)(struct attacker *attacker);
} attacks[] = {
    {"spin", spin},
    {"schedule", schedule},
    {"unread", unread},
    {"again", again},
    {"come_and_go", come_and_go},
    {"connections", connections},
    {"hold", hold},
    {"crowd", crowd},
    {"garbage", garbage},
    {"in_flight", in_flight},
    {"children", children},
    {"fork_storm", fork_storm},
    {"descriptors", descriptors},
    {"linger", linger},
    {"registrations", registrations},
};

static int become(uid_t uid)
{
    return setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0 ? -1 : 0;
}

// As many connections as may be, but no more processes of the user than the machine bears.
static void set_limits(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    limit = (struct rlimit){.rlim_cur = PROCESSES_MAX, .rlim_max = PROCESSES_MAX};
    setrlimit(RLIMIT_NPROC, &limit);
}

// Others of the same user may have taken all that it is allowed: tried for a while.
static int join(struct attacker *attacker)
{
    struct protocol_request wish = registration(attacker, attacker->job);
    if (strcmp(attacker->job, "-") == 0)
        return 0;
    for (int i = 0; i < JOIN_TRIES; i++) {
        if (own_connection(attacker) >= 0 && ask(attacker->fd, &wish) == 0)
            return 0;
        if (attacker->fd >= 0)
            close(attacker->fd);
        attacker->fd = -1;
        poll(NULL, 0, 50);
    }
    return -1;
}

int main(int argc, char **argv)
{
    size_t at = 0;
    while (argc == 5 && at < sizeof attacks / sizeof *attacks &&
           strcmp(attacks[at].name, argv[4]) != 0)
        at++;
    if (argc != 5 || at == sizeof attacks / sizeof *attacks) {
        fputs("usage: hostile RUNTIME_DIR UID JOB ATTACK\n", stderr);
        return 2;
    }
    static struct attacker attacker;
    attacker = (struct attacker){.runtime_dir = argv[1], .job = argv[3], .fd = -1};
    set_limits();
    if (become((uid_t)strtoul(argv[2], NULL, 10)) < 0 || join(&attacker) != 0) {
        perror("hostile");
        return 1;
    }
    srandom((unsigned)getpid());
    signal(SIGTERM, on_stop);
    puts("ready");
    fflush(stdout);
    unsigned long count = 0;
    while (!stopped)
        count += attacks[at].strike(&attacker);
    printf("%lu\n", count);
    return 0;
}
