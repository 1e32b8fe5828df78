#include "classd/peer.h"

#include "classd/process.h"
#include "common/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 // Linux 6.5
#endif

int peer_identify(int socket_fd, struct peer *peer, struct error *err)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return error_errno(err, errno, "credentials of a client");
    peer->uid = credentials.uid;
    peer->pid = credentials.pid > 0 ? credentials.pid : 0;
    return 0;
}

static bool hung_up(int socket_fd)
{
    struct pollfd poll_fd = {.fd = socket_fd, .events = 0};
    int ready;
    while ((ready = poll(&poll_fd, 1, 0)) < 0 && errno == EINTR)
        ;
    return ready != 0;
}

// Kernels before 6.5 know only the number. The process that has it now is taken for the client if
// it belongs to the client's user and the connection is not hung up, as it would be had the client
// died (unless a child holds it open; that child is of the same user).
static int check_number(int socket_fd, const struct peer *peer, struct error *err)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d", (int)peer->pid);
    if (stat(path, &status) < 0 || status.st_uid != peer->uid || hung_up(socket_fd))
        return error_set(err, ESRCH, "process %d is not the client any more", (int)peer->pid);
    return 0;
}

static int find_start_time(const struct peer *peer, uint64_t *start_time, struct error *err)
{
    struct error fault = {0};
    if (process_start_time(peer->pid, start_time, &fault) == 0)
        return 0;
    if (!pidfd_hidden(peer->pid))
        return error_set(err, fault.code, "%s", fault.text);
    return error_set(err, EACCES,
                     "/proc is mounted with hidepid= and gid=, and hides process %d: set "
                     "SupplementaryGroups= to that group in the units of classd and timerd",
                     (int)peer->pid);
}

int peer_pin(int socket_fd, const struct peer *peer, int *pidfd, uint64_t *start_time,
             struct error *err)
{
    if (peer->pid == 0)
        return error_set(err, EPERM, "the client is in a pid namespace that classd cannot see");
    // It does not wait for the answer any more, and its job has gone on without a scheduler.
    if (hung_up(socket_fd))
        return error_set(err, ETIMEDOUT, "process %d has given up", (int)peer->pid);
    if (find_start_time(peer, start_time, err) < 0)
        return -1;
    int fd = -1;
    socklen_t size = sizeof fd;
    if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) < 0) {
        if (errno != ENOPROTOOPT)
            return error_set(err, ESRCH, "process %d has ended", (int)peer->pid);
        fd = process_pin(peer->pid, *start_time, err);
        if (fd < 0)
            return -1;
        if (check_number(socket_fd, peer, err) < 0) {
            close(fd);
            return -1;
        }
    }
    // Alive now: then the number was its own while the start time was read.
    if (!process_alive(fd)) {
        close(fd);
        return error_set(err, ESRCH, "process %d has ended", (int)peer->pid);
    }
    *pidfd = fd;
    return 0;
}
