// Removes the classes of jobs that have ended. Most are gone at once; one with many processes left,
// or with some that are about to end, step by step, while others are served. One whose processes
// are never there to be moved, as those of a chain that forks and ends, is looked at as long as
// they live: without a limit, and its user's as a job is.
#include "classd/scheduler_state.h"

#include "classd/job_class.h"

#include <errno.h>
#include <string.h>

enum {
    PROCESSES_AT_ONCE = 8,   // at the end of a job, which its user may bring about often
    PROCESSES_PER_STEP = 64, // some 2 ms
    PARTING_MAX = 16,
    RESTS_PER_STEP = 9,
    WAITED_FOR_MAX = 10,
};

#define STEP_MAX_NS    NS_PER_SEC // what is longer was a delay of the daemon's
#define PAUSE_MIN_NS   NS_PER_MS
#define PAUSE_MAX_NS   (20 * NS_PER_MS)
#define LONG_NS        (60 * NS_PER_SEC)
#define PAUSE_LATER_NS NS_PER_SEC // of who takes longer than that

static void tell(struct scheduler *scheduler, const char *name, const char *how,
                 const struct error *err, uint64_t now_ns)
{
    if (log_valve_open(&scheduler->ends_valve, now_ns))
        log_line(LOG_WARNING, "class %s of an ended job %s: %s", name, how, err->text);
}

// Releases the class, but for CLASS_LEAVES; *err then says why.
static enum departure step(struct scheduler *scheduler, class_t *class_, size_t limit,
                           uint64_t now_ns, struct error *err)
{
    char name[BACKEND_NAME_MAX];
    strcpy(name, class_name(class_));
    if (class_remove_step(class_, limit, err) == 0)
        return CLASS_GONE;
    if (err->code == EAGAIN)
        return CLASS_LEAVES;
    tell(scheduler, name, "stays behind", err, now_ns);
    return CLASS_STAYS;
}

static void begin(struct scheduler *scheduler, struct leaver *leaver)
{
    scheduler->parting -= leaver->parts;
    leaver->parts = false;
}

static class_t *take_out(struct scheduler *scheduler, struct leaver *leaver)
{
    begin(scheduler, leaver);
    return leavers_take(scheduler->leavers, leaver);
}

enum departure leaving_begin(struct scheduler *scheduler, uid_t uid, class_t *class_,
                             uint64_t begin_ns, uint64_t now_ns)
{
    struct error err = {.text = "its processes end by themselves"};
    struct leaver leaver = {
        .class_ = class_, .uid = uid, .begun_ns = now_ns, .pause_ns = PAUSE_MIN_NS};
    leaver.parts = begin_ns > now_ns && scheduler->parting < PARTING_MAX;
    if (leaver.parts)
        leaver.begun_ns = begin_ns;
    enum departure departure =
        leaver.parts ? CLASS_LEAVES : step(scheduler, class_, PROCESSES_AT_ONCE, now_ns, &err);
    if (departure != CLASS_LEAVES)
        return departure;
    leaver.next_ns = leaver.parts ? begin_ns : now_ns + PAUSE_MIN_NS;
    if (leavers_add(scheduler->leavers, &leaver) == NULL) {
        tell(scheduler, class_name(class_), "stays behind, for want of room", &err, now_ns);
        class_close(class_);
        return CLASS_STAYS;
    }
    scheduler->parting += leaver.parts;
    return CLASS_LEAVES;
}

bool scheduler_dismiss(scheduler_t *scheduler, uid_t uid, class_t *class_, uint64_t now_ns)
{
    return leaving_begin(scheduler, uid, class_, now_ns, now_ns) != CLASS_STAYS;
}

class_t *leaving_give_up(struct scheduler *scheduler, uid_t uid, const char *job_id,
                         uint64_t now_ns)
{
    struct error err = {0};
    char name[BACKEND_NAME_MAX];
    job_class_name(name, uid, job_id);
    struct leaver *one = leavers_of(scheduler->leavers, uid, NULL);
    while (one != NULL && strcmp(class_name(one->class_), name) != 0)
        one = leavers_of(scheduler->leavers, uid, one);
    if (one == NULL)
        return NULL;
    class_t *class_ = take_out(scheduler, one);
    bool stays = step(scheduler, class_, PROCESSES_PER_STEP, now_ns, &err) == CLASS_LEAVES;
    return stays ? class_ : NULL;
}

size_t leaving_of(const struct scheduler *scheduler, uid_t uid, const char *job_id)
{
    size_t count = 0;
    char name[BACKEND_NAME_MAX];
    job_class_name(name, uid, job_id);
    for (const struct leaver *one = leavers_of(scheduler->leavers, uid, NULL); one != NULL;
         one = leavers_of(scheduler->leavers, uid, one))
        count += !one->parts && strcmp(class_name(one->class_), name) != 0;
    return count;
}

uint64_t leaving_deadline_ns(const struct scheduler *scheduler)
{
    const struct leaver *first = leavers_first(scheduler->leavers);
    if (first == NULL)
        return SCHEDULER_NO_DEADLINE;
    return first->next_ns > scheduler->leaving_ready_ns ? first->next_ns
                                                        : scheduler->leaving_ready_ns;
}

static void put_off(struct scheduler *scheduler, struct leaver *leaver, const struct error *why,
                    uint64_t now_ns)
{
    bool is_late = now_ns - leaver->begun_ns >= LONG_NS;
    if (is_late && leaver->pause_ns != PAUSE_LATER_NS)
        tell(scheduler, class_name(leaver->class_), "is still there, and counts as a job", why,
             now_ns);
    uint64_t pause_ns = is_late ? PAUSE_LATER_NS : leaver->pause_ns;
    leavers_put_off(scheduler->leavers, leaver, now_ns + pause_ns);
    leaver->pause_ns = is_late                       ? PAUSE_LATER_NS
                       : 2 * pause_ns < PAUSE_MAX_NS ? 2 * pause_ns
                                                     : PAUSE_MAX_NS;
}

bool scheduler_leave_on(scheduler_t *scheduler, uint64_t now_ns)
{
    struct error err = {0};
    struct leaver *first = leavers_first(scheduler->leavers);
    if (leaving_deadline_ns(scheduler) > now_ns)
        return false;
    begin(scheduler, first);
    scheduler_rest_leaving(scheduler, 0, now_ns);
    if (step(scheduler, first->class_, PROCESSES_PER_STEP, now_ns, &err) == CLASS_LEAVES)
        put_off(scheduler, first, &err, now_ns);
    else
        take_out(scheduler, first); // it is released
    return true;
}

void scheduler_rest_leaving(scheduler_t *scheduler, uint64_t took_ns, uint64_t now_ns)
{
    uint64_t rest_ns = RESTS_PER_STEP * (took_ns < STEP_MAX_NS ? took_ns : STEP_MAX_NS);
    scheduler->leaving_ready_ns = now_ns + (rest_ns > PAUSE_MIN_NS ? rest_ns : PAUSE_MIN_NS);
}

void leaving_finish(struct scheduler *scheduler, uint64_t now_ns)
{
    unsigned waits = WAITED_FOR_MAX;
    for (struct leaver *one; (one = leavers_first(scheduler->leavers)) != NULL;) {
        struct error err = {0};
        char name[BACKEND_NAME_MAX];
        strcpy(name, class_name(one->class_));
        if (job_class_remove(take_out(scheduler, one), &waits, &err) < 0)
            tell(scheduler, name, "stays behind", &err, now_ns);
    }
}

void leaving_close(struct scheduler *scheduler)
{
    struct leaver *one;
    while (scheduler->leavers != NULL && (one = leavers_first(scheduler->leavers)) != NULL)
        class_close(take_out(scheduler, one));
    leavers_free(scheduler->leavers);
    scheduler->leavers = NULL;
}
