// cgroup v1: the limit is cpu.cfs_quota_us of the cpu hierarchy, the usage cpuacct.usage, stopping
// is the freezer's. Each may be mounted by itself or together with others.
#include "cgroup-backend/files.h"
#include "cgroup-backend/freezing.h"
#include "cgroup-backend/groups.h"
#include "cgroup-backend/in_place.h"
#include "common/cleanup.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libcgroup.h>
#include <stdio.h>
#include <string.h>

static const struct group_weight v1_weight = {.file = "cpu.shares", .usual = 1024, .most = 262144};

static bool has_freezer(const struct cgroup_backend *backend)
{
    return backend->freezer < backend->hierarchy_count;
}

static const char *freezer_path(const struct cgroup_class *class_)
{
    return class_->groups[class_->backend->freezer].path;
}

// libcgroup's handle of a group below the mount points, with our controllers; null: no memory.
static struct cgroup *libcgroup_group(const struct cgroup_backend *backend, const char *name)
{
    struct cgroup *group = cgroup_new_cgroup(name);
    for (unsigned i = 0; group != NULL && i < backend->hierarchy_count; i++)
        if (cgroup_add_controller(group, backend->hierarchies[i].controller) == NULL)
            cgroup_free(&group);
    return group;
}

// Makes root/name in every hierarchy. libcgroup's error does not tell which directory it failed at,
// and what it made before stays; mkdir after it either finishes the work or knows the reason.
static int make_groups(struct cgroup_backend *backend, const char *name, struct error *err)
{
    cleanup_free char *relative =
        *name != '\0' ? path_join(backend->root, name) : strdup(backend->root);
    if (relative == NULL)
        return error_errno(err, ENOMEM, "group %s", name);
    struct cgroup *group = backend->libcgroup ? libcgroup_group(backend, relative) : NULL;
    bool made = group != NULL && cgroup_create_cgroup(group, 1) == 0;
    cgroup_free(&group);
    for (unsigned i = 0; !made && i < backend->hierarchy_count; i++)
        if (groups_make_path(backend->hierarchies[i].mount, relative, err) != 0)
            return -1;
    groups_weigh(backend, backend->hierarchies[0].root); // which may have been made just now
    return 0;
}

static bool is_there(const struct cgroup_class *class_)
{
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        if (!directory_exists(class_->groups[i].path))
            return false;
    return true;
}

static int read_period(struct cgroup_class *class_, struct error *err)
{
    char text[32];
    uint64_t period_us = 0;
    const char *path = class_->groups[0].path;
    if (file_read(path, "cpu.cfs_period_us", text, sizeof text, err) != 0)
        return -1;
    if (sscanf(text, "%" SCNu64, &period_us) != 1 || period_us == 0)
        return error_set(err, EBADMSG, "%s/cpu.cfs_period_us is not a number", path);
    class_->period_us = period_us;
    return 0;
}

static int write_period(struct cgroup_class *class_, uint64_t period_us, struct error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, period_us);
    if (file_write(class_->groups[0].path, "cpu.cfs_period_us", text, err) != 0)
        return -1;
    class_->period_us = period_us;
    return 0;
}

static int open_files(struct cgroup_class *class_, bool fresh, struct error *err)
{
    const char *path = class_->groups[0].path;
    if (fresh && write_period(class_, class_->backend->period_us, err) != 0)
        return -1;
    if (read_period(class_, err) != 0)
        return -1;
    groups_weigh(class_->backend, path);
    class_->limit_fd = file_open(path, "cpu.cfs_quota_us", O_RDWR, err);
    if (class_->limit_fd < 0)
        return error_context(err, "needs a kernel with CONFIG_CFS_BANDWIDTH");
    class_->usage_fd =
        file_open(class_->groups[class_->backend->cpuacct].path, "cpuacct.usage", O_RDONLY, err);
    return class_->usage_fd >= 0 ? 0 : -1;
}

static int v1_class_open(backend_t *base, const char *name, class_t **opened, struct error *err)
{
    struct cgroup_backend *backend = (struct cgroup_backend *)base;
    int in_place = in_place_adopt(backend, name, opened, err);
    if (in_place != 0)
        return in_place > 0 ? 0 : -1;
    struct cgroup_class *class_ = groups_class_new(backend, name, err);
    if (class_ == NULL)
        return -1;
    int fresh = groups_are_missing(class_, err);
    if (fresh >= 0 &&
        (is_there(class_) || backend->base.as_it_is || make_groups(backend, name, err) == 0) &&
        open_files(class_, fresh, err) == 0) {
        *opened = &class_->base;
        return 0;
    }
    if (fresh > 0)
        groups_rmdir(class_);
    groups_class_close(&class_->base);
    return error_context(err, "class %s", name);
}

static int write_text(struct cgroup_class *class_, const char *quota, struct error *err)
{
    size_t length = strlen(quota);
    bool leaves = class_->limit_fd < 0;
    cleanup_close int own_fd =
        leaves ? file_open(class_->groups[0].path, "cpu.cfs_quota_us", O_WRONLY, err) : -1;
    if (leaves && own_fd < 0)
        return -1;
    if (pwrite(leaves ? own_fd : class_->limit_fd, quota, length, 0) == (ssize_t)length)
        return 0;
    int code = errno;
    return error_errno(err, code, "cannot write %.*s to %s/cpu.cfs_quota_us%s",
                       (int)strcspn(quota, "\n"), quota, class_->groups[0].path,
                       code == EINVAL ? " (more than a group above allows?)" : "");
}

static int write_quota(struct cgroup_class *class_, uint64_t quota_us, struct error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "\n", quota_us);
    return write_text(class_, text, err);
}

static uint64_t v1_period_us(const class_t *base, uint32_t share_ppm)
{
    const struct cgroup_backend *backend = ((const struct cgroup_class *)base)->backend;
    return backend_period_us(share_ppm, backend->cpus, backend->period_us);
}

// Between the two numbers there is no limit: on the other period it would be another share, and one
// larger than a group above allows is not taken.
static int v1_set_share(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    uint64_t period_us = v1_period_us(base, share_ppm);
    if (share_ppm == BACKEND_UNLIMITED)
        return write_text(class_, "-1\n", err);
    // A kernel whose timer comes too late doubles both. Where it cannot be read, it is as we know
    // it.
    (void)read_period(class_, NULL);
    if (class_->period_us != period_us &&
        (write_text(class_, "-1\n", err) != 0 || write_period(class_, period_us, err) != 0))
        return -1;
    return write_quota(class_, backend_quota_us(share_ppm, class_->backend->cpus, period_us), err);
}

// The quota comes before the long period, and once more behind it: a kernel that is kept from its
// timer for long makes quota and period larger together.
static int v1_begin_periods(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    uint64_t period_us = v1_period_us(base, share_ppm);
    uint64_t quota_us = backend_quota_us(share_ppm, class_->backend->cpus, period_us);
    int begun = write_period(class_, BACKEND_SHORTEST_PERIOD_US, NULL) == 0 &&
                write_quota(class_, quota_us, NULL) == 0 &&
                write_period(class_, period_us, NULL) == 0;
    return v1_set_share(base, share_ppm, err) == 0 ? begun : -1;
}

static int v1_usage(class_t *base, uint64_t *usage_ns, struct error *err)
{
    const struct cgroup_class *class_ = (const struct cgroup_class *)base;
    const char *path = class_->groups[class_->backend->cpuacct].path;
    char text[32] = "";
    if (pread(class_->usage_fd, text, sizeof text - 1, 0) < 0)
        return error_errno(err, errno, "cannot read %s/cpuacct.usage", path);
    if (sscanf(text, "%" SCNu64, usage_ns) != 1)
        return error_set(err, EBADMSG, "%s/cpuacct.usage is not a number", path);
    return 0;
}

static int need_freezer(const struct cgroup_class *class_, struct error *err)
{
    if (has_freezer(class_->backend))
        return 0;
    return error_set(err, ENOTSUP,
                     "class %s cannot be stopped or continued: no freezer hierarchy is mounted",
                     class_->base.name);
}

static int ask_freezer(const struct cgroup_class *class_, struct error *err)
{
    return file_write(freezer_path(class_), "freezer.state", "FROZEN", err);
}

static int look_at_freezer(const struct cgroup_class *class_, struct error *err)
{
    char state[32] = "";
    if (file_read(freezer_path(class_), "freezer.state", state, sizeof state, err) != 0)
        return -1;
    return text_has_word(state, "FROZEN");
}

static const struct freezer v1_freezer = {
    .ask = ask_freezer,
    .look = look_at_freezer,
    .lingers = "still FREEZING",
    .file = "freezer.state",
};

static int freeze(class_t *base, struct error *err)
{
    const struct cgroup_class *class_ = (struct cgroup_class *)base;
    return freezing_finish(&v1_freezer, class_, freezer_path(class_), err);
}

static int v1_freeze(class_t *base, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    return need_freezer(class_, err) == 0 ? groups_without_limit(class_, "-1\n", freeze, err) : -1;
}

static bool v1_has_freezer(const class_t *base)
{
    return has_freezer(((const struct cgroup_class *)base)->backend);
}

static int v1_freeze_pass(class_t *base, bool asked, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    if (need_freezer(class_, err) != 0)
        return -1;
    return freezing_pass(&v1_freezer, class_, asked, err);
}

static int v1_thaw(class_t *base, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    if (need_freezer(class_, err) != 0)
        return -1;
    return file_write(freezer_path(class_), "freezer.state", "THAWED", err);
}

static int kill_all(class_t *base, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    bool freezer = has_freezer(class_->backend);
    return groups_kill(class_, freezer ? freeze : NULL, freezer ? v1_thaw : NULL, err);
}

static int v1_kill(class_t *base, struct error *err)
{
    return groups_without_limit((struct cgroup_class *)base, "-1\n", kill_all, err);
}

static int v1_kill_pass(class_t *base, pid_t root, uint64_t root_start, bool at_once,
                        struct error *err)
{
    return groups_kill_pass((struct cgroup_class *)base, root, root_start, at_once, NULL, err);
}

static int v1_remove_step(class_t *base, size_t limit, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    // Nobody shall leave it frozen; and should it stay behind, then without a limit.
    if (has_freezer(class_->backend))
        file_write(freezer_path(class_), "freezer.state", "THAWED", NULL);
    write_text(class_, "-1\n", NULL);
    return groups_remove_step(class_, limit, err);
}

// Frozen processes are limited, too, also where somebody has removed the group with the limit.
static int lift(struct cgroup_backend *backend, const char *name, struct error *err)
{
    cleanup_free char *path = path_join(backend->hierarchies[0].root, name);
    cleanup_free char *freezer =
        has_freezer(backend) ? path_join(backend->hierarchies[backend->freezer].root, name) : NULL;
    if (path == NULL)
        return error_errno(err, ENOMEM, "class %s", name);
    int rc = directory_exists(path) ? file_write(path, "cpu.cfs_quota_us", "-1", err) : 0;
    if (freezer != NULL && directory_exists(freezer) &&
        file_write(freezer, "freezer.state", "THAWED", rc == 0 ? err : NULL) != 0)
        rc = -1;
    return rc;
}

static int v1_release_all(backend_t *backend, unsigned *lifted, struct error *err)
{
    return groups_release_all((struct cgroup_backend *)backend, lift, lifted, err);
}

static const struct backend_ops v1_ops = {
    .name = "v1",
    .backend_close = groups_backend_close,
    .each_class = groups_each_class,
    .release_all = v1_release_all,
    .weigh_all = groups_weigh_all,
    .open = v1_class_open,
    .open_in_place = in_place_open,
    .keeps = in_place_keeps,
    .open_named = in_place_open_named,
    .close = groups_class_close,
    .place = groups_place,
    .place_others = groups_place_others,
    .holds = groups_holds,
    .expel = groups_expel,
    .set_share = v1_set_share,
    .begin_periods = v1_begin_periods,
    .period_us = v1_period_us,
    .usage = v1_usage,
    .members = groups_members,
    .freeze = v1_freeze,
    .thaw = v1_thaw,
    .kill = v1_kill,
    .has_freezer = v1_has_freezer,
    .freeze_pass = v1_freeze_pass,
    .find_stopped = groups_find_stopped,
    .stop_pass = groups_stop_pass,
    .continue_pass = groups_continue_pass,
    .kill_pass = v1_kill_pass,
    .remove_step = v1_remove_step,
};

// The index of the controller's hierarchy, which is an earlier one where they are mounted together.
static int add_hierarchy(struct cgroup_backend *backend, const char *controller, const char *mount,
                         unsigned *index, struct error *err)
{
    for (*index = 0; *index < backend->hierarchy_count; (*index)++)
        if (strcmp(backend->hierarchies[*index].mount, mount) == 0)
            return 0;
    return groups_backend_add(backend, controller, mount, err);
}

// Where cpuset is mounted together with one of ours, nobody can be moved into a fresh group: it has
// no CPUs, unless the kernel gives it those of the group above.
static int check_cpusets(const struct cgroup_backend *backend, struct error *err)
{
    for (unsigned i = 0; i < backend->hierarchy_count; i++) {
        char cpus[8], clones[8] = "";
        const char *mount = backend->hierarchies[i].mount;
        if (file_read(mount, "cpuset.cpus", cpus, sizeof cpus, NULL) == 0 &&
            file_read(mount, "cgroup.clone_children", clones, sizeof clones, NULL) == 0 &&
            clones[0] == '0')
            return error_set(err, ENOTSUP,
                             "the cgroup v1 hierarchy at %s has the cpuset controller, too, so new "
                             "groups have no CPUs: write 1 to %s/cgroup.clone_children, or mount "
                             "cpuset by itself",
                             mount, mount);
    }
    return 0;
}

int v1_open(const struct v1_mounts *mounts, const struct backend_settings *settings,
            backend_t **opened, struct error *err)
{
    if (mounts->cpuacct == NULL)
        return error_set(err, ENOTSUP,
                         "cgroup v1 without the cpuacct controller: mount it, the CPU time of a "
                         "class comes from there");
    struct cgroup_backend *backend = groups_backend_new(&v1_ops, &v1_weight, settings, err);
    if (backend == NULL)
        return -1;
    unsigned cpu;
    backend->libcgroup = mounts->libcgroup;
    bool added = add_hierarchy(backend, "cpu", mounts->cpu, &cpu, err) == 0 &&
                 add_hierarchy(backend, "cpuacct", mounts->cpuacct, &backend->cpuacct, err) == 0 &&
                 (mounts->freezer == NULL ||
                  add_hierarchy(backend, "freezer", mounts->freezer, &backend->freezer, err) == 0);
    if (mounts->freezer == NULL)
        backend->freezer = HIERARCHIES_MAX;
    if (!added || (!settings->as_it_is &&
                   (check_cpusets(backend, err) != 0 || make_groups(backend, "", err) != 0))) {
        groups_backend_close(&backend->base);
        return -1;
    }
    *opened = &backend->base;
    return 0;
}
