#include "tests/unit/engine_model.h"

static bool is_limited(const struct history *h)
{
    uint64_t width = 0;
    for (size_t i = 0; i < h->count; i++)
        width += width_of(&h->jobs[i]);
    return h->count > 1 && width > cpus(h);
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
    if (each_ppm * cpus(h) < 1000) // of a CPU
        each_ppm = (1000 + cpus(h) - 1) / cpus(h);
    return each_ppm < idle_ppm ? each_ppm : idle_ppm;
}

// Of the CPUs that it can use.
static uint64_t idle_job_ppm(const struct history *h, const struct model_job *job,
                             uint64_t idle_ppm, uint64_t few_ppm)
{
    return (is_in_step(job) ? few_ppm : idle_ppm) * job->idle_cpus / cpus(h);
}

// While it is idle no fewer before a tick, and more only in steps of twice as many.
static void note_idle_cpus(struct history *h, bool tick)
{
    for (size_t i = 0; i < h->count; i++) {
        struct model_job *job = &h->jobs[i];
        if (tick || view_at(h, i).scheduled || usable(h, job) >= 2 * job->idle_cpus)
            job->idle_cpus = usable(h, job);
    }
}

static void check_shares(struct history *h)
{
    const struct engine_settings *settings = &h->caller.settings;
    uint64_t sum_ppm = 0, idle_jobs = 0, idle_classes = 0, scheduled_width = 0;
    for (size_t i = 0; i < h->count; i++) {
        sum_ppm += view_at(h, i).share_ppm;
        idle_jobs += !view_at(h, i).scheduled && !h->jobs[i].sequential;
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
    uint64_t rest_ppm = ENGINE_WHOLE_PPM - idle_classes * interactive_ppm;
    for (size_t i = 0; i < h->count; i++) {
        if (!view_at(h, i).scheduled && !h->jobs[i].sequential)
            rest_ppm -= idle_job_ppm(h, &h->jobs[i], idle_ppm, few_ppm);
    }
    CHECK(sum_ppm <= ENGINE_WHOLE_PPM);
    CHECK(sum_ppm + h->count > ENGINE_WHOLE_PPM); // less than 1 ppm per job is lost
    CHECK(idle_jobs + idle_classes < h->count);
    CHECK(cpus(h) > 1 || idle_jobs + idle_classes == h->count - 1);
    for (size_t i = 0; i < h->count; i++) {
        struct engine_job_view view = view_at(h, i);
        if (!view.scheduled)
            CHECK(view.share_ppm == (h->jobs[i].sequential
                                         ? interactive_ppm
                                         : idle_job_ppm(h, &h->jobs[i], idle_ppm, few_ppm)));
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

uint32_t round_of(const struct history *h, const struct model_job *job)
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

bool by_clock(const struct history *h)
{
    return h->seed % 2 == 0;
}

uint32_t rounds_of(const struct history *h)
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

struct engine_result step(struct history *h, struct engine_event event)
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
    note_idle_cpus(h, event.kind == ENGINE_SWITCH);
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
