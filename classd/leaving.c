// Removes the classes of jobs that have ended. Most are gone at once; one with many processes left,
// or with some that are about to end, step by step, while others are served.
#include "classd/scheduler_state.h"

#include "classd/job_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES_PER_STEP = 64, // some 2 ms
    LEAVING_MAX = 32,        // beyond that the oldest is waited for
    LATER_MAX = LEAVING_MAX / 2,
};

#define PAUSE_MIN_NS NS_PER_MS
#define PAUSE_MAX_NS (20 * NS_PER_MS)
#define LIMIT_NS     (60 * NS_PER_SEC)

struct leaving {
    class_t *class_;
    uint64_t begun_ns;
    uint64_t pause_ns;
    uint64_t next_ns; // of the next step
    struct leaving *next;
};

static void tell(struct scheduler *scheduler, const char *name, const struct error *err,
                 uint64_t now_ns)
{
    if (log_valve_open(&scheduler->ends_valve, now_ns))
        log_line(LOG_WARNING, "class %s of an ended job stays behind: %s", name, err->text);
}

// A class that is released by what is called here.
static int step(struct scheduler *scheduler, class_t *class_, bool wait, uint64_t now_ns)
{
    struct error err = {0};
    char name[BACKEND_NAME_MAX];
    strcpy(name, class_name(class_));
    int rc =
        wait ? class_remove(class_, &err) : class_remove_step(class_, PROCESSES_PER_STEP, &err);
    if (rc != 0 && err.code == EAGAIN)
        return EAGAIN;
    if (rc != 0)
        tell(scheduler, name, &err, now_ns);
    return 0;
}

static struct leaving *take_out(struct scheduler *scheduler, struct leaving **at)
{
    struct leaving *one = *at;
    *at = one->next;
    scheduler->leaving_count--;
    return one;
}

static void finish(struct scheduler *scheduler, struct leaving **at, uint64_t now_ns)
{
    struct leaving *one = take_out(scheduler, at);
    step(scheduler, one->class_, true, now_ns);
    free(one);
}

static struct leaving **find_oldest(struct scheduler *scheduler)
{
    struct leaving **at = &scheduler->leaving;
    while (*at != NULL && (*at)->next != NULL)
        at = &(*at)->next;
    return at;
}

void leaving_begin(struct scheduler *scheduler, class_t *class_, uint64_t begin_ns, uint64_t now_ns)
{
    bool later = begin_ns > now_ns && scheduler->leaving_count < LATER_MAX;
    if (!later && step(scheduler, class_, false, now_ns) != EAGAIN)
        return;
    if (scheduler->leaving_count >= LEAVING_MAX)
        finish(scheduler, find_oldest(scheduler), now_ns);
    struct leaving *one = malloc(sizeof *one);
    if (one == NULL) {
        step(scheduler, class_, true, now_ns);
        return;
    }
    *one = (struct leaving){.class_ = class_,
                            .begun_ns = later ? begin_ns : now_ns,
                            .pause_ns = PAUSE_MIN_NS,
                            .next_ns = later ? begin_ns : now_ns + PAUSE_MIN_NS,
                            .next = scheduler->leaving};
    scheduler->leaving = one;
    scheduler->leaving_count++;
}

void leaving_give_up(struct scheduler *scheduler, uid_t uid, const char *job_id, uint64_t now_ns)
{
    char name[BACKEND_NAME_MAX];
    job_class_name(name, uid, job_id);
    for (struct leaving **at = &scheduler->leaving; *at != NULL; at = &(*at)->next) {
        if (strcmp(class_name((*at)->class_), name) != 0)
            continue;
        struct leaving *one = take_out(scheduler, at);
        if (step(scheduler, one->class_, false, now_ns) == EAGAIN)
            class_close(one->class_);
        free(one);
        return;
    }
}

static struct leaving **find_first(struct scheduler *scheduler)
{
    struct leaving **first = &scheduler->leaving;
    for (struct leaving **at = first; *at != NULL; at = &(*at)->next)
        if ((*at)->next_ns < (*first)->next_ns)
            first = at;
    return first;
}

uint64_t leaving_deadline_ns(const struct scheduler *scheduler)
{
    uint64_t first_ns = SCHEDULER_NO_DEADLINE;
    for (const struct leaving *one = scheduler->leaving; one != NULL; one = one->next)
        if (one->next_ns < first_ns)
            first_ns = one->next_ns;
    return first_ns;
}

void scheduler_leave_on(scheduler_t *scheduler, uint64_t now_ns)
{
    struct leaving **first = find_first(scheduler), *one = *first;
    if (one == NULL || one->next_ns > now_ns)
        return;
    if (now_ns - one->begun_ns >= LIMIT_NS) {
        finish(scheduler, first, now_ns);
    } else if (step(scheduler, one->class_, false, now_ns) != EAGAIN) {
        free(take_out(scheduler, first));
    } else {
        one->next_ns = now_ns + one->pause_ns;
        one->pause_ns = 2 * one->pause_ns < PAUSE_MAX_NS ? 2 * one->pause_ns : PAUSE_MAX_NS;
    }
}

void leaving_finish(struct scheduler *scheduler, uint64_t now_ns)
{
    while (scheduler->leaving != NULL)
        finish(scheduler, &scheduler->leaving, now_ns);
}

void leaving_close(struct scheduler *scheduler)
{
    while (scheduler->leaving != NULL) {
        struct leaving *one = take_out(scheduler, &scheduler->leaving);
        class_close(one->class_);
        free(one);
    }
}
