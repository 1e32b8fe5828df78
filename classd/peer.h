// Who is at the other end of a connection, as the kernel says: a packet is never asked.
#ifndef COSCHED_CLASSD_PEER_H
#define COSCHED_CLASSD_PEER_H

#include "common/error.h"

#include <stdint.h>
#include <sys/types.h>

struct peer {
    uid_t uid;
    pid_t pid; // 0: of a pid namespace that cannot be seen from here
};

// The credentials of the process that made the connection, as they were then.
int peer_identify(int socket_fd, struct peer *peer, struct error *err);

// Pins that process: *pidfd (close-on-exec, the caller closes it) and *start_time belong to the
// process that made the connection, even if its pid was used again since. Errors: EPERM when its
// pid cannot be seen from here, EACCES when /proc hides it, ESRCH when it has ended, ETIMEDOUT when
// it has hung up.
int peer_pin(int socket_fd, const struct peer *peer, int *pidfd, uint64_t *start_time,
             struct error *err);

#endif
