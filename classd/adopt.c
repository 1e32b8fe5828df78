#include "classd/adopt.h"

#include "cgroup-backend/in_force.h"
#include "classd/job_class.h"
#include "classd/log.h"
#include "classd/process.h"
#include "classd/sequential_class.h"
#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WAITED_FOR_MAX = 10,
    RESERVE = 8, // descriptors, of which lifting the limit of a class takes about four
};

// A class, or the page of an adopted one.
struct entry {
    char name[BACKEND_NAME_MAX]; // also wide enough for PAGE_NAME_MAX
    uint64_t registered_ns;      // of a class
};

struct names {
    struct entry *list;
    size_t count;
    bool cut; // there were more
};

static int collect(const char *name, void *user)
{
    struct names *names = user;
    names->cut = names->count == SCHEDULER_CLASSES_MAX;
    if (names->cut)
        return 1;
    if (strlen(name) < BACKEND_NAME_MAX)
        snprintf(names->list[names->count++].name, BACKEND_NAME_MAX, "%s", name);
    return 0;
}

static bool is_known(const char *page, void *user)
{
    const struct names *known = user;
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(known->list[i].name, page) == 0)
            return true;
    }
    return false;
}

// "job-<uid>-<job id>", exactly as job_class_name() writes it.
static bool parse_class_name(const char *name, uid_t *uid, const char **job_id)
{
    char again[BACKEND_NAME_MAX], padded[PROTOCOL_JOB_ID_MAX] = "";
    unsigned number;
    int at = 0;
    if (sscanf(name, "job-%u-%n", &number, &at) != 1 || at == 0 ||
        strlen(name + at) >= sizeof padded)
        return false;
    snprintf(padded, sizeof padded, "%s", name + at);
    job_class_name(again, number, padded);
    *uid = number;
    *job_id = name + at;
    return protocol_job_id_valid(padded) && strcmp(again, name) == 0;
}

static bool contains(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == pid)
            return true;
    }
    return false;
}

// Those of the page's members that live in the class, each pinned by a pidfd.
struct living {
    struct status_member processes[STATUS_PAGE_MEMBERS_MAX];
    int pidfds[STATUS_PAGE_MEMBERS_MAX];
    uint32_t count;
};

static bool listed(const struct living *living, pid_t pid)
{
    for (uint32_t i = 0; i < living->count; i++) {
        if (living->processes[i].pid == pid)
            return true;
    }
    return false;
}

static void find_living(const struct status_page *page, const pid_t *pids, size_t pid_count,
                        struct living *living)
{
    living->count = 0;
    for (uint32_t i = 0; i < page->member_count; i++) {
        const struct status_member *member = &page->members[i];
        if (member->pid <= 0 || member->width == 0 || member->width > 65536 ||
            listed(living, member->pid) || !contains(pids, pid_count, member->pid))
            continue;
        int pidfd = process_pin(member->pid, member->start_time, NULL);
        if (pidfd < 0)
            continue;
        living->processes[living->count] = *member;
        living->pidfds[living->count++] = pidfd;
    }
}

// A sequential group. Whether somebody computes there is found out anew, and the configuration may
// not name it any more.
static bool give_back(backend_t *backend, const char *name)
{
    struct error err;
    class_t *class_ = NULL;
    if (class_open(backend, name, &class_, &err) == 0 && class_remove(class_, &err) == 0)
        return true;
    log_line(LOG_WARNING, "class %s keeps its limit: %s; lift it with coschedctl release", name,
             err.text);
    return false;
}

// Process ids of the class; the caller frees the list. Null with *count 0 when there are none.
static pid_t *list_members(class_t *class_, const char *name, size_t *count)
{
    struct error err;
    size_t room = 0;
    pid_t *pids = NULL;
    *count = 0;
    if (class_members(class_, NULL, 0, &room, &err) < 0)
        log_line(LOG_WARNING, "class %s: %s", name, err.text);
    if (room > 0)
        pids = calloc(room, sizeof *pids);
    if (pids != NULL && class_members(class_, pids, room, count, &err) < 0)
        *count = 0;
    if (*count > room)
        *count = room;
    return pids;
}

// False when the class stays as it is, with its limit, and nobody will ever lift that.
static bool adopt_class(scheduler_t *scheduler, backend_t *backend, pages_t *pages,
                        const char *name, uint64_t now_ns, struct names *adopted)
{
    struct error err;
    struct adoption adoption = {.page_fd = -1};
    if (sequential_class_is(name))
        return give_back(backend, name);
    if (!parse_class_name(name, &adoption.uid, &adoption.job_id)) {
        log_line(LOG_NOTICE, "class %s is not of classd's making; it is left alone", name);
        return true;
    }
    if (class_open(backend, name, &adoption.class_, &err) < 0) {
        log_line(LOG_WARNING, "class %s: %s", name, err.text);
        return false;
    }
    struct living living = {.count = 0};
    if (pages_open_job(pages, adoption.uid, adoption.job_id, true, &adoption.page,
                       &adoption.page_fd, &err) == 0) {
        size_t pid_count;
        cleanup_free pid_t *pids = list_members(adoption.class_, name, &pid_count);
        find_living(adoption.page, pids, pid_count, &living);
    }
    if (living.count == 0) {
        // Members that could not be pinned, for want of descriptors, still look at it.
        if (adoption.page != NULL)
            pages_publish(pages, adoption.page, true, false);
        status_page_close(adoption.page, adoption.page_fd);
        return scheduler_dismiss(scheduler, adoption.uid, adoption.class_, now_ns);
    }
    adoption.count = living.count;
    adoption.processes = living.processes;
    adoption.pidfds = living.pidfds;
    if (scheduler_adopt(scheduler, &adoption, now_ns, &err) < 0) {
        log_line(LOG_WARNING, "job %u/%s is not managed any more: %s", (unsigned)adoption.uid,
                 adoption.job_id, err.text);
        return false;
    }
    page_name(adopted->list[adopted->count++].name, adoption.uid, adoption.job_id);
    log_line(LOG_INFO, "job %u/%s adopted with %u processes", (unsigned)adoption.uid,
             adoption.job_id, living.count);
    return true;
}

static int compare(const void *one, const void *other)
{
    const struct entry *first = one, *second = other;
    if (first->registered_ns != second->registered_ns)
        return first->registered_ns < second->registered_ns ? -1 : 1;
    return strcmp(first->name, second->name);
}

// In order of arrival, as the former classd had them: the policy goes by that where nothing else
// tells jobs apart, and a file system lists directories in any order.
static void sort_by_arrival(struct names *classes, const pages_t *pages)
{
    for (size_t i = 0; i < classes->count; i++) {
        struct entry *entry = &classes->list[i];
        uid_t uid;
        const char *job_id;
        if (parse_class_name(entry->name, &uid, &job_id))
            entry->registered_ns = pages_registered_ns(pages, uid, job_id);
    }
    qsort(classes->list, classes->count, sizeof *classes->list, compare);
}

// Kept while jobs are adopted, whose processes may take all descriptors that there are: limits that
// nobody looks after are to be lifted then.
static void reserve_take(const scheduler_t *scheduler, int reserve[RESERVE])
{
    for (int i = 0; i < RESERVE; i++)
        reserve[i] = fcntl(scheduler_deaths_fd(scheduler), F_DUPFD_CLOEXEC, 0);
}

static void reserve_give(const int reserve[RESERVE])
{
    for (int i = 0; i < RESERVE; i++)
        cleanup_close_fn(&reserve[i]);
}

// Of a class that nobody has, no failure keeps the others from being served.
static void lift_all(backend_t *backend)
{
    struct error err;
    if (backend_release_all(backend, NULL, &err) != 0)
        log_line(LOG_ERR, "limits may stay behind: %s; lift them with coschedctl release",
                 err.text);
}

int adopt_jobs(scheduler_t *scheduler, backend_t *backend, pages_t *pages, uint64_t now_ns,
               struct error *err)
{
    // Listed first, because adopting changes what is listed.
    struct names found = {.list = calloc(SCHEDULER_CLASSES_MAX, sizeof *found.list)};
    struct names adopted = {.list = calloc(SCHEDULER_CLASSES_MAX, sizeof *adopted.list)};
    int rc = 0, reserve[RESERVE];
    bool all = true;
    reserve_take(scheduler, reserve);
    if (found.list == NULL || adopted.list == NULL)
        rc = error_errno(err, ENOMEM, "adopt jobs");
    else
        rc = backend_each_class(backend, collect, &found, err);
    if (rc == 0)
        sort_by_arrival(&found, pages);
    for (size_t i = 0; rc == 0 && i < found.count; i++)
        all &= adopt_class(scheduler, backend, pages, found.list[i].name, now_ns, &adopted);
    if (found.cut)
        log_line(LOG_WARNING, "there are more than %d classes: jobs may go on unmanaged",
                 SCHEDULER_CLASSES_MAX);
    reserve_give(reserve);
    if (!all || found.cut)
        lift_all(backend);
    if (rc == 0) {
        pages_remove_orphans(pages, is_known, &adopted);
        scheduler_resume(scheduler, now_ns);
    }
    free(found.list);
    free(adopted.list);
    return rc;
}

// ---- another place

// Classes in place are not of that place: they are adopted, whatever the root is.
static bool clear_class(backend_t *other, const char *name, unsigned *waits)
{
    uid_t uid;
    const char *job_id;
    class_t *class_ = NULL;
    struct error err;
    if (!parse_class_name(name, &uid, &job_id) || class_open(other, name, &class_, NULL) < 0)
        return false;
    if (class_is_in_place(class_)) {
        class_close(class_);
        return false;
    }
    if (job_class_remove(class_, waits, &err) == 0)
        return true;
    log_line(LOG_WARNING, "class %s of an ended job stays behind: %s", name, err.text);
    return false;
}

// False when limits may be left.
static bool clear(backend_t *other, const struct in_force *place)
{
    struct error err = {.text = "no memory"};
    struct names found = {.list = calloc(SCHEDULER_CLASSES_MAX, sizeof *found.list)};
    size_t cleared = 0;
    unsigned waits = WAITED_FOR_MAX;
    bool lifted = found.list != NULL && backend_release_all(other, NULL, &err) == 0 &&
                  backend_each_class(other, collect, &found, &err) == 0;
    for (size_t i = 0; lifted && i < found.count; i++)
        cleared += clear_class(other, found.list[i].name, &waits);
    free(found.list);
    if (!lifted)
        log_line(LOG_WARNING,
                 "jobs may still be limited below %s (%s), where the last classd was: %s; lift "
                 "limits with coschedctl release",
                 place->root, place->kind, err.text);
    else
        log_line(
            LOG_NOTICE,
            "the last classd had its classes below %s (%s): %zu removed, their jobs run unmanaged",
            place->root, place->kind, cleared);
    return lifted;
}

void adopt_elsewhere(const struct backend_settings *settings, backend_t *backend)
{
    struct in_force place;
    struct error err = {0};
    backend_t *other = NULL;
    bool settled = true;
    if (in_force_read(settings->records, &place, &err) < 0) {
        log_line(LOG_WARNING, "where the last classd had its classes is not known: %s", err.text);
    } else if (in_force_open_other(settings, &other, &err) < 0) {
        log_line(LOG_WARNING,
                 "jobs may still be limited below %s (%s), where the last classd was: %s; lift "
                 "limits with coschedctl release",
                 place.root, place.kind, err.text);
        settled = false;
    }
    if (other != NULL)
        settled = clear(other, &place);
    backend_close(other);
    // Else the old note stays, for whoever lifts limits.
    if (settled && in_force_write(settings->records, backend, settings->root, &err) < 0)
        log_line(LOG_WARNING, "should [cgroup] root be changed now, limits may outlive a crash: %s",
                 err.text);
}
