// Who holds the node has it, however little of it he uses: nobody gets more by asking, by leaving
// before the slice is over, by being suspended in it, or by getting wider.
#include "classd/policy/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS    UINT64_C(1000000)
#define SLICE (15000 * MS)
#define GMET  (1000 * MS)
#define STEP  (100 * MS)

enum { CPUS = 16, VICTIM = 1, OTHER, JOBS_MOST = 100 };

struct node {
    engine_t *engine;
    uint64_t now_ns;
    uint64_t turn;
    uint64_t usage_ns[JOBS_MOST];
};

static struct node node_of(unsigned cpus)
{
    const struct engine_settings settings = {.policy = "yoo-jette",
                                             .cpus = cpus,
                                             .idle_share_ppm = 10000,
                                             .time_slice_ns = SLICE,
                                             .gmet_ns = GMET};
    struct node node = {.engine = engine_new(&settings), .now_ns = SLICE, .turn = 5000};
    assert_non_null(node.engine);
    return node;
}

static enum engine_outcome post(struct node *node, struct engine_event event)
{
    return engine_event(node->engine, &event, node->now_ns).outcome;
}

static void tell(struct node *node, engine_job_t job)
{
    post(node,
         (struct engine_event){.kind = ENGINE_USAGE, .job = job, .usage_ns = node->usage_ns[job]});
}

static void come(struct node *node, engine_job_t job, uint32_t width)
{
    post(node, (struct engine_event){
                   .kind = ENGINE_REGISTER, .job = job, .width = width, .name = job, .owner = job});
    tell(node, job);
}

static void leave(struct node *node, engine_job_t job, uint32_t width)
{
    tell(node, job);
    post(node, (struct engine_event){.kind = ENGINE_EXIT, .job = job, .width = width});
}

static struct engine_job_view view_of(const struct node *node, engine_job_t job)
{
    struct engine_job_view view = {0};
    assert_true(engine_job_find(node->engine, job, &view));
    return view;
}

// Time goes by; those that are there use such a part, in percent, of the CPUs while they are
// scheduled.
static void go_on(struct node *node, engine_job_t last, const unsigned uses_pct[])
{
    struct engine_job_view view;
    node->now_ns += STEP;
    for (engine_job_t job = VICTIM; job <= last; job++) {
        if (!engine_job_find(node->engine, job, &view))
            continue;
        if (view.scheduled)
            node->usage_ns[job] += STEP * CPUS * uses_pct[job == VICTIM ? 0 : 1] / 100;
        tell(node, job);
    }
}

static void tick(struct node *node)
{
    post(node, (struct engine_event){.kind = ENGINE_SWITCH, .turn = ++node->turn});
}

// The other asks all the time, from just after a tick until a step before the next one.
static void ask_until_the_end(struct node *node, engine_job_t other, const unsigned uses_pct[])
{
    for (unsigned step = 1; step < SLICE / STEP; step++) {
        post(node, (struct engine_event){.kind = ENGINE_SCHEDULE, .job = other});
        go_on(node, other, uses_pct);
    }
}

static void has_his_part(const struct node *node, uint64_t slices)
{
    assert_in_range(view_of(node, VICTIM).scheduled_total_ns, slices * SLICE * 45 / 100,
                    slices * SLICE);
}

// A hybrid job, or one that waits for its files, with peers elsewhere that run all the time.
static void who_uses_little_of_the_node_gets_no_more_of_it_by_asking(void **state)
{
    enum { SLICES = 60 };
    const unsigned little[] = {0, 5, 10, 20, 50};
    (void)state;
    for (size_t i = 0; i < sizeof little / sizeof *little; i++) {
        struct node node = node_of(CPUS);
        const unsigned uses_pct[] = {100, little[i]};
        come(&node, VICTIM, CPUS);
        come(&node, OTHER, CPUS);
        for (unsigned slice = 0; slice < SLICES; slice++) {
            tick(&node);
            ask_until_the_end(&node, OTHER, uses_pct);
            go_on(&node, OTHER, uses_pct);
        }
        has_his_part(&node, SLICES);
        engine_free(node.engine);
    }
}

// It asks until it is given the node, sleeps there, and goes before the slice is over.
static void who_leaves_before_the_tick_has_held_the_node_all_the_same(void **state)
{
    enum { SLICES = 60 };
    const unsigned uses_pct[] = {100, 0};
    (void)state;
    struct node node = node_of(CPUS);
    come(&node, VICTIM, CPUS);
    for (engine_job_t slice = 0; slice < SLICES; slice++) {
        engine_job_t other = OTHER + slice;
        tick(&node);
        post(&node,
             (struct engine_event){
                 .kind = ENGINE_REGISTER, .job = other, .width = CPUS, .name = 7, .owner = 7});
        tell(&node, other);
        ask_until_the_end(&node, other, uses_pct);
        leave(&node, other, CPUS);
        go_on(&node, VICTIM, uses_pct);
    }
    has_his_part(&node, SLICES);
    engine_free(node.engine);
}

static void who_is_suspended_before_the_tick_has_too(void **state)
{
    enum { SLICES = 60 };
    const unsigned uses_pct[] = {100, 0};
    (void)state;
    struct node node = node_of(CPUS);
    come(&node, VICTIM, CPUS);
    come(&node, OTHER, CPUS);
    for (unsigned slice = 0; slice < SLICES; slice++) {
        tick(&node);
        ask_until_the_end(&node, OTHER, uses_pct);
        post(&node, (struct engine_event){.kind = ENGINE_SUSPEND, .job = OTHER});
        go_on(&node, OTHER, uses_pct);
        post(&node, (struct engine_event){.kind = ENGINE_RESUME, .job = OTHER});
    }
    has_his_part(&node, SLICES);
    engine_free(node.engine);
}

// Not while the sequential class has its slot either.
static void what_a_suspended_job_has_held_stays_so(void **state)
{
    (void)state;
    struct node node = node_of(1);
    come(&node, OTHER, 1);
    tick(&node);
    post(&node, (struct engine_event){
                    .kind = ENGINE_REGISTER, .job = VICTIM, .width = 1, .sequential = true});
    tell(&node, VICTIM);
    node.now_ns += SLICE - STEP;
    tell(&node, OTHER);
    post(&node, (struct engine_event){.kind = ENGINE_SUSPEND, .job = OTHER});
    uint64_t service_ns = view_of(&node, OTHER).service_ns;
    assert_int_equal(service_ns, SLICE - STEP);
    node.now_ns += STEP;
    tick(&node);
    assert_true(view_of(&node, VICTIM).scheduled);
    node.now_ns += STEP;
    tell(&node, OTHER);
    tell(&node, VICTIM);
    assert_int_equal(view_of(&node, OTHER).service_ns, service_ns);
    engine_free(node.engine);
}

// It was whose slice it is, is suspended, and comes back into another's.
static void who_comes_back_into_anothers_slice_does_not_keep_it(void **state)
{
    (void)state;
    struct node node = node_of(4);
    come(&node, VICTIM, 3);
    come(&node, OTHER, 3);
    tick(&node);
    engine_job_t holder = view_of(&node, VICTIM).scheduled ? VICTIM : OTHER;
    engine_job_t next = VICTIM + OTHER - holder;
    post(&node, (struct engine_event){.kind = ENGINE_SUSPEND, .job = holder});
    post(&node,
         (struct engine_event){.kind = ENGINE_WIDTH, .job = holder, .width = 1, .width_before = 3});
    come(&node, 10, 2); // lest the next one is alone
    node.now_ns += SLICE;
    tick(&node);
    if (!view_of(&node, next).scheduled) {
        node.now_ns += SLICE;
        tick(&node);
    }
    assert_true(view_of(&node, next).scheduled);
    post(&node, (struct engine_event){.kind = ENGINE_RESUME, .job = holder});
    assert_true(view_of(&node, holder).scheduled); // there is room
    come(&node, holder, 2);
    assert_true(view_of(&node, next).scheduled);
    assert_false(view_of(&node, holder).scheduled);
    engine_free(node.engine);
}

// Nor who lost it to a request, and comes back narrow.
static void who_has_lost_a_slice_does_not_get_it_back_by_growing(void **state)
{
    (void)state;
    struct node node = node_of(4);
    come(&node, VICTIM, 3);
    come(&node, OTHER, 3);
    tick(&node);
    engine_job_t holder = view_of(&node, VICTIM).scheduled ? VICTIM : OTHER;
    engine_job_t asker = VICTIM + OTHER - holder;
    node.now_ns += GMET;
    assert_int_equal(post(&node, (struct engine_event){.kind = ENGINE_SCHEDULE, .job = asker}),
                     ENGINE_GRANTED);
    node.now_ns += GMET;
    post(&node,
         (struct engine_event){.kind = ENGINE_WIDTH, .job = holder, .width = 1, .width_before = 3});
    assert_true(view_of(&node, holder).scheduled); // there is room
    post(&node,
         (struct engine_event){.kind = ENGINE_WIDTH, .job = holder, .width = 3, .width_before = 1});
    assert_true(view_of(&node, asker).scheduled);
    assert_false(view_of(&node, holder).scheduled);
    engine_free(node.engine);
}

// The kernel tells of CPU time in pieces: a look may find none of it, and the next one all.
static void what_the_kernel_tells_late_counts_once(void **state)
{
    (void)state;
    struct node node = node_of(1);
    come(&node, VICTIM, 1);
    tick(&node);
    uint64_t before_ns = view_of(&node, VICTIM).service_ns;
    for (unsigned i = 1; i <= 1000; i++) {
        node.now_ns += MS;
        if (i % 4 == 0)
            node.usage_ns[VICTIM] += 4 * MS;
        tell(&node, VICTIM);
    }
    assert_int_equal(view_of(&node, VICTIM).service_ns - before_ns, 1000 * MS);
    // Of a classd that hung nobody knows who held the node.
    node.now_ns += 10 * SLICE;
    tell(&node, VICTIM);
    assert_int_equal(view_of(&node, VICTIM).service_ns - before_ns, 1000 * MS);
    engine_free(node.engine);
}

// The kernel gives the class a whole quota each time that it limits it: with short slices more than
// its share. What the job could not use for that is not counted against it.
static void what_the_class_has_of_a_jobs_slices_is_not_the_jobs(void **state)
{
    enum { SLICES = 400, TAKEN_PCT = 9 };
    const uint64_t slice_ns = 100 * MS;
    const struct engine_settings settings = {.policy = "dcs",
                                             .cpus = 1,
                                             .idle_share_ppm = 10000,
                                             .interactive_share_ppm = 50000,
                                             .time_slice_ns = slice_ns,
                                             .gmet_ns = slice_ns,
                                             .dcs = {.quantum_ns = slice_ns, .calibrate = true}};
    (void)state;
    struct node node = {.engine = engine_new(&settings), .now_ns = SLICE};
    assert_non_null(node.engine);
    come(&node, VICTIM, 1);
    post(&node, (struct engine_event){
                    .kind = ENGINE_REGISTER, .job = OTHER, .width = 1, .sequential = true});
    tell(&node, OTHER);
    for (unsigned slice = 0; slice < SLICES; slice++) {
        node.now_ns += slice_ns;
        uint64_t taken_ns = slice_ns * TAKEN_PCT / 100;
        bool holds = view_of(&node, VICTIM).scheduled;
        node.usage_ns[VICTIM] += holds ? slice_ns - taken_ns : 0;
        node.usage_ns[OTHER] += holds ? taken_ns : slice_ns;
        tell(&node, VICTIM);
        tell(&node, OTHER);
        post(&node, (struct engine_event){.kind = ENGINE_SWITCH});
    }
    assert_in_range(node.usage_ns[VICTIM] * 100 / (SLICES * slice_ns), 49, 51);
    engine_free(node.engine);
}

// Ranks register one after the other. The slice of whoever was there first goes on.
static void a_job_that_comes_rank_by_rank_drives_nobody_out(void **state)
{
    (void)state;
    struct node node = node_of(4);
    come(&node, VICTIM, 3);
    tick(&node);
    node.now_ns += SLICE / 3;
    come(&node, OTHER, 1);
    assert_true(view_of(&node, OTHER).scheduled); // there is room
    come(&node, OTHER, 1);
    assert_true(view_of(&node, VICTIM).scheduled);
    assert_false(view_of(&node, OTHER).scheduled);
    engine_free(node.engine);
}

// Nor does one that gets wider after it was given the room beside whose slice it is, though it has
// had less.
static void whose_slice_it_is_is_not_driven_out_by_growth(void **state)
{
    (void)state;
    struct node node = node_of(4);
    come(&node, VICTIM, 3);
    come(&node, OTHER, 3);
    engine_set_service(node.engine, VICTIM, 1);
    for (unsigned i = 0; i < 2; i++) {
        node.now_ns += SLICE;
        tick(&node);
        engine_job_t holder = view_of(&node, VICTIM).scheduled ? VICTIM : OTHER;
        engine_job_t filler = 10 + i;
        come(&node, filler, 1);
        assert_true(view_of(&node, filler).scheduled);
        engine_set_service(node.engine, holder, view_of(&node, filler).service_ns + SLICE);
        come(&node, filler, 1);
        assert_true(view_of(&node, holder).scheduled);
        assert_false(view_of(&node, filler).scheduled);
        leave(&node, filler, 2);
        if (engine_job_find(node.engine, filler, &(struct engine_job_view){0}))
            leave(&node, filler, 1);
    }
    engine_free(node.engine);
}

// The kernel gives a whole quota each time that a limit is set.
static void widths_in_turn_set_no_limit_each_time(void **state)
{
    (void)state;
    struct node node = node_of(CPUS);
    unsigned written = 0;
    come(&node, VICTIM, CPUS);
    come(&node, OTHER, CPUS);
    tick(&node);
    engine_job_t idle = view_of(&node, VICTIM).scheduled ? OTHER : VICTIM;
    for (unsigned i = 0; i < 100; i++) {
        struct engine_event event = {.kind = ENGINE_WIDTH,
                                     .job = idle,
                                     .width = i % 2 == 0 ? CPUS - 1 : CPUS,
                                     .width_before = i % 2 == 0 ? CPUS : CPUS - 1};
        struct engine_result result = engine_event(node.engine, &event, node.now_ns);
        for (size_t k = 0; k < result.decision_count; k++)
            written += result.decisions[k].job == idle;
    }
    assert_int_equal(written, 0);
    // Nor does one that begins with one CPU and tells of one more each time.
    come(&node, OTHER + 1, 1);
    for (uint32_t width = 1; width < CPUS; width++) {
        struct engine_event event = {
            .kind = ENGINE_WIDTH, .job = OTHER + 1, .width = width + 1, .width_before = width};
        struct engine_result result = engine_event(node.engine, &event, node.now_ns);
        for (size_t k = 0; k < result.decision_count; k++)
            written += result.decisions[k].job == OTHER + 1;
    }
    assert_int_equal(written, 4);
    engine_free(node.engine);
}

// It has run beside jobs that took turns, and is to take turns itself from now on.
static void who_gets_wider_is_no_debtor_for_what_others_could_not_use(void **state)
{
    (void)state;
    struct node node = node_of(8);
    come(&node, VICTIM, 7);
    come(&node, OTHER, 7);
    come(&node, OTHER + 1, 1);
    engine_set_service(node.engine, VICTIM, 1000 * SLICE);
    engine_set_service(node.engine, OTHER, 1000 * SLICE);
    engine_set_service(node.engine, OTHER + 1, 2000 * SLICE);
    come(&node, OTHER + 1, 7);
    assert_in_range(view_of(&node, OTHER + 1).service_ns, 1000 * SLICE, 1006 * SLICE);
    engine_free(node.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_uses_little_of_the_node_gets_no_more_of_it_by_asking),
        cmocka_unit_test(who_leaves_before_the_tick_has_held_the_node_all_the_same),
        cmocka_unit_test(who_is_suspended_before_the_tick_has_too),
        cmocka_unit_test(what_a_suspended_job_has_held_stays_so),
        cmocka_unit_test(who_comes_back_into_anothers_slice_does_not_keep_it),
        cmocka_unit_test(who_has_lost_a_slice_does_not_get_it_back_by_growing),
        cmocka_unit_test(what_the_kernel_tells_late_counts_once),
        cmocka_unit_test(what_the_class_has_of_a_jobs_slices_is_not_the_jobs),
        cmocka_unit_test(a_job_that_comes_rank_by_rank_drives_nobody_out),
        cmocka_unit_test(whose_slice_it_is_is_not_driven_out_by_growth),
        cmocka_unit_test(widths_in_turn_set_no_limit_each_time),
        cmocka_unit_test(who_gets_wider_is_no_debtor_for_what_others_could_not_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
