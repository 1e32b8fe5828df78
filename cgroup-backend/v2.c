// cgroup v2: cpu.max, cpu.stat, cgroup.freeze and cgroup.kill of one directory. Processes live in
// leaves only: the root group passes the cpu controller on to its classes and holds nobody.
//
// Groups are made with mkdir here, not by libcgroup: its nested create fails with ENOENT as long as
// a group above does not pass on the controller, and leaves half of the path behind.
#include "cgroup-backend/files.h"
#include "cgroup-backend/freezing.h"
#include "cgroup-backend/groups.h"
#include "cgroup-backend/in_place.h"
#include "common/cleanup.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *class_path(const struct cgroup_class *class_)
{
    return class_->groups[0].path;
}

static const struct group_weight v2_weight = {.file = "cpu.weight", .usual = 100, .most = 10000};

static int no_controller(const char *path, const char *offered, bool top, struct error *err)
{
    return error_set(err, ENOTSUP, "%s/cgroup.controllers offers \"%.*s\", not cpu: %s", path,
                     (int)strcspn(offered, "\n"), offered,
                     top ? "boot with systemd.unified_cgroup_hierarchy=1, or use backend = v1"
                         : "have it delegated, e.g. Delegate=cpu in the systemd unit");
}

static int no_leaf(const char *path, struct error *err)
{
    return error_set(err, EBUSY,
                     "%s: the group has processes of its own, and only leaves may: move them to "
                     "a group below it, e.g. DelegateSubgroup= in the systemd unit",
                     path);
}

// The kernel lets a group with processes pass on cpu, which is a threaded controller, and makes it
// the root of a threaded subtree by that: no group below would take a process. Only the hierarchy's
// own root, which has no cgroup.type, may have both.
static int check_leaf(const char *path, struct error *err)
{
    cleanup_pids struct pid_list members = {0};
    char type[64];
    if (file_read(path, "cgroup.type", type, sizeof type, NULL) != 0)
        return 0;
    if (processes_of_group(path, &members, err) != 0)
        return -1;
    return members.count == 0 ? 0 : no_leaf(path, err);
}

// Lets `path` pass the cpu controller on to the groups below it. `top`: it is the mount point.
static int pass_on_cpu(const char *path, bool top, struct error *err)
{
    char text[512];
    if (check_leaf(path, err) != 0)
        return -1;
    if (file_read(path, "cgroup.controllers", text, sizeof text, err) != 0)
        return -1;
    if (!text_has_word(text, "cpu"))
        return no_controller(path, text, top, err);
    if (file_read(path, "cgroup.subtree_control", text, sizeof text, err) != 0)
        return -1;
    if (text_has_word(text, "cpu"))
        return 0;
    struct error fault = {0};
    if (file_write(path, "cgroup.subtree_control", "+cpu", &fault) == 0)
        return 0;
    if (fault.code == EBUSY)
        return no_leaf(fault.text, err);
    return error_set(err, fault.code, "%s; Delegate=cpu in the systemd unit does it", fault.text);
}

// Makes the root group and enables cpu from the mount point down to it.
static int make_root(struct cgroup_backend *backend, struct error *err)
{
    const struct hierarchy *hierarchy = &backend->hierarchies[0];
    cleanup_free char *path = strdup(hierarchy->root);
    if (path == NULL)
        return error_errno(err, ENOMEM, "cgroup backend");
    for (char *slash = path + strlen(hierarchy->mount); slash != NULL;) {
        bool top = slash == path + strlen(hierarchy->mount);
        *slash = '\0';
        if ((!top && directory_make(path, err) != 0) || pass_on_cpu(path, top, err) != 0)
            return -1;
        *slash = '/';
        slash = strchr(slash + 1, '/');
    }
    if (directory_make(path, err) != 0 || pass_on_cpu(path, false, err) != 0)
        return -1;
    groups_weigh(backend, path);
    return 0;
}

static int open_files(struct cgroup_class *class_, bool fresh, struct error *err)
{
    groups_close_files(class_);
    if (fresh && directory_make(class_path(class_), err) != 0)
        return -1;
    class_->limit_fd = file_open(class_path(class_), "cpu.max", O_RDWR, err);
    if (class_->limit_fd < 0)
        return -1;
    class_->usage_fd = file_open(class_path(class_), "cpu.stat", O_RDONLY, err);
    return class_->usage_fd >= 0 ? 0 : -1;
}

// While it is empty anybody who tidies up can remove the root group, or take cpu from it: it is
// made again, lest no job is taken any more.
static int open_group(struct cgroup_class *class_, bool fresh, struct error *err)
{
    struct cgroup_backend *backend = class_->backend;
    struct error fault = {0};
    if (open_files(class_, fresh, &fault) == 0 ||
        (fault.code == ENOENT && !backend->base.as_it_is && make_root(backend, &fault) == 0 &&
         open_files(class_, fresh, &fault) == 0))
        return 0;
    return error_set(err, fault.code, "%s", fault.text);
}

static int v2_class_open(backend_t *base, const char *name, class_t **opened, struct error *err)
{
    struct cgroup_backend *backend = (struct cgroup_backend *)base;
    int in_place = in_place_adopt(backend, name, opened, err);
    if (in_place != 0)
        return in_place > 0 ? 0 : -1;
    struct cgroup_class *class_ = groups_class_new(backend, name, err);
    if (class_ == NULL)
        return -1;
    int fresh = groups_are_missing(class_, err);
    if (fresh >= 0 && open_group(class_, fresh > 0, err) == 0) {
        groups_weigh(backend, class_path(class_));
        *opened = &class_->base;
        return 0;
    }
    if (fresh > 0)
        groups_rmdir(class_);
    groups_class_close(&class_->base);
    return error_context(err, "class %s", name);
}

static int write_limit(struct cgroup_class *class_, const char *limit, struct error *err)
{
    size_t length = strlen(limit);
    bool leaves = class_->limit_fd < 0;
    cleanup_close int own_fd =
        leaves ? file_open(class_path(class_), "cpu.max", O_WRONLY, err) : -1;
    if (leaves && own_fd < 0)
        return -1;
    if (pwrite(leaves ? own_fd : class_->limit_fd, limit, length, 0) == (ssize_t)length)
        return 0;
    int code = errno;
    return error_errno(err, code, "cannot write \"%.*s\" to %s/cpu.max", (int)strcspn(limit, "\n"),
                       limit, class_path(class_));
}

static uint64_t v2_period_us(const class_t *base, uint32_t share_ppm)
{
    const struct cgroup_backend *backend = ((const struct cgroup_class *)base)->backend;
    return backend_period_us(share_ppm, backend->cpus, backend->period_us);
}

// The share of its own period, in each of `period_us`.
static int limit_to(struct cgroup_class *class_, uint32_t share_ppm, uint64_t period_us,
                    struct error *err)
{
    const struct cgroup_backend *backend = class_->backend;
    char limit[64];
    snprintf(limit, sizeof limit, "%" PRIu64 " %" PRIu64 "\n",
             backend_quota_us(share_ppm, backend->cpus, v2_period_us(&class_->base, share_ppm)),
             period_us);
    return write_limit(class_, limit, err);
}

static int v2_set_share(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    char none[64];
    if (share_ppm != BACKEND_UNLIMITED)
        return limit_to(class_, share_ppm, v2_period_us(base, share_ppm), err);
    snprintf(none, sizeof none, "max %" PRIu64 "\n", class_->backend->period_us);
    return write_limit(class_, none, err);
}

static int v2_begin_periods(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    int begun = limit_to(class_, share_ppm, BACKEND_SHORTEST_PERIOD_US, NULL) == 0;
    return v2_set_share(base, share_ppm, err) == 0 ? begun : -1;
}

static int v2_usage(class_t *base, uint64_t *usage_ns, struct error *err)
{
    const struct cgroup_class *class_ = (const struct cgroup_class *)base;
    char text[1024] = "";
    uint64_t usage_us;
    if (pread(class_->usage_fd, text, sizeof text - 1, 0) < 0)
        return error_errno(err, errno, "cannot read %s/cpu.stat", class_path(class_));
    if (text_keyed_number(text, "usage_usec", &usage_us) != 0)
        return error_set(err, EBADMSG, "%s/cpu.stat has no usage_usec", class_path(class_));
    *usage_ns = usage_us * NS_PER_US;
    return 0;
}

static int ask_freezer(const struct cgroup_class *class_, struct error *err)
{
    if (file_write(class_path(class_), "cgroup.freeze", "1", err) != 0)
        return error_context(err, "needs Linux 5.2 or newer");
    return 0;
}

static int look_at_freezer(const struct cgroup_class *class_, struct error *err)
{
    char text[256];
    uint64_t frozen = 0;
    if (file_read(class_path(class_), "cgroup.events", text, sizeof text, err) != 0)
        return -1;
    return text_keyed_number(text, "frozen", &frozen) == 0 && frozen == 1;
}

static const struct freezer v2_freezer = {
    .ask = ask_freezer,
    .look = look_at_freezer,
    .lingers = "not frozen",
    .file = "cgroup.events",
};

static int freeze(class_t *base, struct error *err)
{
    const struct cgroup_class *class_ = (struct cgroup_class *)base;
    return freezing_finish(&v2_freezer, class_, class_path(class_), err);
}

static int v2_freeze(class_t *base, struct error *err)
{
    return groups_without_limit((struct cgroup_class *)base, "max\n", freeze, err);
}

// Of Linux 5.2. Where it cannot be told for another reason, want of descriptors for instance, there
// is one: whoever is frozen must not be taken for somebody who runs.
static bool v2_has_freezer(const class_t *base)
{
    char text[8];
    struct error fault = {0};
    return file_read(class_path((const struct cgroup_class *)base), "cgroup.freeze", text,
                     sizeof text, &fault) == 0 ||
           fault.code != ENOENT;
}

static int v2_freeze_pass(class_t *base, bool asked, struct error *err)
{
    return freezing_pass(&v2_freezer, (const struct cgroup_class *)base, asked, err);
}

static int v2_thaw(class_t *base, struct error *err)
{
    return file_write(class_path((struct cgroup_class *)base), "cgroup.freeze", "0", err);
}

static int doom(class_t *base)
{
    return file_write(class_path((const struct cgroup_class *)base), "cgroup.kill", "1", NULL);
}

// cgroup.kill (Linux 5.14) catches forks by itself. What follows waits for the end, and does the
// work on older kernels.
static int kill_all(class_t *base, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    bool whole = doom(base) == 0;
    return groups_kill(class_, whole ? NULL : freeze, whole ? NULL : v2_thaw, err);
}

static int v2_kill_pass(class_t *base, pid_t root, uint64_t root_start, bool at_once,
                        struct error *err)
{
    return groups_kill_pass((struct cgroup_class *)base, root, root_start, at_once, doom, err);
}

static int v2_kill(class_t *base, struct error *err)
{
    return groups_without_limit((struct cgroup_class *)base, "max\n", kill_all, err);
}

static int v2_remove_step(class_t *base, size_t limit, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    // A process that leaves a frozen group thaws. Should the group stay behind, then without a
    // limit.
    write_limit(class_, "max\n", NULL);
    return groups_remove_step(class_, limit, err);
}

// Frozen processes are limited, too.
static int lift(struct cgroup_backend *backend, const char *name, struct error *err)
{
    cleanup_free char *path = path_join(backend->hierarchies[0].root, name);
    if (path == NULL)
        return error_errno(err, ENOMEM, "class %s", name);
    struct error fault = {0};
    int rc = file_write(path, "cpu.max", "max", &fault);
    if (rc != 0 && fault.code == ENOENT && directory_exists(path))
        rc = 0; // somebody has taken the controller away, and the limit with it
    else if (rc != 0)
        error_set(err, fault.code, "%s", fault.text);
    if (file_write(path, "cgroup.freeze", "0", &fault) != 0 && fault.code != ENOENT && rc == 0)
        rc = error_set(err, fault.code, "%s", fault.text);
    return rc;
}

static int v2_release_all(backend_t *backend, unsigned *lifted, struct error *err)
{
    return groups_release_all((struct cgroup_backend *)backend, lift, lifted, err);
}

static const struct backend_ops v2_ops = {
    .name = "v2",
    .backend_close = groups_backend_close,
    .each_class = groups_each_class,
    .release_all = v2_release_all,
    .weigh_all = groups_weigh_all,
    .open = v2_class_open,
    .open_in_place = in_place_open,
    .keeps = in_place_keeps,
    .open_named = in_place_open_named,
    .close = groups_class_close,
    .place = groups_place,
    .place_others = groups_place_others,
    .holds = groups_holds,
    .expel = groups_expel,
    .set_share = v2_set_share,
    .begin_periods = v2_begin_periods,
    .period_us = v2_period_us,
    .usage = v2_usage,
    .members = groups_members,
    .freeze = v2_freeze,
    .thaw = v2_thaw,
    .kill = v2_kill,
    .has_freezer = v2_has_freezer,
    .freeze_pass = v2_freeze_pass,
    .find_stopped = groups_find_stopped,
    .stop_pass = groups_stop_pass,
    .continue_pass = groups_continue_pass,
    .kill_pass = v2_kill_pass,
    .remove_step = v2_remove_step,
};

int v2_open(const char *mount, const struct backend_settings *settings, backend_t **opened,
            struct error *err)
{
    struct cgroup_backend *backend = groups_backend_new(&v2_ops, &v2_weight, settings, err);
    if (backend == NULL)
        return -1;
    if (groups_backend_add(backend, "", mount, err) != 0 ||
        (!settings->as_it_is && make_root(backend, err) != 0)) {
        groups_backend_close(&backend->base);
        return -1;
    }
    *opened = &backend->base;
    return 0;
}
