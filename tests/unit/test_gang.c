// Protects policy gang on given sets of slots, and the node's office: who is out in which slot, who
// fills it, what requests get, what is offered, promised, taken and kept.
#include "tests/unit/engine_caller.h"
#include "tests/unit/gang_settings.h"
#include "tests/unit/random.h"

enum { A = 101, B, C, D };

struct node {
    struct caller caller;
    uint64_t turn;
};

static struct engine_settings with_servants(unsigned cpus, unsigned servants)
{
    struct engine_settings settings = gang_settings(cpus);
    settings.servants = servants;
    return settings;
}

static void node_close(struct node *node)
{
    caller_close(&node->caller);
}

static void enter(struct node *node, engine_job_t job, uint32_t width)
{
    caller_post(&node->caller,
                (struct engine_event){
                    .kind = ENGINE_REGISTER, .job = job, .width = width, .name = gang_name(job)});
}

static struct engine_job_view view_of(const struct node *node, engine_job_t job)
{
    struct engine_job_view view = {0};
    assert_true(engine_job_find(node->caller.engine, job, &view));
    return view;
}

static bool is_out(const struct node *node, engine_job_t job)
{
    return view_of(node, job).scheduled;
}

static uint64_t slots_of(const struct node *node, engine_job_t job)
{
    return view_of(node, job).slots;
}

static unsigned count_of(uint64_t slots)
{
    return (unsigned)__builtin_popcountll(slots);
}

// The next slot begins.
static void tick(struct node *node)
{
    node->turn++;
    node->caller.now_ns += SLOT;
    caller_post(&node->caller, (struct engine_event){.kind = ENGINE_SWITCH, .turn = node->turn});
}

static void tick_to(struct node *node, unsigned slot)
{
    do
        tick(node);
    while (node->turn % ENGINE_ROUND != slot);
}

static uint64_t claim(struct node *node, engine_job_t job, uint64_t slots)
{
    return engine_claim(node->caller.engine, job, slots, 1, node->caller.now_ns);
}

static uint64_t promise(struct node *node, engine_job_t job, uint64_t wish, uint8_t due)
{
    return engine_promise(node->caller.engine, job, wish, due, node->caller.now_ns);
}

static uint64_t offer(struct node *node, engine_job_t job, uint8_t due, unsigned *most)
{
    uint64_t slots = 0;
    uint8_t count = 0;
    engine_offer(node->caller.engine, job, &due, 1, &slots, &count, node->caller.now_ns);
    if (most != NULL)
        *most = count;
    return slots;
}

static enum engine_outcome request_after(struct node *node, engine_job_t job, uint64_t after_ns)
{
    node->caller.now_ns += after_ns;
    return caller_event(&node->caller, ENGINE_SCHEDULE, job, 0, 0).outcome;
}

static void served(struct node *node, engine_job_t job, uint64_t service_ns)
{
    engine_set_service(node->caller.engine, job, service_ns);
}

// What a test begins with: a node on which so many jobs, A and so on, have come, each as wide as
// that.
static struct node scene(struct engine_settings settings, unsigned jobs, uint32_t width)
{
    struct node node = {.turn = 6000};
    caller_open(&node.caller, &settings);
    for (unsigned i = 0; i < jobs; i++)
        enter(&node, A + i, width);
    return node;
}

// A node of one CPU, A and B with every other slot, and so many jobs that have come after that.
static struct node halves(unsigned newcomers)
{
    struct node node = scene(gang_settings(1), 2, 1);
    assert_int_equal(claim(&node, A, EVENS), EVENS);
    assert_int_equal(claim(&node, B, ODDS), ODDS);
    for (unsigned i = 0; i < newcomers; i++)
        enter(&node, C + i, 1);
    return node;
}

// ---- who is out

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

// ---- lists

enum { SHORT, LONG };

static struct engine_settings with_lists(unsigned length)
{
    struct engine_settings settings = gang_settings(1);
    settings.list_count = 2;
    settings.lists[SHORT] = (struct engine_list){.slots = 1, .until_ns = 1000 * SLOT};
    settings.lists[LONG] = (struct engine_list){.slots = length};
    return settings;
}

static void enter_list(struct node *node, engine_job_t job, unsigned list)
{
    caller_post(
        &node->caller,
        (struct engine_event){
            .kind = ENGINE_REGISTER, .job = job, .width = 1, .name = gang_name(job), .list = list});
}

static uint64_t cut_of(struct node *node, engine_job_t job)
{
    return engine_cut(node->caller.engine, job, node->caller.now_ns);
}

// The first slots of all runs of four.
#define FOURS UINT64_C(0x111111111111111)

static void test_pieces_of_a_list(void **state)
{
    (void)state;
    struct node node = scene(with_lists(4), 0, 0);
    enter_list(&node, A, SHORT);
    enter_list(&node, B, LONG);
    assert_int_equal(cut_of(&node, A), ENGINE_ALL_SLOTS);
    assert_int_equal(cut_of(&node, B), FOURS);
    assert_int_equal(cut_of(&node, D), ENGINE_ALL_SLOTS); // nobody here
    node_close(&node);
}

static void test_nobody_cuts_through_a_piece(void **state)
{
    (void)state;
    struct node node = scene(with_lists(4), 0, 0);
    enter_list(&node, A, SHORT);
    enter_list(&node, B, LONG);
    claim(&node, A, 0xff);
    claim(&node, B, 0xff00);
    enter_list(&node, C, SHORT);
    assert_int_equal(cut_of(&node, C), ENGINE_ALL_SLOTS & ~UINT64_C(0xee00));
    claim(&node, B, 0x0500); // has single ones only
    assert_int_equal(cut_of(&node, C), ENGINE_ALL_SLOTS);
    node_close(&node);
}

static void test_pieces_are_given_whole(void **state)
{
    (void)state;
    unsigned most = 0;
    struct node node = scene(with_lists(4), 0, 0);
    enter_list(&node, B, LONG);
    claim(&node, B, ENGINE_ALL_SLOTS);
    enter_list(&node, C, SHORT);
    assert_int_equal(offer(&node, C, 30, &most), ENGINE_ALL_SLOTS);
    assert_int_equal(most, 28); // whole pieces
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 30);
    assert_int_equal(count_of(given), 28);
    assert_int_equal(count_of(given & given >> 1 & given >> 2 & given >> 3 & FOURS), 7);
    assert_int_equal(claim(&node, C, given), given);
    assert_int_equal(count_of(slots_of(&node, B)), 32);
    // A part that is shorter than a piece: in single slots.
    enter_list(&node, D, LONG);
    offer(&node, D, 3, &most);
    assert_int_equal(most, 54);
    assert_int_equal(count_of(promise(&node, D, 0x7 << 1, 3)), 3);
    node_close(&node);
}

static void test_a_job_goes_on_to_the_next_list(void **state)
{
    (void)state;
    struct node node = scene(with_lists(4), 0, 0);
    node.caller.now_ns += 5 * SLOT;
    enter_list(&node, A, SHORT);
    enter_list(&node, B, SHORT);
    node.caller.now_ns += 1000 * SLOT - 1;
    assert_int_equal(cut_of(&node, A), ENGINE_ALL_SLOTS);
    node.caller.now_ns += 1;
    assert_int_equal(cut_of(&node, A), FOURS);
    node_close(&node);

    // Its age is not forgotten with the daemon.
    struct engine_account account = {.came_ns = 5 * SLOT};
    struct engine_event adopt = {.kind = ENGINE_ADOPT, .job = A, .width = 1, .account = &account};
    node = scene(with_lists(4), 0, 0);
    node.caller.now_ns = 1004 * SLOT;
    engine_event(node.caller.engine, &adopt, node.caller.now_ns);
    assert_int_equal(cut_of(&node, A), ENGINE_ALL_SLOTS);
    node.caller.now_ns = 1005 * SLOT;
    assert_int_equal(cut_of(&node, A), FOURS);
    node_close(&node);
}

static void test_short_jobs_fill_first(void **state)
{
    (void)state;
    struct node node = scene(with_lists(4), 0, 0);
    for (engine_job_t job = A; job <= C; job++)
        enter_list(&node, job, job == B ? SHORT : LONG);
    for (engine_job_t job = A; job <= C; job++)
        claim(&node, job, UINT64_C(1) << (job - A));
    for (unsigned i = 0; i < ENGINE_ROUND; i++) {
        tick(&node);
        unsigned slot = node.turn % ENGINE_ROUND;
        assert_true(is_out(&node, slot == 0 ? A : slot == 2 ? C : B));
    }
    node_close(&node);
}

// Slots of the sequential class lie between the pieces.
static void test_pieces_between_sequential_slots(void **state)
{
    (void)state;
    struct engine_settings settings = with_lists(4);
    settings.sequential_share_ppm = 200000;
    struct node node = scene(settings, 0, 0);
    enter_list(&node, A, SHORT);
    enter_list(&node, B, LONG);
    uint64_t jobs = offer(&node, A, ENGINE_ROUND, NULL), cut = cut_of(&node, B);
    assert_int_equal(count_of(jobs), 48);
    assert_int_equal(engine_dummies(node.caller.engine), 12);
    unsigned length = 0, pieces = 0;
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        length = cut >> s & 1 ? 1 : length + 1;
        if ((jobs >> s & 1) == 0)
            assert_int_equal(length, 1);
        pieces += length == 4;
    }
    assert_int_equal(pieces, 12);
    // Dues are parts of what jobs have: of 60, 30 is half of it.
    claim(&node, A, ENGINE_ALL_SLOTS);
    assert_int_equal(count_of(promise(&node, B, ENGINE_ALL_SLOTS, 30)), 24);
    node_close(&node);
}

static void test_lists_that_make_no_sense(void **state)
{
    (void)state;
    struct engine_settings settings = with_lists(0);
    settings.list_count = 77;
    struct node node = scene(settings, 0, 0);
    enter_list(&node, A, 1000);
    enter_list(&node, B, 0);
    assert_int_equal(cut_of(&node, A), ENGINE_ALL_SLOTS);
    assert_int_equal(cut_of(&node, B), ENGINE_ALL_SLOTS);
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

// ---- the office

static void test_offers(void **state)
{
    (void)state;
    unsigned most = 0;
    struct node node = halves(0);
    claim(&node, B, 0);
    assert_int_equal(offer(&node, B, ENGINE_ROUND, &most), ODDS); // free
    assert_int_equal(most, 30);
    assert_int_equal(offer(&node, B, 20, &most), ENGINE_ALL_SLOTS);
    assert_int_equal(most, 40);
    assert_int_equal(offer(&node, B, 30, &most), ODDS);                       // A keeps its due
    assert_int_equal(offer(&node, A, ENGINE_ROUND, &most), ENGINE_ALL_SLOTS); // its own are
    assert_int_equal(offer(&node, D, ENGINE_ROUND, &most), 0);                // nobody here
    assert_int_equal(most, 0);
    node_close(&node);
}

static void test_promises(void **state)
{
    (void)state;
    struct node node = halves(1);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 20);
    assert_int_equal(count_of(given), 20);
    assert_int_equal(slots_of(&node, A), EVENS); // as long as nothing is claimed
    enter(&node, D, 1);
    assert_int_equal(offer(&node, D, 1, NULL) & given, 0);
    assert_int_equal(promise(&node, D, given, 1), 0);
    assert_int_equal(claim(&node, C, given), given);
    assert_int_equal(slots_of(&node, A), EVENS & ~given);
    assert_int_equal(slots_of(&node, B), ODDS & ~given);
    assert_int_equal(count_of(slots_of(&node, A)), 20);
    assert_int_equal(count_of(slots_of(&node, B)), 20);
    node_close(&node);
}

static void test_promises_end(void **state)
{
    (void)state;
    struct node node = halves(2);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
    node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
    assert_int_equal(offer(&node, D, 1, NULL) & given, 0);
    assert_int_not_equal(promise(&node, C, given, 15), 0); // again, but not for longer
    node.caller.now_ns += 1;
    assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
    assert_int_equal(promise(&node, C, given, 15), 0);
    assert_int_equal(claim(&node, C, given), 0); // too late, which makes nothing good
    assert_int_equal(promise(&node, C, given, 15), 0);
    node.caller.now_ns += 2 * ENGINE_ROUND * SLOT;
    assert_int_not_equal(promise(&node, C, given, 15), 0);
    node_close(&node);
}

// A wish for nothing, a clock that is off, or a process more do not make it good either.
static void test_promises_end_whatever_is_said(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct node node = halves(2);
        uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
        node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
        if (kind == 0)
            assert_int_equal(promise(&node, C, 0, 15), 0);
        else if (kind == 1)
            engine_drop_slots(node.caller.engine, C);
        else
            enter(&node, C, 1);
        assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
        assert_int_equal(promise(&node, C, given, 15), given); // but not for longer
        node.caller.now_ns += 1;
        assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
        assert_int_equal(promise(&node, C, given, 15), 0);
        node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
        assert_int_equal(promise(&node, C, given, 15), 0);
        node.caller.now_ns += 1;
        assert_int_equal(promise(&node, C, given, 15), given);
        node_close(&node);
    }
}

// Nor is that so where it was given back before the claim.
static void test_promises_given_back(void **state)
{
    (void)state;
    struct node node = halves(1);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
    node.caller.now_ns += 10 * SLOT;
    assert_int_equal(promise(&node, C, 0, 15), 0);
    assert_int_equal(claim(&node, C, 0), 0);
    node.caller.now_ns += 10 * SLOT - 1;
    assert_int_equal(promise(&node, C, given, 15), 0);
    node.caller.now_ns += 1;
    assert_int_equal(promise(&node, C, given, 15), given);
    assert_int_equal(claim(&node, C, given), given); // which is what promises are for
    assert_int_equal(promise(&node, C, given, 15), given);
    node_close(&node);
}

// Who claims nothing of what is kept for him keeps others off by it for half of the time at most.
static void test_promises_given_up(void **state)
{
    (void)state;
    struct node node = halves(0);
    node.caller.now_ns += 10 * ENGINE_ROUND * SLOT;
    enter(&node, C, 1);
    enter(&node, D, 1);
    uint64_t given = promise(&node, C, ENGINE_ALL_SLOTS, 15);
    assert_int_not_equal(given, 0);
    node.caller.now_ns += 10 * SLOT;
    assert_int_equal(claim(&node, C, 0), 0);
    assert_int_equal(offer(&node, D, 1, NULL), ENGINE_ALL_SLOTS);
    node.caller.now_ns += 10 * SLOT - 1;
    assert_int_equal(promise(&node, C, given, 15), 0);
    node.caller.now_ns += 1;
    assert_int_not_equal(promise(&node, C, given, 15), 0);
    node_close(&node);
}

// What a job has it need not reserve, so a newcomer can be given of it all the same.
static void test_nobody_reserves_his_own(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 1, 1);
    assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    enter(&node, B, 1);
    for (int i = 0; i < 3; i++) {
        promise(&node, A, ENGINE_ALL_SLOTS, 60);
        assert_true(count_of(offer(&node, B, 30, NULL)) >= 30);
        node.caller.now_ns += 2 * ENGINE_ROUND * SLOT - 1;
        assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    }
    node_close(&node);
}

// Whatever a client says, nobody ends with less than it has itself.
static void test_greed(void **state)
{
    (void)state;
    struct node node = halves(1);
    uint64_t given = promise(&node, C, UINT64_MAX, 0);
    assert_int_equal(claim(&node, C, UINT64_MAX), given);
    assert_in_range(count_of(given), 19, 21);
    assert_in_range(count_of(slots_of(&node, A)), 19, 21);
    assert_int_equal(claim(&node, C, UINT64_MAX), given); // without a promise only what is free
    node_close(&node);
}

// What it has counts, too, when it wishes for others' slots alone.
static void test_what_a_job_has_counts(void **state)
{
    (void)state;
    struct node node = halves(0);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t given = promise(&node, B, slots_of(&node, A), 0);
        assert_int_equal(given, 0);
        claim(&node, B, ODDS | given);
        assert_true(count_of(slots_of(&node, A)) >= 29);
    }
    node_close(&node);
}

// Neither does a claim cost others more for what the job gave up before it reserved.
static void test_a_claim_is_weighed_again(void **state)
{
    (void)state;
    struct node node = halves(0);
    claim(&node, B, 0);
    uint64_t given = promise(&node, B, EVENS, 0);
    assert_int_equal(count_of(given), 15);
    claim(&node, B, ODDS | given);
    assert_true(count_of(slots_of(&node, A)) >= 29);
    node_close(&node);
}

// B was promised all, as that was free then; A has it, and is to keep half.
static void assert_promised_in_vain(struct node *node)
{
    assert_int_equal(claim(node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS); // nobody else's
    claim(node, B, ENGINE_ALL_SLOTS & ~UINT64_C(1));
    assert_true(count_of(slots_of(node, A)) >= 29);
}

// Beside A it was free. Then there is another process, or the one has another width: together they
// no longer fit.
static void test_a_promise_to_a_narrower_job(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct node node = scene(gang_settings(2), 1, 1);
        assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
        enter(&node, B, 1);
        assert_int_equal(promise(&node, B, ENGINE_ALL_SLOTS, 60), ENGINE_ALL_SLOTS);
        if (same)
            caller_post(&node.caller,
                        (struct engine_event){
                            .kind = ENGINE_WIDTH, .job = B, .width = 2, .width_before = 1});
        else
            enter(&node, B, 1);
        assert_int_equal(view_of(&node, B).width, 2);
        assert_promised_in_vain(&node);
        node_close(&node);
    }
}

// All was free as nobody else was there yet.
static void test_a_promise_to_a_suspended_job(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 0, 0);
    enter(&node, B, 1);
    assert_int_equal(promise(&node, B, ENGINE_ALL_SLOTS, 60), ENGINE_ALL_SLOTS);
    caller_event(&node.caller, ENGINE_SUSPEND, B, 0, 0);
    enter(&node, A, 1);
    assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    caller_event(&node.caller, ENGINE_RESUME, B, 0, 0);
    assert_promised_in_vain(&node);
    node_close(&node);
}

static void test_growing_wider_costs_slots(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(2), 2, 1);
    claim(&node, A, 0xff);
    claim(&node, B, 0xf0);
    enter(&node, A, 1);                         // another process: together they no longer fit
    assert_int_equal(slots_of(&node, A), 0x0f); // who has more loses
    assert_int_equal(slots_of(&node, B), 0xf0);
    node_close(&node);

    for (engine_job_t grows = A; grows <= B; grows++) { // whatever its name
        node = scene(gang_settings(2), 2, 1);
        claim(&node, A, ENGINE_ALL_SLOTS);
        claim(&node, B, ENGINE_ALL_SLOTS);
        enter(&node, grows, 1);
        assert_int_equal(count_of(slots_of(&node, A)), 30);
        assert_int_equal(slots_of(&node, A) ^ slots_of(&node, B), ENGINE_ALL_SLOTS);
        node_close(&node);
    }
}

static void test_intersection(void **state)
{
    (void)state;
    struct node node = halves(0);
    engine_t *engine = node.caller.engine;
    assert_false(engine_intersect(engine, A, 0x5, 0)); // of an older agreement
    assert_false(engine_intersect(engine, A, 0x5, 2));
    assert_int_equal(slots_of(&node, A), EVENS);
    assert_true(engine_intersect(engine, A, 0x7, 1));
    assert_false(engine_intersect(engine, A, 0x7, 1));
    assert_int_equal(slots_of(&node, A), 0x5);
    assert_false(engine_intersect(engine, D, 0x7, 1));
    node_close(&node);
}

static void test_adoption(void **state)
{
    (void)state;
    struct node node = scene(gang_settings(1), 0, 0);
    struct engine_account accounts[] = {{.slots = EVENS, .term = 3},
                                        {.slots = UINT64_MAX, .term = 4}};
    for (unsigned i = 0; i < 2; i++) {
        struct engine_event event = {
            .kind = ENGINE_ADOPT, .job = A + i, .width = 1, .name = i + 1, .account = &accounts[i]};
        engine_event(node.caller.engine, &event, 0);
    }
    assert_int_equal(slots_of(&node, B), ENGINE_ALL_SLOTS);
    caller_post(&node.caller,
                (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &node.caller.settings});
    assert_int_equal(slots_of(&node, A), EVENS); // A file cannot make them overlap
    assert_int_equal(slots_of(&node, B), ODDS);
    assert_int_equal(view_of(&node, B).term, 4);
    node_close(&node);
}

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

static void test_suspended_jobs_are_offered_nothing(void **state)
{
    (void)state;
    struct node node = halves(0);
    caller_event(&node.caller, ENGINE_SUSPEND, B, 0, 0);
    assert_int_equal(offer(&node, B, 1, NULL), 0);
    assert_int_equal(claim(&node, A, ENGINE_ALL_SLOTS), ENGINE_ALL_SLOTS);
    caller_event(&node.caller, ENGINE_RESUME, B, 0, 0);
    assert_int_equal(slots_of(&node, A) & slots_of(&node, B), 0);
    node_close(&node);
}

// ---- random sets

struct random_node {
    struct node node;
    uint64_t random;
    uint32_t widths[8]; // 0: not here
    char context[64];
};

static uint64_t draw(struct random_node *r, uint64_t below)
{
    return random_below(&r->random, below);
}

#define CHECK(condition) CALLER_CHECK(&r->node.caller, condition)

// What of the node the job takes while it is out.
static unsigned room_of(const struct random_node *r, unsigned i)
{
    unsigned cpus = r->node.caller.settings.cpus;
    return r->widths[i] < cpus ? r->widths[i] : cpus;
}

static unsigned room(const struct random_node *r)
{
    return r->node.caller.settings.cpus * r->node.caller.settings.servants;
}

// The holders of a slot fit together, as far as they are one set.
static void check_sets(struct random_node *r)
{
    for (unsigned s = 0; s < ENGINE_ROUND; s++) {
        unsigned holders = 0, width = 0;
        for (unsigned i = 0; i < 8; i++) {
            if (r->widths[i] == 0 || (slots_of(&r->node, A + i) >> s & 1) == 0)
                continue;
            holders++;
            width += room_of(r, i);
        }
        CHECK(holders <= 1 || width <= room(r));
    }
}

static bool is_limited(const struct random_node *r)
{
    unsigned jobs = 0, width = 0;
    for (unsigned i = 0; i < 8; i++) {
        jobs += r->widths[i] != 0;
        width += room_of(r, i);
    }
    return jobs > 1 && width > room(r);
}

// Who is out fits, nobody else would fit beside them, and in a new slot its owners are out, unless
// somebody without slots has waited for it.
static void check_out(struct random_node *r, bool tick_)
{
    unsigned out = 0, width = 0;
    bool all_placed = true;
    for (unsigned i = 0; i < 8; i++) {
        if (r->widths[i] == 0)
            continue;
        all_placed = all_placed && slots_of(&r->node, A + i) != 0;
        out += is_out(&r->node, A + i);
        width += is_out(&r->node, A + i) ? room_of(r, i) : 0;
    }
    CHECK(out == 0 || out == 1 || width <= room(r) || !is_limited(r));
    for (unsigned i = 0; i < 8; i++) {
        if (r->widths[i] == 0 || is_out(&r->node, A + i))
            continue;
        CHECK(out > 0 && width + room_of(r, i) > room(r));
        CHECK(!tick_ || !all_placed ||
              (slots_of(&r->node, A + i) >> r->node.turn % ENGINE_ROUND & 1) == 0);
    }
}

// Nobody who lost slots by it has more than one slot fewer than the claimant.
static void random_claim(struct random_node *r, unsigned claimant, uint64_t wish)
{
    uint64_t before[8] = {0};
    for (unsigned i = 0; i < 8; i++)
        before[i] = r->widths[i] != 0 ? slots_of(&r->node, A + i) : 0;
    uint64_t given = claim(&r->node, A + claimant, wish);
    CHECK((given & ~wish) == 0 && slots_of(&r->node, A + claimant) == given);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t left = before[i] != 0 && i != claimant ? slots_of(&r->node, A + i) : before[i];
        CHECK(left == before[i] || count_of(left) + 1 >= count_of(given));
    }
}

static void come_or_go(struct random_node *r, unsigned i)
{
    if (r->widths[i] == 0 || draw(r, 4) == 0) {
        uint32_t width = (uint32_t)(1 + draw(r, 3));
        r->widths[i] += width;
        enter(&r->node, A + i, width);
    } else {
        caller_event(&r->node.caller, ENGINE_EXIT, A + i, r->widths[i], 0);
        struct engine_job_view view;
        r->widths[i] = engine_job_find(r->node.caller.engine, A + i, &view) ? view.width : 0;
    }
}

static void random_step(struct random_node *r)
{
    unsigned i = (unsigned)draw(r, 8), kind = (unsigned)draw(r, 20);
    uint64_t wish = draw(r, UINT64_MAX) & (draw(r, 2) == 0 ? draw(r, UINT64_MAX) : UINT64_MAX);
    bool ticked = false;
    r->node.caller.now_ns += draw(r, SLOT);
    if (kind < 3) {
        come_or_go(r, i);
    } else if (kind < 10) {
        tick(&r->node);
        ticked = is_limited(r);
    } else if (r->widths[i] == 0) {
        return;
    } else if (kind < 13) {
        served(&r->node, A + i, draw(r, r->node.caller.now_ns + 1));
        request_after(&r->node, A + i, 0);
    } else if (kind < 16) {
        uint64_t given = promise(&r->node, A + i, wish, (uint8_t)draw(r, 61));
        CHECK((given & ~wish) == 0);
    } else {
        random_claim(r, i, wish);
    }
    if (is_limited(r))
        check_sets(r);
    check_out(r, ticked);
}

static void run_history(uint64_t seed)
{
    struct random_node r = {.random = seed};
    unsigned cpus = (unsigned)(1 + draw(&r, 6));
    struct engine_settings settings = with_servants(cpus, (unsigned)(1 + draw(&r, 3)));
    settings.list_count = 2;
    settings.lists[1].slots = (unsigned)draw(&r, 8);
    r.node = scene(settings, 0, 0);
    snprintf(r.context, sizeof r.context, "COSCHED_TEST_SEED=%llu", (unsigned long long)seed);
    r.node.caller.context = r.context;
    for (unsigned k = 0; k < 400; k++)
        random_step(&r);
    node_close(&r.node);
}

static void test_random_sets(void **state)
{
    (void)state;
    random_run_histories(run_history, 200);
}

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
        cmocka_unit_test(test_pieces_of_a_list),
        cmocka_unit_test(test_nobody_cuts_through_a_piece),
        cmocka_unit_test(test_pieces_are_given_whole),
        cmocka_unit_test(test_a_job_goes_on_to_the_next_list),
        cmocka_unit_test(test_short_jobs_fill_first),
        cmocka_unit_test(test_pieces_between_sequential_slots),
        cmocka_unit_test(test_lists_that_make_no_sense),
        cmocka_unit_test(test_a_used_slot_is_not_for_others),
        cmocka_unit_test(test_who_waits_gives_way_for_this_slot),
        cmocka_unit_test(test_requests_fill_empty_slots),
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_promises_end),
        cmocka_unit_test(test_promises_end_whatever_is_said),
        cmocka_unit_test(test_promises_given_back),
        cmocka_unit_test(test_promises_given_up),
        cmocka_unit_test(test_nobody_reserves_his_own),
        cmocka_unit_test(test_greed),
        cmocka_unit_test(test_what_a_job_has_counts),
        cmocka_unit_test(test_a_claim_is_weighed_again),
        cmocka_unit_test(test_a_promise_to_a_narrower_job),
        cmocka_unit_test(test_a_promise_to_a_suspended_job),
        cmocka_unit_test(test_growing_wider_costs_slots),
        cmocka_unit_test(test_intersection),
        cmocka_unit_test(test_adoption),
        cmocka_unit_test(test_sequential_slots),
        cmocka_unit_test(test_a_fair_share_of_the_slots),
        cmocka_unit_test(test_who_computes_in_sequential_slots_keeps_them),
        cmocka_unit_test(test_suspended_jobs_are_offered_nothing),
        cmocka_unit_test(test_random_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
