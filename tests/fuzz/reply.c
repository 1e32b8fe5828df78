// What a client receives: it lives in users' programs, and the socket that it was told to use need
// not be classd's.
#include "common/client.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 3, PACKETS_MAX = 8 };

static void send_packet(int fd, const void *bytes, size_t size, unsigned fd_count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[FDS_MAX] = {STDIN_FILENO, STDIN_FILENO, STDIN_FILENO};
    if (fd_count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(fd_count * sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
    }
    REQUIRE(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0);
}

static void answer(int fd, const struct protocol_request *request, struct input *input)
{
    uint8_t kind = input_byte(input);
    unsigned fd_count = kind % (FDS_MAX + 1);
    struct protocol_reply reply = protocol_reply_new(request, 0);
    if (kind & 128) {
        size_t length = input_number(input, 2) % 512;
        const uint8_t *bytes = input_bytes(input, &length);
        send_packet(fd, bytes, length, fd_count);
        return;
    }
    reply.header.sequence += (uint32_t)(int8_t)input_byte(input);
    reply.header.status = (int8_t)input_byte(input);
    for (size_t i = 0; i < sizeof reply.bytes; i++)
        reply.bytes[i] = input_byte(input);
    send_packet(fd, &reply, sizeof reply, fd_count);
}

#define REQUIRE_END(text) REQUIRE(memchr(text, '\0', sizeof(text)) != NULL)

// What readers rely on.
static void check_body(const struct protocol_request *request, const struct protocol_reply *reply)
{
    uint16_t command = request->header.command;
    if (command == PROTOCOL_RELOAD || (command == PROTOCOL_REGISTER && reply->header.status != 0))
        REQUIRE_END(reply->text);
    if (command >= PROTOCOL_SUSPEND && command <= PROTOCOL_KILL)
        REQUIRE_END(reply->tracked.text);
    if (command != PROTOCOL_QUERY || reply->header.status != 0)
        return;
    if (request->query.kind == PROTOCOL_QUERY_NODE) {
        REQUIRE_END(reply->node.policy);
        REQUIRE_END(reply->node.backend);
        REQUIRE_END(reply->node.version);
        REQUIRE(reply->node.time_slice_ns > 0);
    } else if (request->query.kind == PROTOCOL_QUERY_JOB) {
        REQUIRE(protocol_job_id_valid(reply->job.job_id));
    } else if (request->query.kind == PROTOCOL_QUERY_TRACE) {
        REQUIRE(reply->events.count <= PROTOCOL_EVENTS_MAX);
    } else if (request->query.kind == PROTOCOL_QUERY_TRACE_JOB) {
        REQUIRE(protocol_job_id_valid(reply->event_job.job_id));
    }
}

static void check(int rc, const struct protocol_request *request,
                  const struct protocol_reply *reply, const struct error *err)
{
    if (rc < 0) {
        REQUIRE(err->code != 0);
        REQUIRE(reply->header.status == 0 || reply->header.status == err->code);
        if (reply->header.status != 0)
            check_body(request, reply);
        return;
    }
    check_body(request, reply);
    REQUIRE(reply->header.status == 0);
    REQUIRE(reply->header.command == request->header.command);
    REQUIRE(reply->header.sequence == request->header.sequence);
}

static void receive_all(int fd, const struct protocol_request *request, bool wants_fd)
{
    struct error err = {0};
    do {
        struct protocol_reply reply;
        int passed_fd = -1;
        err = (struct error){0};
        int rc = client_receive(fd, request, &reply, wants_fd ? &passed_fd : NULL, 0, &err);
        check(rc, request, &reply, &err);
        REQUIRE(passed_fd < 0 || rc == 0);
        if (passed_fd >= 0)
            close(passed_fd);
    } while (err.code != ETIMEDOUT && err.code != ECONNRESET);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct protocol_request request =
        protocol_request_new(input_byte(&input), (uint32_t)input_number(&input, 4));
    bool wants_fd = input_byte(&input) & 1;
    if (request.header.command == PROTOCOL_QUERY)
        request.query.kind = request.header.sequence % (PROTOCOL_QUERY_TRACE_JOB + 1);
    unsigned descriptors = scratch_descriptors();
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    for (unsigned i = 0; i < PACKETS_MAX && input.left > 0; i++)
        answer(ends[1], &request, &input);
    close(ends[1]);
    receive_all(ends[0], &request, wants_fd);
    close(ends[0]);
    REQUIRE(scratch_descriptors() == descriptors);
    return 0;
}
