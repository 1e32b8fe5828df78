#include "cgroup-backend/discovery.h"

#include <errno.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/vfs.h>

static bool is_v2(const char *mount)
{
    struct statfs status;
    return statfs(mount, &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

static char *mount_of(const char *controller, bool *v2)
{
    char *mount = NULL;
    if (cgroup_get_subsys_mount_point(controller, &mount) != 0)
        return NULL;
    *v2 = is_v2(mount);
    return mount;
}

static char *v1_mount_of(const char *controller)
{
    bool v2 = false;
    char *mount = mount_of(controller, &v2);
    if (v2) {
        free(mount);
        return NULL;
    }
    return mount;
}

int discovery_find(struct discovery *discovery, struct error *err)
{
    *discovery = (struct discovery){0};
    int rc = cgroup_init();
    if (rc != 0 && rc != ECGROUPNOTMOUNTED)
        return error_set(err, ENOTSUP, "libcgroup cannot read the mounted cgroup hierarchies: %s",
                         cgroup_strerror(rc));
    bool v2 = false;
    char *mount = rc == 0 ? mount_of("cpu", &v2) : NULL;
    if (mount == NULL)
        return error_set(
            err, ENOTSUP,
            "no mounted cgroup hierarchy has the cpu controller: boot without "
            "cgroup_disable=cpu and, in a container, give it a writable /sys/fs/cgroup");
    if (v2) {
        discovery->v2 = mount;
        return 0;
    }
    discovery->cpu = mount;
    discovery->cpuacct = v1_mount_of("cpuacct");
    discovery->freezer = v1_mount_of("freezer");
    return 0;
}

void discovery_free(struct discovery *discovery)
{
    free(discovery->v2);
    free(discovery->cpu);
    free(discovery->cpuacct);
    free(discovery->freezer);
}
