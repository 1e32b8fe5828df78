#include "cgroup-backend/groups.h"

#include "cgroup-backend/files.h"
#include "cgroup-backend/in_place.h"
#include "cgroup-backend/record.h"
#include "common/cleanup.h"
#include "common/pidfd.h"
#include "common/trust.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KILL_LIMIT_MS = 2000 };

// What others can have written there names groups to write to, and processes to stop: it counts as
// none. -1 when it cannot be known whose it is.
static int find_records(const struct backend_settings *settings, const char **records,
                        struct error *err)
{
    struct error fault = {0};
    *records = settings->records;
    if (*records == NULL)
        return 0;
    cleanup_close int fd = trust_open(*records, &fault);
    if (fd >= 0 || fault.code == ENOENT || fault.code == ENOTDIR || fault.code == EACCES)
        return 0; // or there is nothing to be read
    *records = NULL;
    return fault.code == EPERM ? 0 : error_set(err, fault.code, "%s", fault.text);
}

struct cgroup_backend *groups_backend_new(const struct backend_ops *ops,
                                          const struct group_weight *weight,
                                          const struct backend_settings *settings,
                                          struct error *err)
{
    const char *records;
    if (find_records(settings, &records, err) != 0)
        return NULL;
    struct cgroup_backend *backend = calloc(1, sizeof *backend);
    if (backend != NULL)
        backend->root = strdup(settings->root);
    if (backend != NULL && records != NULL)
        backend->records = path_join(records, LIMIT_RECORD_DIRECTORY);
    if (backend != NULL && records != NULL)
        backend->base.suspensions = path_join(records, SUSPENSION_DIRECTORY);
    if (backend == NULL || backend->root == NULL ||
        (records != NULL && (backend->records == NULL || backend->base.suspensions == NULL))) {
        if (backend != NULL)
            groups_backend_close(&backend->base);
        error_errno(err, ENOMEM, "cgroup backend");
        return NULL;
    }
    backend->base.ops = ops;
    backend->weight = weight;
    backend->cpus = settings->cpus;
    backend->period_us = settings->period_ns / 1000;
    backend->base.as_it_is = settings->as_it_is;
    backend->base.once_more = settings->once_more;
    return backend;
}

int groups_backend_add(struct cgroup_backend *backend, const char *controller, const char *mount,
                       struct error *err)
{
    struct hierarchy *hierarchy = &backend->hierarchies[backend->hierarchy_count];
    hierarchy->controller = controller;
    hierarchy->mount = strdup(mount);
    hierarchy->root = path_join(mount, backend->root);
    backend->hierarchy_count++;
    if (hierarchy->mount == NULL || hierarchy->root == NULL)
        return error_errno(err, ENOMEM, "cgroup backend");
    return 0;
}

void groups_backend_close(backend_t *base)
{
    struct cgroup_backend *backend = (struct cgroup_backend *)base;
    for (unsigned i = 0; i < backend->hierarchy_count; i++) {
        free(backend->hierarchies[i].mount);
        free(backend->hierarchies[i].root);
    }
    free(backend->root);
    free(backend->records);
    free(backend->base.suspensions);
    free(backend);
}

struct listing {
    const struct cgroup_backend *backend;
    int (*each)(const char *name, void *user);
    void *user;
};

// Whether it has a directory in one of the first `count` hierarchies.
static bool is_in_one_of(const struct cgroup_backend *backend, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup_free char *path = path_join(backend->hierarchies[i].root, name);
        if (path != NULL && directory_exists(path))
            return true;
    }
    return false;
}

static bool is_in_any(const struct cgroup_backend *backend, const char *name)
{
    return is_in_one_of(backend, backend->hierarchy_count, name);
}

// One that has a directory as well has been listed.
static int list_record(const char *name, void *user)
{
    const struct listing *listing = user;
    return is_in_any(listing->backend, name) ? 0 : listing->each(name, listing->user);
}

// Those that have a directory in hierarchy `number`, and none in those before. 1: `each` has had
// enough.
static int list_hierarchy(const struct listing *listing, unsigned number, struct error *err)
{
    const struct cgroup_backend *backend = listing->backend;
    const char *root = backend->hierarchies[number].root;
    cleanup_closedir DIR *directory = opendir(root);
    if (directory == NULL && errno != ENOENT)
        return error_errno(err, errno, "cannot read the group %s", root);
    // Without it there are those in place still.
    for (struct dirent *entry; directory != NULL;) {
        errno = 0;
        entry = readdir(directory);
        if (entry == NULL && errno != 0)
            return error_errno(err, errno, "cannot read the group %s", root);
        if (entry == NULL)
            break;
        if (entry->d_type != DT_DIR || !backend_name_valid(entry->d_name) ||
            is_in_one_of(backend, number, entry->d_name))
            continue;
        if (listing->each(entry->d_name, listing->user) != 0)
            return 1;
    }
    return 0;
}

// Somebody may have removed one of a class's directories: in another it may be frozen.
int groups_each_class(backend_t *base, int (*each)(const char *name, void *user), void *user,
                      struct error *err)
{
    const struct cgroup_backend *backend = (const struct cgroup_backend *)base;
    struct listing listing = {backend, each, user};
    for (unsigned i = 0; i < backend->hierarchy_count; i++) {
        int rc = list_hierarchy(&listing, i, err);
        if (rc != 0)
            return rc > 0 ? 0 : -1;
    }
    record_each(backend->records, list_record, &listing);
    return 0;
}

static void write_weight(const struct cgroup_backend *backend, const char *path, unsigned cpus)
{
    char weight[32];
    uint64_t all = (uint64_t)backend->weight->usual * cpus, most = backend->weight->most;
    snprintf(weight, sizeof weight, "%" PRIu64, all < most ? all : most);
    file_write(path, backend->weight->file, weight, NULL);
}

void groups_weigh(const struct cgroup_backend *backend, const char *path)
{
    if (!backend->base.as_it_is)
        write_weight(backend, path, backend->cpus);
}

static int weigh_one(const char *name, void *user)
{
    const struct cgroup_backend *backend = user;
    cleanup_free char *path = path_join(backend->hierarchies[0].root, name);
    if (path != NULL)
        groups_weigh(backend, path);
    return 0;
}

void groups_weigh_all(backend_t *base)
{
    const struct cgroup_backend *backend = (const struct cgroup_backend *)base;
    groups_weigh(backend, backend->hierarchies[0].root);
    groups_each_class(base, weigh_one, base, NULL);
}

struct release {
    struct cgroup_backend *backend;
    int (*lift)(struct cgroup_backend *backend, const char *name, struct error *err);
    unsigned lifted;
    int failed;
    struct error *err;
};

static struct error *first_error(const struct release *release)
{
    return release->failed == 0 ? release->err : NULL;
}

// 1: the class has gone meanwhile, with its last job.
static int lift_own(const struct release *release, const char *name, const char *path,
                    struct error *err)
{
    int rc = release->lift(release->backend, name, err);
    if (path != NULL)
        write_weight(release->backend, path, 1);
    if (rc == 0)
        return 0;
    return path != NULL && !is_in_any(release->backend, name) ? 1 : -1;
}

static int lift_one(const char *name, void *user)
{
    struct release *release = user;
    struct error *err = first_error(release);
    cleanup_free char *path = path_join(release->backend->hierarchies[0].root, name);
    int in_place = in_place_release(release->backend, name, err);
    // A record without its group has neither.
    bool own = path == NULL || is_in_any(release->backend, name);
    int rc = own ? lift_own(release, name, path, in_place < 0 ? NULL : err) : 0;
    if (in_place < 0 || rc < 0)
        release->failed++;
    else if (in_place > 0 || (own && rc == 0))
        release->lifted++;
    return 0;
}

static int continue_one(const char *name, void *user)
{
    struct release *release = user;
    cleanup_free char *path = path_join(release->backend->hierarchies[0].root, name);
    int rc = path != NULL
                 ? groups_release_stopped(release->backend, name, path, first_error(release))
                 : error_errno(first_error(release), ENOMEM, "class %s", name);
    if (rc != 0 && (path == NULL || directory_exists(path)))
        release->failed++;
    return 0;
}

// All are lifted before anybody is continued: that takes as long as a job has processes. What
// cannot be lifted is no reason to leave its processes stopped.
int groups_release_all(struct cgroup_backend *backend,
                       int (*lift)(struct cgroup_backend *backend, const char *name,
                                   struct error *err),
                       unsigned *lifted, struct error *err)
{
    struct release release = {.backend = backend, .lift = lift, .err = err};
    int rc = groups_each_class(&backend->base, lift_one, &release, err);
    // With nobody who has them take turns, jobs are no more than others beside them.
    write_weight(backend, backend->hierarchies[0].root, 1);
    if (!backend->base.once_more &&
        groups_each_class(&backend->base, continue_one, &release, rc == 0 ? err : NULL) != 0)
        rc = -1;
    if (lifted != NULL)
        *lifted = release.lifted;
    return rc == 0 ? release.failed : -1;
}

struct cgroup_class *groups_class_new(struct cgroup_backend *backend, const char *name,
                                      struct error *err)
{
    struct cgroup_class *class_ = calloc(1, sizeof *class_);
    if (class_ == NULL) {
        error_errno(err, ENOMEM, "class %s", name);
        return NULL;
    }
    class_->base.ops = backend->base.ops;
    snprintf(class_->base.name, sizeof class_->base.name, "%s", name);
    class_->base.suspensions = backend->base.suspensions;
    class_->backend = backend;
    class_->limit_fd = class_->usage_fd = -1;
    for (unsigned i = 0; i < backend->hierarchy_count; i++) {
        class_->groups[i].hierarchy = &backend->hierarchies[i];
        class_->groups[i].path = path_join(backend->hierarchies[i].root, name);
        if (class_->groups[i].path == NULL) {
            error_errno(err, ENOMEM, "class %s", name);
            groups_class_close(&class_->base);
            return NULL;
        }
    }
    return class_;
}

void groups_close_files(struct cgroup_class *class_)
{
    if (class_->limit_fd >= 0)
        close(class_->limit_fd);
    if (class_->usage_fd >= 0)
        close(class_->usage_fd);
    class_->limit_fd = class_->usage_fd = -1;
}

void groups_class_close(class_t *base)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    for (unsigned i = 0; i < HIERARCHIES_MAX; i++) {
        free(class_->groups[i].path);
        free(class_->groups[i].origin);
    }
    groups_close_files(class_);
    tracking_close(&class_->base);
    free(class_);
}

int groups_are_missing(const struct cgroup_class *class_, struct error *err)
{
    if (directory_exists(class_->groups[0].path))
        return 0;
    return class_->backend->base.as_it_is
               ? error_set(err, ENOENT, "there is no group %s", class_->groups[0].path)
               : 1;
}

int groups_make_path(const char *mount, const char *relative, struct error *err)
{
    cleanup_free char *path = path_join(mount, relative);
    if (path == NULL)
        return error_errno(err, ENOMEM, "%s/%s", mount, relative);
    for (char *end = path + strlen(mount) + 1; end != NULL;) {
        end = strchr(end, '/');
        if (end != NULL)
            *end = '\0';
        if (directory_make(path, err) != 0)
            return -1;
        if (end != NULL)
            *end++ = '/';
    }
    return 0;
}

void groups_rmdir(struct cgroup_class *class_)
{
    bool gone = true;
    for (unsigned i = class_->backend->hierarchy_count; gone && i-- > 0;)
        gone = rmdir(class_->groups[i].path) == 0 || errno == ENOENT;
}

int groups_members(class_t *base, pid_t *pids, size_t limit, size_t *count, struct error *err)
{
    const struct cgroup_class *class_ = (const struct cgroup_class *)base;
    cleanup_pids struct pid_list members = {0};
    if (processes_of_group(class_->groups[0].path, &members, err) != 0)
        return -1;
    pid_list_sort(&members);
    for (size_t i = 0; i < members.count && i < limit; i++)
        pids[i] = members.pids[i];
    *count = members.count;
    return 0;
}

// A pidfd holds on to the process that has the number, which then is looked at once more.
static int kill_one(const struct process_id *who, struct error *err)
{
    cleanup_close int pidfd = pidfd_of(who->pid);
    if (pidfd < 0 ? errno == ESRCH : !processes_is("/proc", who))
        return 0;
    if (pidfd >= 0 &&
        (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0 || errno == ESRCH))
        return 0;
    return error_errno(err, errno, "cannot kill process %d", (int)who->pid);
}

// Sends SIGKILL to all members of all hierarchies; returns how many, or -1.
static ssize_t kill_members(struct cgroup_class *class_, struct error *err)
{
    cleanup_pids struct pid_list all = {0};
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        cleanup_processes struct process_list members = {0};
        if (processes_members(class_->groups[i].path, SIZE_MAX, &members, err) != 0)
            return -1;
        for (size_t k = 0; k < members.count; k++) {
            if (kill_one(&members.list[k], err) != 0)
                return error_context(err, "class %s", class_->base.name);
            if (pid_list_add(&all, members.list[k].pid, err) != 0)
                return -1;
        }
    }
    pid_list_sort(&all);
    return (ssize_t)all.count;
}

int groups_kill(struct cgroup_class *class_, int (*freeze)(class_t *, struct error *),
                int (*thaw)(class_t *, struct error *), struct error *err)
{
    uint64_t end = clock_ms() + KILL_LIMIT_MS;
    for (ssize_t fewest = SSIZE_MAX;;) {
        if (freeze != NULL)
            freeze(&class_->base, NULL);
        ssize_t count = kill_members(class_, err);
        // Processes frozen by v1 die when they thaw.
        if (freeze != NULL && thaw(&class_->base, count < 0 ? NULL : err) != 0)
            return -1;
        if (count <= 0)
            return (int)count;
        if (count < fewest) {
            fewest = count;
            end = clock_ms() + KILL_LIMIT_MS;
        }
        if (clock_ms() >= end)
            return error_set(err, ETIMEDOUT,
                             "%zd processes of class %s are still there after SIGKILL, see %s/%s",
                             count, class_->base.name, class_->groups[0].path, "cgroup.procs");
        nap_us(2000);
    }
}

int groups_without_limit(struct cgroup_class *class_, const char *no_limit,
                         int (*work)(class_t *class_, struct error *err), struct error *err)
{
    char limit[64] = "";
    ssize_t length = pread(class_->limit_fd, limit, sizeof limit - 1, 0);
    if (length < 0)
        return error_errno(err, errno, "cannot read the limit of %s", class_->groups[0].path);
    bool lifted = pwrite(class_->limit_fd, no_limit, strlen(no_limit), 0) > 0;
    int rc = work(&class_->base, err);
    if (lifted && pwrite(class_->limit_fd, limit, (size_t)length, 0) < 0 && rc == 0)
        rc = error_errno(err, errno, "cannot set the limit of %s again", class_->groups[0].path);
    return rc;
}
