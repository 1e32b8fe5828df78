#include "classd/process.h"

#include "common/cleanup.h"
#include "common/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { START_TIME_FIELD = 22 };

int process_start_time(pid_t pid, uint64_t *start_time, struct error *err)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (length < 0)
        return error_errno(err, errno == ENOENT ? ESRCH : errno, "process %d", (int)pid);
    text[length] = '\0';
    // The name, field 2, may hold blanks and parentheses; its end is the last parenthesis.
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < START_TIME_FIELD; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL || sscanf(at, "%" SCNu64, start_time) != 1)
        return error_set(err, EBADMSG, "%s: not of the form that proc(5) gives", path);
    return 0;
}

int process_pin(pid_t pid, uint64_t start_time, struct error *err)
{
    int pidfd = pidfd_of(pid);
    if (pidfd < 0)
        return error_errno(err, errno, "pidfd of process %d", (int)pid);
    uint64_t now_there = 0;
    int rc = process_start_time(pid, &now_there, err);
    if (rc == 0 && (now_there != start_time || !process_alive(pidfd)))
        rc = error_set(err, ESRCH, "process %d has ended", (int)pid);
    if (rc == 0)
        return pidfd;
    close(pidfd);
    return -1;
}

bool process_alive(int pidfd)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    int ready;
    while ((ready = poll(&poll_fd, 1, 0)) < 0 && errno == EINTR)
        ;
    return ready == 0;
}
