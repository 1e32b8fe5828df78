#include "cgroup-backend/test_backend.h"

#include "cgroup-backend/ops.h"
#include "cgroup-backend/processes.h"
#include "common/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the kernel would keep of a class: it outlives the handles, as a directory does.
struct record {
    char name[BACKEND_NAME_MAX];
    bool exists;
    bool in_place;
    bool frozen;
    uint64_t usage_ns;
    struct pid_list members;
    struct suspension suspension;
    struct record *next;
};

struct failure {
    char operation[16];
    int code;
    unsigned count;
    struct failure *next;
};

struct test_backend {
    struct backend base;
    struct record *records; // in the order of their making
    struct failure *failures;
    bool backwards;
    bool offers_place;
    bool stops_in_place;
    bool keeps;
    uint64_t period_us;
    bool no_freezer;
    char *log;
    size_t log_length;
};

struct test_class {
    struct backend_class base;
    struct test_backend *backend;
    struct record *record;
};

// Test code: without memory there is nothing to test.
static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

__attribute__((format(printf, 2, 3))) static void note(struct test_backend *backend,
                                                       const char *format, ...)
{
    char line[BACKEND_NAME_MAX + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t length = strlen(line);
    backend->log = need(realloc(backend->log, backend->log_length + length + 2));
    memcpy(backend->log + backend->log_length, line, length);
    backend->log_length += length;
    backend->log[backend->log_length++] = '\n';
    backend->log[backend->log_length] = '\0';
}

static struct record *record_of(struct test_backend *backend, const char *name)
{
    struct record **end = &backend->records;
    for (; *end != NULL; end = &(*end)->next)
        if (strcmp((*end)->name, name) == 0)
            return *end;
    *end = need(calloc(1, sizeof **end));
    snprintf((*end)->name, sizeof(*end)->name, "%s", name);
    return *end;
}

// The failure that a test has ordered for this operation, if any.
static int fault(struct test_backend *backend, const char *operation, const char *name,
                 struct error *err)
{
    for (struct failure *one = backend->failures; one != NULL; one = one->next)
        if (one->count > 0 && strcmp(one->operation, operation) == 0) {
            one->count--;
            return error_errno(err, one->code, "%s %s", operation, name);
        }
    return 0;
}

static int class_fault(class_t *base, const char *operation, struct error *err)
{
    struct test_class *class_ = (struct test_class *)base;
    if (!class_->record->exists)
        return error_errno(err, ENOENT, "%s %s", operation, base->name);
    return fault(class_->backend, operation, base->name, err);
}

static void test_close(backend_t *base)
{
    struct test_backend *backend = (struct test_backend *)base;
    for (struct record *next, *one = backend->records; one != NULL; one = next) {
        next = one->next;
        pid_list_free(&one->members);
        suspension_forget(&one->suspension);
        free(one);
    }
    for (struct failure *next, *one = backend->failures; one != NULL; one = next) {
        next = one->next;
        free(one);
    }
    free(backend->log);
    free(backend);
}

static const struct backend_ops in_place_ops;

static class_t *new_class(struct test_backend *backend, const char *name)
{
    struct test_class *class_ = need(calloc(1, sizeof *class_));
    snprintf(class_->base.name, sizeof class_->base.name, "%s", name);
    class_->backend = backend;
    class_->record = record_of(backend, name);
    class_->record->exists = true;
    class_->base.suspension = class_->record->suspension;
    class_->base.ops = class_->record->in_place ? &in_place_ops : backend->base.ops;
    return &class_->base;
}

static int test_class_open(backend_t *base, const char *name, class_t **opened, struct error *err)
{
    struct test_backend *backend = (struct test_backend *)base;
    if (fault(backend, "open", name, err) != 0)
        return -1;
    *opened = new_class(backend, name);
    note(backend, "open %s", name);
    return 0;
}

static int test_open_in_place(backend_t *base, const char *name, const struct class_home *home,
                              class_t **opened, struct error *err)
{
    struct test_backend *backend = (struct test_backend *)base;
    if (fault(backend, "in-place", name, err) != 0)
        return -1;
    if (!backend->offers_place)
        return error_set(err, ENOENT, "process %d has no group of its own", (int)home->pid);
    record_of(backend, name)->in_place = true;
    *opened = new_class(backend, name);
    note(backend, "in-place %s", name);
    return 0;
}

static bool test_keeps(backend_t *base, pid_t pid)
{
    (void)pid;
    return ((const struct test_backend *)base)->keeps;
}

static int test_open_named(backend_t *base, const char *name, const char *group, class_t **opened,
                           struct error *err)
{
    struct test_backend *backend = (struct test_backend *)base;
    if (fault(backend, "named", name, err) != 0)
        return -1;
    record_of(backend, name)->in_place = true;
    *opened = new_class(backend, name);
    note(backend, "named %s %s", name, group);
    return 0;
}

static void test_class_close(class_t *base)
{
    struct test_class *class_ = (struct test_class *)base;
    class_->record->suspension = base->suspension;
    free(class_);
}

static bool leave(struct record *record, pid_t pid)
{
    struct pid_list *members = &record->members;
    for (size_t i = 0; i < members->count; i++)
        if (members->pids[i] == pid) {
            members->pids[i] = members->pids[--members->count];
            pid_list_sort(members);
            return true;
        }
    return false;
}

static int test_place(class_t *base, pid_t pid, uint64_t start_time, struct error *err)
{
    (void)start_time;
    struct test_class *class_ = (struct test_class *)base;
    if (class_fault(base, "place", err) != 0)
        return -1;
    for (struct record *one = class_->backend->records; one != NULL; one = one->next)
        leave(one, pid);
    if (pid_list_add(&class_->record->members, pid, err) != 0)
        return -1;
    pid_list_sort(&class_->record->members);
    note(class_->backend, "place %s %d", base->name, (int)pid);
    return 0;
}

static int test_place_others(class_t *base, const struct process_id *whom, size_t count,
                             struct error *err)
{
    const struct test_class *class_ = (struct test_class *)base;
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        if (!pid_list_has(&class_->record->members, whom[i].pid) &&
            test_place(base, whom[i].pid, whom[i].start_time, err) != 0)
            rc = -1;
    return rc;
}

static bool test_holds(const class_t *base, pid_t pid)
{
    return pid_list_has(&((const struct test_class *)base)->record->members, pid);
}

static int test_expel(class_t *base, pid_t pid, struct error *err)
{
    struct test_class *class_ = (struct test_class *)base;
    if (class_fault(base, "expel", err) != 0)
        return -1;
    if (!leave(class_->record, pid))
        return error_set(err, ESRCH, "process %d is not in class %s", (int)pid, base->name);
    note(class_->backend, "expel %s %d", base->name, (int)pid);
    return 0;
}

static int test_set_share(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct test_class *class_ = (struct test_class *)base;
    if (class_fault(base, "share", err) != 0)
        return -1;
    if (share_ppm == BACKEND_UNLIMITED)
        note(class_->backend, "share %s max", base->name);
    else
        note(class_->backend, "share %s %" PRIu32, base->name, share_ppm);
    return 0;
}

static int test_begin_periods(class_t *base, uint32_t share_ppm, struct error *err)
{
    struct test_class *class_ = (struct test_class *)base;
    struct error fault = {0};
    if (class_fault(base, "begin", &fault) != 0)
        return test_set_share(base, share_ppm, err);
    note(class_->backend, "begin %s %" PRIu32, base->name, share_ppm);
    return 1;
}

static uint64_t test_period_us(const class_t *base, uint32_t share_ppm)
{
    (void)share_ppm;
    return ((const struct test_class *)base)->backend->period_us;
}

static int test_usage(class_t *base, uint64_t *usage_ns, struct error *err)
{
    if (class_fault(base, "usage", err) != 0)
        return -1;
    *usage_ns = ((struct test_class *)base)->record->usage_ns;
    return 0;
}

static int test_members(class_t *base, pid_t *pids, size_t limit, size_t *count, struct error *err)
{
    const struct pid_list *members = &((struct test_class *)base)->record->members;
    if (class_fault(base, "members", err) != 0)
        return -1;
    for (size_t i = 0; i < members->count && i < limit; i++)
        pids[i] = members->pids[i];
    *count = members->count;
    return 0;
}

static int plain_effect(class_t *base, const char *operation, struct error *err)
{
    if (class_fault(base, operation, err) != 0)
        return -1;
    note(((struct test_class *)base)->backend, "%s %s", operation, base->name);
    return 0;
}

static int test_freeze(class_t *base, struct error *err)
{
    int rc = plain_effect(base, "freeze", err);
    if (rc == 0)
        ((struct test_class *)base)->record->frozen = true;
    return rc;
}

// One that is not frozen may be thawed by anybody at any time, which is no effect.
static int test_thaw(class_t *base, struct error *err)
{
    struct record *record = ((struct test_class *)base)->record;
    int rc = record->frozen ? plain_effect(base, "thaw", err) : class_fault(base, "thaw", err);
    if (rc == 0)
        record->frozen = false;
    return rc;
}

static int kill_whole(class_t *base, const char *operation, struct error *err)
{
    int rc = plain_effect(base, operation, err);
    if (rc == 0)
        ((struct test_class *)base)->record->members.count = 0;
    return rc;
}

static int test_kill(class_t *base, struct error *err)
{
    return kill_whole(base, "kill-all", err);
}

static bool test_has_freezer(const class_t *base)
{
    return !((const struct test_class *)base)->backend->no_freezer;
}

static int test_freeze_pass(class_t *base, bool asked, struct error *err)
{
    (void)asked;
    return test_freeze(base, err);
}

static int test_find_stopped(class_t *base, struct suspension *suspension, struct error *err)
{
    (void)suspension;
    return class_fault(base, "find", err);
}

static int test_stop_pass(class_t *base, struct suspension *suspension, struct error *err)
{
    (void)suspension;
    return plain_effect(base, "stop", err);
}

static int test_continue_pass(class_t *base, const struct suspension *suspension, struct error *err)
{
    (void)suspension;
    return plain_effect(base, "continue", err);
}

static int test_kill_pass(class_t *base, pid_t root, uint64_t root_start, bool at_once,
                          struct error *err)
{
    (void)root_start;
    (void)at_once;
    if (root == 0)
        return kill_whole(base, "kill", err);
    if (class_fault(base, "kill", err) != 0)
        return -1;
    struct test_class *class_ = (struct test_class *)base;
    leave(class_->record, root);
    note(class_->backend, "kill %s %d", base->name, (int)root);
    return 0;
}

static int test_remove(class_t *base, size_t limit, struct error *err)
{
    struct test_class *class_ = (struct test_class *)base;
    struct pid_list *members = &class_->record->members;
    struct error why = {0};
    int rc = fault(class_->backend, "remove", base->name, &why);
    if (rc == 0 && class_->record->exists && members->count > limit) {
        members->count -= limit;
        rc = error_set(&why, EAGAIN, "%zu processes are left in %s", members->count, base->name);
    }
    if (rc != 0)
        error_set(err, why.code, "%s", why.text);
    if (why.code == EAGAIN)
        return rc;
    if (rc == 0 && class_->record->exists) {
        note(class_->backend, "remove %s", base->name);
        class_->record->exists = class_->record->in_place = class_->record->frozen = false;
        members->count = 0;
        class_->record->usage_ns = 0;
    }
    class_->record->suspension = base->suspension;
    free(class_);
    return rc;
}

// False when `each` has had enough.
static bool list_from(const struct record *one, bool backwards,
                      int (*each)(const char *name, void *user), void *user)
{
    if (one == NULL)
        return true;
    if (backwards && !list_from(one->next, true, each, user))
        return false;
    if (one->exists && each(one->name, user) != 0)
        return false;
    return backwards || list_from(one->next, false, each, user);
}

static int test_place_in_place(class_t *base, pid_t pid, uint64_t start_time, struct error *err)
{
    (void)start_time;
    struct test_class *class_ = (struct test_class *)base;
    if (class_fault(base, "check", err) != 0 ||
        pid_list_add(&class_->record->members, pid, err) != 0)
        return -1;
    pid_list_sort(&class_->record->members);
    note(class_->backend, "check %s %d", base->name, (int)pid);
    return 0;
}

static int test_expel_in_place(class_t *base, pid_t pid, struct error *err)
{
    (void)base, (void)pid, (void)err;
    return 0;
}

static int test_kill_in_place(class_t *base, struct error *err)
{
    return error_set(err, ENOTSUP, "class %s is in place", base->name);
}

static int test_displace(class_t **base, struct error *err)
{
    struct test_class *class_ = (struct test_class *)*base;
    if (class_fault(*base, "displace", err) != 0)
        return -1;
    note(class_->backend, "displace %s", class_->base.name);
    class_->record->in_place = false;
    class_->record->members.count = 0;
    class_->record->usage_ns = 0;
    class_->base.ops = class_->backend->base.ops;
    return 0;
}

static bool test_is_stopped(const class_t *base)
{
    return ((const struct test_class *)base)->backend->stops_in_place;
}

static int test_each_class(backend_t *base, int (*each)(const char *name, void *user), void *user,
                           struct error *err)
{
    struct test_backend *backend = (struct test_backend *)base;
    if (fault(backend, "each", "class", err) != 0)
        return -1;
    list_from(backend->records, backend->backwards, each, user);
    return 0;
}

static int test_release_all(backend_t *base, unsigned *lifted, struct error *err)
{
    struct test_backend *backend = (struct test_backend *)base;
    unsigned done = 0;
    int failed = 0;
    for (struct record *one = backend->records; one != NULL; one = one->next) {
        if (!one->exists)
            continue;
        if (fault(backend, "share", one->name, failed == 0 ? err : NULL) != 0) {
            failed++;
            continue;
        }
        note(backend, "share %s max", one->name);
        one->frozen = false;
        done++;
    }
    if (lifted != NULL)
        *lifted = done;
    return failed;
}

static void test_weigh_all(backend_t *base)
{
    (void)base; // nothing has a weight here
}

static const struct backend_ops test_ops = {
    .name = "test",
    .backend_close = test_close,
    .each_class = test_each_class,
    .release_all = test_release_all,
    .weigh_all = test_weigh_all,
    .open = test_class_open,
    .open_in_place = test_open_in_place,
    .keeps = test_keeps,
    .open_named = test_open_named,
    .close = test_class_close,
    .place = test_place,
    .place_others = test_place_others,
    .holds = test_holds,
    .expel = test_expel,
    .set_share = test_set_share,
    .begin_periods = test_begin_periods,
    .period_us = test_period_us,
    .usage = test_usage,
    .members = test_members,
    .freeze = test_freeze,
    .thaw = test_thaw,
    .kill = test_kill,
    .has_freezer = test_has_freezer,
    .freeze_pass = test_freeze_pass,
    .find_stopped = test_find_stopped,
    .stop_pass = test_stop_pass,
    .continue_pass = test_continue_pass,
    .kill_pass = test_kill_pass,
    .remove_step = test_remove,
};

static const struct backend_ops in_place_ops = {
    .name = "test in place",
    .close = test_class_close,
    .place = test_place_in_place,
    .holds = test_holds,
    .expel = test_expel_in_place,
    .set_share = test_set_share,
    .begin_periods = test_begin_periods,
    .period_us = test_period_us,
    .usage = test_usage,
    .members = test_members,
    .kill = test_kill_in_place,
    .remove_step = test_remove,
    .displace = test_displace,
    .is_stopped = test_is_stopped,
};

void test_backend_stop_in_place(backend_t *backend, bool stop)
{
    ((struct test_backend *)backend)->stops_in_place = stop;
}

void test_backend_keep(backend_t *backend, bool keep)
{
    ((struct test_backend *)backend)->keeps = keep;
}

void test_backend_offer_place(backend_t *backend, bool offer)
{
    ((struct test_backend *)backend)->offers_place = offer;
}

void test_backend_take_freezer(backend_t *backend)
{
    ((struct test_backend *)backend)->no_freezer = true;
}

backend_t *test_backend_new(void)
{
    struct test_backend *backend = need(calloc(1, sizeof *backend));
    backend->base.ops = &test_ops;
    return &backend->base;
}

const char *test_backend_log(const backend_t *backend)
{
    const char *log = ((const struct test_backend *)backend)->log;
    return log != NULL ? log : "";
}

void test_backend_clear_log(backend_t *base)
{
    struct test_backend *backend = (struct test_backend *)base;
    backend->log_length = 0;
    if (backend->log != NULL)
        backend->log[0] = '\0';
}

void test_backend_list_backwards(backend_t *backend, bool backwards)
{
    ((struct test_backend *)backend)->backwards = backwards;
}

void test_backend_set_usage(backend_t *backend, const char *name, uint64_t usage_ns)
{
    record_of((struct test_backend *)backend, name)->usage_ns = usage_ns;
}

void test_backend_set_period(backend_t *backend, uint64_t period_ns)
{
    ((struct test_backend *)backend)->period_us = period_ns / NS_PER_US;
}

void test_backend_fail(backend_t *base, const char *operation, int code, unsigned count)
{
    struct test_backend *backend = (struct test_backend *)base;
    struct failure *failure = need(calloc(1, sizeof *failure));
    snprintf(failure->operation, sizeof failure->operation, "%s", operation);
    failure->code = code;
    failure->count = count;
    struct failure **end = &backend->failures;
    while (*end != NULL)
        end = &(*end)->next;
    *end = failure;
}
