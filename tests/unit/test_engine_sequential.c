// Protects the rules of the sequential class in the scheduling engine: sequences of events with a
// known answer. What must hold after every event is in test_engine_random.c.
#include "tests/unit/engine_caller.h"

#define SECOND 1000000000ull
#define SLICE  (15 * SECOND)

enum { A = 101, B, CLASS };

static struct caller node_under(const char *policy, unsigned cpus)
{
    struct caller caller;
    caller_open(&caller, &(struct engine_settings){.policy = policy,
                                                   .cpus = cpus,
                                                   .idle_share_ppm = 10000,
                                                   .interactive_share_ppm = 50000,
                                                   .time_slice_ns = SLICE,
                                                   .gmet_ns = 5 * SECOND,
                                                   .dcs = {.quantum_ns = SECOND / 50}});
    return caller;
}

static struct caller node_with(unsigned cpus)
{
    return node_under("yoo-jette", cpus);
}

static void enter(struct caller *caller, engine_job_t job, uint32_t width)
{
    caller_event(caller, ENGINE_REGISTER, job, width, 0);
    caller_event(caller, ENGINE_USAGE, job, 0, 0);
}

static void enter_class(struct caller *caller)
{
    caller_post(caller, (struct engine_event){.kind = ENGINE_REGISTER,
                                              .job = CLASS,
                                              .width = caller->settings.cpus,
                                              .sequential = true});
    caller_event(caller, ENGINE_USAGE, CLASS, 0, 0);
}

static struct engine_job_view view_of(struct caller *caller, engine_job_t job)
{
    struct engine_job_view view;
    assert_true(engine_job_find(caller->engine, job, &view));
    return view;
}

static void assert_line(struct caller *caller, engine_job_t job, bool scheduled, uint32_t share_ppm)
{
    struct engine_job_view view = view_of(caller, job);
    assert_int_equal(view.scheduled, scheduled);
    assert_true(view.limited);
    assert_int_equal(view.share_ppm, share_ppm);
    assert_int_equal(view.sequential, job == CLASS);
}

// A slice in which everybody uses so many per cent of the node while scheduled, and then the tick.
struct appetite {
    engine_job_t job;
    unsigned pct;
    uint64_t cpu_ns;
    unsigned slots;
};

static void slice(struct caller *caller, struct appetite *appetites, size_t count)
{
    caller->now_ns += SLICE;
    for (size_t i = 0; i < count; i++) {
        struct appetite *one = &appetites[i];
        bool scheduled = view_of(caller, one->job).scheduled;
        one->slots += scheduled;
        one->cpu_ns += scheduled ? SLICE / 100 * one->pct * caller->settings.cpus : 0;
        caller_event(caller, ENGINE_USAGE, one->job, 0, one->cpu_ns);
    }
    caller_event(caller, ENGINE_SWITCH, 0, 0, 0);
}

static void test_alone_it_is_not_limited(void **state)
{
    (void)state;
    struct caller node = node_with(2);
    enter_class(&node);
    assert_true(view_of(&node, CLASS).scheduled);
    assert_false(view_of(&node, CLASS).limited);
    caller_close(&node);
}

static void assert_takes_turns(struct caller node)
{
    struct appetite appetites[] = {{.job = A, .pct = 50}, {.job = CLASS, .pct = 100}};
    enter(&node, A, 1); // narrower than the node, and yet they do not fit
    enter_class(&node);
    assert_line(&node, A, true, 950000);
    assert_line(&node, CLASS, false, 50000);
    slice(&node, appetites, 2);
    assert_line(&node, A, false, 5000); // of one of two CPUs
    assert_line(&node, CLASS, true, 995000);
    slice(&node, appetites, 2);
    assert_line(&node, A, true, 950000);
    assert_line(&node, CLASS, false, 50000);
    caller_close(&node);
}

static void test_it_takes_turns_with_a_job(void **state)
{
    (void)state;
    assert_takes_turns(node_with(2));
    assert_takes_turns(node_under("dcs", 2));
}

// Its slot is as good as any other competitor's in the paper: a message preempts when that is fair.
static void test_under_dcs_a_message_preempts_it(void **state)
{
    (void)state;
    struct caller node = node_under("dcs", 1);
    enter(&node, A, 1);
    enter_class(&node);
    node.now_ns += SLICE;
    caller_event(&node, ENGINE_SWITCH, 0, 0, 0);
    assert_line(&node, CLASS, true, 990000);
    node.now_ns += SECOND;
    assert_int_equal(caller_event(&node, ENGINE_SCHEDULE, A, 0, 0).outcome, ENGINE_GRANTED);
    assert_line(&node, A, true, 950000);
    assert_line(&node, CLASS, false, 50000);
    node.now_ns += SLICE;
    caller_event(&node, ENGINE_SWITCH, 0, 0, 0);
    assert_line(&node, CLASS, true, 990000);
    caller_close(&node);
}

static void test_when_it_goes_nothing_is_limited(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter_class(&node);
    caller_event(&node, ENGINE_EXIT, CLASS, 1, 0);
    assert_true(view_of(&node, A).scheduled);
    assert_false(view_of(&node, A).limited);
    caller_close(&node);
}

static void test_shares_of_three(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter(&node, B, 1);
    enter_class(&node);
    assert_line(&node, A, true, 940000);
    assert_line(&node, B, false, 10000);
    assert_line(&node, CLASS, false, 50000);
    caller_close(&node);
}

// A single busy process on a node of four CPUs uses a quarter of its slots, and has no more of them
// for that.
static void test_slots_that_it_hardly_uses_count(void **state)
{
    (void)state;
    struct caller node = node_with(4);
    struct appetite appetites[] = {{.job = A, .pct = 100}, {.job = CLASS, .pct = 25}};
    enter(&node, A, 4);
    enter_class(&node);
    for (unsigned i = 0; i < 40; i++)
        slice(&node, appetites, 2);
    assert_in_range(appetites[1].slots, 19, 21);
    assert_int_equal(appetites[0].slots + appetites[1].slots, 40);
    caller_close(&node);
}

static void test_a_reload_changes_its_share(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    enter(&node, A, 1);
    enter_class(&node);
    node.settings.interactive_share_ppm = 100000;
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    assert_line(&node, A, true, 900000);
    assert_line(&node, CLASS, false, 100000);
    // What no configuration allows is bent.
    node.settings.interactive_share_ppm = 900000;
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    assert_line(&node, CLASS, false, 250000);
    caller_close(&node);
}

// By the clock it has the same turn on all nodes, whoever came first.
static void test_nodes_agree_on_its_turn(void **state)
{
    (void)state;
    struct caller nodes[2] = {node_with(1), node_with(1)};
    for (unsigned i = 0; i < 2; i++) {
        struct engine_event class_ = {
            .kind = ENGINE_REGISTER, .job = CLASS, .width = 1, .name = 77, .sequential = true};
        struct engine_event job = {.kind = ENGINE_REGISTER, .job = A, .width = 1, .name = 33};
        caller_post(&nodes[i], i == 0 ? class_ : job);
        caller_post(&nodes[i], i == 0 ? job : class_);
    }
    for (uint64_t turn = 10; turn < 16; turn++) {
        for (unsigned i = 0; i < 2; i++) {
            nodes[i].now_ns += SLICE;
            caller_post(&nodes[i], (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn});
        }
        assert_int_equal(view_of(&nodes[0], CLASS).scheduled, view_of(&nodes[1], CLASS).scheduled);
        assert_int_equal(view_of(&nodes[0], A).scheduled, !view_of(&nodes[0], CLASS).scheduled);
    }
    caller_close(&nodes[0]);
    caller_close(&nodes[1]);
}

// ---- what it has of others' slots

// Two nodes, on each a process of the class that computes all the time, and the same jobs, which
// compute whenever they can. What a node's processes get in a slice is a little more or less on
// each. Returns in how many slices the nodes have not scheduled the same; `got_ns` is the CPU time
// of the class and of each job on the first node.
static unsigned run_two_nodes(unsigned jobs, unsigned slices, uint64_t got_ns[])
{
    struct caller nodes[2] = {node_with(1), node_with(1)};
    uint64_t used_ns[2][5] = {{0}}, noise = 1;
    unsigned apart = 0;
    for (unsigned i = 0; i < 2; i++) {
        nodes[i].settings.gmet_ns = SECOND / 4;
        caller_post(&nodes[i],
                    (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &nodes[i].settings});
        for (unsigned k = 0; k <= jobs; k++) {
            caller_post(&nodes[i], (struct engine_event){.kind = ENGINE_REGISTER,
                                                         .job = k + 1,
                                                         .width = 1,
                                                         .name = 77 * (k + 1) % 64,
                                                         .sequential = k == 0});
            caller_event(&nodes[i], ENGINE_USAGE, k + 1, 0, 0);
        }
    }
    for (uint64_t turn = 1000; turn < 1000 + slices; turn++) {
        for (unsigned i = 0; i < 2; i++) {
            nodes[i].now_ns += SLICE;
            for (unsigned k = 0; k <= jobs; k++) {
                bool scheduled = view_of(&nodes[i], k + 1).scheduled;
                noise = noise * 6364136223846793005 + 1442695040888963407;
                uint64_t permille = scheduled ? 930 + noise / 65536 % 20 : k == 0 ? 50 : 0;
                used_ns[i][k] += SLICE / 1000 * permille;
                caller_event(&nodes[i], ENGINE_USAGE, k + 1, 0, used_ns[i][k]);
            }
            caller_post(&nodes[i], (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn});
        }
        for (unsigned k = 0; k <= jobs; k++) {
            if (view_of(&nodes[0], k + 1).scheduled && !view_of(&nodes[1], k + 1).scheduled)
                apart++;
        }
    }
    for (unsigned k = 0; k <= jobs; k++)
        got_ns[k] = used_ns[0][k];
    for (unsigned i = 0; i < 2; i++)
        caller_close(&nodes[i]);
    return apart;
}

// Made up for by accounts, which differ a little on each node, it would part the nodes for a slice
// again and again.
static void test_nodes_agree_on_what_it_has_of_others(void **state)
{
    (void)state;
    enum { LONG = 2000 };
    for (unsigned jobs = 1; jobs <= 4; jobs++) {
        uint64_t got_ns[5], all_ns = 0;
        unsigned apart = run_two_nodes(jobs, LONG, got_ns);
        print_message("%u jobs: the nodes are apart in %u of %u slices\n", jobs, apart, LONG);
        if (apart > LONG / 100)
            fail_msg("%u jobs: the nodes are apart in %u of %u slices", jobs, apart, LONG);
        for (unsigned k = 0; k <= jobs; k++)
            all_ns += got_ns[k];
        for (unsigned k = 0; k <= jobs; k++)
            assert_in_range(got_ns[k] * 100 * (jobs + 1) / all_ns, 96, 103);
    }
}

// Where others' slots give it its part already, it has slots all the same.
static void test_it_has_slots_however_much_it_has_of_others(void **state)
{
    (void)state;
    struct caller node = node_with(1);
    unsigned slots = 0;
    for (unsigned k = 1; k <= 30; k++)
        caller_post(
            &node, (struct engine_event){.kind = ENGINE_REGISTER, .job = k, .width = 1, .name = k});
    enter_class(&node);
    for (uint64_t turn = 1000; turn < 1000 + 620; turn++) {
        node.now_ns += SLICE;
        caller_post(&node, (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn});
        slots += view_of(&node, CLASS).scheduled;
    }
    assert_in_range(slots, 9, 11);
    caller_close(&node);
}

// ---- a share of the time

enum { SLICES = 400 };

static struct caller node_with_share(const char *policy, uint32_t share_ppm)
{
    struct caller node = node_under(policy, 2);
    node.settings.sequential_share_ppm = share_ppm;
    node.settings.gmet_ns =
        SECOND / 50; // what is less goes unnoticed, and is many slots of a share
    caller_post(&node, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.settings});
    return node;
}

// Jobs as wide as the node and the class, all of them busy: their slots in so many slices. By the
// clock from slice `turn` on, or by the accounts where that is 0.
static void run_slices(struct caller *node, unsigned jobs, uint64_t turn, unsigned slots[])
{
    struct appetite all[5] = {{.job = CLASS, .pct = 100}};
    enter_class(node);
    for (unsigned i = 1; i <= jobs; i++) {
        all[i] = (struct appetite){.job = i, .pct = 100};
        caller_post(node, (struct engine_event){
                              .kind = ENGINE_REGISTER, .job = i, .width = 2, .name = 1000 - i});
        caller_event(node, ENGINE_USAGE, i, 0, 0);
    }
    caller_post(node, (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn});
    for (unsigned k = 1; k <= SLICES; k++) {
        node->now_ns += SLICE;
        for (unsigned i = 0; i <= jobs; i++) {
            bool scheduled = view_of(node, all[i].job).scheduled;
            slots[i] += scheduled;
            all[i].cpu_ns += scheduled ? 2 * SLICE : 0;
            caller_event(node, ENGINE_USAGE, all[i].job, 0, all[i].cpu_ns);
        }
        caller_post(node,
                    (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn != 0 ? turn + k : 0});
    }
}

static void assert_about(const char *what, unsigned slots, double expected, double tolerance)
{
    if (slots < expected - tolerance || slots > expected + tolerance)
        fail_msg("%s: %u slots, %.1f expected", what, slots, expected);
}

// Beside every number of jobs, by the clock and by accounts, under both policies that take turns
// (dcs does not look at the clock). By accounts the jobs have their slots of a round one after the
// other.
static void test_it_has_its_share_of_the_time(void **state)
{
    (void)state;
    static const uint32_t shares_ppm[] = {50000, 100000, 300000, 330000, 500000, 750000, 900000};
    static const char *const policies[] = {"yoo-jette", "dcs"};
    for (unsigned i = 0; i < 2 * 2 * 4 * sizeof shares_ppm / sizeof *shares_ppm; i++) {
        uint32_t share_ppm = shares_ppm[i / 16];
        unsigned jobs = i % 4 + 1, slots[5] = {0};
        bool clock = i / 4 % 2 == 0;
        char what[64];
        struct caller node = node_with_share(policies[i / 8 % 2], share_ppm);
        run_slices(&node, jobs, clock ? 113000000 + i : 0, slots);
        caller_close(&node);
        snprintf(what, sizeof what, "%u ppm, %u jobs, %s, by the %s", share_ppm, jobs,
                 policies[i / 8 % 2], clock ? "clock" : "accounts");
        double own = SLICES * (share_ppm / 1e6);
        assert_about(what, slots[0], own, clock && i / 8 % 2 == 0 ? 1 : jobs);
        for (unsigned k = 1; k <= jobs; k++)
            assert_about(what, slots[k], (SLICES - own) / jobs, clock ? 2 : 1.5);
    }
}

// Narrow jobs have their slots together, and its share is the same.
static void test_its_share_beside_packed_jobs(void **state)
{
    (void)state;
    struct caller node = node_with_share("yoo-jette", 200000);
    struct appetite all[] = {
        {.job = A, .pct = 50}, {.job = B, .pct = 50}, {.job = CLASS, .pct = 9}};
    enter(&node, A, 1);
    enter(&node, B, 1);
    enter_class(&node);
    for (unsigned i = 0; i < SLICES; i++)
        slice(&node, all, 3);
    assert_in_range(all[2].slots, SLICES / 5 - 1, SLICES / 5 + 1);
    assert_in_range(all[0].slots, SLICES * 4 / 5 - 1, SLICES * 4 / 5 + 1);
    caller_close(&node);
}

// Nodes on which the jobs came in another order, and at other times, have the same slices.
static void test_nodes_agree_on_a_share(void **state)
{
    (void)state;
    struct caller nodes[2] = {node_with_share("yoo-jette", 300000),
                              node_with_share("yoo-jette", 300000)};
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < 3; k++) {
            unsigned which = i == 0 ? k : 2 - k;
            caller_post(&nodes[i], (struct engine_event){.kind = ENGINE_REGISTER,
                                                         .job = A + which,
                                                         .width = 2,
                                                         .name = 70 + which,
                                                         .sequential = A + which == CLASS});
        }
    }
    for (uint64_t turn = 1000; turn < 1000 + SLICES; turn++) {
        for (unsigned i = 0; i < 2; i++) {
            nodes[i].now_ns += SLICE + i;
            caller_post(&nodes[i], (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn});
        }
        for (engine_job_t job = A; job <= CLASS; job++)
            assert_int_equal(view_of(&nodes[0], job).scheduled, view_of(&nodes[1], job).scheduled);
    }
    caller_close(&nodes[0]);
    caller_close(&nodes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_it_is_not_limited),
        cmocka_unit_test(test_it_takes_turns_with_a_job),
        cmocka_unit_test(test_under_dcs_a_message_preempts_it),
        cmocka_unit_test(test_when_it_goes_nothing_is_limited),
        cmocka_unit_test(test_shares_of_three),
        cmocka_unit_test(test_slots_that_it_hardly_uses_count),
        cmocka_unit_test(test_a_reload_changes_its_share),
        cmocka_unit_test(test_nodes_agree_on_its_turn),
        cmocka_unit_test(test_nodes_agree_on_what_it_has_of_others),
        cmocka_unit_test(test_it_has_slots_however_much_it_has_of_others),
        cmocka_unit_test(test_it_has_its_share_of_the_time),
        cmocka_unit_test(test_its_share_beside_packed_jobs),
        cmocka_unit_test(test_nodes_agree_on_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
