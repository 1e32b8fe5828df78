// Protects the judgement whether somebody computes in the sequential class: who comes, who goes,
// and that neither a short burst nor a short pause makes it flap.
#include "classd/policy/demand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND 1000000000ull

// A node of two CPUs, seen once a second; 100 ms of CPU time a second are the interactive share.
struct node {
    struct demand demand;
    struct demand_rules rules;
    struct demand_look look;
};

static struct node node_with_slice(uint64_t time_slice_ns)
{
    struct node node = {.rules = {.cpus = 2,
                                  .parts = 1,
                                  .interactive_share_ppm = 50000,
                                  .patience_ns = demand_patience_ns(time_slice_ns)},
                        .look = {.now_ns = 1000 * SECOND, .usage_ns = 5000 * SECOND}};
    demand_observe(&node.demand, &node.rules, &node.look);
    return node;
}

// Seconds that go by; true when it computes after all of them.
static bool spend(struct node *node, unsigned seconds, unsigned ms_of_each, bool held)
{
    bool computes = node->demand.computes;
    for (unsigned i = 0; i < seconds; i++) {
        node->look.now_ns += SECOND;
        node->look.usage_ns += ms_of_each * (SECOND / 1000);
        node->look.held_ns += held ? SECOND : 0;
        computes = demand_observe(&node->demand, &node->rules, &node->look);
    }
    return computes;
}

static void what_was_used_before_the_first_look_is_no_demand(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    assert_false(node.demand.computes);
    assert_false(spend(&node, 1, 0, false));
}

static void who_uses_more_than_the_interactive_share_comes(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    assert_false(spend(&node, 100, 99, false));
    assert_true(spend(&node, 1, 301, false));
}

static void who_uses_a_little_more_for_long_comes(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    assert_false(spend(&node, 3, 150, false));
    assert_true(spend(&node, 2, 150, false));
}

static void a_command_now_and_then_is_no_demand(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    for (unsigned i = 0; i < 20; i++) {
        assert_false(spend(&node, 1, 290, false));
        assert_false(spend(&node, 2, 0, false));
    }
}

// 5 % of one CPU for two seconds are less than an interpreter takes to start.
static void a_command_on_a_small_node_is_no_demand(void **state)
{
    (void)state;
    struct node node = node_with_slice(SECOND);
    node.rules.cpus = 1;
    node.rules.command_ns = DEMAND_COMMAND_NS;
    for (unsigned i = 0; i < 20; i++) {
        assert_false(spend(&node, 1, 300, false));
        assert_false(spend(&node, 10, 20, false));
    }
    assert_true(spend(&node, 1, 500, false));
}

// Jobs that it keeps from computing together wait for it.
static void who_computes_is_seen_before_the_second_is_over(void **state)
{
    (void)state;
    struct node node = node_with_slice(SECOND);
    node.rules.cpus = 1;
    node.rules.command_ns = DEMAND_COMMAND_NS;
    assert_false(spend(&node, 1, 0, false));
    for (unsigned i = 1; i <= 4; i++) { // with half a CPU
        node.look.now_ns += SECOND / 4;
        node.look.usage_ns += SECOND / 8;
        assert_int_equal(demand_observe(&node.demand, &node.rules, &node.look), i >= 3);
    }
}

static void a_short_burst_is_no_demand(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    node.look.now_ns += SECOND / 10; // 80 of 100 ms
    node.look.usage_ns += SECOND / 12;
    assert_false(demand_observe(&node.demand, &node.rules, &node.look));
    node.look.now_ns += SECOND * 9 / 10;
    assert_false(demand_observe(&node.demand, &node.rules, &node.look));
}

static void who_is_held_to_his_share_stays(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    spend(&node, 1, 2000, false);
    assert_true(spend(&node, 100, 95, false));
}

static void one_busy_group_of_several_stays(void **state)
{
    (void)state;
    struct node node = node_with_slice(SECOND);
    node.rules.parts = 4;
    spend(&node, 1, 2000, false);
    assert_true(spend(&node, 100, 24, false)); // a quarter of the share
    assert_true(spend(&node, 100, 120, true));
    assert_true(spend(&node, 100, 10, false));
    assert_false(spend(&node, 1, 10, true));
}

// Ranks that spin may leave it nothing: only its own slot tells.
static void who_had_no_slot_of_his_own_stays(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    spend(&node, 1, 2000, false);
    assert_true(spend(&node, 30, 0, false));
    assert_true(spend(&node, 1, 2000, true));
    assert_true(spend(&node, 9, 0, false));
    assert_true(spend(&node, 3, 0, false));
    assert_false(spend(&node, 1, 0, true));
}

static void a_pause_is_no_end(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    spend(&node, 1, 2000, true);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(spend(&node, 9, 0, true));
        assert_true(spend(&node, 1, 120, true));
    }
    assert_true(spend(&node, 9, 49, true));
    assert_false(spend(&node, 1, 49, true));
    assert_true(spend(&node, 1, 2000, true));
}

// An editor, or what watches the machine: it has that in others' slots, too, and needs none of its
// own.
static void who_needs_no_more_than_the_share_goes(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    spend(&node, 1, 2000, true);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(spend(&node, 3, 80, true));
        assert_true(spend(&node, 15, 80, false));
    }
    assert_false(spend(&node, 1, 80, true));
}

static void patience_goes_by_short_slices(void **state)
{
    (void)state;
    struct node node = node_with_slice(SECOND);
    spend(&node, 1, 2000, true);
    assert_true(spend(&node, 2, 0, true));
    assert_false(spend(&node, 1, 0, true));
}

static void totals_that_go_back_are_nothing(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    node.look.now_ns += SECOND;
    node.look.usage_ns = 7;
    node.look.held_ns = 0;
    assert_false(demand_observe(&node.demand, &node.rules, &node.look));
    node.look.now_ns -= SECOND / 2;
    assert_false(demand_observe(&node.demand, &node.rules, &node.look));
    node.look.now_ns += SECOND / 2;
    assert_true(spend(&node, 1, 2000, false));
}

static bool fits(const struct node *node, uint64_t width)
{
    return demand_fits(&node->demand, &node->rules, width);
}

static void who_finds_a_cpu_beside_the_jobs_fits(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    assert_false(fits(&node, 0)); // nobody knows
    node.rules.cpus = 4;
    spend(&node, 1, 1050, true);
    assert_true(fits(&node, 3));
    assert_false(fits(&node, 4));
    assert_false(fits(&node, 1000));
    spend(&node, 1, 1200, true); // and a second one
    assert_true(fits(&node, 2));
    assert_false(fits(&node, 3));
    spend(&node, 1, 9000, true); // clocks are not read at one moment
    assert_true(fits(&node, 0));
    assert_false(fits(&node, 1));
}

// What it uses while it is held tells nothing, and less than before is little for a moment only.
static void the_most_of_late_counts_while_nothing_holds_it(void **state)
{
    (void)state;
    struct node node = node_with_slice(15 * SECOND);
    node.rules.cpus = 4;
    spend(&node, 1, 3000, true);
    spend(&node, 30, 200, false);
    assert_false(fits(&node, 2));
    spend(&node, 1, 3000, true);
    spend(&node, 9, 1000, true);
    assert_false(fits(&node, 2));
    spend(&node, 1, 1000, true);
    assert_true(fits(&node, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_used_before_the_first_look_is_no_demand),
        cmocka_unit_test(who_uses_more_than_the_interactive_share_comes),
        cmocka_unit_test(who_uses_a_little_more_for_long_comes),
        cmocka_unit_test(a_command_now_and_then_is_no_demand),
        cmocka_unit_test(a_command_on_a_small_node_is_no_demand),
        cmocka_unit_test(who_computes_is_seen_before_the_second_is_over),
        cmocka_unit_test(a_short_burst_is_no_demand),
        cmocka_unit_test(who_is_held_to_his_share_stays),
        cmocka_unit_test(one_busy_group_of_several_stays),
        cmocka_unit_test(who_had_no_slot_of_his_own_stays),
        cmocka_unit_test(a_pause_is_no_end),
        cmocka_unit_test(who_needs_no_more_than_the_share_goes),
        cmocka_unit_test(patience_goes_by_short_slices),
        cmocka_unit_test(totals_that_go_back_are_nothing),
        cmocka_unit_test(who_finds_a_cpu_beside_the_jobs_fits),
        cmocka_unit_test(the_most_of_late_counts_while_nothing_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
