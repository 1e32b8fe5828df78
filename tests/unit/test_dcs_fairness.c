// Protects what policy dcs is for, on simulated nodes: fairness (F), and coscheduling beside it.
// Two nodes of one CPU, every job with a process on each. A scheduled process computes without end
// and sends its peer so many messages a second; a message for an idle one is a request. The nodes'
// dispatchers are not aligned.
#include "tests/unit/dcs_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NODES   2
#define MOST    8
#define SECONDS 100
#define WARM_UP 10 // seconds after which the accounts are as close as they get

struct cluster {
    engine_t *nodes[NODES];
    struct engine_decision in_force[NODES][MOST];
    uint64_t cpu_ns[NODES][MOST];
    uint64_t owed[NODES][MOST]; // thousandths of a message
    unsigned rates[MOST];       // messages in a second, 0: a sequential job
    unsigned blocks_pct[MOST];  // of the time in which it could compute
    uint64_t held_ms[NODES][MOST];
    unsigned jobs;
    uint64_t now_ms;
    uint64_t apart_ns;                  // largest difference between two jobs after the warm-up
    uint64_t scheduled_ms, together_ms; // of the jobs with messages
};

static void post(struct cluster *cluster, unsigned node, struct engine_event event)
{
    struct engine_result result = engine_event(cluster->nodes[node], &event, cluster->now_ms * MS);
    for (size_t i = 0; i < result.decision_count; i++)
        cluster->in_force[node][result.decisions[i].job - 1] = result.decisions[i];
}

static void report_usage(struct cluster *cluster, unsigned node)
{
    for (unsigned i = 0; i < cluster->jobs; i++)
        post(cluster, node,
             (struct engine_event){
                 .kind = ENGINE_USAGE, .job = i + 1, .usage_ns = cluster->cpu_ns[node][i]});
}

static void send_messages(struct cluster *cluster, unsigned node, unsigned job)
{
    cluster->owed[node][job] += cluster->rates[job];
    for (; cluster->owed[node][job] >= 1000; cluster->owed[node][job] -= 1000) {
        if (cluster->in_force[!node][job].scheduled)
            continue;
        report_usage(cluster, !node);
        post(cluster, !node, (struct engine_event){.kind = ENGINE_SCHEDULE, .job = job + 1});
    }
}

static void compute(struct cluster *cluster, unsigned node)
{
    uint64_t least_ns = UINT64_MAX, most_ns = 0;
    for (unsigned i = 0; i < cluster->jobs; i++) {
        const struct engine_decision *line = &cluster->in_force[node][i];
        uint64_t could_ns = line->share_ppm; // of a million ns
        uint64_t cpu_ns = cluster->cpu_ns[node][i] +=
            could_ns * (100 - cluster->blocks_pct[i]) / 100;
        cluster->held_ms[node][i] += line->scheduled;
        least_ns = cpu_ns < least_ns ? cpu_ns : least_ns;
        most_ns = cpu_ns > most_ns ? cpu_ns : most_ns;
        if (line->scheduled && cluster->rates[i] > 0) {
            cluster->scheduled_ms++;
            cluster->together_ms += cluster->in_force[!node][i].scheduled;
        }
    }
    if (cluster->now_ms > WARM_UP * 1000 && most_ns - least_ns > cluster->apart_ns)
        cluster->apart_ns = most_ns - least_ns;
}

static void live_a_millisecond(struct cluster *cluster)
{
    static const uint64_t periods_ms[NODES] = {100, 103};
    cluster->now_ms++;
    for (unsigned node = 0; node < NODES; node++) {
        if (cluster->now_ms % periods_ms[node] == 0) {
            report_usage(cluster, node);
            post(cluster, node, (struct engine_event){.kind = ENGINE_SWITCH});
        }
        compute(cluster, node);
    }
    for (unsigned node = 0; node < NODES; node++) {
        for (unsigned i = 0; i < cluster->jobs; i++) {
            if (cluster->in_force[node][i].scheduled)
                send_messages(cluster, node, i);
        }
    }
}

static void run(struct cluster *cluster, struct engine_settings settings)
{
    for (unsigned node = 0; node < NODES; node++) {
        cluster->nodes[node] = engine_new(&settings);
        assert_non_null(cluster->nodes[node]);
        for (unsigned i = 0; i < cluster->jobs; i++)
            post(cluster, node,
                 (struct engine_event){.kind = ENGINE_REGISTER, .job = i + 1, .width = 1});
        report_usage(cluster, node);
    }
    while (cluster->now_ms < SECONDS * 1000)
        live_a_millisecond(cluster);
    for (unsigned node = 0; node < NODES; node++)
        engine_free(cluster->nodes[node]);
}

// Runs the jobs and widens [*least, *most] by F of each on each node: equation (2), N TC / TE.
static struct cluster simulate(struct engine_settings settings, unsigned jobs,
                               const unsigned *rates, double *least, double *most)
{
    struct cluster cluster = {.jobs = jobs};
    memcpy(cluster.rates, rates, jobs * sizeof *rates);
    run(&cluster, settings);
    for (unsigned node = 0; node < NODES; node++) {
        for (unsigned i = 0; i < jobs; i++) {
            double f = jobs * (double)cluster.cpu_ns[node][i] / (SECONDS * 1e9);
            *least = f < *least ? f : *least;
            *most = f > *most ? f : *most;
        }
    }
    return cluster;
}

static const unsigned mixes[][MOST] = {
    {1, 1, 1, 1, 1, 1, 1, 1},
    {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
    {1000, 1, 100, 10, 1000, 10, 100, 1},
    {1000, 0, 0, 0, 0, 0, 0, 0}, // the paper's: one parallel job and its competitors
    {1000, 0, 100, 0, 10, 0, 1, 0},
};
#define MIXES (sizeof mixes / sizeof *mixes)

// One setting, from 2 to 8 jobs, messages from 1 to 1000 a second: F of every job is fair, and the
// accounts stay within six slices and C of each other for good: the calibration does not hunt.
static void assert_fair(struct engine_settings settings, unsigned step)
{
    double smallest = 1, largest = 1;
    for (size_t mix = 0; mix < MIXES; mix++) {
        for (unsigned jobs = 2; jobs <= MOST; jobs += step) {
            double least = 1, most = 1;
            struct cluster cluster = simulate(settings, jobs, mixes[mix], &least, &most);
            smallest = least < smallest ? least : smallest;
            largest = most > largest ? most : largest;
            if (least < 0.97 || most > 1.03)
                fail_msg("mix %zu, %u jobs: F from %.3f to %.3f", mix, jobs, least, most);
            if (cluster.apart_ns > 6 * SLICE + settings.dcs.constant_ns)
                fail_msg("mix %zu, %u jobs: %.0f ms apart", mix, jobs,
                         (double)cluster.apart_ns / 1e6);
        }
    }
    print_message("E = %d, C = %.0f ms, calibrated: F from %.3f to %.3f\n", settings.dcs.exponent,
                  (double)settings.dcs.constant_ns / MS, smallest, largest);
}

static void test_one_setting_is_fair_everywhere(void **state)
{
    (void)state;
    assert_fair(settings(0, 0, true), 1);
}

// Even those that let every message preempt, or none, without calibration; those of the paper too.
static void test_any_setting_is_fair(void **state)
{
    (void)state;
    assert_fair(settings(2, 100 * MS, true), 3);
    assert_fair(settings(-1, 0, true), 3);
    assert_fair(settings(0, 1000 * MS, true), 3);
    assert_fair(settings(16, 0, true), 3);
    assert_fair(settings(-16, 0, true), 3);
}

// As the paper found: a setting is fair for some jobs and very unfair for others.
static void test_without_calibration_no_setting_is(void **state)
{
    (void)state;
    unsigned fair = 0, unfair = 0;
    double smallest = 1, largest = 1;
    for (size_t mix = 0; mix < MIXES; mix++) {
        for (unsigned jobs = 2; jobs <= MOST; jobs += 2) {
            double least = 1, most = 1;
            simulate(settings(0, 0, false), jobs, mixes[mix], &least, &most);
            smallest = least < smallest ? least : smallest;
            largest = most > largest ? most : largest;
            fair += least >= 0.97 && most <= 1.03;
            unfair += least < 0.5 && most > 1.5;
        }
    }
    print_message("E = 0, C = 0 ms, not calibrated: F from %.2f to %.2f\n", smallest, largest);
    assert_true(fair > 0);
    assert_true(unfair > 3);
}

static unsigned together_pct(struct engine_settings settings, unsigned jobs, const unsigned *rates)
{
    double least = 1, most = 1;
    struct cluster cluster = simulate(settings, jobs, rates, &least, &most);
    return (unsigned)(100 * cluster.together_ms / cluster.scheduled_ms);
}

// Fair, and still coscheduling: refusing every message would be fair too.
static void test_calibration_leaves_coscheduling(void **state)
{
    (void)state;
    for (unsigned jobs = 2; jobs <= MOST; jobs += 3) {
        unsigned by_turns_pct = together_pct(settings(-16, 0, false), jobs, mixes[1]);
        assert_true(by_turns_pct <= 100 / jobs + 10); // as by chance
        unsigned all_pct = together_pct(settings(0, 0, true), jobs, mixes[1]);
        unsigned one_pct = together_pct(settings(0, 0, true), jobs, mixes[3]);
        print_message(
            "%u jobs: coscheduled %u %%, one among sequential ones %u %%, by turns %u %%\n", jobs,
            all_pct, one_pct, by_turns_pct);
        assert_true(all_pct >= 95);
        assert_true(one_pct >= by_turns_pct + 20);
    }
}

// One that waits for something else most of the time, beside jobs that compute: they have the node
// as long as it has, and with it their part of the CPU time.
static void test_who_blocks_holds_the_node_no_longer(void **state)
{
    (void)state;
    for (unsigned jobs = 2; jobs <= 4; jobs++) {
        struct cluster cluster = {
            .jobs = jobs, .rates = {1000, 1000, 0, 10}, .blocks_pct = {80, 0, 0, 0}};
        run(&cluster, settings(0, 0, true));
        for (unsigned i = 0; i < jobs; i++) {
            double part = jobs * (double)cluster.held_ms[0][i] / (SECONDS * 1000);
            if (part < 0.95 || part > 1.05)
                fail_msg("%u jobs: job %u has held %.3f of its part", jobs, i, part);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_setting_is_fair_everywhere),
        cmocka_unit_test(test_any_setting_is_fair),
        cmocka_unit_test(test_without_calibration_no_setting_is),
        cmocka_unit_test(test_calibration_leaves_coscheduling),
        cmocka_unit_test(test_who_blocks_holds_the_node_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
