// Protects what must hold after every event, whatever came before: random histories on nodes of
// several sizes, watched by a model that knows the rules' promises but not how the engine keeps
// them.
//
// A failure names the seed of its history; COSCHED_TEST_SEED=<seed> runs that history alone.
#include "tests/unit/engine_caller.h"
#include "tests/unit/random.h"

#define SECOND        1000000000ull
#define HISTORIES     240
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
    uint64_t held_ns; // total_ns when its usage was last reported
    uint64_t told_ns; // when its usage was last reported
    uint64_t service_ns;
    uint64_t tick_service_ns; // at the last tick
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

static uint64_t draw(struct history *h, uint64_t below)
{
    return random_below(&h->random, below);
}

static uint64_t cpus(const struct history *h)
{
    return h->caller.settings.cpus;
}

static uint64_t width_of(const struct model_job *job)
{
    uint64_t width = 0;
    for (uint32_t i = 0; i < job->processes; i++)
        width += job->widths[i];
    return width;
}

static uint64_t usable(const struct history *h, const struct model_job *job)
{
    return width_of(job) < cpus(h) ? width_of(job) : cpus(h);
}

static struct model_job *model_find(struct history *h, engine_job_t id)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->jobs[i].id == id)
            return &h->jobs[i];
    }
    return NULL;
}

static bool is_limited(const struct history *h)
{
    uint64_t width = 0;
    for (size_t i = 0; i < h->count; i++)
        width += width_of(&h->jobs[i]);
    return h->count > 1 && width > cpus(h);
}

static struct engine_job_view view_at(struct history *h, size_t index)
{
    struct engine_job_view view = {0};
    CHECK(engine_job_at(h->caller.engine, index, &view));
    return view;
}

static bool has_sequential(const struct history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->jobs[i].sequential)
            return true;
    }
    return false;
}

// "Nothing is limited" exactly while all fit or one is alone; then everybody is scheduled.
static void check_limits(struct history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        struct engine_job_view view = view_at(h, i);
        CHECK(view.limited == is_limited(h));
        CHECK(view.limited || view.scheduled);
    }
}

static void check_table(struct history *h)
{
    CHECK(engine_job_count(h->caller.engine) == h->count);
    for (size_t i = 0; i < h->count; i++) {
        struct engine_job_view view = view_at(h, i);
        CHECK(view.job == h->jobs[i].id);
        CHECK(view.processes == h->jobs[i].processes);
        CHECK(view.width == width_of(&h->jobs[i]));
        CHECK(view.service_ns == h->jobs[i].service_ns);
        CHECK(view.sequential == h->jobs[i].sequential);
    }
}

static bool is_in_step(const struct model_job *job)
{
    bool listens = (job->id + job->switches) % 8 == 0;
    return !job->asked && job->turns_unasked == 4 && !listens;
}

static uint64_t in_step_ppm(const struct history *h, uint64_t idle_ppm)
{
    const struct engine_settings *settings = &h->caller.settings;
    uint64_t together_ppm = settings->idle_total_ppm;
    if (together_ppm == 0 || h->jobs_at_tick < 2)
        return idle_ppm;
    if (together_ppm < settings->idle_share_ppm)
        together_ppm = settings->idle_share_ppm;
    uint64_t each_ppm = together_ppm / (h->jobs_at_tick - 1);
    if (each_ppm < 1000)
        each_ppm = 1000;
    return each_ppm < idle_ppm ? each_ppm : idle_ppm;
}

static void check_shares(struct history *h)
{
    const struct engine_settings *settings = &h->caller.settings;
    uint64_t sum_ppm = 0, idle_jobs = 0, in_step = 0, idle_classes = 0, scheduled_width = 0;
    for (size_t i = 0; i < h->count; i++) {
        sum_ppm += view_at(h, i).share_ppm;
        idle_jobs += !view_at(h, i).scheduled && !h->jobs[i].sequential;
        in_step += !view_at(h, i).scheduled && !h->jobs[i].sequential && is_in_step(&h->jobs[i]);
        idle_classes += !view_at(h, i).scheduled && h->jobs[i].sequential;
        scheduled_width += view_at(h, i).scheduled ? usable(h, &h->jobs[i]) : 0;
    }
    uint64_t interactive_ppm =
        settings->interactive_share_ppm < 250000 ? settings->interactive_share_ppm : 250000;
    uint64_t most_ppm = 500000 - idle_classes * interactive_ppm;
    uint64_t idle_ppm = settings->idle_share_ppm;
    if (idle_jobs > 0 && idle_ppm > most_ppm / idle_jobs)
        idle_ppm = most_ppm / idle_jobs;
    uint64_t few_ppm = in_step_ppm(h, idle_ppm);
    uint64_t rest_ppm = ENGINE_WHOLE_PPM - (idle_jobs - in_step) * idle_ppm - in_step * few_ppm -
                        idle_classes * interactive_ppm;
    CHECK(sum_ppm <= ENGINE_WHOLE_PPM);
    CHECK(sum_ppm + h->count > ENGINE_WHOLE_PPM); // less than 1 ppm per job is lost
    CHECK(idle_jobs + idle_classes < h->count);
    CHECK(cpus(h) > 1 || idle_jobs + idle_classes == h->count - 1);
    for (size_t i = 0; i < h->count; i++) {
        struct engine_job_view view = view_at(h, i);
        if (!view.scheduled)
            CHECK(view.share_ppm == (h->jobs[i].sequential     ? interactive_ppm
                                     : is_in_step(&h->jobs[i]) ? few_ppm
                                                               : idle_ppm));
        else // in proportion to width
            CHECK(view.share_ppm == rest_ppm * usable(h, &h->jobs[i]) / scheduled_width);
    }
}

// The scheduled set fits, unless it is one job; and no idle job would fit beside it.
static void check_packing(struct history *h)
{
    uint64_t members = 0, width = 0;
    for (size_t i = 0; i < h->count; i++) {
        members += view_at(h, i).scheduled;
        width += view_at(h, i).scheduled ? width_of(&h->jobs[i]) : 0;
    }
    CHECK(members > 0);
    CHECK(members == 1 || width <= cpus(h));
    for (size_t i = 0; i < h->count; i++)
        CHECK(view_at(h, i).scheduled || width + width_of(&h->jobs[i]) > cpus(h));
}

// The slices of a round: one for each job. By the clock the sequential class has less than one of
// them, as what it has of the others' counts; then each waits for what is left to the others, in
// whole slices, and one more; the class for twice its own, as it may give up a slot.
static uint32_t round_of(const struct history *h, const struct model_job *job)
{
    uint64_t interactive_ppm = h->caller.settings.interactive_share_ppm;
    uint64_t fair_ppm = 1000000 / h->count, slots_ppm = fair_ppm / 2;
    if (!has_sequential(h))
        return (uint32_t)h->count;
    if (interactive_ppm > 250000)
        interactive_ppm = 250000;
    if (fair_ppm > interactive_ppm) {
        uint64_t own_ppm = (fair_ppm - interactive_ppm) * 1000000 / (1000000 - interactive_ppm);
        slots_ppm = own_ppm > slots_ppm ? own_ppm : slots_ppm;
    }
    if (job->sequential)
        return 2 * (uint32_t)((1000000 + slots_ppm - 1) / slots_ppm);
    uint64_t rest_ppm = 1000000 - slots_ppm;
    return 1 + (uint32_t)(((h->count - 1) * 1000000 + rest_ppm - 1) / rest_ppm);
}

// Where the clock decides, turns come less evenly.
static bool by_clock(const struct history *h)
{
    return h->seed % 2 == 0;
}

static uint32_t rounds_of(const struct history *h)
{
    return by_clock(h) ? 3 : 1;
}

// No job waits more slices than a round, or three, had during its wait.
static void check_waits(struct history *h, bool tick)
{
    for (size_t i = 0; i < h->count; i++) {
        struct model_job *job = &h->jobs[i];
        struct engine_job_view view = view_at(h, i);
        if (view.scheduled) {
            job->slices_waited = 0;
            job->most_jobs = 0;
            continue;
        }
        if (job->slices_waited == 0 || tick) {
            job->slices_waited++;
            if (job->most_jobs < round_of(h, job))
                job->most_jobs = round_of(h, job);
        }
        CHECK(job->slices_waited <= rounds_of(h) * job->most_jobs);
    }
}

static void check_accounts(struct history *h, uint64_t elapsed_ns)
{
    for (size_t i = 0; i < h->count; i++) {
        struct model_job *job = &h->jobs[i];
        struct engine_job_view view = view_at(h, i);
        if (job->scheduled)
            job->total_ns += elapsed_ns;
        if (view.scheduled && !job->scheduled) {
            job->since_ns = h->clock_ns;
            job->switches++;
            job->turns_unasked = job->asked ? 0 : job->turns_unasked + (job->turns_unasked < 4);
            job->asked = false;
        }
        CHECK(view.scheduled_total_ns == job->total_ns);
        CHECK(view.switches == job->switches);
        CHECK(!view.scheduled || view.scheduled_since_ns == job->since_ns);
        job->scheduled = view.scheduled;
    }
}

// Who displaces whom: asked before check_accounts() forgets how it was.
static void check_request(struct history *h, const struct model_job *requester,
                          enum engine_outcome outcome, size_t decisions)
{
    const struct engine_settings *settings = &h->caller.settings;
    uint64_t protected_width = 0, protected_jobs = 0, kept_width = 0;
    bool far_ahead = false;
    for (size_t i = 0; i < h->count; i++) {
        const struct model_job *job = &h->jobs[i];
        bool young = h->clock_ns - job->since_ns < settings->gmet_ns;
        bool ahead = requester->service_ns > job->service_ns + settings->time_slice_ns;
        if (!job->scheduled)
            continue;
        protected_width += young ? width_of(job) : 0;
        protected_jobs += young;
        far_ahead = far_ahead || (!young && ahead);
        if (view_at(h, i).scheduled) {
            kept_width += width_of(job);
        } else {
            CHECK(!young);
            CHECK(!ahead);
        }
    }
    for (size_t i = 0; i < h->count; i++) { // nobody goes who could have stayed
        const struct model_job *job = &h->jobs[i];
        if (job->scheduled && !view_at(h, i).scheduled)
            CHECK(kept_width + width_of(requester) + width_of(job) > cpus(h));
    }
    bool impossible = protected_jobs > 0 && protected_width + width_of(requester) > cpus(h);
    bool scheduled = view_at(h, (size_t)(requester - h->jobs)).scheduled;
    CHECK(scheduled == (outcome == ENGINE_GRANTED));
    if (requester->scheduled) {
        CHECK(outcome == ENGINE_GRANTED);
        CHECK(decisions == 0);
        return;
    }
    CHECK(impossible == (outcome == ENGINE_DISCARDED_GMET));
    CHECK(outcome != ENGINE_DISCARDED_FAIR || far_ahead);
    // Only shares change, by what the requester is to have to notice messages.
    bool had_less = h->caller.settings.idle_total_ppm != 0;
    for (size_t i = 0; outcome != ENGINE_GRANTED && i < h->count; i++)
        CHECK(view_at(h, i).scheduled == h->jobs[i].scheduled);
    CHECK(outcome == ENGINE_GRANTED || decisions == 0 || had_less);
}

// After a tick the set contains one that was the least served (to within GMET, or two slices
// and a half when the number of the slice decided), or else the one with the fewest slices left,
// and the latter only when somebody waits.
static void check_tick(struct history *h, uint64_t turn)
{
    uint64_t equal_ns = h->caller.settings.gmet_ns;
    uint64_t even_ns = 5 * (h->caller.settings.time_slice_ns / 2) + 1;
    if (turn != 0 && equal_ns < even_ns)
        equal_ns = even_ns;
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < h->count; i++)
        least_ns = h->jobs[i].service_ns < least_ns ? h->jobs[i].service_ns : least_ns;
    bool least_served = false, longest_waiting = true;
    int64_t fewest_left = INT64_MAX;
    for (size_t i = 0; i < h->count; i++) {
        const struct model_job *job = &h->jobs[i];
        uint64_t ahead_ns = job->service_ns - least_ns;
        least_served =
            least_served || (view_at(h, i).scheduled && (ahead_ns == 0 || ahead_ns < equal_ns));
        int64_t left = (int64_t)job->most_jobs - job->slices_waited;
        if (job->scheduled)
            continue;
        if (left < fewest_left) {
            fewest_left = left;
            longest_waiting = view_at(h, i).scheduled;
        } else if (left == fewest_left) {
            longest_waiting = longest_waiting || view_at(h, i).scheduled;
        }
    }
    CHECK(least_served || longest_waiting);
    // With a slice to spare for each in turn the least served goes.
    if (fewest_left != INT64_MAX && fewest_left >= (int64_t)h->count)
        CHECK(least_served);
}

static struct engine_result step(struct history *h, struct engine_event event)
{
    assert_true(h->logged < sizeof h->log / sizeof *h->log);
    h->log[h->logged++] = (struct logged){event, h->caller.now_ns};
    snprintf(h->context, sizeof h->context, "COSCHED_TEST_SEED=%llu, event %zu of kind %d",
             (unsigned long long)h->seed, h->logged - 1, (int)event.kind);
    uint64_t before_ns = h->clock_ns;
    if (h->caller.now_ns > h->clock_ns)
        h->clock_ns = h->caller.now_ns;

    struct engine_result result = caller_post(&h->caller, event);
    check_table(h);
    check_limits(h);
    if (event.kind == ENGINE_SCHEDULE && !model_find(h, event.job)->scheduled) {
        model_find(h, event.job)->asked = true;
        h->quiet_ticks = 0;
    }
    if (event.kind == ENGINE_SWITCH) {
        h->quiet_ticks++;
        h->jobs_at_tick = h->count - has_sequential(h);
    }
    if (event.kind == ENGINE_SCHEDULE)
        check_request(h, model_find(h, event.job), result.outcome, result.decision_count);
    else
        CHECK(result.outcome == ENGINE_DONE);
    if (event.kind == ENGINE_USAGE)
        CHECK(result.decision_count == 0);
    if (is_limited(h)) {
        check_shares(h);
        check_packing(h);
        if (event.kind == ENGINE_SWITCH)
            check_tick(h, event.turn);
    }
    check_waits(h, event.kind == ENGINE_SWITCH);
    check_accounts(h, h->clock_ns - before_ns);
    return result;
}

static void step_register(struct history *h)
{
    bool newcomer = h->count == 0 || (h->count < h->most_jobs && draw(h, 2) == 0);
    struct model_job *job = newcomer ? &h->jobs[h->count] : &h->jobs[draw(h, h->count)];
    if (newcomer) {
        uint64_t sum_ns = 0;
        for (size_t i = 0; i < h->count; i++)
            sum_ns += h->jobs[i].service_ns;
        uint64_t mean_ns = h->count > 0 ? sum_ns / h->count : 0;
        *job = (struct model_job){.id = ++h->last_id,
                                  .service_ns = mean_ns,
                                  .tick_service_ns = mean_ns,
                                  .turns_unasked = h->quiet_ticks > 2 * h->jobs_at_tick ? 4 : 0};
        job->appetite_pct = (unsigned)(draw(h, 4) == 0 ? 0 : 50 + draw(h, 51));
        job->sequential = h->uniform_width == 0 && !has_sequential(h) && draw(h, 4) == 0;
        h->count++;
    } else if (h->uniform_width > 0 || job->processes == MAX_PROCESSES || job->sequential) {
        return;
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

// A slice that a job had from end to end is served, used or not; one of more than two and a half is
// a classd that hung.
static void end_slice(struct history *h)
{
    uint64_t now_ns = time_of_event(h), slice_ns = now_ns - h->tick_ns;
    for (size_t i = 0; i < h->count; i++) {
        struct model_job *job = &h->jobs[i];
        bool had_it = job->scheduled && job->since_ns <= h->tick_ns && h->tick_ns != 0 &&
                      slice_ns <= 5 * (h->caller.settings.time_slice_ns / 2);
        bool used_less = job->service_ns - job->tick_service_ns < slice_ns;
        if (had_it && used_less && job->told_ns == now_ns && !job->sequential)
            job->service_ns = job->tick_service_ns + slice_ns;
        job->tick_service_ns = job->service_ns;
    }
    h->tick_ns = now_ns;
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
    uint64_t service_ns = used_ns / usable(h, job);
    uint64_t total_ns = job->total_ns;
    if (job->scheduled && h->caller.now_ns > h->clock_ns)
        total_ns += h->caller.now_ns - h->clock_ns;
    if (job->sequential && service_ns < total_ns - job->held_ns)
        service_ns = total_ns - job->held_ns;
    if (job->usage_known) {
        job->service_ns += service_ns;
        job->told_ns = time_of_event(h);
    }
    job->held_ns = total_ns;
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
