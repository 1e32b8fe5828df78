// Protects that jobs which start at the same moment all come by slots: some jobs on two nodes, each
// of which hears what they ask in an order of its own, all of these orders by lot.
//
// A failure names the seed of its start; COSCHED_TEST_SEED=<seed> plays that one alone.
#include "common/slots.h"
#include "pmpi/variant/agreement_steps.h"
#include "tests/unit/gang_node.h"
#include "tests/unit/random.h"

#include <stdlib.h>

#define NODES  2
#define JOBS   4
#define STARTS 300

struct job {
    engine_job_t id;
    struct agreement agreement;
    bool heard[NODES]; // has the node answered in this step
};

struct start {
    uint64_t random;
    unsigned job_count;
    struct node nodes[NODES];
    struct job jobs[JOBS];
};

static void ask(struct job *job, struct node *node)
{
    engine_t *engine = node->caller.engine;
    struct slots_offer offer = {.cut = engine_cut(engine, job->id, node->caller.now_ns),
                                .room = slots_most(SLOTS_ROUND - engine_dummies(engine))};
    uint8_t most[SLOTS_LEVELS];
    engine_offer(engine, job->id, slots_dues, SLOTS_LEVELS, offer.slots, most, node->caller.now_ns);
    for (unsigned i = 0; i < SLOTS_LEVELS; i++)
        offer.most[i] = slots_most(most[i]);
    slots_offer_merge(&job->agreement.offer, &offer);
}

static void hear(struct job *job, struct node *node)
{
    struct agreement *agreement = &job->agreement;
    const struct slots_choice *choice = &agreement->choice;
    if (agreement->step == AGREEMENT_ASKS)
        ask(job, node);
    else if (agreement->step == AGREEMENT_RESERVES)
        agreement->given &= promise(node, job->id, choice->slots, choice->due);
    else
        agreement->given &= engine_claim(node->caller.engine, job->id, choice->slots,
                                         agreement->term, node->caller.now_ns);
}

static void go_on(struct job *job)
{
    for (unsigned n = 0; n < NODES; n++) {
        if (!job->heard[n])
            return;
    }
    memset(job->heard, 0, sizeof job->heard);
    agreement_step_on(&job->agreement);
}

static bool rests(const struct job *job)
{
    return job->agreement.step == AGREEMENT_DONE;
}

// Between two words to a node.
static void pass_time(struct start *start)
{
    uint64_t passed_ns = random_below(&start->random, 2 * MS);
    for (unsigned n = 0; n < NODES; n++)
        start->nodes[n].caller.now_ns += passed_ns;
}

static void play(struct start *start)
{
    for (unsigned resting = 0; resting < start->job_count;) {
        struct job *job = &start->jobs[random_below(&start->random, start->job_count)];
        unsigned n = (unsigned)random_below(&start->random, NODES);
        if (rests(job) || job->heard[n])
            continue;
        job->heard[n] = true;
        pass_time(start);
        hear(job, &start->nodes[n]);
        go_on(job);
        resting += rests(job);
    }
}

// What the job has on both nodes, which is what notices leave it.
static unsigned count_on_all(struct start *start, const struct job *job)
{
    uint64_t common = SLOTS_ALL;
    for (unsigned n = 0; n < NODES; n++)
        common &= slots_of(&start->nodes[n], job->id);
    return count_of(common);
}

static unsigned least_of(uint64_t seed, unsigned job_count, uint32_t share_ppm)
{
    struct start start = {.random = seed, .job_count = job_count};
    struct engine_settings settings = gang_settings(1);
    settings.sequential_share_ppm = share_ppm;
    unsigned least = SLOTS_ROUND;
    for (unsigned n = 0; n < NODES; n++)
        start.nodes[n] = scene(settings, 0, 0);
    uint64_t first = 1 + random_below(&start.random, 1000);
    for (unsigned i = 0; i < job_count; i++) {
        start.jobs[i].id = first + i;
        start.jobs[i].agreement = agreement_new(gang_name(first + i), 0);
        for (unsigned n = 0; n < NODES; n++)
            enter(&start.nodes[n], first + i, 1);
    }
    play(&start);
    for (unsigned i = 0; i < job_count; i++) {
        unsigned count = count_on_all(&start, &start.jobs[i]);
        least = count < least ? count : least;
    }
    for (unsigned n = 0; n < NODES; n++)
        node_close(&start.nodes[n]);
    return least;
}

// How many starts of so many jobs leave one of them with fewer than `enough` slots.
static void at_once(unsigned job_count, uint32_t share_ppm, unsigned enough, unsigned most_starts)
{
    const char *only = getenv("COSCHED_TEST_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1, failed = 0;
    unsigned short_of = 0;
    for (uint64_t seed = first; seed < first + (only != NULL ? 1 : STARTS); seed++) {
        if (least_of(seed, job_count, share_ppm) >= enough)
            continue;
        short_of++;
        failed = seed;
    }
    if (short_of > (only != NULL ? 0 : most_starts))
        fail_msg("COSCHED_TEST_SEED=%llu, and others: in %u starts one of %u jobs has fewer than "
                 "%u slots",
                 (unsigned long long)failed, short_of, job_count, enough);
}

static void two_jobs(void **state)
{
    (void)state;
    at_once(2, 0, 30, 0);
    at_once(2, 200000, 24, 0);
    at_once(2, 500000, 15, 0);
}

// More than two may be in each other's way; growth mends it.
static void three_jobs(void **state)
{
    (void)state;
    at_once(3, 0, 10, STARTS / 20);
    at_once(3, 0, 1, STARTS / 100);
}

static void four_jobs(void **state)
{
    (void)state;
    at_once(4, 0, 7, STARTS / 6);
    at_once(4, 0, 1, STARTS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_jobs),
        cmocka_unit_test(three_jobs),
        cmocka_unit_test(four_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
