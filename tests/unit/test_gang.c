// Protects policy gang on given sets of slots: who is out in which slot, who fills it, what
// requests get, several servants, and the sequential class. Lists, the office and random sets are
// in test_gang_lists.c, _office.c and _random.c.
#include "tests/unit/gang_node.h"
#include "tests/unit/random.h"

static void test_the_slot_decides(void **state)
{
    (void)state;
    struct node node = halves(0);
    served(&node, A, 1000 * SLOT); // accounts do not
    for (unsigned i = 0; i < 3 * ENGINE_ROUND; i++) {
        tick(&node);
        assert_int_equal(is_out(&node, A), node.turn % 2 == 0);
        assert_int_equal(is_out(&node, B), node.turn % 2 == 1);
    }
    node_close(&node);
}

static void test_an_empty_slot_is_filled(void **state)
{
    (void)state;
    unsigned filled[2] = {0};
    struct node node = halves(0);
    claim(&node, A, 1);
    claim(&node, B, 2);
    for (unsigned i = 0; i < 10 * ENGINE_ROUND; i++) {
        tick(&node);
        assert_int_equal(is_out(&node, A) + is_out(&node, B), 1);
        filled[is_out(&node, B)]++;
    }
    assert_true(filled[0] > 200 && filled[1] > 200); // of 600: nobody is preferred
    node_close(&node);
}

// Whoever fills a slot on one node fills it on others, unless somebody is there who comes first.
static void test_nodes_fill_alike(void **state)
{
    (void)state;
    struct node all = scene(gang_settings(1), 4, 1), some = scene(gang_settings(1), 0, 0);
    unsigned common = 0;
    enter(&some, D, 1); // in another order
    enter(&some, B, 1);
    for (engine_job_t job = A; job <= D; job++)
        claim(&all, job, UINT64_C(1) << (job - A));
    claim(&some, B, 2);
    claim(&some, D, 8);
    for (unsigned i = 0; i < 10 * ENGINE_ROUND; i++) {
        tick(&all);
        tick(&some);
        if (!is_out(&all, B) && !is_out(&all, D))
            continue;
        common++;
        assert_int_equal(is_out(&all, B), is_out(&some, B));
        assert_int_equal(is_out(&all, D), is_out(&some, D));
    }
    assert_true(common > 200);
    node_close(&all);
    node_close(&some);
}

static void test_packing(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(4), 3, 2);
    enter(&node, D, 9); // wider than the node: alone
    assert_int_equal(claim(&node, A, 0xff), 0xff);
    assert_int_equal(claim(&node, B, 0x0f), 0x0f);
    assert_int_equal(claim(&node, C, 0xff), 0xf0);
    assert_int_equal(claim(&node, D, 0x1ff), 0x100);
    tick_to(&node, 0);
    assert_true(is_out(&node, A) && is_out(&node, B) && !is_out(&node, C));
    tick_to(&node, 4);
    assert_true(is_out(&node, A) && is_out(&node, C) && !is_out(&node, B));
    tick_to(&node, 8);
    assert_true(is_out(&node, D) && !is_out(&node, A));
    node_close(&node);
}

// Room beside the owner is filled, too.
static void test_room_beside_the_owner(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(2), 3, 1);
    claim(&node, A, ENGINE_ALL_SLOTS);
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        assert_true(is_out(&node, A));
        assert_int_equal(is_out(&node, B) + is_out(&node, C), 1);
    }
    node_close(&node);
}

// A job whose ranks could not agree, or whose library is too old to.
static void test_who_has_no_slots_gets_a_part(void **state)
{
    (void)state;
    unsigned out[3] = {0};
    struct node node = scene(gang_settings(1), 3, 1);
    claim(&node, A, ENGINE_ALL_SLOTS);
    for (unsigned i = 0; i < 90; i++) {
        tick(&node);
        for (unsigned k = 0; k < 3; k++)
            out[k] += is_out(&node, A + k);
    }
    for (unsigned k = 0; k < 3; k++)
        assert_in_range(out[k], 29, 31);
    node_close(&node);
}

// How long a job of that set has to wait by a good clock, at most, and no more than that and twice
// the number of jobs by any.
static unsigned longest_wait(uint64_t slots, unsigned jobs)
{
    unsigned longest = 0, gap = 0;
    for (unsigned i = 1; slots != 0 && i <= 2 * ENGINE_ROUND; i++) {
        gap = slots >> i % ENGINE_ROUND & 1 ? 0 : gap + 1;
        longest = gap > longest ? gap : longest;
    }
    return longest + 2 * jobs;
}

// What an administrator, a virtual machine or a timer that comes too rarely makes of the clock. By
// a good one, too, jobs without slots may always be overdue in those of the same owner.
static uint64_t next_turn(uint64_t *seed, unsigned kind, uint64_t turn)
{
    switch (kind) {
    case 0: // it stands, or is set back at every slot
        return turn;
    case 1: // every other slot is missed
        return turn + 2;
    case 2: // it is set at random
        return 6000 + random_below(seed, 600);
    case 3: // now and then
        return random_below(seed, 20) == 0 ? 6000 + random_below(seed, 600) : turn + 1;
    default:
        return turn + 1;
    }
}

static void run_any_clock(uint64_t seed)
{
    uint64_t state = seed;
    unsigned jobs = 2 + (unsigned)random_below(&state, 5), kind = (unsigned)random_below(&state, 5);
    unsigned with_slots = 1 + (unsigned)random_below(&state, jobs), served_ticks[8] = {0};
    struct node node = scene(gang_settings(1 + (unsigned)random_below(&state, 2)), 0, 0);
    node.caller.context = "any clock";
    for (engine_job_t job = 0; job < jobs; job++)
        enter(&node, A + job, 1 + (uint32_t)random_below(&state, 2));
    for (engine_job_t job = 0; job < with_slots; job++)
        claim(&node, A + job, UINT64_C(0x041041041041041) << job);
    for (unsigned i = 0; i < 10 * ENGINE_ROUND; i++) {
        node.turn = next_turn(&state, kind, node.turn);
        node.caller.now_ns += SLOT;
        caller_post(&node.caller, (struct engine_event){.kind = ENGINE_SWITCH, .turn = node.turn});
        for (engine_job_t job = 0; job < jobs; job++) {
            struct engine_job_view view = view_of(&node, A + job);
            served_ticks[job] += view.scheduled;
            if (view.slices_waited > longest_wait(view.slots, jobs))
                fail_msg("seed %lu: by a clock of kind %u, job %lu waits %u slots", seed, kind, job,
                         view.slices_waited);
        }
    }
    for (engine_job_t job = 0; job < jobs; job++)
        assert_true(served_ticks[job] > 0);
    node_close(&node);
}

static void test_nobody_starves_by_any_clock(void **state)
{
    (void)state;
    random_run_histories(run_any_clock, 500);
}

// When it has been set once, everybody has as many slots as before.
static void test_a_clock_that_was_set(void **state)
{
    (void)state;
    for (unsigned by = 1; by < ENGINE_ROUND; by++) {
        unsigned out[2] = {0};
        struct node node = halves(0);
        for (unsigned i = 0; i < 4 * ENGINE_ROUND; i++) {
            node.turn += i == 10 ? by : 0;
            node.turn -= i == 100 ? by / 2 : 0;
            tick(&node);
            out[0] += is_out(&node, A);
            out[1] += is_out(&node, B);
        }
        assert_in_range(out[0], 2 * ENGINE_ROUND - 2, 2 * ENGINE_ROUND + 2);
        assert_int_equal(out[0] + out[1], 4 * ENGINE_ROUND);
        node_close(&node);
    }
}

// Where no slots are agreed about, or the clock is not to be gone by, this is yoo-jette.
static void test_fallback(void **state)
{
    (void)state;
    for (unsigned clock = 0; clock < 2; clock++) {
        struct engine_settings settings = gang_settings(1);
        struct node gang = scene(settings, 3, 1);
        settings.policy = "yoo-jette";
        struct node other = scene(settings, 3, 1);
        if (clock == 0)
            claim(&gang, A, ENGINE_ALL_SLOTS);
        for (unsigned i = 0; i < 300; i++) {
            engine_job_t job = A + (i * 7 + 3) % 4 % 3;
            uint64_t turn = clock != 0 ? 6000 + i : 0, at_ns = i * SLOT + 10;
            struct engine_event switch_ = {.kind = ENGINE_SWITCH, .turn = turn};
            gang.caller.now_ns = other.caller.now_ns = at_ns;
            served(&gang, job, i * SLOT / 3);
            served(&other, job, i * SLOT / 3);
            caller_post(&gang.caller, switch_);
            caller_post(&other.caller, switch_);
            assert_int_equal(request_after(&gang, job, i % 50 * MS),
                             request_after(&other, job, i % 50 * MS));
            for (engine_job_t any = A; any <= C; any++)
                assert_int_equal(is_out(&gang, any), is_out(&other, any));
        }
        node_close(&gang);
        node_close(&other);
    }
}

static void test_not_crowded(void **state)
{
    (void)state;
    struct node node = halves(0);
    caller_event(&node.caller, ENGINE_EXIT, B, 1, 0);
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        assert_true(is_out(&node, A) && !view_of(&node, A).limited);
    }
    node_close(&node);
}

// ---- several servants

static void test_two_servants(void **state)
{
    (void)state;
    // Jobs as wide as several nodes, and so as wide as this.
    struct node node = scene(with_servants(1, 2), 3, 4);
    assert_int_equal(claim(&node, A, EVENS), EVENS);
    assert_int_equal(claim(&node, B, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    assert_int_equal(claim(&node, C, ENGINE_ALL_SLOTS), ODDS);
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        assert_true(is_out(&node, B));
        assert_int_equal(is_out(&node, A), node.turn % 2 == 0);
        assert_int_equal(is_out(&node, C), node.turn % 2 == 1);
    }
    node_close(&node);
}

static void test_no_more_jobs_than_servants(void **state)
{
    (void)state;
    struct node node = scene(with_servants(1, 2), 2, 1);
    claim(&node, A, EVENS);
    claim(&node, B, ODDS);
    for (unsigned i = 0; i < 4; i++) {
        tick(&node);
        assert_true(is_out(&node, A) && !view_of(&node, A).limited);
        assert_true(is_out(&node, B) && !view_of(&node, B).limited);
    }
    node_close(&node);
}

// The slots of the sequential class are dedicated to it, however many servants there are.
static void test_servants_leave_the_sequential_class_alone(void **state)
{
    (void)state;
    struct engine_settings settings = with_servants(1, 2);
    settings.sequential_share_ppm = 250000;
    struct node node = scene(settings, 2, 1);
    caller_post(
        &node.caller,
        (struct engine_event){.kind = ENGINE_REGISTER, .job = C, .width = 1, .sequential = true});
    assert_int_equal(count_of(claim(&node, A, ENGINE_ALL_SLOTS)), 45);
    assert_int_equal(count_of(claim(&node, B, ENGINE_ALL_SLOTS)), 45);
    unsigned alone = 0;
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        assert_int_equal(is_out(&node, A), is_out(&node, B));
        assert_int_equal(is_out(&node, A), !is_out(&node, C));
        alone += is_out(&node, C);
    }
    assert_int_equal(alone, 15);
    node_close(&node);
}

static void test_fewer_servants_by_and_by(void **state)
{
    (void)state;
    struct node node = scene(with_servants(1, 3), 0, 0);
    for (engine_job_t job = A; job <= D; job++) {
        enter(&node, job, 1);
        claim(&node, job, ENGINE_ALL_SLOTS);
    }
    assert_int_equal(slots_of(&node, D), 0); // a fourth would have to take from others
    struct engine_settings settings = gang_settings(1);
    caller_post(&node.caller,
                (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings});
    for (engine_job_t job = A; job <= C; job++)
        assert_int_equal(count_of(slots_of(&node, job)), 20);
    node_close(&node);
}

// ---- requests

static void test_a_used_slot_is_not_for_others(void **state)
{
    (void)state;
    struct node node = halves(0);
    tick_to(&node, 2);
    served(&node, A, 95 * MS); // at the end
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(request_after(&node, B, 10 * MS), ENGINE_DISCARDED_SLOT);
    assert_true(is_out(&node, A));
    node_close(&node);
}

static void test_who_waits_gives_way_for_this_slot(void **state)
{
    (void)state;
    struct node node = halves(0);
    served(&node, A, 500 * MS);
    tick_to(&node, 2);
    served(&node, A, 502 * MS); // less than a tenth of what it could have used
    assert_int_equal(request_after(&node, B, GMET - 1), ENGINE_DISCARDED_SLOT);
    assert_int_equal(request_after(&node, B, 1), ENGINE_GRANTED);
    assert_true(is_out(&node, B) && !is_out(&node, A));
    // Its owner gets it back, when the other has had GMET.
    assert_int_equal(request_after(&node, A, GMET - 1), ENGINE_DISCARDED_SLOT);
    assert_int_equal(request_after(&node, A, 1), ENGINE_GRANTED);
    tick(&node);
    assert_true(is_out(&node, B));
    tick(&node);
    assert_true(is_out(&node, A));
    node_close(&node);
}

// A serial phase is no waiting, however many CPUs the job has; ranks that sleep in their calls are.
static void test_a_wide_job_that_is_busy_on_one_cpu_does_not_wait(void **state)
{
    const struct {
        uint64_t cpu_ns; // in GMET
        enum engine_outcome outcome;
    } cases[] = {{GMET, ENGINE_DISCARDED_SLOT}, {16 * GMET / 100, ENGINE_GRANTED}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node node = scene(gang_settings(16), 2, 16);
        claim(&node, A, EVENS);
        claim(&node, B, ODDS);
        tick_to(&node, 2);
        served(&node, A, cases[i].cpu_ns / 16);
        assert_int_equal(request_after(&node, B, GMET), cases[i].outcome);
        node_close(&node);
    }
}

// Whoever comes narrow and gets wider in each slot, which widths would have him fit beside.
static void test_growing_takes_no_slot_from_its_owner(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(4), 1, 3);
    claim(&node, A, ENGINE_ALL_SLOTS);
    served(&node, A, 1000 * SLOT);
    enter(&node, B, 1);
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        if (!is_out(&node, A)) { // B was overdue
            caller_post(&node.caller,
                        (struct engine_event){
                            .kind = ENGINE_WIDTH, .job = A, .width = 4, .width_before = 3});
            assert_true(is_out(&node, B) && !is_out(&node, A));
            caller_post(&node.caller,
                        (struct engine_event){
                            .kind = ENGINE_WIDTH, .job = A, .width = 3, .width_before = 4});
            continue;
        }
        assert_true(is_out(&node, B));
        caller_post(
            &node.caller,
            (struct engine_event){.kind = ENGINE_WIDTH, .job = B, .width = 2, .width_before = 1});
        assert_true(is_out(&node, A) && !is_out(&node, B));
        caller_post(
            &node.caller,
            (struct engine_event){.kind = ENGINE_WIDTH, .job = B, .width = 1, .width_before = 2});
        assert_true(is_out(&node, A));
    }
    node_close(&node);
}

static void test_requests_fill_empty_slots(void **state)
{
    (void)state;
    struct node node = halves(0);
    claim(&node, A, 1);
    claim(&node, B, 2);
    tick_to(&node, 7);
    engine_job_t filler = is_out(&node, A) ? A : B, other = filler == A ? B : A;
    served(&node, filler, 1000 * MS); // however busy
    assert_int_equal(request_after(&node, other, GMET - 1), ENGINE_DISCARDED_SLOT);
    assert_int_equal(request_after(&node, other, 1), ENGINE_GRANTED);
    assert_true(is_out(&node, other));
    node_close(&node);
}

// ---- the sequential class

static void test_sequential_slots(void **state)
{
    (void)state;
    struct engine_settings settings = gang_settings(1);
    settings.sequential_share_ppm = 250000;
    struct node node = scene(settings, 1, 1);
    // Nobody computes there yet.
    assert_int_equal(count_of(offer(&node, A, ENGINE_ROUND, NULL)), 45);
    assert_int_equal(count_of(claim(&node, A, ENGINE_ALL_SLOTS)), 45);
    caller_post(
        &node.caller,
        (struct engine_event){.kind = ENGINE_REGISTER, .job = B, .width = 1, .sequential = true});
    assert_int_equal(count_of(offer(&node, A, 1, NULL)), 45); // what is its own it keeps
    assert_int_equal(count_of(slots_of(&node, A)), 45);
    unsigned out = 0, apart = 0;
    for (unsigned i = 0; i < 2 * ENGINE_ROUND; i++) {
        tick(&node);
        apart = is_out(&node, B) ? 0 : apart + 1;
        assert_true(apart < 4);
        out += is_out(&node, B);
    }
    assert_int_equal(out, 30);
    settings.sequential_share_ppm = 500000;
    caller_post(&node.caller,
                (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings});
    assert_int_equal(count_of(slots_of(&node, A)), 30);
    node_close(&node);
}

static void enter_class(struct node *node)
{
    caller_post(&node->caller, (struct engine_event){.kind = ENGINE_REGISTER,
                                                     .job = D,
                                                     .width = node->caller.settings.cpus,
                                                     .sequential = true});
    caller_event(&node->caller, ENGINE_USAGE, D, 0, 0);
}

// With a fair share it has as much as each job, with what it has of their slots, and that of all of
// them alike, also where its slots come in the same distances as theirs.
static void test_a_fair_share_of_the_slots(void **state)
{
    (void)state;
    static const uint32_t interactive_ppm[] = {50000, 100000, 250000};
    const unsigned slots = 100 * ENGINE_ROUND;
    for (unsigned i = 0; i < 3; i++) {
        struct engine_settings settings = gang_settings(1);
        unsigned out[4] = {0};
        settings.interactive_share_ppm = interactive_ppm[i];
        struct node node = scene(settings, 2, 1);
        claim(&node, A, EVENS);
        claim(&node, B, ODDS);
        enter_class(&node);
        for (unsigned k = 0; k < slots; k++) {
            tick(&node);
            for (unsigned job = A; job <= D; job++)
                out[job - A] += job != C && is_out(&node, job);
        }
        double part = (double)out[D - A] / slots, of_others = interactive_ppm[i] / 1e6;
        double least = i < 2 ? 1. / 3 : 1. / 6 + (1 - 1. / 6) * of_others;
        assert_true(part + (1 - part) * of_others > least - 0.01);
        assert_true(part + (1 - part) * of_others < least + 0.01);
        assert_true(out[0] + slots / 100 > out[1] && out[1] + slots / 100 > out[0]);
        node_close(&node);
    }
}

static uint64_t every_other(uint64_t slots)
{
    uint64_t others = 0;
    for (; slots != 0; slots &= slots - 1) {
        others |= slots & -slots;
        slots &= slots - 1;
    }
    return others;
}

// However large its share is, and however slowly its account grows by that.
static void test_who_computes_in_sequential_slots_keeps_them(void **state)
{
    (void)state;
    struct engine_settings settings = gang_settings(1);
    settings.sequential_share_ppm = 900000;
    struct node node = scene(settings, 2, 1);
    uint64_t slots = claim(&node, A, ENGINE_ALL_SLOTS), used_ns = 0;
    claim(&node, A, every_other(slots));
    claim(&node, B, slots & ~every_other(slots));
    enter_class(&node);
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        bool its_own = (slots >> node.turn % ENGINE_ROUND & 1) == 0;
        assert_int_equal(is_out(&node, D), its_own);
        used_ns += its_own ? 2 * GMET : 0;
        node.caller.now_ns += 2 * GMET;
        caller_event(&node.caller, ENGINE_USAGE, D, 0, used_ns);
        if (its_own)
            assert_int_equal(request_after(&node, A, 0), ENGINE_DISCARDED_SLOT);
        node.caller.now_ns -= 2 * GMET;
    }
    node_close(&node);
}

// ---- who comes and goes

#define LATE (SLOT / 10)

// Another job, or the same one after a suspension, which is gone for a moment before each slot.
static void test_who_comes_before_each_slot_has_no_more_than_his_part(void **state)
{
    (void)state;
    for (int suspended = 0; suspended < 2; suspended++) {
        unsigned out = 0;
        struct node node = scene(gang_settings(1), 1, 1);
        claim(&node, A, ENGINE_ALL_SLOTS);
        for (unsigned i = 0; i < ENGINE_ROUND; i++) {
            node.caller.now_ns += SLOT - LATE;
            if (i > 0)
                caller_event(&node.caller, suspended ? ENGINE_SUSPEND : ENGINE_EXIT,
                             suspended ? B : B + i - 1, 1, 0);
            if (i > 0 && suspended)
                caller_event(&node.caller, ENGINE_RESUME, B, 0, 0);
            else
                enter(&node, B + i, 1);
            node.caller.now_ns -= SLOT - LATE; // tick() has it
            tick(&node);
            out += is_out(&node, A);
        }
        assert_in_range(out, ENGINE_ROUND / 2 - 1, ENGINE_ROUND);
        node_close(&node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_slot_decides),
        cmocka_unit_test(test_who_comes_before_each_slot_has_no_more_than_his_part),
        cmocka_unit_test(test_an_empty_slot_is_filled),
        cmocka_unit_test(test_nodes_fill_alike),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_room_beside_the_owner),
        cmocka_unit_test(test_who_has_no_slots_gets_a_part),
        cmocka_unit_test(test_nobody_starves_by_any_clock),
        cmocka_unit_test(test_a_clock_that_was_set),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_not_crowded),
        cmocka_unit_test(test_two_servants),
        cmocka_unit_test(test_no_more_jobs_than_servants),
        cmocka_unit_test(test_servants_leave_the_sequential_class_alone),
        cmocka_unit_test(test_fewer_servants_by_and_by),
        cmocka_unit_test(test_a_used_slot_is_not_for_others),
        cmocka_unit_test(test_who_waits_gives_way_for_this_slot),
        cmocka_unit_test(test_a_wide_job_that_is_busy_on_one_cpu_does_not_wait),
        cmocka_unit_test(test_growing_takes_no_slot_from_its_owner),
        cmocka_unit_test(test_requests_fill_empty_slots),
        cmocka_unit_test(test_sequential_slots),
        cmocka_unit_test(test_a_fair_share_of_the_slots),
        cmocka_unit_test(test_who_computes_in_sequential_slots_keeps_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
