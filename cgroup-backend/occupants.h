// Who lives in a group that somebody else has made, and whether the group is the job's alone: only
// then may it be limited. Looks at processes, and changes nothing. What is asked of whom is in
// placement.h.
#ifndef COSCHED_CGROUP_BACKEND_OCCUPANTS_H
#define COSCHED_CGROUP_BACKEND_OCCUPANTS_H

#include "cgroup-backend/placement.h"
#include "cgroup-backend/processes.h"

struct occupants {
    const char *group;      // as in /proc/PID/cgroup of `controller`; borrowed, as the next two are
    const char *path;       // its directory
    const char *controller; // "" on v2
    struct placement_job job;
    struct pid_list known; // members that were found to be of the job, sorted
};

// Whether the group is the job's alone, with `pid` in it if that is not 0: 0, or -1: EXDEV when it
// is not, ESRCH when `pid` is gone. Of a group that was named it is asked only whether this program
// lives elsewhere: EBUSY. Notes in `job` what it learns of the line of `pid`.
int occupants_check(struct occupants *occupants, pid_t pid, struct error *err);

// Of a script's group, after occupants_check(): EXDEV when another launcher is there, which is
// another job's.
int occupants_check_launchers(const struct occupants *occupants, struct error *err);

bool occupants_hold(const struct occupants *occupants, pid_t pid);

// Takes those of the job's user who live there now for known, or some thousands of them: they were
// there under the last daemon's eyes, or were forked by them since.
void occupants_know(struct occupants *occupants);

void occupants_forget(struct occupants *occupants);

#endif
