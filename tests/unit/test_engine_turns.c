// Whose turns it is by the number of the slice: what keeps nodes together that do not speak.
#include "classd/policy/engine.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SLICE UINT64_C(1000000000)

enum { MOST_JOBS = 400 };

// One of two nodes that go by the same clock, with jobs 1 to `jobs`.
struct clocked {
    engine_t *engine;
    engine_job_t jobs;
    uint64_t owners; // the jobs are theirs in turn; 0: it is not known whose
    uint64_t now_ns;
    uint64_t usage_ns[MOST_JOBS];
};

static void clocked_open(struct clocked *node, engine_job_t jobs, unsigned cpus)
{
    const struct engine_settings settings = {.policy = "yoo-jette",
                                             .cpus = cpus,
                                             .idle_share_ppm = 10000,
                                             .time_slice_ns = SLICE,
                                             .gmet_ns = SLICE / 10};
    *node = (struct clocked){.engine = engine_new(&settings), .jobs = jobs, .now_ns = 1000};
    assert_non_null(node->engine);
}

static void clocked_enter_from(struct clocked *node, engine_job_t job, uint64_t turn)
{
    struct engine_event come = {.kind = ENGINE_REGISTER,
                                .job = job,
                                .width = 1,
                                .owner = node->owners != 0 ? 1 + job % node->owners : 0,
                                .from_turn = turn,
                                .name = (uint64_t)job * UINT64_C(0xbf58476d1ce4e5b9)};
    engine_event(node->engine, &come, node->now_ns);
}

static void clocked_enter(struct clocked *node, engine_job_t job)
{
    clocked_enter_from(node, job, 0);
}

static void clocked_leave(struct clocked *node, engine_job_t job)
{
    struct engine_event leave = {.kind = ENGINE_EXIT, .job = job, .width = 1};
    engine_event(node->engine, &leave, node->now_ns);
}

static engine_job_t scheduled_on(const struct clocked *node)
{
    struct engine_job_view view;
    engine_job_t scheduled = 0;
    for (engine_job_t job = 1; job <= node->jobs; job++) {
        if (engine_job_find(node->engine, job, &view) && view.scheduled)
            scheduled = job;
    }
    return scheduled;
}

static void clocked_use(struct clocked *node, engine_job_t job, uint64_t ns)
{
    struct engine_event usage = {.kind = ENGINE_USAGE, .job = job};
    node->usage_ns[job] += ns;
    usage.usage_ns = node->usage_ns[job];
    engine_event(node->engine, &usage, node->now_ns);
}

// Runs a node for one slice, all of which its scheduled jobs consume. Returns the last of them.
static engine_job_t run_slice(struct clocked *node, uint64_t turn)
{
    struct engine_event tick = {.kind = ENGINE_SWITCH, .turn = turn};
    assert_int_equal(engine_event(node->engine, &tick, node->now_ns).outcome, ENGINE_DONE);
    struct engine_job_view view;
    engine_job_t scheduled = scheduled_on(node);
    node->now_ns += SLICE;
    for (engine_job_t job = 1; job <= node->jobs; job++) {
        if (engine_job_find(node->engine, job, &view))
            clocked_use(node, job, view.scheduled ? SLICE : 0);
    }
    return scheduled;
}

// Two nodes that the same jobs reached in the opposite order, and no request ever. Without the
// number of the slice they would go on to choose differently for ever.
static void test_nodes_agree_by_the_clock(void **state)
{
    (void)state;
    for (int with_turns = 0; with_turns < 2; with_turns++) {
        struct clocked nodes[2];
        for (int node = 0; node < 2; node++) {
            clocked_open(&nodes[node], 2, 1);
            for (engine_job_t i = 1; i <= 2; i++)
                clocked_enter(&nodes[node], node == 0 ? i : 3 - i);
        }
        int together = 0;
        for (uint64_t slice = 1; slice <= 20; slice++) {
            uint64_t turn = with_turns ? 1000 + slice : 0;
            together += run_slice(&nodes[0], turn) == run_slice(&nodes[1], turn);
        }
        if (with_turns)
            assert_in_range(together, 17, 20);
        else
            assert_in_range(together, 0, 3);
        for (int node = 0; node < 2; node++) {
            assert_in_range(nodes[node].usage_ns[1], 9 * SLICE, 11 * SLICE);
            engine_free(nodes[node].engine);
        }
    }
}

// Another engine takes over, told what pages tell; `came_ns` is when the last job came.
static void clocked_restart(struct clocked *node, uint64_t came_ns)
{
    struct clocked old = *node;
    struct engine_job_view view;
    clocked_open(node, old.jobs, 1);
    node->now_ns = old.now_ns;
    for (engine_job_t job = 1; engine_job_find(old.engine, job, &view); job++) {
        struct engine_account account = {.service_ns = view.service_ns,
                                         .scheduled = view.scheduled,
                                         .scheduled_since_ns = view.scheduled_since_ns,
                                         .slices_waited = view.slices_waited,
                                         .most_jobs = view.most_jobs,
                                         .came_ns = job < node->jobs ? 1000 : came_ns};
        struct engine_event adopt = {.kind = ENGINE_ADOPT,
                                     .job = job,
                                     .width = 1,
                                     .name = (uint64_t)job * UINT64_C(0xbf58476d1ce4e5b9),
                                     .account = &account};
        engine_event(node->engine, &adopt, node->now_ns);
        clocked_use(node, job, 0);
    }
    engine_free(old.engine);
}

// The others do not know that one has been restarted right after somebody came.
static void test_nodes_agree_though_one_was_restarted(void **state)
{
    (void)state;
    struct clocked nodes[2];
    uint64_t turn = 1000;
    for (int node = 0; node < 2; node++) {
        clocked_open(&nodes[node], 5, 1);
        for (engine_job_t job = 1; job <= 4; job++)
            clocked_enter(&nodes[node], job);
    }
    for (unsigned slice = 0; slice < 20; slice++, turn++)
        assert_int_equal(run_slice(&nodes[0], turn), run_slice(&nodes[1], turn));
    uint64_t came_ns = nodes[0].now_ns;
    for (int node = 0; node < 2; node++)
        clocked_enter(&nodes[node], 5);
    assert_int_equal(run_slice(&nodes[0], turn), run_slice(&nodes[1], turn));
    clocked_restart(&nodes[0], came_ns);
    for (unsigned slice = 0; slice < 20; slice++) {
        turn++;
        assert_int_equal(run_slice(&nodes[0], turn), run_slice(&nodes[1], turn));
    }
    for (int node = 0; node < 2; node++)
        engine_free(nodes[node].engine);
}

// On one of them a request has won a job nearly a slice more than the others have: that is no
// reason to go on with another job than the other node does, neither at a tick nor where one ends.
static void test_nodes_agree_though_one_has_been_asked(void **state)
{
    (void)state;
    for (engine_job_t asking = 1; asking <= 5; asking++) {
        struct clocked nodes[2];
        uint64_t turn = 1000;
        for (int node = 0; node < 2; node++) {
            clocked_open(&nodes[node], 5, 1);
            for (engine_job_t job = 1; job <= 5; job++)
                clocked_enter(&nodes[node], job);
        }
        for (unsigned slice = 0; slice < 10; slice++, turn++)
            assert_int_equal(run_slice(&nodes[0], turn), run_slice(&nodes[1], turn));
        clocked_use(&nodes[1], asking, SLICE / 10 * 9);
        for (unsigned slice = 0; slice < 20; slice++, turn++)
            assert_int_equal(run_slice(&nodes[0], turn), run_slice(&nodes[1], turn));
        for (unsigned ends = 0; ends < 3; ends++, turn++) {
            engine_job_t ended = run_slice(&nodes[0], turn);
            assert_int_equal(ended, run_slice(&nodes[1], turn));
            for (int node = 0; node < 2; node++)
                clocked_leave(&nodes[node], ended);
            assert_int_not_equal(scheduled_on(&nodes[0]), 0);
            assert_int_equal(scheduled_on(&nodes[0]), scheduled_on(&nodes[1]));
        }
        for (int node = 0; node < 2; node++)
            engine_free(nodes[node].engine);
    }
}

// Every other slice a job ends and another one begins; half of them a slice later on the other
// node. Jobs that stay are served alike on both nodes all the same, and each has its share.
static void assert_agreement_while_jobs_come_and_go(uint64_t owners, unsigned per_cent)
{
    enum { DEGREE = 8, STAY = 2, SLICES = 600, LAST = DEGREE + SLICES / 2 };
    struct clocked nodes[2];
    engine_job_t present[DEGREE], late_in = 0, late_out = 0;
    uint64_t random = 1;
    unsigned together = 0;
    for (int node = 0; node < 2; node++)
        clocked_open(&nodes[node], LAST, 1);
    nodes[0].owners = nodes[1].owners = owners;
    for (engine_job_t job = 1; job <= DEGREE; job++) {
        present[job - 1] = job;
        for (int node = 0; node < 2; node++)
            clocked_enter(&nodes[node], job);
    }
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        if (late_in != 0)
            clocked_enter(&nodes[1], late_in);
        if (late_out != 0)
            clocked_leave(&nodes[1], late_out);
        late_in = late_out = 0;
        if (slice % 2 == 0) {
            engine_job_t *place = &present[STAY + random_below(&random, DEGREE - STAY)];
            bool late = random_below(&random, 2) == 0;
            late_out = *place;
            late_in = *place = DEGREE + 1 + slice / 2;
            clocked_leave(&nodes[0], late_out);
            clocked_enter(&nodes[0], late_in);
            if (!late) {
                clocked_leave(&nodes[1], late_out);
                clocked_enter(&nodes[1], late_in);
                late_in = late_out = 0;
            }
        }
        together += run_slice(&nodes[0], 5000 + slice) == run_slice(&nodes[1], 5000 + slice);
    }
    print_message("together in %u of %u slices\n", together, SLICES);
    assert_in_range(together, SLICES * per_cent / 100, SLICES);
    for (int node = 0; node < 2; node++) {
        for (engine_job_t job = 1; job <= STAY; job++)
            assert_in_range(nodes[node].usage_ns[job], SLICES / DEGREE * SLICE * 8 / 10,
                            SLICES / DEGREE * SLICE * 12 / 10);
        engine_free(nodes[node].engine);
    }
}

static void test_nodes_agree_while_jobs_come_and_go(void **state)
{
    (void)state;
    assert_agreement_while_jobs_come_and_go(0, 80);
}

enum { STAYERS = 3, COMERS = 20, ALL = STAYERS + COMERS + 1, EVERY = 30, COMING = COMERS * EVERY };

// Each newcomer is known on one node just before a tick and on the other just after it; it comes in
// calm times, where nobody leaves, and leaves both a while later. Returns in how many slices the
// nodes chose alike.
static unsigned together_with_newcomers(bool named, bool class_too)
{
    const uint64_t first = UINT64_C(3400000000);
    struct clocked nodes[2];
    unsigned together = 0;
    for (int node = 0; node < 2; node++) {
        clocked_open(&nodes[node], ALL, 1);
        for (engine_job_t job = 1; job <= STAYERS; job++)
            clocked_enter(&nodes[node], job);
        struct engine_event class_ = {
            .kind = ENGINE_REGISTER, .job = ALL, .width = 1, .sequential = true, .name = 1};
        if (class_too)
            engine_event(nodes[node].engine, &class_, nodes[node].now_ns);
    }
    for (uint64_t i = 0; i < COMING; i++) {
        engine_job_t comer = STAYERS + 1 + i / EVERY;
        uint64_t turn = first + i, from_turn = named ? turn + 1 : 0;
        bool comes = i % EVERY == EVERY / 2;
        if (comes)
            clocked_enter_from(&nodes[0], comer, from_turn);
        for (int node = 0; node < 2 && i % EVERY == 0 && i != 0; node++)
            clocked_leave(&nodes[node], comer - 1);
        uint64_t used_ns[2];
        for (int node = 0; node < 2; node++) {
            run_slice(&nodes[node], turn);
            used_ns[node] = 0;
            for (engine_job_t job = 1; job <= ALL; job++)
                used_ns[node] += job * nodes[node].usage_ns[job];
        }
        static uint64_t before_ns[2];
        together += i == 0 || used_ns[0] - before_ns[0] == used_ns[1] - before_ns[1];
        memcpy(before_ns, used_ns, sizeof before_ns);
        if (comes)
            clocked_enter_from(&nodes[1], comer, from_turn);
    }
    for (int node = 0; node < 2; node++)
        engine_free(nodes[node].engine);
    return together;
}

static void test_nodes_agree_about_newcomers_that_say_from_when(void **state)
{
    (void)state;
    for (int class_too = 0; class_too < 2; class_too++) {
        unsigned named = together_with_newcomers(true, class_too),
                 unnamed = together_with_newcomers(false, class_too);
        print_message("together in %u of %u slices, else in %u\n", named, COMING, unnamed);
        assert_in_range(named, COMING * 97 / 100, COMING);
        assert_in_range(unnamed, 0, COMING * 96 / 100);
    }
}

// Where nobody else takes part yet, nobody waits for that.
static void test_who_is_alone_need_not_wait_for_his_first_turn(void **state)
{
    (void)state;
    struct clocked node;
    clocked_open(&node, 2, 1);
    clocked_enter_from(&node, 1, 1005);
    assert_int_equal(scheduled_on(&node), 1);
    clocked_enter_from(&node, 2, 1005);
    assert_int_not_equal(run_slice(&node, 1001), 0);
    assert_int_not_equal(run_slice(&node, 1002), 0);
    engine_free(node.engine);
}

// By another length of slices, or another time of day, the slice that was said may be years ahead.
static void test_a_first_turn_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    struct clocked node;
    clocked_open(&node, 3, 1);
    clocked_enter(&node, 1);
    clocked_enter(&node, 2);
    clocked_enter_from(&node, 3, 500000);
    unsigned turns = 0;
    for (uint64_t turn = 1000; turn < 1010; turn++)
        turns += run_slice(&node, turn) == 3;
    assert_in_range(turns, 3, 4);
    engine_free(node.engine);
}

// What the jobs that are gone had more than others differs between the nodes.
static void test_nodes_agree_while_users_jobs_come_and_go(void **state)
{
    (void)state;
    for (uint64_t owners = 1; owners <= 4; owners *= 2)
        assert_agreement_while_jobs_come_and_go(owners, 79);
}

// Once nobody comes or goes each has its slice in every round, one after the other.
static void test_turns_are_regular_in_calm_times(void **state)
{
    enum { JOBS = 7 };
    (void)state;
    struct clocked node;
    engine_job_t had[JOBS];
    clocked_open(&node, JOBS, 1);
    for (engine_job_t job = 1; job <= JOBS; job++)
        clocked_enter(&node, job);
    for (uint64_t slice = 0; slice < 2 * JOBS + 1; slice++)
        run_slice(&node, 7000 + slice);
    for (uint64_t slice = 0; slice < 10 * JOBS; slice++) {
        engine_job_t job = run_slice(&node, 8000 + slice);
        if (slice >= JOBS)
            assert_int_equal(job, had[slice % JOBS]);
        had[slice % JOBS] = job;
    }
    engine_free(node.engine);
}

static uint64_t set_on(const struct clocked *node)
{
    struct engine_job_view view;
    uint64_t set = 0;
    for (engine_job_t job = 1; job <= node->jobs; job++) {
        if (engine_job_find(node->engine, job, &view) && view.scheduled)
            set |= UINT64_C(1) << job;
    }
    return set;
}

// Jobs that fit beside each other are put there in the order of turns, whatever they have had.
static void test_nodes_agree_on_sets(void **state)
{
    enum { JOBS = 5 };
    (void)state;
    struct clocked nodes[2];
    unsigned slices[JOBS + 1] = {0};
    for (int node = 0; node < 2; node++) {
        clocked_open(&nodes[node], JOBS, 2);
        for (engine_job_t i = 1; i <= JOBS; i++)
            clocked_enter(&nodes[node], node == 0 ? i : JOBS + 1 - i);
    }
    for (uint64_t turn = 1000; turn < 1000 + 20 * JOBS; turn++) {
        for (int node = 0; node < 2; node++) {
            run_slice(&nodes[node], turn);
            clocked_use(&nodes[node], 1 + turn % JOBS, node == 0 ? SLICE / 20 : 0);
        }
        assert_int_equal(set_on(&nodes[0]), set_on(&nodes[1]));
        for (engine_job_t job = 1; job <= JOBS; job++)
            slices[job] += set_on(&nodes[0]) >> job & 1;
    }
    for (engine_job_t job = 1; job <= JOBS; job++)
        assert_in_range(slices[job], 2 * 20 - 3, 2 * 20 + 3);
    for (int node = 0; node < 2; node++)
        engine_free(nodes[node].engine);
}

enum { SLICES = 600 };

// The last of the jobs uses so much of each slice that it has.
static void check_parts(engine_job_t jobs, bool with_turns, uint64_t uses_ns)
{
    struct clocked node;
    unsigned slices[MOST_JOBS] = {0};
    clocked_open(&node, jobs, 1);
    for (engine_job_t job = 1; job <= jobs; job++) {
        clocked_enter(&node, job);
        clocked_use(&node, job, 0);
    }
    for (uint64_t slice = 1; slice <= SLICES; slice++) {
        engine_event(
            node.engine,
            &(struct engine_event){.kind = ENGINE_SWITCH, .turn = with_turns ? 1000 + slice : 0},
            node.now_ns);
        engine_job_t scheduled = scheduled_on(&node);
        slices[scheduled]++;
        node.now_ns += SLICE;
        for (engine_job_t job = 1; job <= jobs; job++) {
            uint64_t used_ns = job < jobs ? SLICE : uses_ns;
            clocked_use(&node, job, job == scheduled ? used_ns : SLICE / 100);
        }
    }
    for (engine_job_t job = 1; job <= jobs; job++)
        assert_in_range(slices[job], SLICES / jobs - 8, SLICES / jobs + 8);
    engine_free(node.engine);
}

// It is stopped, waits for something, or computes on a part of its CPUs: it has its turns, by the
// clock or by accounts, and no more.
static void test_who_uses_less_has_no_more_than_his_part(void **state)
{
    (void)state;
    const uint64_t uses_ns[] = {SLICE / 100, SLICE / 8, SLICE / 5, SLICE / 2};
    for (engine_job_t jobs = 2; jobs <= 5; jobs++) {
        for (size_t i = 0; i < sizeof uses_ns / sizeof *uses_ns; i++) {
            check_parts(jobs, false, uses_ns[i]);
            check_parts(jobs, true, uses_ns[i]);
        }
    }
}

// Somebody whose job leaves just before each tick and comes again under the name that has the turn.
static void test_who_comes_anew_before_each_tick_has_no_more_than_his_part(void **state)
{
    enum { STAYER = 1, TURNS = 100 };
    struct clocked node;
    (void)state;
    clocked_open(&node, TURNS + 2, 1);
    struct engine_event come = {
        .kind = ENGINE_REGISTER, .job = STAYER, .width = 1, .owner = 1, .name = UINT64_C(1) << 63};
    engine_event(node.engine, &come, node.now_ns);
    clocked_use(&node, STAYER, 0);
    for (uint64_t slice = 1; slice <= TURNS; slice++) {
        uint64_t turn = 5000 + slice;
        bool second = (uint32_t)turn * UINT32_C(0x9e3779b9) >> 31;
        come = (struct engine_event){.kind = ENGINE_REGISTER,
                                     .job = STAYER + slice,
                                     .width = 1,
                                     .owner = 2,
                                     .name = second ? UINT64_MAX : 1};
        engine_event(node.engine, &come, node.now_ns);
        clocked_use(&node, STAYER + slice, 0); // as classd reads it, when a job comes
        run_slice(&node, turn);
        clocked_leave(&node, STAYER + slice);
    }
    assert_in_range(node.usage_ns[STAYER], TURNS * SLICE * 45 / 100, TURNS * SLICE);
    engine_free(node.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_agree_by_the_clock),
        cmocka_unit_test(test_nodes_agree_though_one_was_restarted),
        cmocka_unit_test(test_nodes_agree_though_one_has_been_asked),
        cmocka_unit_test(test_nodes_agree_while_jobs_come_and_go),
        cmocka_unit_test(test_who_comes_anew_before_each_tick_has_no_more_than_his_part),
        cmocka_unit_test(test_nodes_agree_while_users_jobs_come_and_go),
        cmocka_unit_test(test_nodes_agree_about_newcomers_that_say_from_when),
        cmocka_unit_test(test_who_is_alone_need_not_wait_for_his_first_turn),
        cmocka_unit_test(test_a_first_turn_that_does_not_come_is_not_waited_for),
        cmocka_unit_test(test_turns_are_regular_in_calm_times),
        cmocka_unit_test(test_nodes_agree_on_sets),
        cmocka_unit_test(test_who_uses_less_has_no_more_than_his_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
