// What a daemon may do beyond what its user may: as little as its work needs.
#ifndef COSCHED_CLASSD_PRIVILEGES_H
#define COSCHED_CLASSD_PRIVILEGES_H

#include "common/error.h"

#include <stdbool.h>

// Gives up every capability but two, for good and for everything that is started later.
// CAP_SYS_NICE is for moving root's processes where the cpuset controller is on, as systemd has it
// for some units: the kernel asks for it. CAP_DAC_OVERRIDE is for groups that root may not write as
// their owner: the hierarchies' own roots are read-only, and those that a process of a job returns
// to may belong to its user. A daemon that has none to begin with goes on without. Returns 0 or -1.
int privileges_drop(struct error *err);

// Whether limits of groups can be lifted that are not this process's user's.
bool privileges_reach_all_groups(void);

#endif
