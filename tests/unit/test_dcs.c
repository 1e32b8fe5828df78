// Protects policy dcs: each term of the paper's inequality by itself, the quantum, the dispatcher,
// the calibration, and what must hold after every event of random histories.
#include "tests/unit/dcs_settings.h"
#include "tests/unit/engine_caller.h"
#include "tests/unit/random.h"

#include <stdlib.h>

enum { A = 101, B, C, D };

static struct caller node_of(struct engine_settings settings)
{
    struct caller caller;
    caller_open(&caller, &settings);
    return caller;
}

static void enter(struct caller *caller, engine_job_t job, uint32_t width)
{
    caller_event(caller, ENGINE_REGISTER, job, width, 0);
}

// A node of one CPU with so many jobs, A scheduled.
static struct caller node_with(unsigned jobs, struct engine_settings settings)
{
    struct caller caller = node_of(settings);
    for (unsigned i = 0; i < jobs; i++)
        enter(&caller, A + i, 1);
    return caller;
}

static enum engine_outcome request_at(struct caller *caller, engine_job_t job, uint64_t now_ns)
{
    caller->now_ns = now_ns;
    return caller_event(caller, ENGINE_SCHEDULE, job, 0, 0).outcome;
}

static void tick_at(struct caller *caller, uint64_t now_ns)
{
    caller->now_ns = now_ns;
    caller_post(caller, (struct engine_event){.kind = ENGINE_SWITCH, .turn = now_ns / SLICE});
}

static void served(struct caller *caller, engine_job_t job, uint64_t service_ns)
{
    engine_set_service(caller->engine, job, service_ns);
}

static struct engine_job_view view_of(const struct caller *caller, engine_job_t job)
{
    struct engine_job_view view = {0};
    assert_true(engine_job_find(caller->engine, job, &view));
    return view;
}

// The first moment at which a request is granted that was refused a nanosecond before.
static void assert_edge(struct engine_settings settings, unsigned jobs, uint64_t edge_ns)
{
    struct caller node = node_with(jobs, settings);
    if (edge_ns > 0)
        assert_int_equal(request_at(&node, B, edge_ns - 1), ENGINE_DISCARDED_RATE);
    assert_true(view_of(&node, A).scheduled);
    assert_int_equal(request_at(&node, B, edge_ns), ENGINE_GRANTED);
    assert_true(view_of(&node, B).scheduled);
    assert_false(view_of(&node, A).scheduled);
    assert_int_equal(view_of(&node, B).scheduled_since_ns, edge_ns);
    caller_close(&node);
}

// ---- the terms of 2^E (Tc - Tp) + C >= Tq R

static void test_time_since_the_last_boost(void **state)
{
    (void)state;
    assert_edge(settings(0, 0, false), 2, 40 * MS);

    struct caller node = node_with(2, settings(0, 0, false));
    node.now_ns = 1000 * MS;
    enter(&node, C, 1); // Tp of a job that was never boosted: when it came
    assert_int_equal(request_at(&node, C, 1060 * MS - 1), ENGINE_DISCARDED_RATE);
    assert_int_equal(request_at(&node, B, 1060 * MS - 1), ENGINE_GRANTED);
    tick_at(&node, 1100 * MS); // a turn is no boost
    assert_true(view_of(&node, A).scheduled);
    assert_int_equal(request_at(&node, B, 1120 * MS - 2), ENGINE_DISCARDED_RATE);
    assert_int_equal(request_at(&node, B, 1120 * MS - 1), ENGINE_GRANTED);
    caller_close(&node);
}

static void test_a_refusal_does_not_count(void **state)
{
    (void)state;
    struct caller node = node_with(2, settings(0, 0, false));
    for (uint64_t ms = 20; ms < 40; ms++)
        assert_int_equal(request_at(&node, B, ms * MS), ENGINE_DISCARDED_RATE);
    assert_int_equal(request_at(&node, B, 40 * MS), ENGINE_GRANTED);
    caller_close(&node);
}

static void test_constant(void **state)
{
    (void)state;
    assert_edge(settings(0, 30 * MS, false), 3, 30 * MS);
    assert_edge(settings(-1, 30 * MS, false), 3, 60 * MS);

    static const uint64_t enough_ns[] = {40 * MS - 1, 40 * MS, UINT64_MAX};
    for (size_t i = 0; i < 3; i++) { // not before the end of A's quantum
        struct caller node = node_with(2, settings(0, enough_ns[i], false));
        assert_int_equal(request_at(&node, B, QUANTUM - 1), ENGINE_DISCARDED_GMET);
        assert_int_equal(request_at(&node, B, QUANTUM), ENGINE_GRANTED);
        caller_close(&node);
    }
}

static void test_exponent(void **state)
{
    (void)state;
    assert_edge(settings(-1, 0, false), 2, 80 * MS);
    assert_edge(settings(-2, 0, false), 3, 240 * MS);
    assert_edge(settings(-16, 0, false), 2, 40 * MS << 16);
    struct engine_settings many = settings(1, 0, false);
    assert_edge(many, 4, 40 * MS);
    many.dcs.exponent = 2;
    assert_edge(many, 7, 35 * MS);
    many.dcs.quantum_ns = 20;
    many.dcs.exponent = 1;
    assert_edge(many, 3, 30);
    many.dcs.exponent = -1;
    assert_edge(many, 3, 120);
}

// Rounding never decides, and no exponent is too large.
static void test_exact_arithmetic(void **state)
{
    (void)state;
    struct engine_settings odd = settings(4, 0, false);
    odd.dcs.quantum_ns = 15;
    assert_edge(odd, 20, 19); // 16 * 18 = 288 < 300 <= 304
    odd.dcs.constant_ns = 12;
    assert_edge(odd, 20, 18);

    static const int exponents[] = {-64, -1000, INT32_MIN};
    for (size_t i = 0; i < 3; i++) {
        struct caller node = node_with(2, settings(exponents[i], 0, false));
        assert_int_equal(request_at(&node, B, UINT64_MAX), ENGINE_DISCARDED_RATE);
        caller_close(&node);
        node = node_with(2, settings(exponents[i], 40 * MS, false));
        assert_int_equal(request_at(&node, B, QUANTUM), ENGINE_GRANTED);
        caller_close(&node);
    }
    struct caller node = node_with(2, settings(INT32_MAX, 0, true));
    node.settings.dcs.quantum_ns = UINT64_MAX;
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    tick_at(&node, SLICE);
    assert_int_equal(request_at(&node, A, UINT64_MAX), ENGINE_GRANTED); // both sides at their ends
    caller_close(&node);
}

static void test_quantum_and_jobs(void **state)
{
    (void)state;
    for (unsigned jobs = 2; jobs <= 20; jobs++)
        assert_edge(settings(0, 0, false), jobs, jobs * QUANTUM);
    struct engine_settings longer = settings(0, 0, false);
    longer.dcs.quantum_ns = 50 * MS;
    assert_edge(longer, 2, 100 * MS);

    struct caller node = node_with(5, settings(0, 0, false));
    assert_int_equal(request_at(&node, B, 60 * MS), ENGINE_DISCARDED_RATE);
    caller_event(&node, ENGINE_EXIT, D, 1, 0);
    caller_event(&node, ENGINE_EXIT, D + 1, 1, 0);
    assert_int_equal(request_at(&node, B, 60 * MS), ENGINE_GRANTED);
    caller_close(&node);
}

// ---- the quantum of a boost, the dispatcher, packing

static void test_who_was_boosted_keeps_its_quantum(void **state)
{
    (void)state;
    struct caller node = node_with(2, settings(2, 100 * MS, false)); // every message preempts
    assert_int_equal(request_at(&node, B, 50 * MS), ENGINE_GRANTED);
    assert_int_equal(request_at(&node, A, 70 * MS - 1), ENGINE_DISCARDED_GMET);
    assert_true(view_of(&node, B).scheduled);
    assert_int_equal(request_at(&node, B, 70 * MS - 1), ENGINE_GRANTED); // has it already
    assert_int_equal(request_at(&node, A, 70 * MS), ENGINE_GRANTED);
    tick_at(&node, 80 * MS); // the dispatcher is not bound
    assert_true(view_of(&node, B).scheduled);
    assert_int_equal(request_at(&node, A, 80 * MS), ENGINE_GRANTED); // nor protected
    caller_close(&node);
}

static void test_least_cpu_time_first(void **state)
{
    (void)state;
    struct caller node = node_with(3, settings(0, 0, true));
    served(&node, A, 200 * MS);
    served(&node, B, 219 * MS);
    served(&node, C, 180 * MS - 1);
    tick_at(&node, SLICE);
    assert_true(view_of(&node, C).scheduled);
    served(&node, C, 201 * MS); // within a quantum: whoever has waited longest
    tick_at(&node, 2 * SLICE);
    assert_true(view_of(&node, B).scheduled);
    caller_close(&node);
}

static void test_bounded_waiting(void **state)
{
    (void)state;
    struct caller node = node_with(4, settings(0, 0, true));
    unsigned waited[4] = {0};
    for (uint64_t slice = 1; slice < 200; slice++) {
        for (unsigned i = 1; i < 4; i++) // A sleeps
            served(&node, A + i, slice * SLICE);
        tick_at(&node, slice * SLICE);
        for (unsigned i = 0; i < 4; i++) {
            waited[i] = view_of(&node, A + i).scheduled ? 0 : waited[i] + 1;
            assert_true(waited[i] <= 4);
        }
    }
    caller_close(&node);
}

static void test_packing(void **state)
{
    (void)state;
    struct engine_settings wide = settings(0, 0, true);
    wide.cpus = 4;
    struct caller node = node_of(wide);
    enter(&node, A, 2);
    enter(&node, B, 2);
    assert_false(view_of(&node, A).limited);
    assert_int_equal(request_at(&node, B, 0), ENGINE_GRANTED);
    enter(&node, C, 2);
    assert_true(view_of(&node, A).limited);
    served(&node, A, 10 * MS);
    served(&node, B, 35 * MS);
    served(&node, C, 10 * MS);
    assert_int_equal(request_at(&node, C, QUANTUM), ENGINE_GRANTED); // 20 + 3 * 25 >= 60
    assert_false(view_of(&node, B).scheduled);
    assert_true(view_of(&node, A).scheduled);
    caller_close(&node);
}

// ---- calibration

// B's first request is granted from edge_ns on, when it has received so much more than A.
static void assert_calibrated(struct engine_settings settings, int64_t lead_ms, uint64_t edge_ns,
                              enum engine_outcome before)
{
    struct caller node = node_with(2, settings);
    served(&node, A, 1000 * MS);
    served(&node, B, (uint64_t)(1000 + lead_ms) * MS);
    assert_int_equal(request_at(&node, B, edge_ns - 1), before);
    assert_int_equal(request_at(&node, B, edge_ns), ENGINE_GRANTED);
    caller_close(&node);
}

static void test_a_lead_is_paid_off_by_waiting(void **state)
{
    (void)state;
    assert_calibrated(settings(0, 0, true), 0, 40 * MS, ENGINE_DISCARDED_RATE);
    assert_calibrated(settings(0, 0, true), 30, 100 * MS, ENGINE_DISCARDED_FAIR);
    assert_calibrated(settings(0, 50 * MS, true), 30, 50 * MS, ENGINE_DISCARDED_FAIR);
    assert_calibrated(settings(-1, 0, true), 30, 200 * MS, ENGINE_DISCARDED_FAIR);
    assert_calibrated(settings(2, 0, true), 30, 70 * MS, ENGINE_DISCARDED_FAIR);
    assert_calibrated(settings(0, 0, true), -5, 30 * MS, ENGINE_DISCARDED_RATE);
    assert_calibrated(settings(-1, 0, true), -5, 60 * MS, ENGINE_DISCARDED_RATE);
    assert_calibrated(settings(0, 0, true), -30, QUANTUM, ENGINE_DISCARDED_GMET);
}

static void test_a_lead_means_nothing_without_calibration(void **state)
{
    (void)state;
    assert_calibrated(settings(0, 0, false), 30, 40 * MS, ENGINE_DISCARDED_RATE);
    assert_calibrated(settings(0, 0, false), -30, 40 * MS, ENGINE_DISCARDED_RATE);
}

// As 30 ms of lead above, which its owner's job before had; it has come back at 0.
static void test_a_lead_is_not_lost_by_leaving(void **state)
{
    (void)state;
    struct caller node = node_with(1, settings(0, 0, true));
    struct engine_event comes = {.kind = ENGINE_REGISTER, .job = B, .owner = 7};
    served(&node, A, 1000 * MS);
    caller_post(&node, comes);
    served(&node, B, 1030 * MS);
    caller_event(&node, ENGINE_EXIT, B, 1, 0);
    comes.job = C;
    caller_post(&node, comes);
    assert_int_equal(request_at(&node, C, 100 * MS - 1), ENGINE_DISCARDED_FAIR);
    assert_int_equal(request_at(&node, C, 100 * MS), ENGINE_GRANTED);
    caller_close(&node);
}

// A job that slept for an hour has a claim of a round when it is back, not of an hour.
static void test_old_claims_lapse(void **state)
{
    (void)state;
    struct caller node = node_with(3, settings(0, 0, true));
    served(&node, A, 3600000 * MS);
    served(&node, B, 3600000 * MS);
    served(&node, C, 0);
    assert_int_equal(request_at(&node, C, 20 * MS), ENGINE_GRANTED);
    assert_int_equal(view_of(&node, C).service_ns, (3600000 - 300) * MS);
    assert_int_equal(request_at(&node, B, 60 * MS), ENGINE_DISCARDED_FAIR);
    served(&node, C, 0);
    assert_int_equal(request_at(&node, B, 959 * MS), ENGINE_DISCARDED_FAIR); // 60 + 3 * 300
    assert_int_equal(request_at(&node, B, 960 * MS), ENGINE_GRANTED);
    caller_close(&node);
}

static void test_settings_of_a_running_engine(void **state)
{
    (void)state;
    assert_true(engine_policy_known("dcs"));
    struct caller node = node_with(2, settings(-16, 0, false));
    assert_int_equal(request_at(&node, B, 50 * MS), ENGINE_DISCARDED_RATE);
    struct engine_settings next = settings(0, 0, false);
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &next});
    assert_int_equal(request_at(&node, B, 50 * MS), ENGINE_GRANTED);
    next.policy = "yoo-jette";
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &next});
    assert_int_equal(request_at(&node, A, 149 * MS), ENGINE_DISCARDED_GMET);
    assert_int_equal(request_at(&node, A, 150 * MS), ENGINE_GRANTED);
    caller_close(&node);
}

// ---- random histories

struct history {
    struct caller caller;
    uint64_t random;
    uint64_t usage_ns[CALLER_JOBS];
    uint64_t boosted_ns[CALLER_JOBS];
    unsigned waited[CALLER_JOBS]; // slices
    engine_job_t last;
    char context[64];
};

#define CHECK(condition) CALLER_CHECK(&h->caller, condition)

static uint64_t draw(struct history *h, uint64_t below)
{
    return random_below(&h->random, below);
}

static struct engine_job_view any_job(struct history *h)
{
    struct engine_job_view view = {0};
    size_t count = engine_job_count(h->caller.engine);
    if (count > 0)
        CHECK(engine_job_at(h->caller.engine, draw(h, count), &view));
    return view;
}

// Shares sum to the whole, the scheduled jobs fit, and nobody idle would fit beside them; on one
// CPU exactly n - 1 jobs are idle. No job waits more slices than there were jobs.
static void check_node(struct history *h, bool tick)
{
    uint64_t sum_ppm = 0, scheduled = 0, width = 0, total = 0;
    struct engine_job_view view;
    size_t count = engine_job_count(h->caller.engine);
    for (size_t i = 0; engine_job_at(h->caller.engine, i, &view); i++) {
        total += view.width;
        sum_ppm += view.share_ppm;
        scheduled += view.scheduled;
        width += view.scheduled ? view.width : 0;
        unsigned *waited = &h->waited[view.job];
        *waited = view.scheduled ? 0 : *waited + (*waited == 0 || tick);
        CHECK(*waited == view.slices_waited);
        CHECK(view.slices_waited <= view.most_jobs);
    }
    uint64_t cpus = h->caller.settings.cpus;
    if (count < 2 || total <= cpus) {
        CHECK(scheduled == count);
        return;
    }
    CHECK(sum_ppm <= ENGINE_WHOLE_PPM && sum_ppm + count > ENGINE_WHOLE_PPM);
    CHECK(scheduled > 0 && (scheduled == 1 || width <= cpus));
    CHECK(cpus > 1 || scheduled == 1);
    for (size_t i = 0; engine_job_at(h->caller.engine, i, &view); i++)
        CHECK(view.scheduled || width + view.width > cpus);
}

// The paper's inequality, times 2^16, by other arithmetic than the policy's.
static bool inequality_holds(const struct history *h, const struct engine_job_view *job,
                             const struct engine_job_view *holder)
{
    const struct engine_dcs *dcs = &h->caller.settings.dcs;
    long double unit = 65536, jobs = (long double)engine_job_count(h->caller.engine);
    long double power = unit;
    for (int i = 0; i < abs(dcs->exponent); i++)
        power = dcs->exponent > 0 ? power * 2 : power / 2;
    long double most =
        jobs * (long double)h->caller.settings.time_slice_ns + (long double)dcs->constant_ns;
    long double lead = (long double)job->service_ns - (long double)holder->service_ns;
    lead = lead > most ? most : lead < -most ? -most : lead;
    if (!dcs->calibrate)
        lead = 0;
    long double since = (long double)(h->caller.now_ns - h->boosted_ns[job->job]);
    return power * since + unit * (long double)dcs->constant_ns -
               (power > unit ? power : unit) * jobs * lead >=
           unit * (long double)dcs->quantum_ns * jobs;
}

static void random_request(struct history *h)
{
    struct engine_job_view job = any_job(h), holder = {0};
    if (job.job == 0)
        return;
    for (size_t i = 0; !holder.scheduled; i++)
        CHECK(engine_job_at(h->caller.engine, i, &holder));
    bool one_cpu = h->caller.settings.cpus == 1;
    bool young = h->boosted_ns[holder.job] == holder.scheduled_since_ns &&
                 h->caller.now_ns - holder.scheduled_since_ns < h->caller.settings.dcs.quantum_ns;
    bool holds = inequality_holds(h, &job, &holder);
    struct engine_result result = caller_event(&h->caller, ENGINE_SCHEDULE, job.job, 0, 0);
    CHECK(view_of(&h->caller, job.job).scheduled == (result.outcome == ENGINE_GRANTED));
    CHECK(result.outcome == ENGINE_GRANTED || result.decision_count == 0);
    if (job.scheduled) {
        CHECK(result.outcome == ENGINE_GRANTED && result.decision_count == 0);
        return;
    }
    if (one_cpu) {
        CHECK((result.outcome == ENGINE_DISCARDED_GMET) == young);
        CHECK(young || (result.outcome == ENGINE_GRANTED) == holds);
    }
    CHECK(result.outcome != ENGINE_DISCARDED_FAIR || h->caller.settings.dcs.calibrate);
    if (result.outcome == ENGINE_GRANTED)
        h->boosted_ns[job.job] = h->caller.now_ns;
}

static void random_arrival(struct history *h)
{
    uint32_t width = (uint32_t)(1 + draw(h, h->caller.settings.cpus));
    struct engine_job_view job = any_job(h);
    bool new = job.job == 0 || (h->last < 200 && draw(h, 2) == 0);
    if (new) {
        job.job = ++h->last;
        h->boosted_ns[job.job] = h->caller.now_ns;
    }
    enter(&h->caller, job.job, h->caller.settings.cpus > 1 || new ? width : 1);
    if (new)
        caller_event(&h->caller, ENGINE_USAGE, job.job, 0, h->usage_ns[job.job]);
}

static void random_event(struct history *h)
{
    uint64_t kind = draw(h, 100), passed_ns = draw(h, h->caller.settings.time_slice_ns / 2);
    struct engine_job_view view;
    h->caller.now_ns += passed_ns;
    for (size_t i = 0; engine_job_at(h->caller.engine, i, &view); i++)
        h->usage_ns[view.job] += view.scheduled ? passed_ns : passed_ns / 100;
    if (kind < 8) {
        random_arrival(h);
    } else if (kind < 14) {
        view = any_job(h);
        if (view.job != 0)
            caller_event(&h->caller, ENGINE_EXIT, view.job, view.width / view.processes, 0);
    } else if (kind < 40) {
        view = any_job(h);
        if (view.job != 0)
            caller_event(&h->caller, ENGINE_USAGE, view.job, 0, h->usage_ns[view.job]);
    } else if (kind < 75) {
        random_request(h);
    } else {
        caller_event(&h->caller, ENGINE_SWITCH, 0, 0, 0);
    }
    check_node(h, kind >= 75);
}

static void test_random_histories(void **state)
{
    (void)state;
    static const uint64_t constants_ms[] = {0, 0, 30, 100, 1000};
    static struct history history;
    struct history *h = &history;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        *h = (struct history){.random = seed};
        struct engine_settings drawn =
            settings((int)draw(h, 33) - 16, constants_ms[draw(h, 5)] * MS, draw(h, 2) == 0);
        drawn.cpus = (unsigned[]){1, 1, 2, 4, 8}[draw(h, 5)];
        drawn.time_slice_ns = (1 + draw(h, 20)) * 50 * MS;
        h->caller = node_of(drawn);
        snprintf(h->context, sizeof h->context, "history %u", (unsigned)seed);
        h->caller.context = h->context;
        for (unsigned i = 0; i < 500; i++)
            random_event(h);
        caller_close(&h->caller);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_since_the_last_boost),
        cmocka_unit_test(test_a_refusal_does_not_count),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_exponent),
        cmocka_unit_test(test_exact_arithmetic),
        cmocka_unit_test(test_quantum_and_jobs),
        cmocka_unit_test(test_who_was_boosted_keeps_its_quantum),
        cmocka_unit_test(test_least_cpu_time_first),
        cmocka_unit_test(test_bounded_waiting),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_a_lead_is_paid_off_by_waiting),
        cmocka_unit_test(test_a_lead_means_nothing_without_calibration),
        cmocka_unit_test(test_a_lead_is_not_lost_by_leaving),
        cmocka_unit_test(test_old_claims_lapse),
        cmocka_unit_test(test_settings_of_a_running_engine),
        cmocka_unit_test(test_random_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
