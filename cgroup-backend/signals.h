// Stopping, continuing and ending processes by signals, in the order of seed 001, section 3. Every
// function makes one pass and waits for nothing: EAGAIN asks for another one after the retry
// interval. Signals go through pidfds whose start times were compared, so that a number that is
// used again gets none.
#ifndef COSCHED_CGROUP_BACKEND_SIGNALS_H
#define COSCHED_CGROUP_BACKEND_SIGNALS_H

#include "cgroup-backend/genealogy.h"
#include "cgroup-backend/processes.h"

// Reads what `proc` says about the members of a class behind what *genealogy has; those that are
// gone, or have ended, are left out. -1 when somebody's state cannot be told: EACCES when /proc
// hides him, EMFILE, ... Behind SIGNALS_THREADS_MAX threads the first one of a process speaks for
// the others.
#define SIGNALS_THREADS_MAX 65536
int signals_census(const char *proc, const struct pid_list *members, struct genealogy *genealogy,
                   struct error *err);

// SIGSTOP, top-down: to whom runs and whose parent has stopped. Seed 001's hybrid traversal: what
// is below a process that has not stopped yet waits for the next pass, the others do not. 0 when
// everybody has stopped.
int signals_stop(struct genealogy *genealogy, struct error *err);

// SIGCONT, bottom-up: to everybody whose children run, also to those that do not stand still, who
// may have a SIGSTOP before them that they have not got to yet. Those in `others`, who had stopped
// before, stay as they are. 0 when everybody else runs.
int signals_continue(struct genealogy *genealogy, const struct genealogy *others,
                     struct error *err);

// SIGKILL, top-down, to all, even when it cannot be sent to one of them. 0 when there was nobody.
int signals_kill(struct genealogy *genealogy, struct error *err);

#endif
