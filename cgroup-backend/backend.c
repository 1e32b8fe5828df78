#include "cgroup-backend/discovery.h"
#include "cgroup-backend/files.h"
#include "cgroup-backend/ops.h"
#include "common/group_list.h"
#include "common/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REMOVE_LIMIT_MS = 100 };

#define QUOTA_MIN_US  UINT64_C(1000) // of the kernel
#define PERIOD_MAX_US UINT64_C(1000000)

static const char name_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

bool backend_name_valid(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < BACKEND_NAME_MAX && name[0] != '.' &&
           strspn(name, name_characters) == length;
}

static uint64_t part_us(uint32_t share_ppm, unsigned cpus, uint64_t period_us)
{
    uint64_t share = share_ppm < SHARE_WHOLE_PPM ? share_ppm : SHARE_WHOLE_PPM;
    return share * cpus * period_us / SHARE_WHOLE_PPM;
}

uint64_t backend_period_us(uint32_t share_ppm, unsigned cpus, uint64_t period_us)
{
    static const uint64_t steps[] = {1, 2, 5};
    for (uint64_t ten = 1; ten * period_us <= PERIOD_MAX_US; ten *= 10) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            uint64_t longer_us = ten * steps[i] * period_us;
            if (longer_us <= PERIOD_MAX_US && part_us(share_ppm, cpus, longer_us) >= QUOTA_MIN_US)
                return longer_us;
        }
    }
    return PERIOD_MAX_US;
}

uint64_t backend_quota_us(uint32_t share_ppm, unsigned cpus, uint64_t period_us)
{
    uint64_t quota_us = part_us(share_ppm, cpus, period_us);
    return quota_us > QUOTA_MIN_US ? quota_us : QUOTA_MIN_US;
}

static int check_settings(const struct backend_settings *settings, struct error *err)
{
    if (!group_path_valid(settings->root))
        return error_set(err, EINVAL,
                         "cgroup root \"%s\": give a path relative to the mount point, such as "
                         "cosched or lab/node0",
                         settings->root);
    if (group_is_unit(settings->root))
        return error_set(err, EINVAL,
                         "cgroup root \"%s\" is systemd's, which limits the groups below it; name "
                         "a group of cosched's own, such as cosched",
                         settings->root);
    if (settings->cpus == 0)
        return error_set(err, EINVAL, "a node has at least one CPU");
    if (settings->period_ns < NS_PER_MS || settings->period_ns > NS_PER_SEC)
        return error_set(err, EINVAL, "the period of a limit is 1ms to 1s, not %llu ns",
                         (unsigned long long)settings->period_ns);
    return 0;
}

static int open_kind(const struct backend_settings *settings, const struct discovery *found,
                     backend_t **backend, struct error *err)
{
    bool automatic = strcmp(settings->kind, "auto") == 0;
    bool v2 = strcmp(settings->kind, "v2") == 0;
    if (!automatic && !v2 && strcmp(settings->kind, "v1") != 0)
        return error_set(err, EINVAL, "no such cgroup backend: \"%s\"; there are auto, v2 and v1",
                         settings->kind);
    // A controller belongs to one hierarchy at a time, so it decides.
    if (v2 && found->v2 == NULL)
        return error_set(err, ENOTSUP,
                         "the cpu controller belongs to cgroup v1 (%s): use backend = v1, or boot "
                         "with systemd.unified_cgroup_hierarchy=1",
                         found->cpu);
    if (!automatic && !v2 && found->cpu == NULL)
        return error_set(err, ENOTSUP,
                         "the cpu controller belongs to cgroup v2 (%s): use "
                         "backend = v2",
                         found->v2);
    if (found->v2 != NULL)
        return v2_open(found->v2, settings, backend, err);
    struct v1_mounts mounts = {found->cpu, found->cpuacct, found->freezer, true};
    return v1_open(&mounts, settings, backend, err);
}

int backend_open(const struct backend_settings *settings, backend_t **backend, struct error *err)
{
    struct discovery found;
    if (check_settings(settings, err) != 0 || discovery_find(&found, err) != 0)
        return -1;
    int rc = open_kind(settings, &found, backend, err);
    discovery_free(&found);
    return rc;
}

void backend_close(backend_t *backend)
{
    if (backend != NULL)
        backend->ops->backend_close(backend);
}

const char *backend_name(const backend_t *backend)
{
    return backend->ops->name;
}

int class_open(backend_t *backend, const char *name, class_t **class_, struct error *err)
{
    if (!backend_name_valid(name))
        return error_set(err, EINVAL,
                         "\"%s\" is no class name: 1 to %d of A-Z a-z 0-9 _ . -, the first not a "
                         "dot",
                         name, BACKEND_NAME_MAX - 1);
    struct suspension suspension;
    if (tracking_read(backend, name, &suspension, err) != 0)
        return -1;
    if (backend->ops->open(backend, name, class_, err) == 0) {
        tracking_open(backend, *class_, &suspension);
        return 0;
    }
    suspension_forget(&suspension);
    return -1;
}

// 0 in cgroup.procs stands for the writer itself: neither it nor a negative number may get there.
static int check_pid(pid_t pid, struct error *err)
{
    return pid > 0 ? 0 : error_set(err, EINVAL, "%d is no process id", (int)pid);
}

int class_open_in_place(backend_t *backend, const char *name, const struct class_home *home,
                        class_t **class_, struct error *err)
{
    if (!backend_name_valid(name))
        return error_set(err, EINVAL, "\"%s\" is no class name", name);
    struct suspension suspension;
    if (check_pid(home->pid, err) != 0 || tracking_read(backend, name, &suspension, err) != 0)
        return -1;
    if (backend->ops->open_in_place(backend, name, home, class_, err) == 0) {
        tracking_open(backend, *class_, &suspension);
        return 0;
    }
    suspension_forget(&suspension);
    return -1;
}

int class_open_named(backend_t *backend, const char *name, const char *group, class_t **class_,
                     struct error *err)
{
    if (!backend_name_valid(name))
        return error_set(err, EINVAL, "\"%s\" is no class name", name);
    if (!group_path_valid(group))
        return error_set(err, EINVAL, "\"%s\" is no group below the mount point", group);
    return backend->ops->open_named(backend, name, group, class_, err);
}

bool class_is_in_place(const class_t *class_)
{
    return class_->ops->displace != NULL;
}

bool backend_keeps(backend_t *backend, pid_t pid)
{
    return backend->ops->keeps(backend, pid);
}

bool class_is_of_script(const class_t *class_)
{
    return class_->ops->is_of_script != NULL && class_->ops->is_of_script(class_);
}

bool class_is_stopped_by_manager(const class_t *class_)
{
    return class_is_in_place(class_) && class_->ops->is_stopped(class_);
}

int class_displace(class_t **class_, struct error *err)
{
    if (!class_is_in_place(*class_))
        return 0;
    // Its suspension is the job's, wherever that lives.
    struct suspension suspension = (*class_)->suspension;
    (*class_)->suspension = (struct suspension){0};
    int rc = (*class_)->ops->displace(class_, err);
    (*class_)->suspension = suspension;
    return rc;
}

void class_close(class_t *class_)
{
    if (class_ != NULL)
        class_->ops->close(class_);
}

const char *class_name(const class_t *class_)
{
    return class_->name;
}

int class_place(class_t *class_, pid_t pid, struct error *err)
{
    return class_place_known(class_, pid, 0, err);
}

int class_place_known(class_t *class_, pid_t pid, uint64_t start_time, struct error *err)
{
    return check_pid(pid, err) == 0 ? class_->ops->place(class_, pid, start_time, err) : -1;
}

int class_place_others(class_t *class_, const struct process_id *whom, size_t count,
                       struct error *err)
{
    return count > 0 ? class_->ops->place_others(class_, whom, count, err) : 0;
}

bool class_holds(const class_t *class_, pid_t pid)
{
    return pid > 0 && class_->ops->holds(class_, pid);
}

int class_expel(class_t *class_, pid_t pid, struct error *err)
{
    return check_pid(pid, err) == 0 ? class_->ops->expel(class_, pid, err) : -1;
}

int class_set_share(class_t *class_, uint32_t share_ppm, struct error *err)
{
    return class_->ops->set_share(class_, share_ppm, err);
}

int class_begin_periods(class_t *class_, uint32_t share_ppm, struct error *err)
{
    return class_->ops->begin_periods(class_, share_ppm, err);
}

uint64_t class_period_ns(const class_t *class_, uint32_t share_ppm)
{
    return class_->ops->period_us(class_, share_ppm) * NS_PER_US;
}

int class_usage(class_t *class_, uint64_t *usage_ns, struct error *err)
{
    return class_->ops->usage(class_, usage_ns, err);
}

int class_members(class_t *class_, pid_t *pids, size_t limit, size_t *count, struct error *err)
{
    return class_->ops->members(class_, pids, limit, count, err);
}

int class_freeze(class_t *class_, struct error *err)
{
    return class_->ops->freeze(class_, err);
}

int class_thaw(class_t *class_, struct error *err)
{
    int rc = class_->ops->thaw(class_, err);
    class_->owes_thaw = rc != 0 && class_has_freezer(class_);
    return rc;
}

int class_kill(class_t *class_, struct error *err)
{
    return class_->ops->kill(class_, err);
}

// Without its group there is nobody left to continue.
static bool group_is_gone(int code)
{
    return code == ENOENT || code == ENODEV;
}

int class_remove_step(class_t *class_, size_t limit, struct error *err)
{
    struct error fault = {0};
    // Nobody shall leave it stopped, nor its record go before he runs: it alone tells of him.
    if (class_resume(class_, &fault) != 0 && !group_is_gone(fault.code)) {
        class_set_share(class_, BACKEND_UNLIMITED, NULL);
        return error_set(err, EAGAIN, "%s", fault.text);
    }
    suspension_remove(class_->suspensions, class_->name);
    suspension_forget(&class_->suspension);
    return class_->ops->remove_step(class_, limit, err);
}

int class_remove(class_t *class_, struct error *err)
{
    struct error fault = {0};
    for (uint64_t end = clock_ms() + REMOVE_LIMIT_MS; clock_ms() <= end; nap_us(1000)) {
        if (class_remove_step(class_, SIZE_MAX, &fault) == 0)
            return 0;
        if (fault.code != EAGAIN)
            return error_set(err, fault.code, "%s", fault.text);
    }
    // Whoever is still stopped stays where the next daemon, or whoever releases, finds him.
    if (!class_->suspension.on && class_->ops->remove_step(class_, SIZE_MAX, &fault) == 0)
        return 0;
    if (fault.code == EAGAIN)
        class_->ops->close(class_);
    return error_set(err, fault.code == EAGAIN ? EBUSY : fault.code, "%s", fault.text);
}

int backend_each_class(backend_t *backend, int (*each)(const char *name, void *user), void *user,
                       struct error *err)
{
    return backend->ops->each_class(backend, each, user, err);
}

int backend_release_all(backend_t *backend, unsigned *lifted, struct error *err)
{
    return backend->ops->release_all(backend, lifted, err);
}

void backend_weigh_all(backend_t *backend)
{
    backend->ops->weigh_all(backend);
}
