// Where the cgroup hierarchies are mounted, as libcgroup finds them.
#ifndef COSCHED_CGROUP_BACKEND_DISCOVERY_H
#define COSCHED_CGROUP_BACKEND_DISCOVERY_H

#include "common/error.h"

struct discovery {
    char *v2;  // mount point of cgroup v2, when it has the cpu controller
    char *cpu; // v1 mount points; null where there is none
    char *cpuacct;
    char *freezer;
};

int discovery_find(struct discovery *discovery, struct error *err);
void discovery_free(struct discovery *discovery);

#endif
