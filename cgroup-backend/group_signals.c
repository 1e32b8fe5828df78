// The processes of a class's groups, stopped, continued and killed by signals. Who is of a class is
// asked of the kernel anew at every pass, so that whoever was forked meanwhile is found.
#include "cgroup-backend/groups.h"
#include "cgroup-backend/signals.h"
#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>

// By estimate a look at one costs tens of microseconds, and a pass takes two: the daemon has other
// work.
enum { MEMBERS_MAX = 16384 };

#define FREEZE_NS (200 * NS_PER_US)

// Of a subtree, also those of the list: who links them to its root may have died.
static int census(const char *path, pid_t root, uint64_t root_start, const struct genealogy *also,
                  struct genealogy *genealogy, struct error *err)
{
    cleanup_pids struct pid_list members = {0};
    if (processes_of_group(path, &members, err) != 0)
        return -1;
    pid_list_sort(&members);
    if (signals_census("/proc", &members, genealogy, err) != 0)
        return -1;
    if (root != 0)
        genealogy_keep_subtree(genealogy, root, root_start, also);
    return 0;
}

static int check_processes(size_t count, struct error *err)
{
    return count <= MEMBERS_MAX
               ? 0
               : error_set(err, E2BIG,
                           "%zu processes are more than the %d that can be stopped one by one: "
                           "suspend by share or freezer",
                           count, MEMBERS_MAX);
}

static int check_count(const struct genealogy *found, struct error *err)
{
    if (found->threads > SIGNALS_THREADS_MAX)
        return error_set(err, E2BIG,
                         "more than %d threads cannot be looked at one by one: suspend by share or "
                         "freezer",
                         SIGNALS_THREADS_MAX);
    return check_processes(found->count, err);
}

static int census_suspended(const char *path, const struct suspension *suspension,
                            struct genealogy *genealogy, struct error *err)
{
    const struct class_suspension *how = &suspension->how;
    return census(path, how->root, how->root_start, &suspension->ours, genealogy, err);
}

// The same, of no more than can be stopped one by one; a whole class of more is not looked at.
static int census_to_stop(const char *path, const struct suspension *suspension,
                          struct genealogy *found, struct error *err)
{
    cleanup_pids struct pid_list members = {0};
    if (suspension->how.root == 0 &&
        (processes_of_group(path, &members, err) != 0 || check_processes(members.count, err) != 0))
        return -1;
    return census_suspended(path, suspension, found, err) == 0 ? check_count(found, err) : -1;
}

static const char *path_of(const class_t *base)
{
    return ((const struct cgroup_class *)base)->groups[0].path;
}

// Appends those that are not in the list. Returns 0 or -1 (no memory).
static int add_all(struct genealogy *list, const struct genealogy *found, struct error *err)
{
    genealogy_sort(list);
    cleanup_genealogy struct genealogy new = {0};
    for (size_t i = 0; i < found->count; i++) {
        const struct genealogy_process *process = &found->list[i];
        if (genealogy_find(list, process->pid, process->start_time) == NULL &&
            genealogy_add(&new, process, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < new.count; i++)
        if (genealogy_add(list, &new.list[i], err) != 0)
            return -1;
    genealogy_sort(list);
    return 0;
}

// Those of a subtree that we are about to stop. How many were not known, or -1.
static int note_ours(struct suspension *suspension, const struct genealogy *found,
                     struct error *err)
{
    cleanup_genealogy struct genealogy own = {0};
    size_t known = suspension->ours.count;
    for (size_t i = 0; suspension->how.root != 0 && i < found->count; i++) {
        const struct genealogy_process *process = &found->list[i];
        if (genealogy_find(&suspension->others, process->pid, process->start_time) == NULL &&
            genealogy_add(&own, process, err) != 0)
            return -1;
    }
    return add_all(&suspension->ours, &own, err) == 0 ? (int)(suspension->ours.count - known) : -1;
}

int groups_find_stopped(class_t *base, struct suspension *suspension, struct error *err)
{
    cleanup_genealogy struct genealogy found = {0};
    const struct class_suspension *how = &suspension->how;
    if (census_to_stop(path_of(base), suspension, &found, err) != 0)
        return -1;
    if (how->root != 0 && found.count == 0)
        return error_set(err, ESRCH, "process %d is not in class %s", (int)how->root, base->name);
    for (size_t i = 0; i < found.count; i++)
        if (found.list[i].stopped && genealogy_add(&suspension->others, &found.list[i], err) != 0)
            return -1;
    return note_ours(suspension, &found, err) >= 0 ? 0 : -1;
}

// Whoever is gone needs no finding. An owner who continues, forks and kills without end would have
// the list, and its record, grow for as long. Returns whether there was somebody.
static bool drop_gone(struct genealogy *ours, const struct genealogy *found)
{
    size_t before = ours->count, kept = 0;
    for (size_t i = 0; i < before; i++)
        if (genealogy_find(found, ours->list[i].pid, ours->list[i].start_time) != NULL)
            ours->list[kept++] = ours->list[i];
    ours->count = kept;
    return kept < before;
}

// Who had stopped before, and was continued by somebody else since, is stopped by us now.
static void drop_runners(struct genealogy *others, const struct genealogy *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < others->count; i++) {
        const struct genealogy_process *now =
            genealogy_find(found, others->list[i].pid, others->list[i].start_time);
        if (now == NULL || now->stopped)
            others->list[kept++] = others->list[i];
    }
    others->count = kept;
}

int groups_stop_pass(class_t *base, struct suspension *suspension, struct error *err)
{
    cleanup_genealogy struct genealogy found = {0};
    size_t others = suspension->others.count;
    if (census_to_stop(path_of(base), suspension, &found, err) != 0)
        return -1;
    drop_runners(&suspension->others, &found);
    bool dropped = drop_gone(&suspension->ours, &found);
    suspension->unwritten |= suspension->others.count != others || dropped;
    int noted = note_ours(suspension, &found, err);
    if (noted < 0)
        return -1;
    suspension->unwritten |= noted > 0;
    if (suspension->unwritten &&
        suspension_write(base->suspensions, base->name, suspension, err) != 0)
        return -1;
    suspension->unwritten = false;
    if (signals_stop(&found, err) != 0)
        return -1;
    // Nobody ran at this look, so nobody has forked since the list was made, unless it was made
    // before the last of them stopped: one look at them standing still decides.
    cleanup_genealogy struct genealogy again = {0};
    if (census_suspended(path_of(base), suspension, &again, err) != 0)
        return -1;
    for (size_t i = 0; i < again.count; i++)
        if (!again.list[i].stopped)
            return error_set(err, EAGAIN, "process %d has come meanwhile", (int)again.list[i].pid);
    return 0;
}

int groups_continue_pass(class_t *base, const struct suspension *suspension, struct error *err)
{
    cleanup_genealogy struct genealogy found = {0};
    if (census_suspended(path_of(base), suspension, &found, err) != 0)
        return -1;
    return signals_continue(&found, &suspension->others, err);
}

int groups_release_stopped(const struct cgroup_backend *backend, const char *name, const char *path,
                           struct error *err)
{
    cleanup_genealogy struct genealogy found = {0};
    struct suspension suspension;
    struct error fault = {0};
    int known = suspension_read(backend->base.suspensions, name, &suspension, NULL);
    if (known == 0)
        return 0;
    // Somebody may be stopped, and nothing is known of who had stopped before, of himself: better
    // to continue too many.
    if (known < 0)
        suspension = (struct suspension){.how = {.means = CLASS_BY_SIGNALS}};
    int rc = 0;
    if (suspension.how.means == CLASS_BY_SIGNALS &&
        (census_suspended(path, &suspension, &found, &fault) != 0 ||
         signals_continue(&found, &suspension.others, &fault) != 0))
        rc = error_set(err, fault.code, "%s", fault.text);
    suspension_forget(&suspension);
    return rc;
}

// Those that were killed earlier and still are there.
static void drop_dead(struct genealogy *victims)
{
    cleanup_pids struct pid_list pids = {0};
    cleanup_genealogy struct genealogy alive = {0};
    for (size_t i = 0; i < victims->count; i++)
        if (pid_list_add(&pids, victims->list[i].pid, NULL) != 0)
            return;
    if (signals_census("/proc", &pids, &alive, NULL) != 0)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < victims->count; i++)
        if (genealogy_find(&alive, victims->list[i].pid, victims->list[i].start_time) != NULL)
            victims->list[kept++] = victims->list[i];
    victims->count = kept;
}

// Every hierarchy's, should one have missed somebody.
static int census_of_all(const struct cgroup_class *class_, pid_t root, uint64_t root_start,
                         struct genealogy *genealogy, struct error *err)
{
    if (root != 0)
        return census(class_->groups[0].path, root, root_start, &class_->base.victims, genealogy,
                      err);
    cleanup_pids struct pid_list members = {0};
    for (unsigned i = 0; i < class_->backend->hierarchy_count; i++)
        if (processes_of_group(class_->groups[i].path, &members, err) != 0)
            return -1;
    pid_list_sort(&members);
    return signals_census("/proc", &members, genealogy, err);
}

// Noted as a suspension, lest a daemon that dies between two passes leaves them stopped. Where that
// cannot be written they run until the last pass.
static int stop_victims(class_t *base, pid_t root, uint64_t root_start, struct genealogy *found,
                        struct error *err)
{
    struct suspension *suspension = &base->suspension;
    struct error fault = {0};
    if (!suspension->on || suspension->how.means != CLASS_BY_SIGNALS) {
        base->holds = true;
        base->wish = suspension->on ? suspension->how : (struct class_suspension){0};
        suspension->on = true;
        suspension->how = (struct class_suspension){CLASS_BY_SIGNALS, root, root_start};
    }
    if (note_ours(suspension, found, err) < 0)
        return -1;
    // That of a whole class tells of them already.
    if (suspension->how.root != 0 &&
        suspension_write(base->suspensions, base->name, suspension, &fault) != 0)
        return error_set(err, EAGAIN, "%s", fault.text);
    return signals_stop(found, err);
}

// Who could not be killed is continued, or stays suspended until he can be.
static void let_go(class_t *base, bool killed)
{
    base->holds = false;
    if (!killed && groups_continue_pass(base, &base->suspension, NULL) != 0)
        return;
    suspension_forget(&base->suspension);
    if (base->wish.means == 0) {
        suspension_remove(base->suspensions, base->name);
        return;
    }
    base->suspension = (struct suspension){.on = true, .how = base->wish};
    suspension_write(base->suspensions, base->name, &base->suspension, NULL);
}

// Looks again at once: who runs on another CPU stops in that time, and nobody runs on this one.
static void freeze_for_a_moment(class_t *base)
{
    uint64_t end_ns = clock_now_ns() + FREEZE_NS;
    struct error fault = {0};
    bool asked = false;
    while (base->ops->freeze_pass(base, asked, &fault) != 0 && fault.code == EAGAIN &&
           clock_now_ns() < end_ns)
        asked = true;
}

// Frozen processes do not fork. Without a freezer those of a subtree are stopped first: its
// descendants could not be told from others any more once their parents have died.
static int hold_still(class_t *base, pid_t root, uint64_t root_start, struct genealogy *found,
                      bool at_once, struct error *err)
{
    if (class_has_freezer(base)) {
        if (root != 0 && !at_once)
            return base->ops->freeze_pass(base, false, err);
        freeze_for_a_moment(base);
        return 0;
    }
    return root != 0 ? stop_victims(base, root, root_start, found, err) : 0;
}

static int kill_found(struct cgroup_class *class_, pid_t root, uint64_t root_start, bool at_once,
                      struct error *err)
{
    cleanup_genealogy struct genealogy found = {0};
    class_t *base = &class_->base;
    if (!class_has_freezer(base) && root != 0 &&
        census_of_all(class_, root, root_start, &found, err) != 0)
        return -1;
    if (hold_still(base, root, root_start, &found, at_once, at_once ? NULL : err) != 0 && !at_once)
        return -1;
    genealogy_free(&found);
    if (census_of_all(class_, root, root_start, &found, err) != 0)
        return -1;
    if (add_all(&base->victims, &found, err) != 0)
        return -1;
    struct error fault = {0};
    if (signals_kill(&found, &fault) != 0 && fault.code != EAGAIN)
        return error_set(err, fault.code, "%s", fault.text);
    return 0;
}

static int kill_pass(struct cgroup_class *class_, pid_t root, uint64_t root_start, bool at_once,
                     int (*doom)(class_t *class_), struct error *err)
{
    class_t *base = &class_->base;
    bool doomed = root == 0 && doom != NULL && doom(base) == 0;
    int rc = doomed ? 0 : kill_found(class_, root, root_start, at_once, err);
    bool freezes = rc != 0 && err->code == EAGAIN && !at_once && class_has_freezer(base);
    // Processes frozen by v1 die when they thaw.
    if (!doomed && !freezes && class_has_freezer(base) &&
        class_thaw(base, rc == 0 ? err : NULL) != 0)
        rc = -1;
    if (rc != 0)
        return -1;
    cleanup_genealogy struct genealogy left = {0};
    drop_dead(&base->victims);
    if (census_of_all(class_, root, root_start, &left, err) != 0)
        return -1;
    size_t count = left.count > base->victims.count ? left.count : base->victims.count;
    return count == 0
               ? 0
               : error_set(err, EAGAIN, "%zu processes are still there after SIGKILL", count);
}

int groups_kill_pass(struct cgroup_class *class_, pid_t root, uint64_t root_start, bool at_once,
                     int (*doom)(class_t *class_), struct error *err)
{
    struct error fault = {0};
    int rc = kill_pass(class_, root, root_start, at_once, doom, &fault);
    bool killed = rc == 0 || (at_once && fault.code == EAGAIN);
    if (class_->base.holds && (killed || fault.code != EAGAIN))
        let_go(&class_->base, killed);
    return rc == 0 ? 0 : error_set(err, fault.code, "%s", fault.text);
}
