// Lists of slots in policy gang: how long pieces are, that they are given whole, and on to the next
// list by age.
#include "tests/unit/gang_node.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_of_a_list),
        cmocka_unit_test(test_nobody_cuts_through_a_piece),
        cmocka_unit_test(test_pieces_are_given_whole),
        cmocka_unit_test(test_a_job_goes_on_to_the_next_list),
        cmocka_unit_test(test_short_jobs_fill_first),
        cmocka_unit_test(test_pieces_between_sequential_slots),
        cmocka_unit_test(test_lists_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
