#include "common/client.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// How much that is no answer is passed over once the time is up, or where nobody waits for any.
#define LATE_MAX 256u

static int name_socket(const char *runtime_dir, struct sockaddr_un *address, struct error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/" PROTOCOL_SOCKET_NAME,
                          runtime_dir);
    if (length < 0 || (size_t)length >= sizeof address->sun_path)
        return error_set(err, ENAMETOOLONG, "runtime directory %s: name too long for a socket",
                         runtime_dir);
    return 0;
}

// Waits in line for a place, as no poll() can. Returns 0 or an errno value.
static int connect_until(int fd, const struct sockaddr_un *address, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now = clock_now_ns();
        uint64_t left_us = deadline_ns > now ? (deadline_ns - now) / NS_PER_US : 0;
        struct timeval left = {.tv_sec = (time_t)(left_us / 1000000),
                               .tv_usec = (suseconds_t)(left_us % 1000000)};
        if (left_us == 0) // to the kernel that would mean for ever
            left.tv_usec = 1;
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left) < 0)
            return errno;
        if (sockets_connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
        if (errno != EINTR)
            return errno;
    }
}

static int connect_at_once(int fd, const struct sockaddr_un *address)
{
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
        sockets_connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return errno;
    return 0;
}

int client_connect_within(const char *runtime_dir, unsigned timeout_ms, struct error *err)
{
    struct sockaddr_un address;
    if (name_socket(runtime_dir, &address, err) < 0)
        return -1;
    int fd = sockets_make(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC);
    if (fd < 0)
        return error_errno(err, errno, "make a socket");
    int code = timeout_ms > 0 ? connect_until(fd, &address, clock_now_ns() + timeout_ms * NS_PER_MS)
                              : connect_at_once(fd, &address);
    if (code == 0)
        return fd;
    close(fd);
    if (code == ENOENT || code == ECONNREFUSED)
        return error_set(err, code, "no classd is running at %s", address.sun_path);
    if (code == EAGAIN && timeout_ms > 0)
        return error_set(err, ETIMEDOUT, "classd at %s takes no further connections",
                         address.sun_path);
    return error_errno(err, code, "connect to classd at %s", address.sun_path);
}

int client_connect(const char *runtime_dir, struct error *err)
{
    return client_connect_within(runtime_dir, 0, err);
}

// Waits for `events` on the socket until the deadline. A socket in error counts as ready: the call
// that follows tells why.
static int wait_for(int fd, short events, uint64_t deadline_ns, struct error *err)
{
    for (;;) {
        uint64_t now = clock_now_ns();
        uint64_t left_ns = deadline_ns > now ? deadline_ns - now : 0;
        struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_SEC),
                                .tv_nsec = (long)(left_ns % NS_PER_SEC)};
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int ready = ppoll(&poll_fd, 1, &left, NULL);
        if (ready > 0)
            return 0;
        if (ready == 0)
            return error_set(err, ETIMEDOUT, "classd does not answer");
        if (errno != EINTR)
            return error_errno(err, errno, "wait for classd");
    }
}

int client_send(int fd, const struct protocol_request *request, struct error *err)
{
    for (;;) {
        if (sockets_send(fd, request, sizeof *request, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno != EINTR)
            return error_errno(err, errno, "send to classd");
    }
}

static int send_until(int fd, const struct protocol_request *request, uint64_t deadline_ns,
                      struct error *err)
{
    for (;;) {
        struct error fault;
        if (client_send(fd, request, &fault) == 0)
            return 0;
        if (fault.code != EAGAIN)
            return error_errno(err, fault.code, "send to classd");
        if (wait_for(fd, POLLOUT, deadline_ns, err) < 0)
            return -1;
    }
}

// The first descriptor of a message or -1; any further ones are closed.
static int take_fd(struct msghdr *message)
{
    int taken = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (taken < 0)
                taken = fd;
            else
                close(fd);
        }
    }
    return taken;
}

// One packet, if there is one. Returns its length, 0 when there is none now, or -1.
static ssize_t receive(int fd, void *bytes, size_t size, int *passed_fd, struct error *err)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t length = sockets_receive_message(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (length < 0)
        return error_errno(err, errno, "receive from classd");
    int came_fd = take_fd(&message);
    if (length == 0) { // also an empty packet, which may bring a descriptor
        cleanup_close_fn(&came_fd);
        return error_set(err, ECONNRESET, "classd closed the connection");
    }
    *passed_fd = came_fd;
    return length;
}

// To an earlier request, or to none.
static int is_no_answer(const void *bytes, ssize_t length, uint32_t sequence)
{
    struct protocol_header header;
    if ((size_t)length < sizeof header)
        return 0;
    memcpy(&header, bytes, sizeof header);
    return header.magic == PROTOCOL_MAGIC &&
           (header.command == PROTOCOL_TURN || (int32_t)(header.sequence - sequence) < 0);
}

int client_discard(int fd)
{
    char byte;
    for (unsigned i = 0; i < LATE_MAX; i++) {
        ssize_t length = sockets_receive(fd, &byte, sizeof byte, MSG_DONTWAIT);
        if (length < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        if (length == 0)
            return -1;
    }
    return -1; // no classd says so much
}

// Takes over the descriptor that came, or closes it. Returns what protocol_check_reply() does.
static int take_reply(const void *bytes, size_t length, int came_fd,
                      const struct protocol_request *request, struct protocol_reply *reply,
                      int *passed_fd, struct error *err)
{
    struct error fault = {0};
    int rc = protocol_check_reply(bytes, length, request, reply, &fault);
    if (rc == 0 && passed_fd != NULL)
        *passed_fd = came_fd;
    else if (came_fd >= 0)
        close(came_fd);
    if (rc == 0)
        return 0;
    if (reply->header.status != fault.code)
        memset(reply, 0, sizeof *reply); // not a refusal but rubbish
    if (err != NULL)
        *err = fault;
    return -1;
}

static int receive_until(int fd, const struct protocol_request *request,
                         struct protocol_reply *reply, int *passed_fd, uint64_t deadline_ns,
                         struct error *err)
{
    unsigned late = 0;
    memset(reply, 0, sizeof *reply);
    if (passed_fd != NULL)
        *passed_fd = -1;
    for (;;) {
        unsigned char bytes[sizeof *reply + 1]; // one more, so that a longer packet is noticed
        int came_fd = -1;
        if (wait_for(fd, POLLIN, deadline_ns, err) < 0)
            return -1;
        ssize_t length = receive(fd, bytes, sizeof bytes, &came_fd, err);
        if (length < 0)
            return -1;
        if (length == 0)
            continue;
        if (!is_no_answer(bytes, length, request->header.sequence))
            return take_reply(bytes, (size_t)length, came_fd, request, reply, passed_fd, err);
        if (came_fd >= 0)
            close(came_fd);
        if (clock_now_ns() >= deadline_ns && ++late == LATE_MAX)
            return error_set(err, ETIMEDOUT, "classd says everything but an answer");
    }
}

int client_receive(int fd, const struct protocol_request *request, struct protocol_reply *reply,
                   int *passed_fd, unsigned timeout_ms, struct error *err)
{
    return receive_until(fd, request, reply, passed_fd, clock_now_ns() + timeout_ms * NS_PER_MS,
                         err);
}

int client_transact(int fd, const struct protocol_request *request, struct protocol_reply *reply,
                    int *passed_fd, unsigned timeout_ms, struct error *err)
{
    uint64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    memset(reply, 0, sizeof *reply);
    if (passed_fd != NULL)
        *passed_fd = -1;
    if (send_until(fd, request, deadline_ns, err) < 0)
        return -1;
    return receive_until(fd, request, reply, passed_fd, deadline_ns, err);
}
