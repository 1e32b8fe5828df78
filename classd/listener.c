#include "classd/server_state.h"
#include "common/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS_PER_TURN = 32 }; // so that a flood of connections does not starve packets

#define ACCEPT_PAUSE_S  0.1
#define REFUSAL_PAUSE_S 0.005 // no more than ACCEPTS_PER_TURN refusals in that time

static void pause_accepting(struct server *server, double seconds)
{
    server->accept_pause.repeat = seconds;
    ev_io_stop(server->loop, &server->listener);
    ev_timer_again(server->loop, &server->accept_pause);
}

// EBUSY: who would be refused could not be closed.
static int take(struct server *server)
{
    if (inbox_has_room(&server->left))
        return accept4(server->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    errno = EBUSY;
    return -1;
}

static void on_connect(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    bool refused = false;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = take(server);
        if (fd >= 0) {
            refused |= !connection_open(server, fd);
            continue;
        }
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
            break;
        // Out of descriptors or memory: the client stays in the queue; trying again at once would
        // only burn the CPU.
        if (log_valve_open(&server->valve, clock_now_ns()))
            log_line(LOG_WARNING, "connections wait: %s",
                     errno == EBUSY ? "files that clients have passed do not close"
                                    : strerror(errno));
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

int listener_open(struct server *server, struct error *err)
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

void listener_watch(struct server *server)
{
    ev_stat_init(&server->presence, on_presence, server->path, 0.);
    ev_io_init(&server->listener, on_connect, server->listener_fd, EV_READ);
    ev_timer_init(&server->accept_pause, on_accept_pause_over, 0., ACCEPT_PAUSE_S);
    server->presence.data = server->listener.data = server->accept_pause.data = server;
    ev_stat_start(server->loop, &server->presence);
    ev_io_start(server->loop, &server->listener);
}

void listener_close(struct server *server)
{
    if (socket_is_there(server))
        unlink(server->path);
    if (server->listener_fd >= 0 && server->sealed)
        close(server->listener_fd);
    else if (server->listener_fd >= 0) // with what is in those that nobody has taken
        inbox_leave(server->listener_fd, &server->left);
    inbox_close_left(&server->left);
}
