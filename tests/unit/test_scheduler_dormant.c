// Jobs that sleep: who is told to, by the CPU time of its class and by where its ranks are, what it
// has meanwhile, and what wakes it.
#include "tests/unit/scheduler_jobs.h"

#define SLICE_NS (5 * NS_PER_SEC)
#define SLEEPING 50000 // [sequential] interactive_share
#define IDLE     10000 // idle_share

static uint64_t usage_ns[2]; // of a and b

static void use(const struct node *node, const char *job_id, uint64_t ns)
{
    char name[32];
    uint64_t *all_ns = &usage_ns[job_id[0] - 'a'];
    snprintf(name, sizeof name, "job-0-%s", job_id);
    *all_ns += ns;
    test_backend_set_usage(node->backend, name, *all_ns);
}

// The next slice; b computes whenever it can, a as much as this.
static void slice(struct node *node, uint64_t of_a_ns)
{
    bool scheduled = (flags_of(node, "b") & STATUS_SCHEDULED) != 0;
    use(node, "b", scheduled ? SLICE_NS : SLICE_NS / 100);
    use(node, "a", of_a_ns);
    next_slice(node);
}

static void slices(struct node *node, unsigned count, uint64_t of_a_ns)
{
    for (unsigned i = 0; i < count; i++)
        slice(node, of_a_ns);
}

static int set_up_sleepers(void **state)
{
    struct node *node = node_new();
    node->config.skip_dormant = true;
    node->config.time_slice_ns = SLICE_NS;
    node->config.max_processes = 2;
    effects.node = node;
    usage_ns[0] = usage_ns[1] = 0;
    width = 1;
    world_of_who_comes = (struct world){.ranks = 1};
    node_start(node);
    *state = node;
    return 0;
}

static struct protocol_job_record record_of(const struct node *node, const char *job_id)
{
    struct protocol_job_record record;
    for (uint32_t i = 0; scheduler_describe_job(node->scheduler, 0, true, i, &record, node->now_ns);
         i++) {
        if (strcmp(record.job_id, job_id) == 0)
            return record;
    }
    fail_msg("no job %s", job_id);
    return record;
}

static bool sleeps(const struct node *node, const char *job_id)
{
    struct protocol_job_record record = record_of(node, job_id);
    assert_true(record.dormant == 0 || (record.limited != 0 && record.scheduled == 0));
    return record.dormant != 0;
}

// Looks when the scheduler has asked for it; where a uses so much until then.
static void look(struct node *node, uint64_t of_a_ns)
{
    uint64_t deadline_ns = scheduler_deadline_ns(node->scheduler);
    assert_in_range(deadline_ns, node->now_ns, node->now_ns + NS_PER_SEC);
    use(node, "a", of_a_ns);
    node->now_ns = deadline_ns;
    scheduler_look_at_dormant(node->scheduler, node->now_ns);
}

static void who_sleeps_has_no_turns(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
    assert_int_equal(record_of(node, "a").share_ppm, SLEEPING);
    assert_int_equal(flags_of(node, "a"), STATUS_CONTENDED);
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED); // it has the node to itself
    for (int i = 0; i < 4; i++) {
        slice(node, 0);
        assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED);
    }
}

static void who_computes_has_its_turns(void **state)
{
    struct node *node = *state;
    unsigned turns = 0;
    come(node, "a", A);
    come(node, "b", B);
    for (int i = 0; i < 8; i++) {
        bool scheduled = (flags_of(node, "a") & STATUS_SCHEDULED) != 0;
        turns += scheduled;
        slice(node, scheduled ? SLICE_NS / 100 : SLICE_NS / 200); // it seldom needs the CPU
        assert_false(sleeps(node, "a"));
    }
    assert_in_range(turns, 3, 5);
}

static void who_wakes_is_seen_within_a_second(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    slices(node, 6, 0);
    look(node, 1 * NS_PER_MS); // a line at the prompt
    assert_true(sleeps(node, "a"));
    look(node, 50 * NS_PER_MS); // all that it is given
    assert_false(sleeps(node, "a"));
    assert_int_equal(record_of(node, "a").share_ppm, SLEEPING); // until it has its turn
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED | STATUS_CONTENDED);
    slice(node, 0);
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED | STATUS_CONTENDED);
}

// What it has may be less than what others would sleep with: it uses all of it.
static void who_has_little_wakes_too(void **state)
{
    struct node *node = *state;
    node->config.interactive_share_ppm = 10000;
    node->config.idle_share_ppm = 100000;
    node_stop(node);
    node_start(node);
    come(node, "a", A);
    come(node, "b", B);
    slices(node, 6, 0);
    struct protocol_job_record record = record_of(node, "a");
    assert_true(record.dormant != 0);
    assert_true(record.share_ppm <= 100000);
    look(node, NS_PER_SEC / SHARE_WHOLE_PPM * record.share_ppm);
    assert_false(sleeps(node, "a"));
}

static void who_asks_is_awake(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    come(node, "b", B);
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
    scheduler_request(node->scheduler, a, node->now_ns);
    assert_false(sleeps(node, "a"));
    slice(node, 0);
    assert_false(sleeps(node, "a")); // it was just looked at
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
}

static void who_grows_is_awake(void **state)
{
    struct node *node = *state;
    world_of_who_comes = (struct world){.ranks = 2};
    come(node, "a", A);
    struct process *second = come(node, "a", A2);
    world_of_who_comes = (struct world){.ranks = 1};
    come(node, "b", B);
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
    scheduler_exit(node->scheduler, second, node->now_ns);
    assert_true(sleeps(node, "a"));
    come(node, "a", A2);
    assert_false(sleeps(node, "a"));
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
}

// What its ranks elsewhere do is not known here.
static void of_a_part_of_a_job_nothing_is_told(void **state)
{
    struct node *node = *state;
    world_of_who_comes = (struct world){.ranks = 2};
    come(node, "a", A);
    world_of_who_comes = (struct world){.ranks = 1};
    come(node, "b", B);
    slices(node, 8, 0);
    assert_false(sleeps(node, "a"));
}

static void nobody_is_passed_over_where_people_do_not_want_it(void **state)
{
    struct node *node = *state;
    node->config.skip_dormant = false;
    come(node, "a", A);
    come(node, "b", B);
    slices(node, 8, 0);
    assert_false(sleeps(node, "a"));
    node->config.skip_dormant = true;
    slices(node, 8, 0);
    assert_true(sleeps(node, "a"));
    node->config.skip_dormant = false;
    slice(node, 0);
    assert_false(sleeps(node, "a"));
}

// A job that sleeps alone is limited by nobody, and nobody looks; the next to come has the node.
static void who_sleeps_alone_is_left_alone(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    for (int i = 0; i < 6; i++)
        next_slice(node);
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED);
    assert_true(scheduler_deadline_ns(node->scheduler) > node->now_ns + NS_PER_SEC);
    come(node, "b", B);
    assert_true(sleeps(node, "a"));
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED);
}

static void who_has_begun_to_compute_alone_is_awake(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    for (int i = 0; i < 6; i++)
        next_slice(node);
    use(node, "a", 3 * NS_PER_SEC);
    node->now_ns += 3 * NS_PER_SEC;
    come(node, "b", B);
    assert_false(sleeps(node, "a"));
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED | STATUS_CONTENDED);
    assert_int_equal(flags_of(node, "b"), STATUS_CONTENDED);
}

// A look that a tick has made counts: the next one is due a second after that.
static void looks_are_a_second_apart(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    slices(node, 6, 0);
    uint64_t last_ns = node->now_ns;
    node->now_ns += 700 * NS_PER_MS;
    scheduler_switch(node->scheduler, node->now_ns, 0); // too soon
    assert_int_equal(scheduler_deadline_ns(node->scheduler), last_ns + NS_PER_SEC);
    node->now_ns += 250 * NS_PER_MS;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(scheduler_deadline_ns(node->scheduler), node->now_ns + NS_PER_SEC);
}

static void who_is_suspended_is_awake_when_it_is_back(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    struct tracking_result result;
    come(node, "b", B);
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SHARE};
    assert_true(scheduler_track(node->scheduler, a->job, &order, node->now_ns, &result));
    assert_int_equal(result.fault.code, 0);
    assert_false(sleeps(node, "a"));
    assert_int_equal(record_of(node, "a").share_ppm, IDLE);
    order.kind = TRACKING_RESUME;
    assert_true(scheduler_track(node->scheduler, a->job, &order, node->now_ns, &result));
    assert_int_equal(result.fault.code, 0);
    slice(node, 0);
    assert_false(sleeps(node, "a"));
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
}

// The next classd begins by asking who computes.
static void a_restart_wakes_everybody(void **state)
{
    struct node *node = *state;
    pid_t first = sleeper(), second = sleeper();
    come(node, "a", first);
    come(node, "b", second);
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
    adopt_anew(node, false);
    assert_false(sleeps(node, "a"));
    slices(node, 6, 0);
    assert_true(sleeps(node, "a"));
    end(first);
    end(second);
}

#define SLEEPERS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_sleepers, node_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SLEEPERS_TEST(who_sleeps_has_no_turns),
        SLEEPERS_TEST(who_computes_has_its_turns),
        SLEEPERS_TEST(who_wakes_is_seen_within_a_second),
        SLEEPERS_TEST(who_has_little_wakes_too),
        SLEEPERS_TEST(who_asks_is_awake),
        SLEEPERS_TEST(who_grows_is_awake),
        SLEEPERS_TEST(of_a_part_of_a_job_nothing_is_told),
        SLEEPERS_TEST(nobody_is_passed_over_where_people_do_not_want_it),
        SLEEPERS_TEST(who_sleeps_alone_is_left_alone),
        SLEEPERS_TEST(who_has_begun_to_compute_alone_is_awake),
        SLEEPERS_TEST(looks_are_a_second_apart),
        SLEEPERS_TEST(who_is_suspended_is_awake_when_it_is_back),
        SLEEPERS_TEST(a_restart_wakes_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
