#include "classd/deaths.h"

#include <errno.h>
#include <sys/epoll.h>

int deaths_open(struct error *err)
{
    int deaths = epoll_create1(EPOLL_CLOEXEC);
    return deaths >= 0 ? deaths : error_errno(err, errno, "epoll set of processes");
}

int deaths_watch(int deaths, struct process *process, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = process};
    if (process->pidfd < 0)
        return 0;
    if (epoll_ctl(deaths, EPOLL_CTL_ADD, process->pidfd, &event) < 0)
        return error_errno(err, errno, "watch process %d", (int)process->pid);
    return 0;
}

void deaths_forget(int deaths, const struct process *process)
{
    if (process->pidfd >= 0)
        epoll_ctl(deaths, EPOLL_CTL_DEL, process->pidfd, NULL);
}

struct process *deaths_next(int deaths)
{
    // One at a time: handling one may free others that a longer list would still name.
    struct epoll_event event;
    return epoll_wait(deaths, &event, 1, 0) == 1 ? event.data.ptr : NULL;
}
