// Jobs that are bound to some of the node's CPUs: who is bound to the same takes turns, however
// many others there are, and who is bound to others does not.
#include "classd/policy/cpus.h"
#include "classd/policy/room.h"
#include "tests/unit/random.h"
#include "tests/unit/yoo_jette_node.h"

static struct engine_cpus from_to(unsigned first, unsigned last)
{
    struct engine_cpus cpus = {0};
    for (unsigned cpu = first; cpu <= last; cpu++)
        cpus.words[cpu / 64] |= UINT64_C(1) << cpu % 64;
    return cpus;
}

static void enter_bound(struct caller *node, engine_job_t job, uint32_t width, unsigned first,
                        unsigned last)
{
    struct engine_cpus cpus = from_to(first, last);
    caller_post(node, (struct engine_event){
                          .kind = ENGINE_REGISTER, .job = job, .width = width, .cpus = &cpus});
}

static void who_is_bound_to_the_same_takes_turns(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    enter_bound(&node, A, 8, 0, 7);
    enter_bound(&node, B, 8, 0, 7);
    assert_scheduled(&node, "A");
    assert_true(view_of(&node, A).limited);
    assert_share(&node, B, 5000); // of 8 CPUs
    served(&node, A, 15);
    tick(&node);
    assert_scheduled(&node, "B");
    caller_close(&node);
}

static void who_is_bound_to_others_does_not(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    enter_bound(&node, A, 100, 0, 7); // threads; far more than CPUs
    enter_bound(&node, C, 100, 8, 15);
    assert_scheduled(&node, "AC");
    assert_false(view_of(&node, A).limited);
    enter_bound(&node, B, 8, 0, 7);
    assert_scheduled(&node, "AC");
    assert_share(&node, A, 497500);
    assert_share(&node, C, 497500);
    for (int i = 1; i <= 4; i++) {
        served(&node, i % 2 == 1 ? A : B, (uint64_t)i * 15);
        served(&node, C, (uint64_t)i * 15);
        tick(&node);
        assert_scheduled(&node, i % 2 == 1 ? "BC" : "AC");
    }
    caller_close(&node);
}

// Which is asked for by who waits for its messages: nobody else is in his way.
static void a_request_disturbs_nobody_on_other_cpus(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    enter_bound(&node, A, 8, 0, 7);
    enter_bound(&node, B, 8, 0, 7);
    enter_bound(&node, C, 8, 8, 15);
    assert_scheduled(&node, "AC");
    served(&node, A, 5);
    served(&node, C, 500);
    run(&node, GMET);
    assert_int_equal(request(&node, B), ENGINE_GRANTED);
    assert_scheduled(&node, "BC");
    assert_int_equal(view_of(&node, C).switches, 1);
    caller_close(&node);
}

static void sets_that_overlap_are_counted_together(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    enter_bound(&node, A, 8, 0, 7);
    enter_bound(&node, B, 8, 4, 11); // 16 on 12 CPUs
    assert_scheduled(&node, "A");
    caller_close(&node);

    node = node_with(16);
    enter_bound(&node, A, 3, 0, 3);
    enter_bound(&node, C, 3, 4, 7);
    assert_false(view_of(&node, C).limited);
    enter_bound(&node, B, 3, 2, 5); // with either 6 on 6, with both 9 on 8
    assert_scheduled(&node, "AC");
    enter_bound(&node, D, 8, 8, 15);
    assert_scheduled(&node, "ACD");
    caller_close(&node);
}

static void who_is_bound_to_none_needs_room_anywhere(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    enter_bound(&node, A, 4, 0, 3);
    enter(&node, B, 12);
    assert_false(view_of(&node, B).limited);
    enter_bound(&node, C, 4, 0, 3);
    assert_scheduled(&node, "AB");
    enter_bound(&node, D, 16, 0, 15); // as many as there are: to none
    assert_share(&node, D, 10000);
    caller_close(&node);
}

static void who_is_bound_otherwise_later_is_judged_anew(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    struct engine_cpus other = from_to(8, 15), same = from_to(0, 7);
    enter_bound(&node, A, 8, 0, 7);
    enter_bound(&node, B, 8, 0, 7);
    assert_true(view_of(&node, B).limited);
    caller_post(&node, (struct engine_event){.kind = ENGINE_CPUS, .job = B, .cpus = &other});
    assert_false(view_of(&node, B).limited);
    caller_post(&node, (struct engine_event){.kind = ENGINE_CPUS, .job = B, .cpus = &same});
    assert_true(view_of(&node, B).limited);
    caller_post(&node, (struct engine_event){.kind = ENGINE_CPUS, .job = B}); // to none: anywhere
    assert_false(view_of(&node, B).limited);
    assert_int_equal(
        caller_post(&node, (struct engine_event){.kind = ENGINE_CPUS, .job = E}).outcome,
        ENGINE_UNKNOWN_JOB);
    caller_close(&node);
}

static void time_is_counted_by_the_cpus_that_there_are(void **state)
{
    (void)state;
    struct caller node = node_with(16);
    enter_bound(&node, A, 8, 60, 63);
    caller_event(&node, ENGINE_USAGE, A, 0, 0);
    caller_event(&node, ENGINE_USAGE, A, 0, 40 * SECOND);
    assert_int_equal(view_of(&node, A).service_ns, 10 * SECOND);
    caller_close(&node);
}

// More kinds than are told apart count as bound to none.
static void many_sets_are_no_reason_to_take_turns(void **state)
{
    (void)state;
    struct caller node = node_with(256);
    for (unsigned i = 0; i < 128; i++)
        enter_bound(&node, A + i, 2, 2 * i, 2 * i + 1);
    for (unsigned i = 0; i < 128; i++)
        assert_false(view_of(&node, A + i).limited);
    caller_close(&node);
}

// By definition: however CPUs are chosen, those who can use no others do not need more.
static bool fit(const struct policy_node *node, const struct policy_job *jobs, size_t count)
{
    for (uint64_t chosen = 1; chosen < UINT64_C(1) << node->cpus; chosen++) {
        uint64_t needed = 0;
        for (size_t i = 0; i < count; i++)
            needed += (jobs[i].cpus.words[0] & ~chosen) == 0 ? policy_room_of(node, &jobs[i]) : 0;
        if (needed > (uint64_t)__builtin_popcountll(chosen))
            return false;
    }
    return true;
}

// No more is looked at than time allows. What is found is so, and little is not found.
static void who_is_said_not_to_fit_does_not(void **state)
{
    (void)state;
    enum { CPUS = 8, JOBS_HERE = 5, TRIES = 20000 };
    struct policy_node node = {.cpus = CPUS, .cpu_words = 1, .servants = 1};
    uint64_t random = 7;
    unsigned unfit = 0, unseen = 0;
    for (int i = 0; i < TRIES; i++) {
        struct policy_job jobs[JOBS_HERE] = {0};
        struct room room = {0};
        for (int k = 0; k < JOBS_HERE; k++) {
            uint64_t first = random_below(&random, CPUS), count = random_below(&random, CPUS);
            for (uint64_t cpu = 0; cpu <= count; cpu++)
                jobs[k].cpus.words[0] |= UINT64_C(1) << (first + cpu) % CPUS;
            jobs[k].cpu_count = cpus_count(&jobs[k].cpus, 1);
            jobs[k].width = 1 + random_below(&random, 3);
            room_add(&node, &room, &jobs[k]);
        }
        bool fits = fit(&node, jobs, JOBS_HERE);
        assert_true(!room.over || !fits);
        unfit += !fits;
        unseen += !fits && !room.over;
    }
    printf("%u of %d do not fit, %u of these not seen\n", unfit, TRIES, unseen);
    assert_true(unfit > TRIES / 10);
    assert_true(unseen <= unfit / 50);
}

static struct caller gang_node(void)
{
    struct caller node;
    caller_open(&node, &(struct engine_settings){.policy = "gang",
                                                 .cpus = 16,
                                                 .idle_share_ppm = 10000,
                                                 .time_slice_ns = SLICE,
                                                 .gmet_ns = GMET});
    return node;
}

static void takes_all_slots(struct caller *node, engine_job_t job)
{
    assert_int_equal(engine_claim(node->engine, job, ENGINE_ALL_SLOTS, 1, node->now_ns),
                     ENGINE_ALL_SLOTS);
}

static void slots_can_be_had_together_on_other_cpus_only(void **state)
{
    (void)state;
    struct caller node = gang_node();
    const uint8_t keeps_all = ENGINE_ROUND;
    uint64_t slots = 0;
    uint8_t most = 0;
    enter_bound(&node, A, 8, 0, 7);
    takes_all_slots(&node, A);
    enter_bound(&node, B, 8, 0, 7);
    enter_bound(&node, C, 8, 8, 15);
    assert_true(engine_offer(node.engine, B, &keeps_all, 1, &slots, &most, node.now_ns));
    assert_int_equal(slots, 0);
    assert_true(engine_offer(node.engine, C, &keeps_all, 1, &slots, &most, node.now_ns));
    assert_int_equal(slots, ENGINE_ALL_SLOTS);
    caller_close(&node);
}

static void slots_are_taken_from_those_who_are_in_the_way(void **state)
{
    (void)state;
    struct caller node = gang_node();
    enter_bound(&node, A, 12, 4, 15);
    takes_all_slots(&node, A);
    enter_bound(&node, B, 4, 0, 3);
    takes_all_slots(&node, B);
    enter_bound(&node, C, 4, 0, 3);
    uint64_t slots =
        engine_promise(node.engine, C, ENGINE_ALL_SLOTS, ENGINE_ROUND / 2, node.now_ns);
    assert_int_equal(engine_claim(node.engine, C, slots, 1, node.now_ns), slots);
    assert_int_equal(__builtin_popcountll(slots), ENGINE_ROUND / 2);
    assert_int_equal(view_of(&node, B).slots, ENGINE_ALL_SLOTS & ~slots);
    assert_int_equal(view_of(&node, A).slots, ENGINE_ALL_SLOTS);
    caller_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_bound_to_the_same_takes_turns),
        cmocka_unit_test(who_is_bound_to_others_does_not),
        cmocka_unit_test(a_request_disturbs_nobody_on_other_cpus),
        cmocka_unit_test(sets_that_overlap_are_counted_together),
        cmocka_unit_test(who_is_bound_to_none_needs_room_anywhere),
        cmocka_unit_test(who_is_bound_otherwise_later_is_judged_anew),
        cmocka_unit_test(time_is_counted_by_the_cpus_that_there_are),
        cmocka_unit_test(many_sets_are_no_reason_to_take_turns),
        cmocka_unit_test(who_is_said_not_to_fit_does_not),
        cmocka_unit_test(slots_can_be_had_together_on_other_cpus_only),
        cmocka_unit_test(slots_are_taken_from_those_who_are_in_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
