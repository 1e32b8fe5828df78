#include "classd/server_state.h"
#include "common/clock.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    CONNECTIONS_PRIVILEGED = 16, // beyond max_connections: nobody can lock timerd out
    REPLY_BUFFER_BYTES = 16384,  // what classd holds for a client that does not read
};

#define PARKED_LOOK_S 1.
#define LEFT_PAUSE_S  0.02 // between processes that close what others are not to wait for

static int unread_bytes(const struct connection *connection)
{
    int bytes = 0;
    return ioctl(connection->caller.socket_fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool connection_has_unread(const struct connection *connection)
{
    return unread_bytes(connection) > 0;
}

bool connection_has_unread_replies(const struct connection *connection)
{
    return unread_bytes(connection) > connection->turn_bytes;
}

void connection_say_turn(struct connection *connection, const struct protocol_reply *turn)
{
    if (connection_has_unread(connection))
        return;
    if (send(connection->caller.socket_fd, turn, sizeof *turn, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        errno == ECONNRESET)
        connection->reset = true; // which the kernel says once
    connection->turn_bytes = unread_bytes(connection);
}

// False: not yet.
static bool close_socket(struct server *server, int socket_fd)
{
    bool done = inbox_close(socket_fd, server->sealed, &server->left);
    if (server->left.count > 0 && !ev_is_active(&server->left_pause))
        ev_timer_again(server->loop, &server->left_pause);
    return done;
}

static void on_left_pause_over(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    inbox_close_left(&server->left);
    if (server->left.count == 0)
        ev_timer_stop(loop, watcher);
}

static void park(struct connection *connection)
{
    struct server *server = connection->server;
    connection->parked = true;
    connection->switch_.header.command = 0;
    ev_io_stop(server->loop, &connection->readable);
    line_leave(connection);
    if (!ev_is_active(&server->parked))
        ev_timer_again(server->loop, &server->parked);
}

static void connection_free(struct connection *connection)
{
    struct server *server = connection->server;
    line_leave(connection);
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        server->connections = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    server->connection_count--;
    users_leave(&server->users, connection->user, server->config->max_requests_per_second,
                clock_now_ns());
    free(connection);
}

static bool connection_close_socket(struct connection *connection)
{
    ev_io_stop(connection->server->loop, &connection->readable);
    return close_socket(connection->server, connection->caller.socket_fd);
}

// False: it stays, parked, for want of somebody who would wait for what is in its socket.
static bool connection_end(struct connection *connection)
{
    bool done = connection_close_socket(connection);
    if (done)
        connection_free(connection);
    else
        park(connection);
    return done;
}

void connection_close(struct connection *connection)
{
    if (!connection_has_unread(connection)) {
        connection_end(connection);
        return;
    }
    shutdown(connection->caller.socket_fd, SHUT_RDWR);
    park(connection);
}

static void on_look_at_parked(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    bool more = false;
    for (struct connection *next, *c = server->connections; c != NULL; c = next) {
        next = c->next;
        if (!c->parked)
            continue;
        more |= connection_has_unread(c) || !connection_end(c);
    }
    if (!more)
        ev_timer_stop(loop, watcher);
}

static void tell_closed(struct server *server, const struct peer *peer, const char *why)
{
    if (log_valve_open(&server->valve, clock_now_ns()))
        log_line(LOG_INFO, "connection of process %d of user %u closed: %s", (int)peer->pid,
                 (unsigned)peer->uid, why);
}

void connection_drop(struct connection *connection, const char *why)
{
    tell_closed(connection->server, &connection->caller.peer, why);
    connection_close(connection);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct connection *connection = watcher->data;
    if (packet_allowed(connection))
        packet_take(connection);
    else
        line_wait(connection);
}

// Null when the client may stay, else why not. The user has the connection already.
static const char *check_limits(const struct server *server, const struct user *user)
{
    const struct config *config = server->config;
    bool privileged = command_privileged(server->commands, user->uid);
    if (server->connection_count >=
        config->max_connections + (privileged ? CONNECTIONS_PRIVILEGED : 0))
        return "[daemon] max_connections is reached";
    return !privileged && user->connections > config->max_connections_per_user
               ? "[daemon] max_connections_per_user is reached"
               : NULL;
}

static void connection_add(struct server *server, struct connection *connection)
{
    int buffer = REPLY_BUFFER_BYTES;
    setsockopt(connection->caller.socket_fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    connection->server = server;
    connection->next = server->connections;
    if (connection->next != NULL)
        connection->next->previous = connection;
    server->connections = connection;
    server->connection_count++;
    ev_io_init(&connection->readable, on_readable, connection->caller.socket_fd, EV_READ);
    connection->readable.data = connection;
    ev_io_start(server->loop, &connection->readable);
}

bool connection_open(struct server *server, int socket_fd)
{
    struct error err;
    struct peer peer = {0};
    struct user *user = NULL;
    struct connection *connection = NULL;
    const char *refused = err.text;
    if (peer_identify(socket_fd, &peer, &err) == 0) {
        user = users_join(&server->users, peer.uid, clock_now_ns());
        refused = user != NULL ? check_limits(server, user) : "out of memory";
    }
    if (refused == NULL && (connection = calloc(1, sizeof *connection)) == NULL)
        refused = "out of memory";
    if (refused != NULL) {
        tell_closed(server, &peer, refused);
        if (user != NULL)
            users_leave(&server->users, user, server->config->max_requests_per_second,
                        clock_now_ns());
        close_socket(server, socket_fd);
        return false;
    }
    connection->caller.socket_fd = socket_fd;
    connection->caller.peer = peer;
    connection->user = user;
    connection_add(server, connection);
    return true;
}

void connections_watch(struct server *server)
{
    ev_timer_init(&server->parked, on_look_at_parked, 0., PARKED_LOOK_S);
    ev_timer_init(&server->left_pause, on_left_pause_over, 0., LEFT_PAUSE_S);
    server->parked.data = server->left_pause.data = server;
}

void connections_close(struct server *server)
{
    inbox_end(&server->left);
    while (server->connections != NULL) {
        connection_close_socket(server->connections);
        connection_free(server->connections);
    }
}
