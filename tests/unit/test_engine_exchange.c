// Nodes whose jobs are not the same ones: what brings a job's slices together that the clock gives
// it at different times.
#include "classd/policy/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SLICE UINT64_C(15000000000)
#define STEP  (SLICE / STEPS)

enum { NODES = 4, JOBS = 8, STEPS = 60, BEFORE = 40, SLICES = 400 };

// Jobs 1, 2, ... with the nodes of each, one bit a node, in the order of their turns.
struct cluster {
    const unsigned *nodes_of; // ends with 0
    engine_t *nodes[NODES];
    uint64_t used_ns[NODES][JOBS];
    uint64_t now_ns;
    unsigned count[NODES]; // of jobs
};

static bool is_on(const struct cluster *cluster, unsigned job, unsigned node)
{
    return (cluster->nodes_of[job] >> node & 1) != 0;
}

static bool is_scheduled(const struct cluster *cluster, unsigned job, unsigned node)
{
    struct engine_job_view view;
    return engine_job_find(cluster->nodes[node], job + 1, &view) && view.scheduled;
}

static void tell_usage(struct cluster *cluster, unsigned node)
{
    for (unsigned job = 0; cluster->nodes_of[job] != 0; job++) {
        struct engine_event usage = {
            .kind = ENGINE_USAGE, .job = job + 1, .usage_ns = cluster->used_ns[node][job]};
        if (is_on(cluster, job, node))
            engine_event(cluster->nodes[node], &usage, cluster->now_ns);
    }
}

static void cluster_open(struct cluster *cluster, const unsigned *nodes_of)
{
    const struct engine_settings settings = {.policy = "yoo-jette",
                                             .cpus = 1,
                                             .idle_share_ppm = 10000,
                                             .time_slice_ns = SLICE,
                                             .gmet_ns = SLICE / 15};
    *cluster = (struct cluster){.nodes_of = nodes_of, .now_ns = 1000};
    for (unsigned node = 0; node < NODES; node++) {
        cluster->nodes[node] = engine_new(&settings);
        assert_non_null(cluster->nodes[node]);
        for (unsigned job = 0; nodes_of[job] != 0; job++) {
            struct engine_event come = {
                .kind = ENGINE_REGISTER, .job = job + 1, .width = 1, .name = job + 1};
            if (!is_on(cluster, job, node))
                continue;
            engine_event(cluster->nodes[node], &come, cluster->now_ns);
            cluster->count[node]++;
        }
        tell_usage(cluster, node);
    }
}

static void cluster_close(struct cluster *cluster)
{
    for (unsigned node = 0; node < NODES; node++)
        engine_free(cluster->nodes[node]);
}

static void tick(struct cluster *cluster, uint64_t turn)
{
    for (unsigned node = 0; node < NODES; node++) {
        struct engine_event over = {.kind = ENGINE_SWITCH, .turn = turn};
        tell_usage(cluster, node);
        engine_event(cluster->nodes[node], &over, cluster->now_ns);
    }
}

static void ask(struct cluster *cluster, unsigned job, unsigned node)
{
    struct engine_event asks = {.kind = ENGINE_SCHEDULE, .job = job + 1};
    tell_usage(cluster, node);
    engine_event(cluster->nodes[node], &asks, cluster->now_ns);
}

static bool is_scheduled_elsewhere(const struct cluster *cluster, unsigned job, unsigned node)
{
    for (unsigned other = 0; other < NODES; other++) {
        if (other != node && is_on(cluster, job, other) && is_scheduled(cluster, job, other))
            return true;
    }
    return false;
}

// Every idle job that runs elsewhere has heard so.
static void ask_for_all(struct cluster *cluster, uint64_t step)
{
    for (unsigned i = 0; i < NODES; i++) {
        unsigned node = (unsigned)(i + step) % NODES; // nobody is always the first
        for (unsigned job = 0; cluster->nodes_of[job] != 0; job++) {
            if (is_on(cluster, job, node) && !is_scheduled(cluster, job, node) &&
                is_scheduled_elsewhere(cluster, job, node))
                ask(cluster, job, node);
        }
    }
}

// On all its nodes at once.
static bool is_coscheduled(const struct cluster *cluster, unsigned job)
{
    for (unsigned node = 0; node < NODES; node++) {
        if (is_on(cluster, job, node) && !is_scheduled(cluster, job, node))
            return false;
    }
    return true;
}

static void use(struct cluster *cluster)
{
    cluster->now_ns += STEP;
    for (unsigned node = 0; node < NODES; node++) {
        for (unsigned job = 0; cluster->nodes_of[job] != 0; job++)
            cluster->used_ns[node][job] += is_scheduled(cluster, job, node) ? STEP : 0;
    }
}

// How many slices' worth of `slices` each job runs on all its nodes at once, in thousandths of its
// fair share, which is that of its fullest node.
static void run(struct cluster *cluster, uint64_t first, uint64_t slices, unsigned *parts)
{
    uint64_t together[JOBS] = {0};
    for (uint64_t step = 0; step < slices * STEPS; step++) {
        if (step % STEPS == 0)
            tick(cluster, first + step / STEPS);
        else
            ask_for_all(cluster, step);
        use(cluster);
        for (unsigned job = 0; cluster->nodes_of[job] != 0; job++)
            together[job] += is_coscheduled(cluster, job);
    }
    for (unsigned job = 0; cluster->nodes_of[job] != 0; job++) {
        uint64_t fullest = 1;
        for (unsigned node = 0; node < NODES; node++) {
            if (is_on(cluster, job, node) && cluster->count[node] > fullest)
                fullest = cluster->count[node];
        }
        parts[job] = (unsigned)(together[job] * fullest * 1000 / (slices * STEPS));
    }
}

static void assert_all_have_their_share(const unsigned *nodes_of)
{
    struct cluster cluster;
    unsigned parts[JOBS];
    cluster_open(&cluster, nodes_of);
    run(&cluster, 1000, BEFORE, parts);
    run(&cluster, 1000 + BEFORE, SLICES, parts);
    for (unsigned job = 0; nodes_of[job] != 0; job++) {
        print_message("job %u on nodes %x: %u\n", job + 1, nodes_of[job], parts[job]);
        assert_in_range(parts[job], 900, 1080);
    }
    cluster_close(&cluster);
}

// Job 2 is the second on node 0 and the first on node 1.
static void test_the_same_number_in_another_order(void **state)
{
    (void)state;
    assert_all_have_their_share((const unsigned[]){1, 3, 2, 0});
}

static void test_different_numbers(void **state)
{
    (void)state;
    assert_all_have_their_share((const unsigned[]){3, 1, 2, 2, 0});
    assert_all_have_their_share((const unsigned[]){3, 1, 1, 2, 2, 2, 0});
    assert_all_have_their_share((const unsigned[]){1, 3, 2, 2, 0});
}

// Each shares its one node with one job and its other with another one.
static void test_a_chain(void **state)
{
    (void)state;
    assert_all_have_their_share((const unsigned[]){3, 6, 1, 4, 0});
}

static void test_all_and_halves(void **state)
{
    (void)state;
    assert_all_have_their_share((const unsigned[]){9, 15, 3, 12, 6, 0});
}

static unsigned who_runs(const struct cluster *cluster, unsigned node)
{
    unsigned who = 0;
    for (unsigned job = 0; cluster->nodes_of[job] != 0; job++) {
        if (is_scheduled(cluster, job, node))
            who = job + 1;
    }
    return who;
}

// Nodes with the same jobs, on one of which a job asks in every fifth round, in a slice that is not
// its own: turns remain what they are by the clock, on both.
static void test_who_strays_now_and_then_keeps_its_turns(void **state)
{
    (void)state;
    for (unsigned asking = 0; asking < 3; asking++) {
        struct cluster cluster;
        cluster_open(&cluster, (const unsigned[]){3, 3, 3, 0});
        for (uint64_t turn = 1000; turn < 1060; turn++) {
            tick(&cluster, turn);
            assert_int_equal(who_runs(&cluster, 0), who_runs(&cluster, 1));
            for (unsigned step = 0; step < STEPS; step++) {
                use(&cluster);
                if (step == STEPS / 2 && turn % 15 == 7 + asking && turn >= 1020)
                    ask(&cluster, asking, 1);
            }
        }
        cluster_close(&cluster);
    }
}

// Whoever is on a node alone asks on the other one all the time; turns must not become fewer by
// that, neither its own nor those of others.
static void test_who_asks_all_the_time(void **state)
{
    (void)state;
    struct cluster cluster;
    unsigned parts[JOBS];
    cluster_open(&cluster, (const unsigned[]){3, 2, 0});
    run(&cluster, 1000, SLICES, parts);
    for (unsigned job = 0; job < 2; job++)
        assert_in_range(cluster.used_ns[1][job], SLICES * SLICE / 2 - 3 * SLICE,
                        SLICES * SLICE / 2 + 3 * SLICE);
    cluster_close(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_number_in_another_order),
        cmocka_unit_test(test_different_numbers),
        cmocka_unit_test(test_a_chain),
        cmocka_unit_test(test_all_and_halves),
        cmocka_unit_test(test_who_strays_now_and_then_keeps_its_turns),
        cmocka_unit_test(test_who_asks_all_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
