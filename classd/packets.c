#include "classd/server_state.h"
#include "common/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

// Sends a reply without waiting. Returns 0 or -1 with errno.
static int send_reply(int socket_fd, const struct protocol_reply *reply, int page_fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof *reply};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (page_fd >= 0) {
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &page_fd, sizeof page_fd);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

void packets_tell_timers(struct server *server)
{
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (c->switch_.header.command != PROTOCOL_SWITCH)
            continue;
        struct protocol_reply reply = command_switched(server->commands, &c->switch_);
        send_reply(c->caller.socket_fd, &reply, -1);
    }
}

void packets_call(struct server *server)
{
    const scheduler_t *scheduler = server->commands->scheduler;
    if (!scheduler_calls(scheduler))
        return;
    const struct protocol_request unasked = protocol_request_new(PROTOCOL_TURN, 0);
    const struct protocol_reply turn = protocol_reply_new(&unasked, 0);
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        const struct process *process =
            c->parked || c->caller.serial == 0
                ? NULL
                : scheduler_find(scheduler, c->caller.peer.pid, c->caller.serial);
        if (process != NULL && process->job->called)
            connection_say_turn(c, &turn);
    }
    scheduler_called(server->commands->scheduler);
}

// The client has not heard, or may not have, that it is a member.
static void withdraw(struct connection *connection)
{
    struct server *server = connection->server;
    uint64_t begun_ns = clock_spent_ns();
    if (!command_withdraw(server->commands, &connection->caller, clock_now_ns()))
        return;
    server_event_over(server);
    user_took(connection->user, clock_spent_ns() - begun_ns);
}

// The client has gone and left something unread. A TURN alone is no reply: it is said to who has
// taken all of them.
static void take_back(struct connection *connection)
{
    if (connection->turn_bytes == 0)
        withdraw(connection);
}

// The reply cannot be sent.
static void drop_deaf(struct connection *connection)
{
    withdraw(connection);
    connection_drop(connection, "it does not read its replies");
}

// False when the connection is no more.
static bool handle_packet(struct connection *connection, const void *bytes, size_t length)
{
    struct server *server = connection->server;
    struct protocol_request request;
    struct protocol_reply reply;
    struct error err;
    int page_fd = -1;
    bool answer = true;
    if (protocol_check_request(bytes, length, &request, &err) == 0) {
        uint64_t begun_ns = clock_spent_ns();
        connection->caller.untold = false; // who goes on has taken his replies
        answer = command_execute(server->commands, &connection->caller, &request, clock_now_ns(),
                                 &reply, &page_fd);
        server_event_over(server); // at the expense of who caused it
        user_took(connection->user, clock_spent_ns() - begun_ns);
        if (request.header.command == PROTOCOL_SWITCH && reply.header.status == 0)
            connection->switch_ = request;
        else if (request.header.command == PROTOCOL_RELOAD && reply.header.status == 0)
            packets_tell_timers(server);
    } else if (err.code == EPROTONOSUPPORT || err.code == EOPNOTSUPP) {
        reply = protocol_reply_new(&request, err.code);
    } else {
        connection_drop(connection, err.text);
        return false;
    }
    if (page_fd >= 0 && connection_has_unread_replies(connection)) {
        drop_deaf(connection);
        return false;
    }
    if (server->commands->shutdown)
        ev_break(server->loop, EVBREAK_ALL);
    if (answer)
        connection->turn_bytes = 0; // who takes his replies has taken a TURN that was said before
    if (!answer || send_reply(connection->caller.socket_fd, &reply, page_fd) == 0)
        return true;
    if (errno == EAGAIN) {
        drop_deaf(connection);
    } else {
        take_back(connection); // it went without waiting for the reply
        connection_close(connection);
    }
    return false;
}

bool packet_allowed(const struct connection *connection)
{
    const struct server *server = connection->server;
    return command_privileged(server->commands, connection->caller.peer.uid) ||
           user_may_send(connection->user, server->config->max_requests_per_second, clock_now_ns());
}

// A client that does not take it is dropped when it sends the next packet, as the list must not
// change here.
void packets_tell_tracked(const struct tracking_result *result, void *user)
{
    struct server *server = user;
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (c->caller.waits != result->number)
            continue;
        struct protocol_reply reply = command_tracked(&c->caller.request, result);
        c->caller.waits = 0;
        if (!c->parked)
            send_reply(c->caller.socket_fd, &reply, -1);
    }
}

enum packet_outcome packet_take(struct connection *connection)
{
    unsigned char bytes[sizeof(struct protocol_request) + 1]; // one more: too long is noticed
    ssize_t length =
        inbox_take(connection->caller.socket_fd, connection->server->sealed, bytes, sizeof bytes);
    if (length > 0)
        return handle_packet(connection, bytes, (size_t)length) ? PACKET_HANDLED : PACKET_GONE;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return PACKET_SILENT;
    if (length < 0 && errno == ECONNRESET) {
        take_back(connection);
        return PACKET_SILENT; // what it had said before comes now, and then its end
    }
    if (length < 0 && errno == EPERM) {
        connection_drop(connection, "it passes descriptors");
        return PACKET_GONE;
    }
    if (connection->reset)
        take_back(connection);
    connection_close(connection);
    return PACKET_GONE;
}
