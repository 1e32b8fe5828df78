// Placing a process into a class, with its wrappers, its descendants and its orphans.
#include "cgroup-backend/files.h"
#include "cgroup-backend/moving.h"
#include "common/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PLACE_ROUNDS_MAX = 100,
    PLACE_MEMBERS_MAX = 4096, // taken by one registration
    PLACE_LOOKS_MAX = 65536,  // threads and processes looked at by one
    LISTED_PER_LOOK = 64,     // processes of a class that are read in the time of a look
    FAMILY_MAX = 32,          // a process and its wrappers
    NEIGHBOURS_MAX = 16384,   // among whom orphans are looked for
};

// Of a process that is to be placed; null when it is not known, or a class, which is no place to
// return to.
static char *find_origin(const struct hierarchy *hierarchy, pid_t pid)
{
    char *origin = moving_group_of(hierarchy, pid);
    if (origin == NULL || !moving_is_class(hierarchy, origin))
        return origin;
    free(origin);
    return NULL;
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
    return own ? 0 : moving_gone(who, err);
}

// A descendant that was placed in a class of its own, neither this one nor the one that it has by
// birth (`home`): a job that was started by another one, or by a wrapper that is one.
static bool belongs_elsewhere(const struct cgroup_class *class_, const char *home, pid_t pid)
{
    const struct group *group = &class_->groups[0];
    cleanup_free char *path = moving_group_of(group->hierarchy, pid);
    return path != NULL && moving_is_class(group->hierarchy, path) &&
           strcmp(path, group->path) != 0 && (home == NULL || strcmp(path, home) != 0);
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

// The kernel takes bare numbers, which are used again: looked at before and after.
static int place_one(struct cgroup_class *class_, const struct process_id *who, struct error *err)
{
    if (!processes_is("/proc", who))
        return moving_gone(who, err);
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        const struct group *group = &class_->groups[i];
        if (moving_move(group->hierarchy, group->path, who->pid, err) != 0)
            return -1;
    }
    return groups_confirm(class_, who, err);
}

// Each costs the daemon some tens of microseconds, and it serves others.
static int explain_too_many(struct error *err)
{
    return error_set(err, E2BIG,
                     "more than %d processes would have to be moved with it, or too many threads "
                     "and processes looked at: begin them after MPI_Init, when they are born into "
                     "the class",
                     PLACE_MEMBERS_MAX);
}

// Those of `processes` that are missing in at least one of the class's groups, in place of
// *missing. Each group is read as a whole, which takes of *looks.
static int find_missing(const struct cgroup_class *class_, const struct process_list *processes,
                        size_t *looks, struct process_list *missing, struct error *err)
{
    missing->count = 0;
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++) {
        cleanup_pids struct pid_list members = {0};
        if (processes_of_group(class_->groups[i].path, &members, err) != 0)
            return -1;
        if (*looks < members.count / LISTED_PER_LOOK)
            return explain_too_many(err);
        *looks -= members.count / LISTED_PER_LOOK;
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

// One registration.
struct placing {
    struct process_list placed; // whom we moved
    size_t looks;               // that are left
};

// Those of all of them, in place of what *descendants had.
static int list_descendants(const struct process_list *roots, size_t *looks,
                            struct process_list *descendants, bool *exact, struct error *err)
{
    cleanup_processes struct process_list found = {0};
    struct error fault = {0};
    descendants->count = 0;
    *exact = true;
    for (size_t i = 0; i < roots->count; i++) {
        bool seen;
        if (processes_descendants("/proc", &roots->list[i], PLACE_MEMBERS_MAX, looks, &found, &seen,
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

static int check_count(const struct placing *placing, struct error *err)
{
    return placing->placed.count <= PLACE_MEMBERS_MAX ? 0 : explain_too_many(err);
}

// Follows the descendants of `roots`, which are placed already. A child forked before its parent
// was moved is outside, one forked later is inside: so after every move one more look, until a look
// finds nobody outside. Whoever has a class of his own stays there. A process that was moved and
// still is not there is a zombie: the kernel accepts it and does nothing.
static int place_descendants(struct cgroup_class *class_, const struct process_list *roots,
                             const char *home, struct placing *placing, struct error *err)
{
    cleanup_processes struct process_list descendants = {0}, missing = {0};
    struct process_list *placed = &placing->placed;
    int quiet = 0;
    for (int round = 0; round < PLACE_ROUNDS_MAX; round++) {
        bool exact, moved = false;
        if (list_descendants(roots, &placing->looks, &descendants, &exact, err) != 0 ||
            find_missing(class_, &descendants, &placing->looks, &missing, err) != 0)
            return -1;
        process_list_sort(placed);
        for (size_t i = 0, known = placed->count; i < missing.count; i++) {
            const struct process_id *one = &missing.list[i];
            struct error fault = {0};
            if (process_list_has(placed, known, one) || belongs_elsewhere(class_, home, one->pid))
                continue;
            if (place_one(class_, one, &fault) == 0) {
                moved = true;
                if (process_list_add(placed, one, err) != 0 || check_count(placing, err) != 0)
                    return -1;
            } else if (fault.code != ESRCH) {
                (void)process_list_add(placed, one, NULL); // some of the groups may have it
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
                          struct placing *placing, struct error *err)
{
    struct error fault = {0};
    cleanup_free char *from = moving_group_of(class_->groups[0].hierarchy, who->pid);
    bool inside = from != NULL && strcmp(from, class_->groups[0].path) == 0;
    if (!inside && place_one(class_, who, &fault) != 0) {
        if (fault.code == ESRCH)
            return 0;
        (void)process_list_add(&placing->placed, who, NULL); // some of the groups may have it
        return error_set(err, fault.code, "process %d: %s", (int)who->pid, fault.text);
    }
    if (!inside &&
        (process_list_add(&placing->placed, who, err) != 0 || check_count(placing, err) != 0))
        return -1;
    return 0;
}

// Whether it still is the child of the wrapper above it.
static bool is_below_next(const struct family *family, size_t i)
{
    const struct process_id who = {family->line[i].pid, family->start_times[i]};
    struct placement_process now;
    return i + 1 < family->count && processes_look("/proc", who.pid, &now) &&
           now.parent == family->line[i + 1].pid && processes_is("/proc", &who);
}

// From the highest on, so that what they fork meanwhile is inside or found below: all of them
// descend from the highest, but for one whose parent has ended since. Those of their descendants
// with a class, be it the one that the registering process was born into, stay there.
static int place_wrappers(struct cgroup_class *class_, const struct family *family,
                          struct placing *placing, struct error *err)
{
    for (size_t i = family->count; i-- > 1;) {
        const struct process_id wrapper = {family->line[i].pid, family->start_times[i]};
        if (place_relative(class_, &wrapper, placing, err) != 0)
            return -1;
    }
    for (size_t i = family->count; i-- > 1;) {
        struct process_id wrapper = {family->line[i].pid, family->start_times[i]};
        const struct process_list one = {.list = &wrapper, .count = 1};
        if (!is_below_next(family, i) && place_descendants(class_, &one, NULL, placing, err) != 0)
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
// are followed, so that the class is looked at once a round and not once for each of them. That
// group may be everybody's, so its size is no fault of the family's: in a crowd nobody is looked
// for.
static int place_orphans(struct cgroup_class *class_, const struct family *family, const char *home,
                         struct placing *placing, struct error *err)
{
    cleanup_pids struct pid_list neighbours = {0};
    cleanup_processes struct process_list orphans = {0};
    if (family->count == 0 || home == NULL || strcmp(home, class_->groups[0].path) == 0 ||
        processes_of_group(home, &neighbours, NULL) != 0 || neighbours.count > NEIGHBOURS_MAX)
        return 0;
    for (size_t i = 0; i < neighbours.count; i++) {
        struct process_id one = {.pid = neighbours.pids[i]};
        if (!may_be_orphan(family, one.pid))
            continue;
        // It is judged after its start time is known, so that it is who is placed.
        one.start_time = processes_start_time("/proc", one.pid);
        if (one.start_time == 0 || !is_orphan(family, one.pid))
            continue;
        if (place_relative(class_, &one, placing, err) != 0 ||
            process_list_add(&orphans, &one, err) != 0)
            return -1;
    }
    return orphans.count > 0 ? place_descendants(class_, &orphans, NULL, placing, err) : 0;
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
                moving_expel(&class_->groups[i], &placed->list[k], NULL);
    }
}

int groups_place(class_t *base, pid_t pid, uint64_t start_time, struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    struct placing placing = {.looks = PLACE_LOOKS_MAX};
    struct process_id who = {pid,
                             start_time != 0 ? start_time : processes_start_time("/proc", pid)};
    const struct process_list only = {.list = &who, .count = 1};
    cleanup_free char *home = moving_group_of(class_->groups[0].hierarchy, pid);
    if (note_origins(class_, &who, err) != 0)
        return error_context(err, "class %s", base->name);
    // Who was inside before stays there, whatever becomes of his registration.
    bool inside = home != NULL && strcmp(home, class_->groups[0].path) == 0;
    struct family family = find_family(class_, &who);
    int rc = (inside || process_list_add(&placing.placed, &who, err) == 0) &&
                     place_one(class_, &who, err) == 0 &&
                     place_wrappers(class_, &family, &placing, err) == 0 &&
                     place_descendants(class_, &only, home, &placing, err) == 0 &&
                     place_orphans(class_, &family, home, &placing, err) == 0 &&
                     groups_confirm(class_, &who, err) == 0
                 ? 0
                 : error_context(err, "class %s", class_->base.name);
    if (rc != 0)
        undo(class_, &placing.placed);
    process_list_free(&placing.placed);
    return rc;
}

static bool has_root(const struct process_list *roots, const struct process_id *who)
{
    for (size_t i = 0; i < roots->count; i++)
        if (roots->list[i].pid == who->pid && roots->list[i].start_time == who->start_time)
            return true;
    return false;
}

// The process and its wrappers, from the highest on, whose descendants are to be followed: it is
// most processes' of a job.
static int place_line(struct cgroup_class *class_, const struct process_id *who,
                      struct placing *placing, struct process_list *roots, struct error *err)
{
    struct process_id highest = *who;
    if (placing->looks < FAMILY_MAX)
        return explain_too_many(err);
    placing->looks -= FAMILY_MAX;
    if (note_origins(class_, who, NULL) != 0)
        return 0; // it has ended
    struct family family = find_family(class_, who);
    for (size_t i = family.count; i-- > 1;) {
        const struct process_id wrapper = {family.line[i].pid, family.start_times[i]};
        if (i == family.count - 1)
            highest = wrapper;
        if (place_relative(class_, &wrapper, placing, err) != 0)
            return -1;
    }
    if (place_relative(class_, who, placing, err) != 0)
        return -1;
    return has_root(roots, &highest) ? 0 : process_list_add(roots, &highest, err);
}

int groups_place_others(class_t *base, const struct process_id *whom, size_t count,
                        struct error *err)
{
    struct cgroup_class *class_ = (struct cgroup_class *)base;
    struct placing placing = {.looks = PLACE_LOOKS_MAX};
    cleanup_processes struct process_list roots = {0};
    struct error fault = {0}, later;
    for (size_t i = 0; i < count; i++)
        place_line(class_, &whom[i], &placing, &roots, fault.code == 0 ? &fault : &later);
    if (roots.count > 0)
        place_descendants(class_, &roots, NULL, &placing, fault.code == 0 ? &fault : &later);
    process_list_free(&placing.placed);
    return fault.code == 0 ? 0 : error_set(err, fault.code, "class %s: %s", base->name, fault.text);
}

bool groups_holds(const class_t *base, pid_t pid)
{
    const struct group *group = &((const struct cgroup_class *)base)->groups[0];
    cleanup_free char *at = moving_group_of(group->hierarchy, pid);
    return at != NULL && strcmp(at, group->path) == 0;
}
