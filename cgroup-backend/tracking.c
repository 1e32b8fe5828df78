// Suspending and resuming a class, by whatever means: what is recorded when, and one pass of it.
#include "cgroup-backend/ops.h"
#include "cgroup-backend/signals.h"
#include "common/units.h"

#include <errno.h>

#define FIRST_LOOK_NS (50 * NS_PER_US)

enum { SOON_LOOKS = 20 }; // before pauses grow: doubled ones are half of what a tree takes to stop

int tracking_read(const backend_t *backend, const char *name, struct suspension *suspension,
                  struct error *err)
{
    struct error fault = {0};
    if (suspension_read(backend->suspensions, name, suspension, &fault) >= 0)
        return 0;
    if (fault.code != EBADMSG)
        return error_set(err, fault.code, "class %s: %s", name, fault.text);
    if (!backend->as_it_is)
        suspension_remove(backend->suspensions, name);
    return 0;
}

static bool has_means(const struct backend_class *class_, enum class_means means)
{
    return means == CLASS_BY_SHARE || class_->ops->stop_pass != NULL;
}

void tracking_open(const backend_t *backend, struct backend_class *class_,
                   struct suspension *suspension)
{
    bool stale = suspension->on && !has_means(class_, suspension->how.means);
    if (stale && !backend->as_it_is)
        suspension_remove(backend->suspensions, class_->name);
    if (class_->suspension.on || stale)
        suspension_forget(suspension);
    else
        class_->suspension = *suspension;
    *suspension = (struct suspension){0};
}

void tracking_close(struct backend_class *class_)
{
    suspension_forget(&class_->suspension);
    genealogy_free(&class_->victims);
}

bool class_has_freezer(const class_t *class_)
{
    return class_->ops->has_freezer != NULL && class_->ops->has_freezer(class_);
}

uint64_t class_freezer_pause_ns(unsigned passes, uint64_t interval_ns)
{
    uint64_t pause_ns = FIRST_LOOK_NS;
    while (passes-- > SOON_LOOKS && pause_ns < interval_ns)
        pause_ns *= 2;
    return pause_ns < interval_ns ? pause_ns : interval_ns;
}

bool class_suspended(const class_t *class_, struct class_suspension *how)
{
    if (class_->suspension.on)
        *how = class_->suspension.how;
    return class_->suspension.on;
}

static bool same(const struct class_suspension *one, const struct class_suspension *other)
{
    return one->means == other->means && one->root == other->root &&
           one->root_start == other->root_start;
}

static int check(const class_t *class_, const struct class_suspension *how, struct error *err)
{
    if (how->root != 0 && how->means != CLASS_BY_SIGNALS)
        return error_set(err, ENOTSUP, "a part of a class is suspended by signals, not by %s",
                         how->means == CLASS_BY_SHARE ? "share" : "freezer");
    if (!has_means(class_, how->means))
        return error_set(err, ENOTSUP,
                         "class %s is in place: its manager stops and kills it (scontrol, "
                         "systemctl); here it is suspended by share",
                         class_->name);
    if (how->means == CLASS_BY_FREEZER && !class_has_freezer(class_))
        return error_set(err, ENOTSUP, "there is no freezer here: use share or signals");
    return 0;
}

// Noted before anybody is stopped.
static int begin(class_t *class_, const struct class_suspension *how, struct error *err)
{
    struct suspension suspension = {.on = true, .how = *how};
    if (check(class_, how, err) != 0)
        return -1;
    if (how->means == CLASS_BY_SIGNALS && class_->ops->find_stopped != NULL &&
        class_->ops->find_stopped(class_, &suspension, err) != 0) {
        suspension_forget(&suspension);
        return -1;
    }
    if (suspension_write(class_->suspensions, class_->name, &suspension, err) != 0) {
        suspension_forget(&suspension);
        return -1;
    }
    class_->suspension = suspension;
    return 0;
}

// Whoever is to freeze does so without being asked again, and asking visits every process. So every
// other pass only looks.
static int freeze_pass(class_t *class_, struct error *err)
{
    struct suspension *suspension = &class_->suspension;
    bool asked = suspension->asked;
    int rc = class_->ops->freeze_pass(class_, asked, err);
    suspension->asked = rc != 0 && !asked;
    return rc;
}

int class_suspend(class_t *class_, const struct class_suspension *how, struct error *err)
{
    struct suspension *suspension = &class_->suspension;
    if (suspension->on && !same(&suspension->how, how))
        return error_set(err, EBUSY, "class %s is suspended already: resume it first",
                         class_->name);
    if (!suspension->on && begin(class_, how, err) != 0)
        return -1;
    switch (how->means) {
    case CLASS_BY_SHARE:
        return 0;
    case CLASS_BY_FREEZER:
        return freeze_pass(class_, err);
    case CLASS_BY_SIGNALS:
        break;
    }
    return class_->ops->stop_pass(class_, suspension, err);
}

int class_resume(class_t *class_, struct error *err)
{
    struct suspension *suspension = &class_->suspension;
    bool frozen = !suspension->on || suspension->how.means == CLASS_BY_FREEZER;
    if (frozen && class_has_freezer(class_) && class_thaw(class_, err) != 0)
        return -1;
    class_->owes_thaw = class_->owes_thaw && !frozen;
    if (suspension->on && suspension->how.means == CLASS_BY_SIGNALS &&
        class_->ops->continue_pass(class_, suspension, err) != 0)
        return -1;
    if (suspension->on)
        suspension_remove(class_->suspensions, class_->name);
    suspension_forget(suspension);
    return 0;
}

void class_let_run(class_t *class_)
{
    const struct suspension *suspension = &class_->suspension;
    if (suspension->on && suspension->how.means == CLASS_BY_SIGNALS)
        class_->ops->continue_pass(class_, suspension, NULL);
}

void class_thaw_late(class_t *class_)
{
    bool frozen = class_->suspension.on && class_->suspension.how.means == CLASS_BY_FREEZER;
    if (class_->owes_thaw && (frozen || class_thaw(class_, NULL) == 0))
        class_->owes_thaw = false;
}

int class_kill_pass(class_t *class_, pid_t root, uint64_t root_start, bool at_once,
                    struct error *err)
{
    const struct suspension *suspension = &class_->suspension;
    if (class_->ops->kill_pass == NULL)
        return class_->ops->kill(class_, err); // which says whose it is
    if (root != 0 && suspension->on && suspension->how.means == CLASS_BY_FREEZER)
        return error_set(err, EBUSY, "class %s is frozen: resume it, or kill all of it",
                         class_->name);
    return class_->ops->kill_pass(class_, root, root_start, at_once, err);
}
