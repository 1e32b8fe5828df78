#include "classd/server.h"

#include "classd/inbox.h"
#include "classd/log.h"
#include "classd/notify.h"
#include "classd/users.h"
#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

// libev's initialisers cast watchers to their base, which the compiler takes for a mistake.
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>

enum {
    ACCEPTS_PER_TURN = 32,       // so that a flood of connections does not starve packets
    PACKETS_PER_ROUND = 32,      // of one connection whose user has sent too much
    LINE_ROUNDS = 64,            // so that nobody waits for a line that never ends
    CONNECTIONS_PRIVILEGED = 16, // beyond max_connections: nobody can lock timerd out
    RESTS_PER_PASS = 9,          // of process tracking
    REPLY_BUFFER_BYTES = 16384,  // what classd holds for a client that does not read
};

#define ACCEPT_PAUSE_S  0.1
#define REFUSAL_PAUSE_S 0.005 // no more than ACCEPTS_PER_TURN refusals in that time
#define LINE_PAUSE_S    0.02  // between looks at those who wait because their user sent too much
#define PARKED_LOOK_S   1.
#define WATCH_S         1. // looks at the sequential processes

struct connection {
    ev_io readable;
    struct server *server;
    struct caller caller;
    struct user *user;
    struct protocol_request switch_; // the last SWITCH that came by it; command 0: none
    bool parked; // to be closed as soon as the client has taken its replies, or is gone
    bool in_line;
    TAILQ_ENTRY(connection) line;
    struct connection *previous, *next;
};

TAILQ_HEAD(line, connection);

struct server {
    const struct config *config;
    struct commands *commands;
    struct ev_loop *loop;
    int listener_fd;
    bool sealed; // against descriptors, see inbox.h
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    dev_t path_device; // what listen_at() has put there
    ino_t path_inode;
    bool lost; // somebody has taken it away
    ev_stat presence;
    ev_io listener;
    ev_io deaths;
    ev_timer accept_pause;
    ev_timer parked;
    ev_timer line_moves;
    struct line line; // who may have something to say, and whose user may send nothing now
    ev_timer watchdog;
    ev_timer deadline;
    ev_timer watch;
    ev_signal signals[3];
    struct connection *connections;
    size_t connection_count;
    struct users users;
    struct log_valve valve;
};

// ---- connections

// Whether replies wait for the client. They may hold descriptors, of which the kernel allows root
// only so many on their way: who hoards them would keep everybody from registering.
static bool has_unread(const struct connection *connection)
{
    int bytes = 0;
    return ioctl(connection->caller.socket_fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

static void leave_line(struct connection *connection)
{
    if (connection->in_line)
        TAILQ_REMOVE(&connection->server->line, connection, line);
    connection->in_line = false;
}

static void connection_free(struct connection *connection)
{
    struct server *server = connection->server;
    leave_line(connection);
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        server->connections = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    server->connection_count--;
    users_leave(&server->users, connection->user, clock_now_ns());
    ev_io_stop(server->loop, &connection->readable);
    inbox_close(connection->caller.socket_fd, server->sealed);
    free(connection);
}

// The connection ends. While the client hoards replies it goes on counting as one of its user's,
// but is not listened to.
static void connection_close(struct connection *connection)
{
    struct server *server = connection->server;
    if (!has_unread(connection)) {
        connection_free(connection);
        return;
    }
    connection->parked = true;
    connection->switch_.header.command = 0;
    shutdown(connection->caller.socket_fd, SHUT_RDWR);
    ev_io_stop(server->loop, &connection->readable);
    leave_line(connection);
    if (!ev_is_active(&server->parked))
        ev_timer_again(server->loop, &server->parked);
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
        if (has_unread(c))
            more = true;
        else
            connection_free(c);
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

static void connection_drop(struct connection *connection, const char *why)
{
    tell_closed(connection->server, &connection->caller.peer, why);
    connection_close(connection);
}

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

static void arm_deadline(struct server *server)
{
    uint64_t deadline_ns = scheduler_deadline_ns(server->commands->scheduler);
    uint64_t now_ns = clock_now_ns();
    ev_timer_stop(server->loop, &server->deadline);
    if (deadline_ns == ENGINE_NO_DEADLINE)
        return;
    double after_s = deadline_ns > now_ns ? (double)(deadline_ns - now_ns) / NS_PER_SEC : 0.;
    ev_timer_set(&server->deadline, after_s, 0.);
    ev_timer_start(server->loop, &server->deadline);
}

// Who sends SWITCH goes by the slice in force: told at once, as the next tick may be an hour away.
static void tell_timers(struct server *server)
{
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (c->switch_.header.command != PROTOCOL_SWITCH)
            continue;
        struct protocol_reply reply = command_switched(server->commands, &c->switch_);
        send_reply(c->caller.socket_fd, &reply, -1);
    }
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
        answer = command_execute(server->commands, &connection->caller, &request, clock_now_ns(),
                                 &reply, &page_fd);
        arm_deadline(server);
        user_took(connection->user, clock_spent_ns() - begun_ns);
        if (request.header.command == PROTOCOL_SWITCH && reply.header.status == 0)
            connection->switch_ = request;
        else if (request.header.command == PROTOCOL_RELOAD && reply.header.status == 0)
            tell_timers(server);
    } else if (err.code == EPROTONOSUPPORT) {
        reply = protocol_reply_new(&request, EPROTONOSUPPORT);
    } else {
        connection_drop(connection, err.text);
        return false;
    }
    if (page_fd >= 0 && has_unread(connection)) {
        connection_drop(connection, "it does not read its replies");
        return false;
    }
    if (server->commands->shutdown)
        ev_break(server->loop, EVBREAK_ALL);
    if (!answer || send_reply(connection->caller.socket_fd, &reply, page_fd) == 0)
        return true;
    if (errno == EAGAIN)
        connection_drop(connection, "it does not read its replies");
    else
        connection_close(connection); // it went without waiting for the reply
    return false;
}

static bool may_send(const struct connection *connection)
{
    const struct server *server = connection->server;
    return command_privileged(server->commands, connection->caller.peer.uid) ||
           user_may_send(connection->user, server->config->max_requests_per_second, clock_now_ns());
}

// Whoever waits for the end of that work is told. A client that does not take it is dropped when it
// sends the next packet, as the list must not change here.
static void on_tracked(const struct tracking_result *result, void *user)
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

enum outcome { HANDLED, SILENT, GONE };

// Takes one packet, if there is one. GONE: the connection is no more.
static enum outcome take_packet(struct connection *connection)
{
    unsigned char bytes[sizeof(struct protocol_request) + 1]; // one more: too long is noticed
    ssize_t length =
        inbox_take(connection->caller.socket_fd, connection->server->sealed, bytes, sizeof bytes);
    if (length > 0)
        return handle_packet(connection, bytes, (size_t)length) ? HANDLED : GONE;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return SILENT;
    if (length < 0 && errno == EPERM)
        connection_drop(connection, "it passes descriptors");
    else
        connection_close(connection);
    return GONE;
}

// What it sends waits in its socket, then it waits itself. Nothing is polled meanwhile: however
// many connections a user floods, they cost no more than the packets that he may send.
static void wait_in_line(struct connection *connection)
{
    struct server *server = connection->server;
    ev_io_stop(server->loop, &connection->readable);
    TAILQ_INSERT_TAIL(&server->line, connection, line);
    connection->in_line = true;
    if (!ev_is_active(&server->line_moves))
        ev_timer_again(server->loop, &server->line_moves);
}

// A few packets of each who waits and may send. False when none was taken.
static bool hear_line(struct server *server)
{
    struct connection *last = TAILQ_LAST(&server->line, line);
    bool more = last != NULL, heard = false;
    for (struct connection *next, *c = TAILQ_FIRST(&server->line); more; c = next) {
        more = c != last; // who was heard goes behind it
        next = TAILQ_NEXT(c, line);
        enum outcome outcome = HANDLED;
        int count = 0;
        for (; outcome == HANDLED && count < PACKETS_PER_ROUND && may_send(c); count++)
            outcome = take_packet(c);
        if (count == 0 || outcome == GONE)
            continue;
        heard = true;
        leave_line(c);
        if (outcome == HANDLED)
            wait_in_line(c);
        else
            ev_io_start(server->loop, &c->readable);
    }
    return heard;
}

static void on_line_moves(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    for (int i = 0; i < LINE_ROUNDS && hear_line(server); i++)
        ;
    if (TAILQ_EMPTY(&server->line))
        ev_timer_stop(loop, watcher);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct connection *connection = watcher->data;
    if (may_send(connection))
        take_packet(connection);
    else
        wait_in_line(connection);
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

// False when the client was refused. That costs little, as it can be had often.
static bool connection_open(struct server *server, int socket_fd)
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
            users_leave(&server->users, user, clock_now_ns());
        inbox_close(socket_fd, server->sealed);
        return false;
    }
    connection->caller.socket_fd = socket_fd;
    connection->caller.peer = peer;
    connection->user = user;
    connection_add(server, connection);
    return true;
}

static void pause_accepting(struct server *server, double seconds)
{
    server->accept_pause.repeat = seconds;
    ev_io_stop(server->loop, &server->listener);
    ev_timer_again(server->loop, &server->accept_pause);
}

static void on_connect(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    bool refused = false;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(server->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            refused |= !connection_open(server, fd);
            continue;
        }
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
            break;
        // Out of descriptors or memory: the client stays in the queue; trying again at once would
        // only burn the CPU.
        if (log_valve_open(&server->valve, clock_now_ns()))
            log_line(LOG_WARNING, "connections wait: %s", strerror(errno));
        pause_accepting(server, ACCEPT_PAUSE_S);
        return;
    }
    if (refused) // who comes again at once waits in the queue, at his own cost
        pause_accepting(server, REFUSAL_PAUSE_S);
}

static void on_accept_pause_over(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    ev_timer_stop(loop, watcher);
    ev_io_start(loop, &server->listener);
}

// ---- the rest of the world

static void on_death(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    scheduler_bury(server->commands->scheduler, clock_now_ns());
    arm_deadline(server);
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    uint64_t begun_ns = clock_spent_ns();
    scheduler_deadline(server->commands->scheduler, clock_now_ns(), clock_wall_ns());
    // Nobody's account pays for these passes, so nobody's fork storm gets more than this of classd.
    uint64_t spent_ns = clock_spent_ns() - begun_ns;
    scheduler_rest(server->commands->scheduler, clock_now_ns() + RESTS_PER_PASS * spent_ns);
    arm_deadline(server);
}

static void on_watch(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    scheduler_watch(server->commands->scheduler, clock_now_ns());
    arm_deadline(server);
}

static bool socket_is_there(const struct server *server)
{
    struct stat status;
    return stat(server->path, &status) == 0 && status.st_dev == server->path_device &&
           status.st_ino == server->path_inode;
}

static void on_presence(struct ev_loop *loop, ev_stat *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    if (socket_is_there(server))
        return;
    log_line(LOG_ERR,
             "%s was removed: nobody can reach this classd any more, so it ends, to be "
             "started again",
             server->path);
    server->lost = true;
    ev_break(loop, EVBREAK_ALL);
}

static void on_watchdog(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop;
    (void)watcher;
    (void)events;
    notify_watchdog();
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    struct error err;
    if (watcher->signum == SIGHUP) {
        if (command_reload(server->commands, clock_now_ns(), &err) == 0) // says what is wrong
            tell_timers(server);
        arm_deadline(server);
        return;
    }
    log_line(LOG_NOTICE, "%s received", strsignal(watcher->signum));
    ev_break(loop, EVBREAK_ALL);
}

static void watch_all(struct server *server)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    double interval_s = (double)notify_watchdog_interval_ns() / NS_PER_SEC;
    ev_stat_init(&server->presence, on_presence, server->path, 0.);
    ev_io_init(&server->listener, on_connect, server->listener_fd, EV_READ);
    ev_io_init(&server->deaths, on_death, scheduler_deaths_fd(server->commands->scheduler),
               EV_READ);
    ev_timer_init(&server->accept_pause, on_accept_pause_over, 0., ACCEPT_PAUSE_S);
    ev_timer_init(&server->parked, on_look_at_parked, 0., PARKED_LOOK_S);
    ev_timer_init(&server->line_moves, on_line_moves, 0., LINE_PAUSE_S);
    ev_timer_init(&server->watchdog, on_watchdog, interval_s, interval_s);
    ev_timer_init(&server->deadline, on_deadline, 0., 0.);
    ev_timer_init(&server->watch, on_watch, WATCH_S, WATCH_S);
    server->presence.data = server->listener.data = server->deaths.data = server;
    server->accept_pause.data = server->deadline.data = server->parked.data = server;
    server->line_moves.data = server->watch.data = server;
    ev_stat_start(server->loop, &server->presence);
    ev_io_start(server->loop, &server->listener);
    ev_io_start(server->loop, &server->deaths);
    if (interval_s > 0)
        ev_timer_start(server->loop, &server->watchdog);
    if (*server->config->sequential_groups != '\0') // fixed while classd runs
        ev_timer_start(server->loop, &server->watch);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ev_signal_init(&server->signals[i], on_signal, numbers[i]);
        server->signals[i].data = server;
        ev_signal_start(server->loop, &server->signals[i]);
    }
}

static int listen_at(struct server *server, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(server->path, sizeof server->path, "%s/" PROTOCOL_SOCKET_NAME,
                          server->config->runtime_dir);
    if (length < 0 || (size_t)length >= sizeof server->path)
        return error_set(err, ENAMETOOLONG, "[daemon] runtime_dir is too long for a socket");
    memcpy(address.sun_path, server->path, sizeof address.sun_path);
    if (unlink(server->path) < 0 && errno != ENOENT)
        return error_errno(err, errno, "replace %s", server->path);
    server->listener_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    server->sealed = server->listener_fd >= 0 && inbox_seal(server->listener_fd);
    if (server->listener_fd < 0 ||
        bind(server->listener_fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(server->path, 0666) < 0 || listen(server->listener_fd, SOMAXCONN) < 0)
        return error_errno(err, errno, "listen on %s", server->path);
    struct stat status;
    if (stat(server->path, &status) < 0)
        return error_errno(err, errno, "%s", server->path);
    server->path_device = status.st_dev;
    server->path_inode = status.st_ino;
    return 0;
}

int server_open(const struct config *config, struct commands *commands, server_t **server,
                struct error *err)
{
    struct server *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_errno(err, ENOMEM, "server");
    made->config = config;
    made->commands = commands;
    made->listener_fd = -1;
    TAILQ_INIT(&made->line);
    made->loop = ev_default_loop(EVBACKEND_EPOLL | EVFLAG_NOENV);
    if (made->loop == NULL || listen_at(made, err) < 0) {
        if (made->loop == NULL)
            error_set(err, ENOSYS, "no event loop; classd needs epoll");
        server_close(made);
        return -1;
    }
    watch_all(made);
    scheduler_on_tracked(commands->scheduler, on_tracked, made);
    *server = made;
    return 0;
}

void server_close(server_t *server)
{
    if (server == NULL)
        return;
    scheduler_on_tracked(server->commands->scheduler, NULL, NULL);
    while (server->connections != NULL)
        connection_free(server->connections);
    users_clear(&server->users);
    if (socket_is_there(server))
        unlink(server->path);
    if (server->listener_fd >= 0)
        close(server->listener_fd);
    if (server->loop != NULL)
        ev_loop_destroy(server->loop);
    free(server);
}

int server_run(server_t *server)
{
    arm_deadline(server);
    ev_run(server->loop, 0);
    return server->lost ? -1 : 0;
}
