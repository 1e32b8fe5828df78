#include "common/pidfd.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int pidfd_of(pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0 && pid > 0 && (errno == EINVAL || errno == ENOENT))
        errno = ESRCH;
    return pidfd;
}
