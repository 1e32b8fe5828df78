// What the kernel says about a process. A process is known by pid and start time together; a pidfd
// pins it, so that a number which is used again can never be taken for it.
#ifndef COSCHED_CLASSD_PROCESS_H
#define COSCHED_CLASSD_PROCESS_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Field 22 of /proc/PID/stat: clock ticks between boot and the start of the process. Returns 0, or
// -1 with err->code ESRCH when there is no such process.
int process_start_time(pid_t pid, uint64_t *start_time, struct error *err);

// A pidfd (close-on-exec, the caller closes it) of the process that has this pid and this start
// time, or -1 with err->code ESRCH when it is gone.
int process_pin(pid_t pid, uint64_t start_time, struct error *err);

// False as soon as the process of the pidfd has ended, reaped or not.
bool process_alive(int pidfd);

#endif
