#include "classd/sequential_class.h"

#include "classd/log.h"
#include "classd/periods.h"
#include "common/config.h"
#include "common/group_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "sequential-" // and the group's number

enum { GROUPS_MAX = CONFIG_TEXT_MAX / 2 };

struct group {
    char path[CONFIG_TEXT_MAX];
    class_t *class_; // null while it is not open
    struct phase phase;
    uint64_t usage_ns; // when last read
    bool missed;       // why it cannot be opened was said
    bool usage_failed; // said
    bool share_failed; // said
};

struct sequential_class {
    uint64_t usage_ns;
    unsigned count;
    struct group groups[];
};

static unsigned count_groups(const char *list)
{
    char path[CONFIG_TEXT_MAX];
    unsigned count = 0;
    while (group_list_next(&list, path, sizeof path))
        count++;
    return count < GROUPS_MAX ? count : GROUPS_MAX;
}

sequential_class_t *sequential_class_new(const char *groups)
{
    unsigned count = count_groups(groups);
    sequential_class_t *class_ = calloc(1, sizeof *class_ + count * sizeof *class_->groups);
    if (class_ == NULL)
        return NULL;
    while (class_->count < count) {
        struct group *group = &class_->groups[class_->count++];
        group_list_next(&groups, group->path, sizeof group->path);
    }
    return class_;
}

void sequential_class_free(sequential_class_t *class_)
{
    for (unsigned i = 0; class_ != NULL && i < class_->count; i++)
        class_close(class_->groups[i].class_);
    free(class_);
}

static void open_group(struct group *group, unsigned number, backend_t *backend)
{
    char name[BACKEND_NAME_MAX];
    struct error err;
    snprintf(name, sizeof name, NAME "%u", number);
    if (class_open_named(backend, name, group->path, &group->class_, &err) == 0) {
        // What was used before is nobody's demand.
        if (class_usage(group->class_, &group->usage_ns, NULL) < 0)
            group->usage_ns = 0;
        log_line(LOG_INFO, "sequential group %s found", group->path);
        group->phase = (struct phase){0};
        group->missed = group->usage_failed = group->share_failed = false;
        return;
    }
    group->class_ = NULL;
    if (!group->missed)
        log_line(LOG_NOTICE, "[sequential] groups: %s is left out for now: %s", group->path,
                 err.text);
    group->missed = true;
}

void sequential_class_search(sequential_class_t *class_, backend_t *backend)
{
    for (unsigned i = 0; i < class_->count; i++) {
        if (class_->groups[i].class_ == NULL)
            open_group(&class_->groups[i], i, backend);
    }
}

unsigned sequential_class_open_groups(const sequential_class_t *class_)
{
    unsigned open = 0;
    for (unsigned i = 0; i < class_->count; i++)
        open += class_->groups[i].class_ != NULL;
    return open;
}

static void give_back(struct group *group)
{
    struct error err;
    if (group->class_ != NULL && class_remove(group->class_, &err) < 0)
        log_line(LOG_WARNING, "sequential group %s keeps a limit: %s", group->path, err.text);
    group->class_ = NULL;
}

void sequential_class_give_back(sequential_class_t *class_)
{
    for (unsigned i = 0; i < class_->count; i++)
        give_back(&class_->groups[i]);
}

static uint64_t usage_since_last(struct group *group)
{
    struct error err;
    uint64_t before_ns = group->usage_ns;
    if (group->class_ == NULL)
        return 0;
    if (class_usage(group->class_, &group->usage_ns, &err) == 0)
        return group->usage_ns > before_ns ? group->usage_ns - before_ns : 0;
    if (err.code == ENODEV) {
        log_line(LOG_INFO, "sequential group %s is gone", group->path);
        give_back(group);
    } else if (!group->usage_failed) {
        log_line(LOG_WARNING, "sequential group %s: CPU time is not known: %s", group->path,
                 err.text);
        group->usage_failed = true;
    }
    return 0;
}

uint64_t sequential_class_usage(sequential_class_t *class_)
{
    for (unsigned i = 0; i < class_->count; i++)
        class_->usage_ns += usage_since_last(&class_->groups[i]);
    return class_->usage_ns;
}

static void limit_group(struct group *group, const struct phase_moment *moment, uint32_t share_ppm)
{
    struct error err;
    if (periods_set_share(&group->phase, moment, group->class_, share_ppm, &err) == 0)
        return;
    // It may come back, be it the group or on v2 the limit alone.
    if (err.code == ENODEV) {
        log_line(LOG_INFO, "sequential group %s is gone, or has no limit any more", group->path);
        give_back(group);
        return;
    }
    class_set_share(group->class_, BACKEND_UNLIMITED, NULL);
    // A kernel that refuses one write will refuse the next.
    if (!group->share_failed)
        log_line(LOG_WARNING, "sequential group %s runs without a limit: %s", group->path,
                 err.text);
    group->share_failed = true;
}

void sequential_class_limit(sequential_class_t *class_, const struct phase_moment *moment,
                            bool limited, uint32_t share_ppm)
{
    for (unsigned i = 0; i < class_->count; i++) {
        if (class_->groups[i].class_ != NULL)
            limit_group(&class_->groups[i], moment, limited ? share_ppm : BACKEND_UNLIMITED);
    }
}

bool sequential_class_is(const char *name)
{
    return strncmp(name, NAME, strlen(NAME)) == 0;
}
