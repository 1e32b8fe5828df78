// A model of an engine's node, for random histories: it knows what the rules promise, but not how
// the engine keeps it. step() is the one way to post an event.
#ifndef COSCHED_TESTS_UNIT_ENGINE_MODEL_H
#define COSCHED_TESTS_UNIT_ENGINE_MODEL_H

#include "tests/unit/engine_caller.h"
#include "tests/unit/random.h"

#define EVENTS        600
#define JOBS          200
#define MAX_PROCESSES 8

struct model_job {
    engine_job_t id;
    uint32_t processes;
    uint32_t widths[MAX_PROCESSES];
    uint64_t cpu_ns; // running total of its class
    unsigned appetite_pct;
    bool sequential;
    bool asked; // during this wait
    unsigned turns_unasked;
    bool usage_known;
    uint64_t usage_ns;
    uint64_t told_ns; // when its usage was last reported
    uint64_t service_ns;
    uint64_t slice_used_ns, slice_counted_ns; // since the last tick, or since it came
    uint64_t slice_total_ns;                  // total_ns at that time
    uint64_t idle_cpus;                       // that its share is of while it is idle
    // Before the event, from the view.
    bool scheduled;
    uint64_t since_ns;
    uint64_t total_ns;
    uint64_t switches;
    uint32_t slices_waited;
    uint32_t most_jobs;
};

struct logged {
    struct engine_event event;
    uint64_t now_ns;
};

struct history {
    struct caller caller;
    char context[128];
    uint64_t seed;
    uint64_t random;
    uint64_t clock_ns; // never goes back, unlike caller.now_ns
    uint64_t turn;     // the number of the slice
    uint64_t tick_ns;  // when it began
    unsigned most_jobs;
    uint32_t uniform_width; // 0: any
    struct engine_settings first_settings;
    struct model_job jobs[JOBS];
    size_t count;
    size_t jobs_at_tick;  // the last one
    uint64_t quiet_ticks; // since a request
    engine_job_t last_id;
    struct logged log[EVENTS * 5];
    size_t logged;
    struct engine_settings settings[EVENTS]; // of reloads, for the replay
    size_t settings_count;
};

#define CHECK(condition) CALLER_CHECK(&h->caller, condition)

static inline uint64_t draw(struct history *h, uint64_t below)
{
    return random_below(&h->random, below);
}

static inline uint64_t cpus(const struct history *h)
{
    return h->caller.settings.cpus;
}

static inline uint64_t width_of(const struct model_job *job)
{
    uint64_t width = 0;
    for (uint32_t i = 0; i < job->processes; i++)
        width += job->widths[i];
    return width;
}

static inline uint64_t usable(const struct history *h, const struct model_job *job)
{
    return width_of(job) < cpus(h) ? width_of(job) : cpus(h);
}

static inline struct model_job *model_find(struct history *h, engine_job_t id)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->jobs[i].id == id)
            return &h->jobs[i];
    }
    return NULL;
}

static inline struct engine_job_view view_at(struct history *h, size_t index)
{
    struct engine_job_view view = {0};
    CHECK(engine_job_at(h->caller.engine, index, &view));
    return view;
}

static inline bool has_sequential(const struct history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->jobs[i].sequential)
            return true;
    }
    return false;
}

// Posts an event, and checks all that must hold after it.
struct engine_result step(struct history *h, struct engine_event event);

// The slices of a round: one for each job. By the clock the sequential class has less than one of
// them, as what it has of the others' counts; then each waits for what is left to the others, in
// whole slices, and one more; the class for twice its own, as it may give up a slot.
uint32_t round_of(const struct history *h, const struct model_job *job);

// Where the clock decides, turns come less evenly.
bool by_clock(const struct history *h);

// So many rounds nobody waits longer than.
uint32_t rounds_of(const struct history *h);

#endif
