// Protects what must hold after every event, whatever came before: random histories on nodes of
// several sizes, watched by a model that knows the rules' promises but not how the engine keeps
// them.
//
// A failure names the seed of its history; COSCHED_TEST_SEED=<seed> runs that history alone.
#include "tests/unit/engine_model.h"

#define SECOND    1000000000ull
#define HISTORIES 240

static uint64_t newcomer_ns(const struct history *h)
{
    uint64_t sum_ns = 0, least_ns = UINT64_MAX;
    for (size_t i = 0; i < h->count; i++) {
        sum_ns += h->jobs[i].service_ns;
        least_ns = h->jobs[i].service_ns < least_ns ? h->jobs[i].service_ns : least_ns;
    }
    uint64_t mean_ns = h->count > 0 ? sum_ns / h->count : 0;
    uint64_t most_ns = h->count > 0 ? least_ns + 2 * h->caller.settings.time_slice_ns : 0;
    return mean_ns < most_ns ? mean_ns : most_ns;
}

// Nobody is far ahead of who comes, nor who gets wider of anybody.
static void level(struct history *h, struct model_job *jobs, size_t count)
{
    const uint64_t most_ns = newcomer_ns(h) + 4 * h->caller.settings.time_slice_ns;
    for (size_t i = 0; i < count; i++)
        jobs[i].service_ns = jobs[i].service_ns < most_ns ? jobs[i].service_ns : most_ns;
}

static void step_register(struct history *h)
{
    bool newcomer = h->count == 0 || (h->count < h->most_jobs && draw(h, 2) == 0);
    struct model_job *job = newcomer ? &h->jobs[h->count] : &h->jobs[draw(h, h->count)];
    if (newcomer) {
        uint64_t mean_ns = newcomer_ns(h);
        level(h, h->jobs, h->count);
        *job = (struct model_job){.id = ++h->last_id,
                                  .service_ns = mean_ns,
                                  .turns_unasked = h->quiet_ticks > 2 * h->jobs_at_tick ? 4 : 0};
        job->appetite_pct = (unsigned)(draw(h, 4) == 0 ? 0 : 50 + draw(h, 51));
        job->sequential = h->uniform_width == 0 && !has_sequential(h) && draw(h, 4) == 0;
        h->count++;
    } else if (h->uniform_width > 0 || job->processes == MAX_PROCESSES || job->sequential) {
        return;
    } else {
        level(h, job, 1);
    }
    uint32_t width = h->uniform_width;
    if (job->sequential)
        width = (uint32_t)cpus(h);
    else if (width == 0)
        width = (uint32_t)(1 + (draw(h, 4) == 0 ? draw(h, cpus(h) + 2) : draw(h, 2)));
    job->widths[job->processes++] = width;
    step(h, (struct engine_event){.kind = ENGINE_REGISTER,
                                  .job = job->id,
                                  .width = width,
                                  .sequential = job->sequential,
                                  .name = job->id * UINT64_C(0x9e3779b97f4a7c15)});
}

static uint64_t time_of_event(const struct history *h)
{
    return h->caller.now_ns > h->clock_ns ? h->caller.now_ns : h->clock_ns;
}

// By the time of the next event.
static uint64_t total_ns(const struct history *h, const struct model_job *job)
{
    return job->total_ns + (job->scheduled ? time_of_event(h) - h->clock_ns : 0);
}

static uint64_t all_ns(const struct history *h, const struct model_job *job)
{
    return total_ns(h, job) - job->slice_total_ns;
}

// What the sequential class has used of others' slots.
static uint64_t lost_ns(const struct history *h, const struct model_job *job)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct model_job *class_ = &h->jobs[i];
        uint64_t own_ns = all_ns(h, class_), slice_ns = time_of_event(h) - h->tick_ns;
        if (!class_->sequential || class_ == job || class_->slice_used_ns <= own_ns)
            continue;
        uint64_t taken_ns = class_->slice_used_ns - own_ns;
        if (own_ns >= slice_ns || taken_ns >= slice_ns - own_ns)
            return all_ns(h, job);
        return (uint64_t)((double)all_ns(h, job) * (double)taken_ns / (double)(slice_ns - own_ns));
    }
    return 0;
}

// What a job holds of a slice is served, used or not, but for that; a slice of more than two and a
// half is a classd that hung.
static void settle(struct history *h, struct model_job *job)
{
    const struct engine_settings *settings = &h->caller.settings;
    uint64_t slice_ns = time_of_event(h) - h->tick_ns, counts_ns = 0;
    if (h->tick_ns != 0 && slice_ns <= 5 * (settings->time_slice_ns / 2))
        counts_ns = all_ns(h, job) - lost_ns(h, job);
    if (counts_ns < job->slice_used_ns)
        counts_ns = job->slice_used_ns;
    if (job->sequential && counts_ns < job->slice_counted_ns)
        return;
    job->service_ns = job->service_ns + counts_ns > job->slice_counted_ns
                          ? job->service_ns + counts_ns - job->slice_counted_ns
                          : 0;
    job->slice_counted_ns = counts_ns;
}

static void end_slice(struct history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->jobs[i].told_ns == time_of_event(h))
            settle(h, &h->jobs[i]);
    }
    for (size_t i = 0; i < h->count; i++) {
        struct model_job *job = &h->jobs[i];
        job->slice_used_ns = job->slice_counted_ns = 0;
        job->slice_total_ns = total_ns(h, job);
    }
    h->tick_ns = time_of_event(h);
}

// In every other history nodes know the number of the slice; ticks may be missed, or come twice.
static void step_tick(struct history *h)
{
    h->turn += draw(h, 8) < 6 ? 1 : draw(h, 4);
    end_slice(h);
    step(h, (struct engine_event){.kind = ENGINE_SWITCH, .turn = by_clock(h) ? h->turn : 0});
}

// A reload: everything but the CPUs may change.
static void step_settings(struct history *h)
{
    struct engine_settings *settings = &h->caller.settings;
    settings->time_slice_ns = (1 + draw(h, 20)) * SECOND;
    settings->gmet_ns = draw(h, settings->time_slice_ns + 1);
    settings->idle_share_ppm = (uint32_t)draw(h, 100001);
    settings->idle_total_ppm = draw(h, 2) == 0 ? (uint32_t)draw(h, 100001) : 0;
    settings->interactive_share_ppm = (uint32_t)draw(h, 300001);
    h->settings[h->settings_count] = *settings;
    step(h, (struct engine_event){.kind = ENGINE_SETTINGS,
                                  .settings = &h->settings[h->settings_count]});
    h->settings_count++;
}

static void step_exit(struct history *h)
{
    struct model_job *job = &h->jobs[draw(h, h->count)];
    engine_job_t id = job->id;
    uint32_t process = (uint32_t)draw(h, job->processes);
    uint32_t width = job->widths[process];
    job->widths[process] = job->widths[--job->processes];
    if (job->processes == 0) {
        struct model_job *end = h->jobs + h->count--;
        memmove(job, job + 1, (size_t)(end - (job + 1)) * sizeof *job);
    }
    step(h, (struct engine_event){.kind = ENGINE_EXIT, .job = id, .width = width});
}

static void step_usage(struct history *h, struct model_job *job)
{
    if (draw(h, 200) == 0)
        job->cpu_ns /= 2; // the class was made anew
    uint64_t used_ns = job->cpu_ns > job->usage_ns ? job->cpu_ns - job->usage_ns : 0;
    if (job->usage_known) {
        job->slice_used_ns += used_ns / usable(h, job);
        job->told_ns = time_of_event(h);
        settle(h, job);
    }
    job->usage_known = true;
    job->usage_ns = job->cpu_ns;
    step(h, (struct engine_event){.kind = ENGINE_USAGE, .job = job->id, .usage_ns = job->cpu_ns});
}

static void step_request(struct history *h)
{
    const struct model_job *job = &h->jobs[draw(h, h->count)];
    if (!job->sequential)
        step(h, (struct engine_event){.kind = ENGINE_SCHEDULE, .job = job->id});
}

static void let_time_pass(struct history *h, uint64_t ns)
{
    h->caller.now_ns = h->clock_ns + ns;
    for (size_t i = 0; i < h->count; i++) {
        struct model_job *job = &h->jobs[i];
        unsigned pct = job->scheduled ? job->appetite_pct : 1;
        job->cpu_ns += ns / 100 * pct * usable(h, job);
    }
    if (draw(h, 50) == 0) // a clock that jumps back
        h->caller.now_ns -= draw(h, h->caller.now_ns + 1);
}

static void random_event(struct history *h)
{
    const struct engine_settings *settings = &h->caller.settings;
    unsigned kind = (unsigned)draw(h, 100);
    let_time_pass(h, draw(h, settings->time_slice_ns / 2));
    if (draw(h, 100) == 0)
        step_settings(h);
    else if (h->count == 0 || kind < 12)
        step_register(h);
    else if (kind < 22)
        step_exit(h);
    else if (kind < 45)
        step_usage(h, &h->jobs[draw(h, h->count)]);
    else if (kind < 75)
        step_request(h);
    else
        step_tick(h);
}

static void assert_same_view(struct history *h, const struct engine_job_view *one,
                             const struct engine_job_view *other)
{
    CHECK(one->job == other->job);
    CHECK(one->processes == other->processes);
    CHECK(one->width == other->width);
    CHECK(one->scheduled == other->scheduled);
    CHECK(one->limited == other->limited);
    CHECK(one->share_ppm == other->share_ppm);
    CHECK(one->service_ns == other->service_ns);
    CHECK(one->scheduled_since_ns == other->scheduled_since_ns);
    CHECK(one->scheduled_total_ns == other->scheduled_total_ns);
    CHECK(one->switches == other->switches);
}

// The same events give the same table.
static void check_replay(struct history *h)
{
    engine_t *again = engine_new(&h->first_settings);
    CHECK(again != NULL);
    for (size_t i = 0; i < h->logged; i++)
        engine_event(again, &h->log[i].event, h->log[i].now_ns);
    CHECK(engine_job_count(again) == h->count);
    for (size_t i = 0; i < h->count; i++) {
        struct engine_job_view first = view_at(h, i), second;
        CHECK(engine_job_at(again, i, &second));
        assert_same_view(h, &first, &second);
    }
    engine_free(again);
}

// Who has left leaves no trace: the table is that of a new engine into which only the survivors
// came. Who of them is scheduled depends on the past, and how many too where jobs of several widths
// are packed; not so with one CPU, or with equal widths.
static void check_survivors(struct history *h)
{
    engine_t *fresh = engine_new(&h->caller.settings);
    CHECK(fresh != NULL);
    for (size_t i = 0; i < h->count; i++) {
        for (uint32_t k = 0; k < h->jobs[i].processes; k++) {
            struct engine_event event = {.kind = ENGINE_REGISTER,
                                         .job = h->jobs[i].id,
                                         .width = h->jobs[i].widths[k],
                                         .sequential = h->jobs[i].sequential};
            engine_event(fresh, &event, 0);
        }
    }
    size_t scheduled = 0, scheduled_fresh = 0;
    CHECK(engine_job_count(fresh) == h->count);
    for (size_t i = 0; i < h->count; i++) {
        struct engine_job_view old = view_at(h, i), new;
        CHECK(engine_job_at(fresh, i, &new));
        CHECK(old.job == new.job);
        CHECK(old.processes == new.processes);
        CHECK(old.width == new.width);
        CHECK(old.limited == new.limited);
        scheduled += old.scheduled;
        scheduled_fresh += new.scheduled;
    }
    CHECK((cpus(h) > 1 && h->uniform_width == 0) || scheduled == scheduled_fresh);
    engine_free(fresh);
}

static void run_history(uint64_t seed)
{
    static const unsigned sizes[] = {1, 1, 2, 3, 4, 8, 64};
    static const unsigned degrees[] = {2, 3, 5, 8, 20, JOBS};
    static const uint32_t idle_shares[] = {10000, 10000, 1000, 0, 100000, 300000};
    static struct history history;
    struct history *h = &history;
    *h = (struct history){.seed = seed, .random = seed};
    struct engine_settings settings = {
        .policy = "yoo-jette",
        .cpus = sizes[draw(h, sizeof sizes / sizeof *sizes)],
        .idle_share_ppm = idle_shares[draw(h, sizeof idle_shares / sizeof *idle_shares)],
        .idle_total_ppm = draw(h, 2) == 0 ? (uint32_t)draw(h, 60001) : 0,
        .interactive_share_ppm = (uint32_t)draw(h, 300001),
        .time_slice_ns = (1 + draw(h, 20)) * SECOND,
    };
    settings.gmet_ns = draw(h, settings.time_slice_ns + 1);
    if (draw(h, 8) == 0)
        settings.gmet_ns = 0;
    h->most_jobs = degrees[draw(h, sizeof degrees / sizeof *degrees)];
    if (draw(h, 3) == 0)
        h->uniform_width = (uint32_t)(1 + draw(h, settings.cpus));
    h->first_settings = settings;
    caller_open(&h->caller, &settings);
    h->caller.context = h->context;
    if (draw(h, 2) == 0) { // a full house to begin with
        for (unsigned i = 0; i < h->most_jobs; i++)
            step_register(h);
    }
    for (unsigned i = 0; i < EVENTS; i++) {
        random_event(h);
        if (i % 50 == 0)
            check_survivors(h);
    }
    check_replay(h);
    caller_close(&h->caller);
}

static void test_random_histories(void **state)
{
    (void)state;
    random_run_histories(run_history, HISTORIES);
}

// One slice of a real node's life: requests at any moment, then everybody's usage and the tick.
static void regular_slice(struct history *h, uint64_t *scheduled_until_ns)
{
    uint64_t slice_ns = h->caller.settings.time_slice_ns;
    uint64_t end_ns = (h->clock_ns / slice_ns + 1) * slice_ns;
    h->caller.now_ns = h->clock_ns;
    while (h->caller.now_ns < end_ns) {
        uint64_t part_ns = (1 + draw(h, 14)) * SECOND;
        if (part_ns > end_ns - h->caller.now_ns)
            part_ns = end_ns - h->caller.now_ns;
        h->caller.now_ns += part_ns;
        for (size_t i = 0; i < h->count; i++) {
            struct model_job *job = &h->jobs[i];
            job->cpu_ns += part_ns / 100 * (job->scheduled ? job->appetite_pct : 1);
            if (job->scheduled)
                scheduled_until_ns[i] = h->caller.now_ns;
            CHECK(h->caller.now_ns - scheduled_until_ns[i] <=
                  rounds_of(h) * round_of(h, job) * slice_ns);
        }
        if (h->caller.now_ns < end_ns)
            step_request(h);
    }
    for (size_t i = 0; i < h->count; i++)
        step_usage(h, &h->jobs[i]);
    step_tick(h);
}

// With a tick at every slice nobody is without the CPUs for longer than his rounds of slices,
// measured in time and not only in ticks.
static void test_regular_ticks(void **state)
{
    (void)state;
    static struct history history;
    struct history *h = &history;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        *h = (struct history){.seed = seed, .random = seed, .most_jobs = (unsigned)(2 + seed % 7)};
        uint64_t scheduled_until_ns[JOBS] = {0};
        caller_open(&h->caller, &(struct engine_settings){.policy = "yoo-jette",
                                                          .cpus = (unsigned)(1 + seed % 3),
                                                          .idle_share_ppm = 10000,
                                                          .interactive_share_ppm = 50000,
                                                          .time_slice_ns = 15 * SECOND,
                                                          .gmet_ns = 5 * SECOND});
        h->caller.context = h->context;
        while (h->count < h->most_jobs)
            step_register(h);
        for (unsigned slice = 0; slice < 90; slice++)
            regular_slice(h, scheduled_until_ns);
        caller_close(&h->caller);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories),
        cmocka_unit_test(test_regular_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
