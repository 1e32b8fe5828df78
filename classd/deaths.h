// Learns of the death of registered processes from their pidfds, never by guessing: one epoll set,
// which the server's loop watches as a single descriptor.
#ifndef COSCHED_CLASSD_DEATHS_H
#define COSCHED_CLASSD_DEATHS_H

#include "classd/table.h"
#include "common/error.h"

// The set: a descriptor that is readable while a watched process has died. The caller closes it.
int deaths_open(struct error *err);

// Watches process->pidfd until deaths_forget(). A process without a pidfd is not watched.
int deaths_watch(int deaths, struct process *process, struct error *err);

// To be called before the process is freed or its pidfd closed: closing alone would not end it
// while a child of classd's still holds a copy of the descriptor, and a freed process would be
// named.
void deaths_forget(int deaths, const struct process *process);

// One process that has died, or null. It is named again until it is forgotten.
struct process *deaths_next(int deaths);

#endif
