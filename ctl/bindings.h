// Jobs whose processes are bound to the same CPUs, told from what each is bound to. Pure.
#ifndef COSCHED_CTL_BINDINGS_H
#define COSCHED_CTL_BINDINGS_H

#include "cgroup-backend/backend.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct bound {
    char job[BACKEND_NAME_MAX];
    bool in_place;    // in a manager's group: bound by it, too, maybe
    cpu_set_t single; // the CPUs of processes that are bound to one each
    cpu_set_t cpus;   // of those that are bound to less than there is
    size_t processes; // so many of them
};

struct bindings_crowd {
    size_t jobs, processes;
    bool in_place; // all of them
};

// Whether more processes are bound to the CPUs of the job `number` and to none besides than these
// are: to cores of two hardware threads each, or to sockets. Of several jobs; said of the first one
// that has just these CPUs, and not where all are bound to one each, which tells more. Processes
// are no ranks, so it may be that nobody is in another's way.
bool bindings_crowded(const struct bound *list, size_t count, size_t number,
                      struct bindings_crowd *crowd);

#endif
