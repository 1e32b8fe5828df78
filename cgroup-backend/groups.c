#include "cgroup-backend/groups.h"

#include "cgroup-backend/files.h"
#include "cgroup-backend/in_place.h"
#include "cgroup-backend/record.h"
#include "common/cleanup.h"

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

enum {
    PLACE_ROUNDS_MAX = 100,
    PLACE_MEMBERS_MAX = 4096, // taken by one registration
    KILL_LIMIT_MS = 2000,
    FAMILY_MAX = 32, // a process and its wrappers
};

struct cgroup_backend *groups_backend_new(const struct backend_ops *ops,
                                          const struct backend_settings *settings,
                                          struct error *err)
{
    struct cgroup_backend *backend = calloc(1, sizeof *backend);
    if (backend != NULL)
        backend->root = strdup(settings->root);
    if (backend != NULL && settings->records != NULL)
        backend->records = path_join(settings->records, "placed");
    if (backend != NULL && settings->records != NULL)
        backend->base.suspensions = path_join(settings->records, SUSPENSION_DIRECTORY);
    if (backend == NULL || backend->root == NULL ||
        (settings->records != NULL &&
         (backend->records == NULL || backend->base.suspensions == NULL))) {
        if (backend != NULL)
            groups_backend_close(&backend->base);
        error_errno(err, ENOMEM, "cgroup backend");
        return NULL;
    }
    backend->base.ops = ops;
    backend->cpus = settings->cpus;
    backend->period_us = settings->period_ns / 1000;
    backend->base.as_it_is = settings->as_it_is;
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

// One that has a directory as well has been listed.
static int list_record(const char *name, void *user)
{
    const struct listing *listing = user;
    cleanup_free char *path = path_join(listing->backend->hierarchies[0].root, name);
    return path != NULL && directory_exists(path) ? 0 : listing->each(name, listing->user);
}

int groups_each_class(backend_t *base, int (*each)(const char *name, void *user), void *user,
                      struct error *err)
{
    const struct cgroup_backend *backend = (const struct cgroup_backend *)base;
    const char *root = backend->hierarchies[0].root;
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
        if (entry->d_type != DT_DIR || !backend_name_valid(entry->d_name))
            continue;
        if (each(entry->d_name, user) != 0)
            return 0;
    }
    struct listing listing = {backend, each, user};
    record_each(backend->records, list_record, &listing);
    return 0;
}

void groups_weigh(const struct cgroup_backend *backend, const char *path, const char *file,
                  unsigned each, unsigned limit)
{
    char weight[32];
    uint64_t all = (uint64_t)each * backend->cpus;
    if (backend->base.as_it_is)
        return;
    snprintf(weight, sizeof weight, "%" PRIu64, all < limit ? all : limit);
    file_write(path, file, weight, NULL);
}

struct release {
    struct cgroup_backend *backend;
    int (*lift)(struct cgroup_backend *backend, const char *name, struct error *err);
    unsigned lifted;
    int failed;
    struct error *err;
};

// What cannot be lifted is no reason to leave its processes stopped. 1: the class has gone
// meanwhile, with its last job.
static int release_own(const struct release *release, const char *name, const char *path,
                       struct error *err)
{
    int lifted = release->lift(release->backend, name, err);
    int continued = path != NULL ? groups_release_stopped(release->backend, name, path,
                                                          lifted == 0 ? err : NULL)
                                 : -1;
    if (lifted == 0 && continued == 0)
        return 0;
    return path != NULL && !directory_exists(path) ? 1 : -1;
}

static int release_one(const char *name, void *user)
{
    struct release *release = user;
    struct error *err = release->failed == 0 ? release->err : NULL;
    cleanup_free char *path = path_join(release->backend->hierarchies[0].root, name);
    int in_place = in_place_release(release->backend, name, err);
    // A record without its group has neither.
    bool own = path == NULL || directory_exists(path);
    int rc = own ? release_own(release, name, path, in_place < 0 ? NULL : err) : 0;
    if (in_place < 0 || rc < 0)
        release->failed++;
    else if (in_place > 0 || (own && rc == 0))
        release->lifted++;
    return 0;
}

int groups_release_all(struct cgroup_backend *backend,
                       int (*lift)(struct cgroup_backend *backend, const char *name,
                                   struct error *err),
                       unsigned *lifted, struct error *err)
{
    struct release release = {.backend = backend, .lift = lift, .err = err};
    int rc = groups_each_class(&backend->base, release_one, &release, err);
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

void groups_class_close(class_t *base)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    for (unsigned i = 0; i < HIERARCHIES_MAX; i++) {
        free(class_->groups[i].path);
        free(class_->groups[i].origin);
    }
    if (class_->limit_fd >= 0)
        close(class_->limit_fd);
    if (class_->usage_fd >= 0)
        close(class_->usage_fd);
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
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        rmdir(class_->groups[i].path);
}

static const char *move_hint(int code, bool v2)
{
    if (code == EINVAL && !v2)
        return " (a real-time process? such groups have no real-time budget: cpu.rt_runtime_us)";
    if (code == EBUSY && v2)
        return " (the group has controllers enabled for groups below it: processes go to leaves)";
    if (code == EOPNOTSUPP && v2)
        return " (somebody made the group threaded, see cgroup.type)";
    return "";
}

// Moves one process, all its threads at once. ESRCH when it is gone.
static int move(const struct hierarchy *hierarchy, const char *path, pid_t pid, struct error *err)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    struct error fault = {0};
    if (file_write(path, "cgroup.procs", text, &fault) == 0)
        return 0;
    if (fault.code == ESRCH)
        return error_set(err, ESRCH, "process %d is gone", (int)pid);
    return error_set(err, fault.code, "%s%s", fault.text,
                     move_hint(fault.code, *hierarchy->controller == '\0'));
}

// Where the process lives now; null when it cannot be known or is outside the cgroup namespace
// ("/..").
static char *group_of(const struct hierarchy *hierarchy, pid_t pid)
{
    cleanup_free char *path = process_group_path("/proc", pid, hierarchy->controller);
    if (path == NULL || path[0] != '/' || strstr(path, "/..") != NULL)
        return NULL;
    return path_join(hierarchy->mount, path + 1);
}

static bool is_class(const struct hierarchy *hierarchy, const char *path)
{
    size_t length = strlen(hierarchy->root);
    return strncmp(path, hierarchy->root, length) == 0 && path[length] == '/';
}

// Of a process that is to be placed; null when it is not known, or a class, which is no place to
// return to.
static char *find_origin(const struct hierarchy *hierarchy, pid_t pid)
{
    char *origin = group_of(hierarchy, pid);
    if (origin == NULL || !is_class(hierarchy, origin))
        return origin;
    free(origin);
    return NULL;
}

static int gone(const struct process_id *who, struct error *err)
{
    return error_set(err, ESRCH, "process %d is gone", (int)who->pid);
}

// Nothing is noted of a process that has got the number since.
static int note_origins(struct cgroup_class *class_, const struct process_id *who,
                        struct error *err)
{
    char *found[HIERARCHIES_MAX] = {NULL};
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        if (class_->groups[i].origin == NULL)
            found[i] = find_origin(class_->groups[i].hierarchy, who->pid);
    bool own = processes_is("/proc", who);
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        if (own && found[i] != NULL)
            class_->groups[i].origin = found[i];
        else
            free(found[i]);
    }
    return own ? 0 : gone(who, err);
}

// A descendant that was placed in a class of its own, neither this one nor the one that it has by
// birth (`home`): a job that was started by another one, or by a wrapper that is one.
static bool belongs_elsewhere(const struct cgroup_class *class_, const char *home, pid_t pid)
{
    const struct group *group = &class_->groups[0];
    cleanup_free char *path = group_of(group->hierarchy, pid);
    return path != NULL && is_class(group->hierarchy, path) && strcmp(path, group->path) != 0 &&
           (home == NULL || strcmp(path, home) != 0);
}

struct family {
    struct placement_process line[FAMILY_MAX]; // the process, its parent, ...
    uint64_t start_times[FAMILY_MAX];          // theirs
    size_t count;                              // how many of them are of its job
    bool launched;                             // a launcher started the last one
};

// Whether line[i] is the parent of line[i - 1] still: then each number has been its own all the
// time. Finds out its start time.
static bool is_parent_of_last(struct family *family, size_t i)
{
    const struct process_id last = {family->line[i - 1].pid, family->start_times[i - 1]};
    struct placement_process now;
    family->start_times[i] = processes_start_time("/proc", family->line[i].pid);
    return family->start_times[i] != 0 && processes_look("/proc", last.pid, &now) &&
           now.parent == family->line[i].pid && processes_is("/proc", &last);
}

// Who is in another class stays there, and whoever is above him.
static struct family find_family(const struct cgroup_class *class_, const struct process_id *who)
{
    struct family family;
    size_t seen = processes_line("/proc", who->pid, family.line, FAMILY_MAX);
    family.start_times[0] = who->start_time;
    family.count = seen > 0 ? placement_family(family.line, seen) : 0;
    family.launched = family.count < seen && placement_is_launcher(family.line[family.count].name);
    for (size_t i = 1; i < family.count; i++) {
        if (!is_parent_of_last(&family, i) || belongs_elsewhere(class_, NULL, family.line[i].pid)) {
            family.count = i;
            family.launched = false;
        }
    }
    return family;
}

// A process that was moved to `to` by a number which had been another's. It was forked into its
// parent's group, and goes back there.
static void give_back(const struct hierarchy *hierarchy, const char *to, pid_t pid)
{
    struct placement_process stranger;
    cleanup_free char *at = group_of(hierarchy, pid);
    if (at == NULL || strcmp(at, to) != 0 || !processes_look("/proc", pid, &stranger))
        return;
    cleanup_free char *home = group_of(hierarchy, stranger.parent);
    if (home != NULL && strcmp(home, to) == 0)
        return; // born here
    if (home == NULL || move(hierarchy, home, pid, NULL) != 0)
        move(hierarchy, hierarchy->mount, pid, NULL);
}

int groups_confirm(const struct cgroup_class *class_, const struct process_id *who,
                   struct error *err)
{
    uint64_t now = processes_start_time("/proc", who->pid);
    if (now == who->start_time)
        return 0;
    for (unsigned i = 0; now != 0 && i < class_->backend->hierarchy_count; i++)
        give_back(class_->groups[i].hierarchy, class_->groups[i].path, who->pid);
    return gone(who, err);
}

// The kernel takes bare numbers, which are used again: looked at before and after.
static int place_one(struct cgroup_class *class_, const struct process_id *who, struct error *err)
{
    if (!processes_is("/proc", who))
        return gone(who, err);
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        const struct group *group = &class_->groups[i];
        if (move(group->hierarchy, group->path, who->pid, err) != 0)
            return -1;
    }
    return groups_confirm(class_, who, err);
}

// Those of `processes` that are missing in at least one of the class's groups, in place of
// *missing.
static int find_missing(const struct cgroup_class *class_, const struct process_list *processes,
                        struct process_list *missing, struct error *err)
{
    missing->count = 0;
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        cleanup_pids struct pid_list members = {0};
        if (processes_of_group(class_->groups[i].path, &members, err) != 0)
            return -1;
        pid_list_sort(&members);
        size_t known = missing->count; // of the groups before
        for (size_t k = 0; k < processes->count; k++)
            if (!pid_list_has(&members, processes->list[k].pid) &&
                !process_list_has(missing, known, &processes->list[k]) &&
                process_list_add(missing, &processes->list[k], err) != 0)
                return -1;
        process_list_sort(missing);
    }
    return 0;
}

// Each costs the daemon some tens of microseconds, and it serves others.
static int explain_too_many(struct error *err)
{
    return error_set(err, E2BIG,
                     "more than %d processes would have to be moved with it: begin them after "
                     "MPI_Init, when they are born into the class",
                     PLACE_MEMBERS_MAX);
}

// Those of all of them, in place of what *descendants had.
static int list_descendants(const struct process_list *roots, struct process_list *descendants,
                            bool *exact, struct error *err)
{
    cleanup_processes struct process_list found = {0};
    struct error fault = {0};
    descendants->count = 0;
    *exact = true;
    for (size_t i = 0; i < roots->count; i++) {
        bool seen;
        if (processes_descendants("/proc", &roots->list[i], PLACE_MEMBERS_MAX, &found, &seen,
                                  &fault) != 0)
            return fault.code == E2BIG ? explain_too_many(err)
                                       : error_set(err, fault.code, "%s", fault.text);
        *exact &= seen;
        for (size_t k = 0; k < found.count; k++)
            if (process_list_add(descendants, &found.list[k], err) != 0)
                return -1;
        if (descendants->count > PLACE_MEMBERS_MAX)
            return explain_too_many(err);
    }
    process_list_sort(descendants);
    return 0;
}

static int check_count(const struct process_list *placed, struct error *err)
{
    return placed->count <= PLACE_MEMBERS_MAX ? 0 : explain_too_many(err);
}

// Follows the descendants of `roots`, which are placed already. A child forked before its parent
// was moved is outside, one forked later is inside: so after every move one more look, until a look
// finds nobody outside. Whoever has a class of his own stays there. *placed gets whom we moved. A
// process that was moved and still is not there is a zombie: the kernel accepts it and does
// nothing.
static int place_descendants(struct cgroup_class *class_, const struct process_list *roots,
                             const char *home, struct process_list *placed, struct error *err)
{
    cleanup_processes struct process_list descendants = {0}, missing = {0};
    int quiet = 0;
    for (int round = 0; round < PLACE_ROUNDS_MAX; round++) {
        bool exact, moved = false;
        if (list_descendants(roots, &descendants, &exact, err) != 0 ||
            find_missing(class_, &descendants, &missing, err) != 0)
            return -1;
        process_list_sort(placed);
        for (size_t i = 0, known = placed->count; i < missing.count; i++) {
            const struct process_id *one = &missing.list[i];
            struct error fault = {0};
            if (process_list_has(placed, known, one) || belongs_elsewhere(class_, home, one->pid))
                continue;
            if (place_one(class_, one, &fault) == 0) {
                moved = true;
                if (process_list_add(placed, one, err) != 0 || check_count(placed, err) != 0)
                    return -1;
            } else if (fault.code != ESRCH) {
                return error_set(err, fault.code, "process %d: %s", (int)one->pid, fault.text);
            }
        }
        quiet = moved ? 0 : quiet + 1;
        if (quiet >= (exact ? 1 : 2))
            return 0;
    }
    return error_set(err, EAGAIN,
                     "the descendants of process %d fork faster than they can be moved to class %s",
                     (int)roots->list[0].pid, class_->base.name);
}

// A relative of a registering process; its descendants are not followed yet.
static int place_relative(struct cgroup_class *class_, const struct process_id *who,
                          struct process_list *placed, struct error *err)
{
    struct error fault = {0};
    cleanup_free char *from = group_of(class_->groups[0].hierarchy, who->pid);
    bool inside = from != NULL && strcmp(from, class_->groups[0].path) == 0;
    if (!inside && place_one(class_, who, &fault) != 0)
        return fault.code == ESRCH
                   ? 0
                   : error_set(err, fault.code, "process %d: %s", (int)who->pid, fault.text);
    if (!inside && (process_list_add(placed, who, err) != 0 || check_count(placed, err) != 0))
        return -1;
    return 0;
}

// From the highest on, so that what they fork meanwhile is inside or found below. Those of their
// descendants with a class, be it the one that the registering process was born into, stay there.
static int place_wrappers(struct cgroup_class *class_, const struct family *family,
                          struct process_list *placed, struct error *err)
{
    for (size_t i = family->count; i-- > 1;) {
        struct process_id wrapper = {family->line[i].pid, family->start_times[i]};
        const struct process_list one = {.list = &wrapper, .count = 1};
        if (place_relative(class_, &wrapper, placed, err) != 0 ||
            place_descendants(class_, &one, NULL, placed, err) != 0)
            return -1;
    }
    return 0;
}

// Helpers whose parents have ended: init's children now, but still of the session that the family's
// head leads, or of its process group, which launchers make for each process that they start. (A
// shell makes such groups too, for the programs of a pipeline; hence `launched`.)
static bool may_be_orphan(const struct family *family, pid_t pid)
{
    const struct placement_process *head = &family->line[family->count - 1];
    return pid != head->pid &&
           (getsid(pid) == head->pid || (family->launched && getpgid(pid) == head->pid));
}

static bool is_orphan(const struct family *family, pid_t pid)
{
    const struct placement_process *head = &family->line[family->count - 1];
    struct placement_process process;
    return may_be_orphan(family, pid) && processes_look("/proc", pid, &process) &&
           process.uid == head->uid && process.parent != head->parent;
}

// They still live where the family comes from, `home`. All are moved before anybody's descendants
// are followed, so that the class is looked at once a round and not once for each of them.
static int place_orphans(struct cgroup_class *class_, const struct family *family, const char *home,
                         struct process_list *placed, struct error *err)
{
    cleanup_pids struct pid_list neighbours = {0};
    cleanup_processes struct process_list orphans = {0};
    if (family->count == 0 || home == NULL || strcmp(home, class_->groups[0].path) == 0 ||
        processes_of_group(home, &neighbours, NULL) != 0)
        return 0;
    for (size_t i = 0; i < neighbours.count; i++) {
        struct process_id one = {.pid = neighbours.pids[i]};
        if (!may_be_orphan(family, one.pid))
            continue;
        // It is judged after its start time is known, so that it is who is placed.
        one.start_time = processes_start_time("/proc", one.pid);
        if (one.start_time == 0 || !is_orphan(family, one.pid))
            continue;
        if (place_relative(class_, &one, placed, err) != 0 ||
            process_list_add(&orphans, &one, err) != 0)
            return -1;
    }
    return orphans.count > 0 ? place_descendants(class_, &orphans, NULL, placed, err) : 0;
}

// Back to the origin or, when that has gone or does not take it, to the hierarchy's root.
static int expel_from(const struct group *group, const struct process_id *who, struct error *err)
{
    const struct hierarchy *hierarchy = group->hierarchy;
    const char *to = group->origin != NULL ? group->origin : hierarchy->mount;
    struct error fault = {0};
    int rc = move(hierarchy, to, who->pid, &fault);
    if (rc != 0 && fault.code != ESRCH && to != hierarchy->mount) {
        to = hierarchy->mount;
        rc = move(hierarchy, to, who->pid, &fault);
    }
    if (rc == 0 && !processes_is("/proc", who))
        give_back(hierarchy, to, who->pid);
    return rc == 0 || fault.code == ESRCH ? 0 : error_set(err, fault.code, "%s", fault.text);
}

// Half a job in a class would be worse than none. Where it cannot be seen who is still there, all
// of them are moved back.
static void undo(const struct cgroup_class *class_, const struct process_list *placed)
{
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        cleanup_pids struct pid_list members = {0};
        bool seen = processes_of_group(class_->groups[i].path, &members, NULL) == 0;
        pid_list_sort(&members);
        for (size_t k = 0; k < placed->count; k++)
            if ((!seen || pid_list_has(&members, placed->list[k].pid)) &&
                processes_is("/proc", &placed->list[k]))
                expel_from(&class_->groups[i], &placed->list[k], NULL);
    }
}

int groups_place(class_t *base, pid_t pid, uint64_t start_time, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    cleanup_processes struct process_list placed = {0};
    struct process_id who = {pid,
                             start_time != 0 ? start_time : processes_start_time("/proc", pid)};
    const struct process_list only = {.list = &who, .count = 1};
    cleanup_free char *home = group_of(class_->groups[0].hierarchy, pid);
    if (note_origins(class_, &who, err) != 0)
        return error_context(err, "class %s", base->name);
    struct family family = find_family(class_, &who);
    if (process_list_add(&placed, &who, err) == 0 && place_one(class_, &who, err) == 0 &&
        place_wrappers(class_, &family, &placed, err) == 0 &&
        place_descendants(class_, &only, home, &placed, err) == 0 &&
        place_orphans(class_, &family, home, &placed, err) == 0 &&
        groups_confirm(class_, &who, err) == 0)
        return 0;
    undo(class_, &placed);
    return error_context(err, "class %s", class_->base.name);
}

int groups_expel(class_t *base, pid_t pid, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    const struct process_id who = {pid, processes_start_time("/proc", pid)};
    bool found = false;
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        cleanup_pids struct pid_list members = {0};
        if (processes_of_group(class_->groups[i].path, &members, err) != 0)
            return -1;
        pid_list_sort(&members);
        if (!pid_list_has(&members, pid))
            continue;
        found = true;
        if (expel_from(&class_->groups[i], &who, err) != 0)
            return error_context(err, "class %s", class_->base.name);
    }
    if (!found)
        return error_set(err, ESRCH, "process %d is not in class %s", (int)pid, class_->base.name);
    return 0;
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
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, who->pid, 0);
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

// Of the members of a group at most `limit`. Those that are exiting stay, which is no error.
static int expel_members(const struct group *group, size_t limit, struct error *err)
{
    cleanup_processes struct process_list members = {0};
    if (processes_members(group->path, limit, &members, err) != 0)
        return -1;
    for (size_t i = 0; i < members.count; i++)
        if (processes_is("/proc", &members.list[i]) &&
            expel_from(group, &members.list[i], err) != 0)
            return -1;
    return 0;
}

// The first of the class's directories that is still there, or null.
static const struct group *first_left(const struct cgroup_class *class_)
{
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        if (directory_exists(class_->groups[i].path))
            return &class_->groups[i];
    return NULL;
}

static int remove_step(struct cgroup_class *class_, size_t limit,
                       void (*try_delete)(struct cgroup_class *class_), struct error *err)
{
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        if (directory_exists(class_->groups[i].path) &&
            expel_members(&class_->groups[i], limit, err) != 0)
            return -1;
    try_delete(class_);
    const struct group *left = first_left(class_);
    if (left == NULL || rmdir(left->path) == 0)
        return left == NULL ? 0 : remove_step(class_, limit, try_delete, err);
    if (errno == ENOENT)
        return 0;
    // Members beyond the limit, a child forked during the step, an exiting process.
    bool busy = errno == EBUSY || errno == ENOTEMPTY;
    return error_errno(err, busy ? EAGAIN : errno, "cannot remove the group %s%s", left->path,
                       busy ? " (exiting processes, or groups below it)" : "");
}

int groups_remove_step(struct cgroup_class *class_, size_t limit,
                       void (*try_delete)(struct cgroup_class *class_), struct error *err)
{
    struct error fault = {0};
    int rc = remove_step(class_, limit, try_delete, &fault);
    if (rc != 0) {
        error_set(err, fault.code, "%s", fault.text);
        error_context(err, "class %s", class_->base.name);
    }
    if (rc == 0 || fault.code != EAGAIN)
        groups_class_close(&class_->base);
    return rc;
}
