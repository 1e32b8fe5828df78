#include "cgroup-backend/in_place.h"

#include "cgroup-backend/files.h"
#include "cgroup-backend/limit.h"
#include "cgroup-backend/occupants.h"
#include "cgroup-backend/record.h"
#include "common/cleanup.h"
#include "common/group_list.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct in_place {
    struct backend_class base;
    struct cgroup_backend *backend;
    char *path; // of the group, in the hierarchy of the limit
    struct limit_record record;
    int record_fd;
    struct limit_files files;
    int usage_fd;
    struct occupants occupants;
};

static const struct backend_ops in_place_ops, named_ops;

static bool is_v2(const struct cgroup_backend *backend)
{
    return *backend->hierarchies[0].controller == '\0';
}

static void drop(int *fd)
{
    cleanup_close_fn(fd);
    *fd = -1;
}

// ---- groups and records

static char *group_path(const struct hierarchy *hierarchy, const char *group)
{
    return path_join(hierarchy->mount, group + 1);
}

// 0 when there is none, or when that cannot be told: then errno is neither ENOENT nor ENOTDIR.
static uint64_t inode_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return 0;
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode) ? (uint64_t)status.st_ino : 0;
}

// The record of this class with the path of its group: 1, 0 when there is none or its group is
// gone, or the limit of that, or -1: EBADMSG when it is no record. (In these cases it goes, if
// `tidy`.)
static int find_record(const struct cgroup_backend *backend, const char *name, bool tidy,
                       struct limit_record *record, char **path, struct error *err)
{
    struct error fault = {0};
    int rc = record_read(backend->records, name, record, &fault);
    if (rc > 0) {
        *path = group_path(&backend->hierarchies[0], record->group);
        if (*path == NULL)
            return error_errno(err, ENOMEM, "class %s", name);
        uint64_t inode = inode_of(*path);
        rc = inode == 0 && errno != ENOENT && errno != ENOTDIR
                 ? error_errno(&fault, errno, "%s", *path)
                 : 0;
        if (rc == 0 && inode == record->inode && limit_exists(*path, is_v2(backend)))
            return 1;
        free(*path);
        *path = NULL;
    } else if (rc == 0) {
        return 0;
    }
    // One that says nothing is no use to anybody. One that cannot be read now may be the only one
    // who knows the group's own limit.
    if (tidy && (rc == 0 || fault.code == EBADMSG))
        record_remove(backend->records, name);
    return rc == 0 ? 0 : error_set(err, fault.code, "%s", fault.text);
}

struct overlap {
    const struct cgroup_backend *backend;
    const char *name, *group;
};

static int overlaps(const char *name, void *user)
{
    const struct overlap *overlap = user;
    struct limit_record record;
    struct error fault = {0};
    cleanup_free char *path = NULL;
    if (strcmp(name, overlap->name) == 0)
        return 0;
    int found = find_record(overlap->backend, name, false, &record, &path, &fault);
    if (found < 0)
        return fault.code != EBADMSG; // it may be
    return found > 0 && (group_encloses(record.group, overlap->group) ||
                         group_encloses(overlap->group, record.group));
}

// ---- opening and closing

static void in_place_close(class_t *base)
{
    struct in_place *class_ = (struct in_place *)base;
    limit_close(&class_->files);
    drop(&class_->usage_fd);
    drop(&class_->record_fd);
    occupants_forget(&class_->occupants);
    tracking_close(&class_->base);
    free(class_->path);
    free(class_);
}

static enum placement_manager manager_of(const struct limit_record *record)
{
    size_t length;
    return record->manager == PLACEMENT_SLURM ? placement_find(record->group, record->uid, &length)
                                              : record->manager;
}

// Takes *path, also when there is no memory.
static struct in_place *new_class(struct cgroup_backend *backend, const char *name, char **path,
                                  const struct limit_record *record)
{
    struct in_place *class_ = calloc(1, sizeof *class_);
    if (class_ == NULL) {
        free(*path);
    } else {
        class_->base.ops = record->manager == PLACEMENT_NAMED ? &named_ops : &in_place_ops;
        snprintf(class_->base.name, sizeof class_->base.name, "%s", name);
        class_->base.suspensions = backend->base.suspensions;
        class_->backend = backend;
        class_->path = *path;
        class_->record = *record;
        class_->record_fd = class_->usage_fd = class_->files.quota = class_->files.period = -1;
        class_->occupants =
            (struct occupants){.group = class_->record.group,
                               .path = *path,
                               .controller = backend->hierarchies[0].controller,
                               .job = {.manager = manager_of(record), .uid = record->uid}};
    }
    *path = NULL;
    return class_;
}

static int open_usage(struct in_place *class_, struct error *err)
{
    const struct cgroup_backend *backend = class_->backend;
    cleanup_free char *path =
        group_path(&backend->hierarchies[backend->cpuacct], class_->record.group);
    if (path == NULL)
        return error_errno(err, ENOMEM, "class %s", class_->base.name);
    class_->usage_fd =
        file_open(path, is_v2(backend) ? "cpu.stat" : "cpuacct.usage", O_RDONLY, err);
    return class_->usage_fd >= 0 ? 0 : -1;
}

static int check_files(const struct in_place *class_, struct error *err)
{
    struct stat status;
    char text[64];
    if (fstat(class_->files.quota, &status) != 0)
        return error_errno(err, errno, "%s", class_->path);
    if ((status.st_uid != 0 && status.st_uid != geteuid()) || (status.st_mode & 022) != 0)
        return error_set(err, EPERM, "the limit of %s can be changed by others",
                         class_->record.group);
    if (file_read(class_->path, is_v2(class_->backend) ? "cpu.max.burst" : "cpu.cfs_burst_us", text,
                  sizeof text, NULL) == 0 &&
        atoll(text) != 0)
        return error_set(err, ENOTSUP, "%s has a burst, which the kernel does not let be lowered",
                         class_->record.group);
    return 0;
}

static int open_class(struct in_place *class_, struct error *err)
{
    return limit_open(class_->path, is_v2(class_->backend), &class_->files, err) == 0 &&
                   open_usage(class_, err) == 0
               ? 0
               : -1;
}

static int note(struct in_place *class_, struct error *err)
{
    drop(&class_->record_fd);
    class_->record_fd =
        record_write(class_->backend->records, class_->base.name, &class_->record, err);
    return class_->record_fd >= 0 ? 0 : -1;
}

// The group for a job of this process; null when there is none.
static char *find_group(const struct cgroup_backend *backend, const struct class_home *home,
                        enum placement_manager *manager, struct error *err)
{
    cleanup_free char *path =
        process_group_path("/proc", home->pid, backend->hierarchies[0].controller);
    size_t length;
    if (path == NULL) {
        error_set(err, ESRCH, "the group of process %d cannot be known", (int)home->pid);
        return NULL;
    }
    if (strstr(path, "/..") != NULL || strlen(path) >= PATH_MAX) {
        error_set(err, ENOTSUP, "the group of process %d is out of this program's sight",
                  (int)home->pid);
        return NULL;
    }
    *manager = placement_find(path, home->uid, &length);
    if (*manager == PLACEMENT_UNKNOWN && home->any)
        length = strlen(path);
    if (length <= 1 || group_encloses(backend->root, path + 1)) {
        error_set(err, ENOENT, "nobody has made the group %s for one job", path);
        return NULL;
    }
    return strndup(path, length);
}

static bool in_place_is_of_script(const class_t *base)
{
    return ((const struct in_place *)base)->occupants.job.manager == PLACEMENT_SCRIPT;
}

static int prepare(struct in_place *class_, pid_t pid, bool fresh, struct error *err)
{
    if (open_class(class_, err) != 0 || check_files(class_, err) != 0)
        return -1;
    if (fresh && limit_read(&class_->files, class_->path, &class_->record.own, err) != 0)
        return -1;
    if (fresh)
        class_->record.set[0] = class_->record.set[1] = class_->record.own;
    if (occupants_check(&class_->occupants, pid, err) != 0 ||
        (in_place_is_of_script(&class_->base) &&
         occupants_check_launchers(&class_->occupants, err) != 0))
        return -1;
    return note(class_, err);
}

// The class of record->group; its inode and limits are still to be found out. `pid` registers in
// it, if that is not 0.
static int open_group(struct cgroup_backend *backend, const char *name, struct limit_record *record,
                      pid_t pid, class_t **opened, struct error *err)
{
    const char *group = record->group;
    struct limit_record old;
    cleanup_free char *path = NULL, *old_path = NULL;
    struct overlap overlap = {backend, name, group};
    if (record_each(backend->records, overlaps, &overlap) != 0)
        return error_set(err, EBUSY, "another class is in place in %s, above it or below it",
                         group);
    path = group_path(&backend->hierarchies[0], group);
    record->inode = path != NULL ? inode_of(path) : 0;
    if (record->inode == 0)
        return error_set(err, ENOENT, "there is no group %s", group);
    // What stayed behind knows the own limit; that in force may be ours.
    struct error fault = {0};
    bool fresh = find_record(backend, name, true, &old, &old_path, &fault) <= 0;
    if (fault.code != 0 && fault.code != EBADMSG)
        return error_set(err, fault.code, "%s", fault.text);
    if (!fresh && strcmp(old.group, group) != 0)
        return error_set(err, EBUSY, "class %s is in place in %s still", name, old.group);
    struct in_place *class_ = new_class(backend, name, &path, fresh ? record : &old);
    if (class_ == NULL)
        return error_errno(err, ENOMEM, "class %s", name);
    if (prepare(class_, pid, fresh, err) == 0) {
        *opened = &class_->base;
        return 0;
    }
    in_place_close(&class_->base);
    return -1;
}

static int no_records(struct error *err)
{
    return error_set(err, ENOTSUP, "there is no directory for records");
}

int in_place_open(backend_t *base, const char *name, const struct class_home *home,
                  class_t **opened, struct error *err)
{
    struct cgroup_backend *backend = (struct cgroup_backend *)base;
    struct limit_record record = {.uid = home->uid};
    if (backend->records == NULL)
        return no_records(err);
    enum placement_manager manager = PLACEMENT_UNKNOWN;
    cleanup_free char *group = find_group(backend, home, &manager, err);
    if (group == NULL)
        return -1;
    record.manager = manager == PLACEMENT_SCRIPT ? PLACEMENT_SLURM : manager;
    snprintf(record.group, sizeof record.group, "%s", group);
    return open_group(backend, name, &record, home->pid, opened, err);
}

int in_place_open_named(backend_t *base, const char *name, const char *group, class_t **opened,
                        struct error *err)
{
    struct cgroup_backend *backend = (struct cgroup_backend *)base;
    struct limit_record record = {.manager = PLACEMENT_NAMED};
    if (backend->records == NULL)
        return no_records(err);
    if (group_encloses(backend->root, group) || group_encloses(group, backend->root))
        return error_set(err, EINVAL, "the classes' root %s is %s, above it or below it",
                         backend->root, group);
    if ((size_t)snprintf(record.group, sizeof record.group, "/%s", group) >= sizeof record.group)
        return error_set(err, ENAMETOOLONG, "the group's path is too long");
    return open_group(backend, name, &record, 0, opened, err);
}

int in_place_adopt(struct cgroup_backend *backend, const char *name, class_t **opened,
                   struct error *err)
{
    struct limit_record record;
    char *path = NULL;
    int rc = find_record(backend, name, !backend->base.as_it_is, &record, &path, err);
    if (rc <= 0)
        return rc;
    struct in_place *class_ = new_class(backend, name, &path, &record);
    if (class_ == NULL)
        return error_errno(err, ENOMEM, "class %s", name);
    class_->record_fd = record_open(backend->records, name, err);
    if (class_->record_fd < 0 || open_class(class_, err) != 0) {
        in_place_close(&class_->base);
        return error_context(err, "class %s", name);
    }
    if (record.manager != PLACEMENT_NAMED)
        occupants_know(&class_->occupants);
    *opened = &class_->base;
    return 1;
}

int in_place_release(struct cgroup_backend *backend, const char *name, struct error *err)
{
    struct limit_record record;
    struct limit_files files;
    cleanup_free char *path = NULL;
    int rc = find_record(backend, name, false, &record, &path, err);
    if (rc <= 0)
        return rc;
    if (limit_open(path, is_v2(backend), &files, err) != 0)
        return -1;
    rc = limit_restore(&files, path, &record, err);
    limit_close(&files);
    return rc == 0 ? 1 : -1;
}

// ---- a class's life

// A stranger with the number of one that has ended tells nothing about the group.
static int in_place_place(class_t *base, pid_t pid, uint64_t start_time, struct error *err)
{
    struct error fault = {0};
    int rc = occupants_check(&((struct in_place *)base)->occupants, pid, &fault);
    if (start_time != 0 && processes_start_time("/proc", pid) != start_time)
        return error_set(err, ESRCH, "process %d is gone", (int)pid);
    return rc == 0 ? 0 : error_set(err, fault.code, "%s", fault.text);
}

static bool in_place_holds(const class_t *base, pid_t pid)
{
    return occupants_hold(&((const struct in_place *)base)->occupants, pid);
}

// It lives where its manager has put it.
static int in_place_expel(class_t *base, pid_t pid, struct error *err)
{
    (void)base, (void)pid, (void)err;
    return 0;
}

// Somebody else may have changed the limit since we did: that is the group's own from now on.
static int learn_own(struct in_place *class_, const struct limit *now, struct error *err)
{
    struct limit_record *record = &class_->record;
    if (limit_same(now, &record->own) || limit_is_ours(record, now, is_v2(class_->backend)))
        return 0;
    record->own = record->set[0] = record->set[1] = *now;
    return note(class_, err);
}

// The smaller of the group's own limit and the share, which is never below what the kernel takes.
static struct limit limit_of_share(const struct in_place *class_, uint32_t share_ppm)
{
    struct limit limit = class_->record.own;
    uint64_t quota_us = backend_quota_us(share_ppm, class_->backend->cpus, limit.period_us);
    if (quota_us < limit.quota_us)
        limit.quota_us = quota_us;
    return limit;
}

// The limit in force, once it is known that the group may be given another one.
static int look(struct in_place *class_, uint32_t share_ppm, struct limit *now, struct error *err)
{
    if (share_ppm != BACKEND_UNLIMITED && occupants_check(&class_->occupants, 0, err) != 0) {
        limit_restore(&class_->files, class_->path, &class_->record, NULL);
        return -1;
    }
    return limit_read(&class_->files, class_->path, now, err) == 0 ? learn_own(class_, now, err)
                                                                   : -1;
}

static bool has_record(const struct in_place *class_)
{
    struct stat status;
    return class_->record_fd >= 0 && fstat(class_->record_fd, &status) == 0 && status.st_nlink > 0;
}

static int change(struct in_place *class_, const struct limit *now, const struct limit *limit,
                  struct error *err)
{
    struct limit_record *record = &class_->record;
    if (limit_same(limit, now))
        return 0;
    // There may have been no space for it before, or somebody has removed it.
    if (!has_record(class_) && note(class_, err) != 0)
        return -1;
    record->set[0] = *now;
    record->set[1] = *limit;
    if (record_intend(class_->record_fd, record, err) != 0)
        return -1;
    return limit_write(&class_->files, class_->path, now, limit, err);
}

static int in_place_set_share(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct in_place *class_ = (struct in_place *)base;
    struct limit now = {0};
    if (look(class_, share_ppm, &now, err) != 0)
        return -1;
    if (share_ppm == BACKEND_UNLIMITED)
        return limit_restore(&class_->files, class_->path, &class_->record, err);
    struct limit limit = limit_of_share(class_, share_ppm);
    return change(class_, &now, &limit, err);
}

// A group with a limit of its own has periods all the time. Any other keeps their length, however
// small the share: a manager that sets a quota and no period means the one that was there.
static uint64_t in_place_period_us(const class_t *base, uint32_t share_ppm)
{
    (void)share_ppm;
    const struct limit *own = &((const struct in_place *)base)->record.own;
    return own->quota_us == LIMIT_NONE ? own->period_us : 0;
}

static int in_place_begin_periods(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct in_place *class_ = (struct in_place *)base;
    struct limit now = {0};
    if (look(class_, share_ppm, &now, err) != 0)
        return -1;
    struct limit limit = limit_of_share(class_, share_ppm);
    struct limit shortest = {limit.quota_us, BACKEND_SHORTEST_PERIOD_US};
    int begun =
        in_place_period_us(base, share_ppm) != 0 && change(class_, &now, &shortest, NULL) == 0;
    if (limit_read(&class_->files, class_->path, &now, err) != 0)
        return -1;
    return change(class_, &now, &limit, err) == 0 ? begun : -1;
}

static int in_place_usage(class_t *base, uint64_t *usage_ns, struct error *err)
{
    const struct in_place *class_ = (const struct in_place *)base;
    char text[1024] = "";
    if (pread(class_->usage_fd, text, sizeof text - 1, 0) < 0)
        return error_errno(err, errno, "cannot read the CPU time of %s", class_->path);
    bool v2 = is_v2(class_->backend);
    if (v2 ? text_keyed_number(text, "usage_usec", usage_ns) != 0
           : sscanf(text, "%" SCNu64, usage_ns) != 1)
        return error_set(err, EBADMSG, "the CPU time of %s is not a number", class_->path);
    *usage_ns *= v2 ? NS_PER_US : 1;
    return 0;
}

static int in_place_members(class_t *base, pid_t *pids, size_t limit, size_t *count,
                            struct error *err)
{
    cleanup_pids struct pid_list members = {0};
    if (processes_of_subtree(((const struct in_place *)base)->path, &members, err) != 0)
        return -1;
    pid_list_sort(&members);
    for (size_t i = 0; i < members.count && i < limit; i++)
        pids[i] = members.pids[i];
    *count = members.count;
    return 0;
}

// Its manager stops and ends jobs by the same files.
static int not_ours(class_t *base, struct error *err)
{
    return error_set(err, ENOTSUP, "class %s is in place in %s: its manager stops and kills it",
                     base->name, ((const struct in_place *)base)->record.group);
}

static int not_a_jobs(class_t *base, struct error *err)
{
    return error_set(err, ENOTSUP, "class %s is of nobody's job: it stays what %s is", base->name,
                     ((const struct in_place *)base)->record.group);
}

static int named_place(class_t *base, pid_t pid, uint64_t start_time, struct error *err)
{
    (void)pid, (void)start_time;
    return not_a_jobs(base, err);
}

static int named_displace(class_t **class_, struct error *err)
{
    return not_a_jobs(*class_, err);
}

// Where the kernel refuses the limit, the record stays, and with it the knowledge how to restore,
// and it is tried again.
static int in_place_remove(class_t *base, size_t limit, struct error *err)
{
    (void)limit; // nobody leaves
    struct in_place *class_ = (struct in_place *)base;
    struct error fault = {0};
    if (limit_restore(&class_->files, class_->path, &class_->record, &fault) != 0)
        return error_set(err, EAGAIN, "%s", fault.text);
    record_remove(class_->backend->records, base->name);
    in_place_close(base);
    return 0;
}

static int in_place_displace(class_t **class_, struct error *err)
{
    struct in_place *old = (struct in_place *)*class_;
    class_t *own = NULL;
    if (limit_restore(&old->files, old->path, &old->record, err) != 0)
        return -1;
    record_remove(old->backend->records, old->base.name);
    if (old->backend->base.ops->open(&old->backend->base, old->base.name, &own, err) != 0) {
        note(old, NULL);
        return -1;
    }
    in_place_close(*class_);
    *class_ = own;
    return 0;
}

bool in_place_keeps(backend_t *base, pid_t pid)
{
    const struct cgroup_backend *backend = (const struct cgroup_backend *)base;
    bool kept = false;
    for (unsigned i = 0; i < backend->hierarchy_count && !kept; i++) {
        cleanup_free char *path =
            process_group_path("/proc", pid, backend->hierarchies[i].controller);
        kept = path != NULL && placement_is_kept(path);
    }
    return kept;
}

// v1 managers freeze the group of the same path in another hierarchy.
static bool in_place_is_stopped(const class_t *base)
{
    const struct in_place *class_ = (const struct in_place *)base;
    const struct cgroup_backend *backend = class_->backend;
    char text[512];
    uint64_t frozen = 0;
    if (is_v2(backend))
        return file_read(class_->path, "cgroup.events", text, sizeof text, NULL) == 0 &&
               text_keyed_number(text, "frozen", &frozen) == 0 && frozen == 1;
    if (backend->freezer >= backend->hierarchy_count)
        return false;
    cleanup_free char *path =
        group_path(&backend->hierarchies[backend->freezer], class_->record.group);
    return path != NULL && file_read(path, "freezer.state", text, sizeof text, NULL) == 0 &&
           strncmp(text, "FROZEN", strlen("FROZEN")) == 0;
}

static const struct backend_ops in_place_ops = {
    .name = "in place",
    .close = in_place_close,
    .place = in_place_place,
    .holds = in_place_holds,
    .expel = in_place_expel,
    .set_share = in_place_set_share,
    .begin_periods = in_place_begin_periods,
    .period_us = in_place_period_us,
    .usage = in_place_usage,
    .members = in_place_members,
    .freeze = not_ours,
    .thaw = not_ours,
    .kill = not_ours,
    .remove_step = in_place_remove,
    .displace = in_place_displace,
    .is_stopped = in_place_is_stopped,
    .is_of_script = in_place_is_of_script,
};

static const struct backend_ops named_ops = {
    .name = "named",
    .close = in_place_close,
    .place = named_place,
    .holds = in_place_holds,
    .expel = in_place_expel,
    .set_share = in_place_set_share,
    .begin_periods = in_place_begin_periods,
    .period_us = in_place_period_us,
    .usage = in_place_usage,
    .members = in_place_members,
    .freeze = not_ours,
    .thaw = not_ours,
    .kill = not_ours,
    .remove_step = in_place_remove,
    .displace = named_displace,
    .is_stopped = in_place_is_stopped,
};
