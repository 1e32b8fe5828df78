#include "common/pidfd.h"

#include "common/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int pidfd_of(pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0 && pid > 0 && (errno == EINVAL || errno == ENOENT))
        errno = ESRCH;
    return pidfd;
}

bool pidfd_hidden(pid_t pid)
{
    char path[32];
    cleanup_close int pidfd = pidfd_of(pid);
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    // In this order: while it lives, the number is its own.
    return pidfd >= 0 && access(path, R_OK) != 0 && poll(&ended, 1, 0) == 0;
}
