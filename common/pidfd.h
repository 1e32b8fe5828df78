// A handle of a process that no other process can get.
#ifndef COSCHED_COMMON_PIDFD_H
#define COSCHED_COMMON_PIDFD_H

#include <stdbool.h>
#include <sys/types.h>

// pidfd_open(2) of a process. Returns a descriptor, which the caller closes, or -1 with errno set:
// ESRCH when there is no such process, also for the number of a thread and for a process that is
// just being reaped, of which kernels say EINVAL or ENOENT.
int pidfd_of(pid_t pid);

// Whether a process has this number and lives, of which /proc shows nothing, as where it is mounted
// with hidepid (proc(5)): not to be taken for one that is gone.
bool pidfd_hidden(pid_t pid);

#endif
