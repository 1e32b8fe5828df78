// Protects the judgement when the periods of a class are made to begin: only when the kernel takes
// it, at multiples of the wall clock, and no oftener than that makes a difference.
#include "classd/policy/phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS     1000000ull
#define PERIOD (100 * MS)
#define WALL   (1700000000000 * MS) // a multiple of the period

// A class that has been free for a second at a multiple of the wall clock.
struct scene {
    struct phase phase;
    struct phase_moment moment;
};

static struct scene free_class(void)
{
    struct scene scene = {.moment = {.now_ns = 5000123 * MS, .wall_ns = WALL}};
    phase_freed(&scene.phase, scene.moment.now_ns - 1000 * MS);
    return scene;
}

static void pass(struct scene *scene, uint64_t ns)
{
    scene->moment.now_ns += ns;
    scene->moment.wall_ns += ns;
}

static bool due(const struct scene *scene)
{
    return phase_due(&scene->phase, PERIOD, &scene->moment);
}

// Its turn is over, and comes again: `ms` with a limit, two seconds without.
static void limit_for(struct scene *scene, bool begun, uint64_t ms)
{
    phase_limited(&scene->phase, PERIOD, begun, scene->moment.now_ns);
    pass(scene, ms * MS);
    phase_freed(&scene->phase, scene->moment.now_ns);
    pass(scene, 2000 * MS);
}

static void a_free_class_begins_at_a_multiple(void **state)
{
    (void)state;
    struct scene scene = free_class();
    assert_true(due(&scene));
    pass(&scene, 5 * MS); // a tick may be late
    assert_true(due(&scene));
    pass(&scene, 20 * MS);
    assert_false(due(&scene));
    pass(&scene, 74 * MS); // or early
    assert_true(due(&scene));
}

static void a_running_period_is_waited_for(void **state)
{
    (void)state;
    struct scene scene = free_class();
    struct phase unknown = {.free = false};
    assert_false(phase_due(&unknown, PERIOD, &scene.moment)); // of a former daemon's
    scene.phase.free_since_ns = scene.moment.now_ns - 100 * MS;
    assert_false(due(&scene)); // it may end in this very moment
    scene.phase.free_since_ns -= MS;
    assert_true(due(&scene));
    scene.phase.free_since_ns = scene.moment.now_ns + 1;
    assert_false(due(&scene));
}

static void freed_twice_is_free_since_the_first_time(void **state)
{
    (void)state;
    struct scene scene = free_class();
    phase_freed(&scene.phase, scene.moment.now_ns);
    assert_true(due(&scene));
}

static void one_that_began_well_is_left_alone(void **state)
{
    (void)state;
    struct scene scene = free_class();
    limit_for(&scene, true, 1000);
    assert_false(due(&scene));
    for (int i = 0; i < 100; i++)
        limit_for(&scene, false, 60000);
    assert_false(due(&scene));
}

static void a_late_one_begins_anew_when_that_is_better(void **state)
{
    (void)state;
    struct scene scene = free_class();
    pass(&scene, 3 * MS);
    limit_for(&scene, true, 1000);
    assert_false(due(&scene)); // as late as then
    pass(&scene, 98 * MS);
    assert_true(due(&scene)); // 1 ms instead of 3
    limit_for(&scene, true, 1000);
    assert_false(due(&scene));
}

static void one_that_was_never_begun_stays_due(void **state)
{
    (void)state;
    struct scene scene = free_class();
    limit_for(&scene, false, 1000);
    assert_true(due(&scene));
}

// However slowly: what counts is the offset between the clocks, not how it came about.
static void a_clock_that_is_set_makes_it_due_again(void **state)
{
    (void)state;
    struct scene scene = free_class();
    limit_for(&scene, true, 1000);
    scene.moment.wall_ns += 40 * MS; // set, and 60 ms later is the next multiple
    assert_false(due(&scene));
    pass(&scene, 60 * MS);
    assert_true(due(&scene));
    limit_for(&scene, true, 1000);
    assert_false(due(&scene));
    scene.moment.wall_ns -= 3000 * PERIOD; // by whole periods: nothing has changed
    assert_false(due(&scene));
    scene.moment.wall_ns -= 2 * MS;
    pass(&scene, 2 * MS);
    assert_true(due(&scene));
}

static void another_length_begins_anew(void **state)
{
    (void)state;
    struct scene scene = free_class();
    limit_for(&scene, true, 1000);
    assert_true(phase_due(&scene.phase, PERIOD / 2, &scene.moment));
    assert_false(phase_due(&scene.phase, PHASE_SHORTEST_NS - 1, &scene.moment));
}

// For `ms` with a limit of periods five times as long, then free.
static void limit_for_long_periods(struct scene *scene, uint64_t ms)
{
    phase_limited(&scene->phase, 5 * PERIOD, false, scene->moment.now_ns);
    pass(scene, ms * MS);
    phase_freed(&scene->phase, scene->moment.now_ns);
}

static void a_longer_one_is_waited_for(void **state)
{
    (void)state;
    struct scene scene = free_class();
    limit_for_long_periods(&scene, 1000);
    pass(&scene, 500 * MS);
    assert_false(due(&scene));
    pass(&scene, 100 * MS);
    assert_true(due(&scene));
}

// After long periods `ms` with short ones, and 200 ms without a limit.
static struct scene short_periods_after_long(uint64_t ms)
{
    struct scene scene = free_class();
    limit_for_long_periods(&scene, 1000);
    phase_limited(&scene.phase, PERIOD, false, scene.moment.now_ns);
    pass(&scene, ms * MS);
    phase_freed(&scene.phase, scene.moment.now_ns);
    pass(&scene, 200 * MS);
    return scene;
}

static void one_of_a_former_length_is_waited_for(void **state)
{
    (void)state;
    struct scene scene = short_periods_after_long(300);
    assert_false(due(&scene)); // the long one ends now
    pass(&scene, 400 * MS);
    assert_true(due(&scene));
}

static void one_of_a_former_length_is_over_at_last(void **state)
{
    (void)state;
    struct scene scene = short_periods_after_long(600);
    assert_true(due(&scene));
}

static void where_another_length_was_between_nothing_is_known(void **state)
{
    (void)state;
    struct scene scene = free_class();
    limit_for(&scene, true, 1000);
    assert_false(due(&scene));
    limit_for_long_periods(&scene, 1000);
    pass(&scene, 2000 * MS);
    limit_for(&scene, false, 1000);
    assert_true(due(&scene));
}

static void without_the_time_of_day_nothing_begins(void **state)
{
    (void)state;
    struct scene scene = free_class();
    scene.moment.wall_ns = 0;
    assert_false(due(&scene));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_class_begins_at_a_multiple),
        cmocka_unit_test(a_running_period_is_waited_for),
        cmocka_unit_test(freed_twice_is_free_since_the_first_time),
        cmocka_unit_test(one_that_began_well_is_left_alone),
        cmocka_unit_test(a_late_one_begins_anew_when_that_is_better),
        cmocka_unit_test(one_that_was_never_begun_stays_due),
        cmocka_unit_test(a_clock_that_is_set_makes_it_due_again),
        cmocka_unit_test(another_length_begins_anew),
        cmocka_unit_test(a_longer_one_is_waited_for),
        cmocka_unit_test(one_of_a_former_length_is_waited_for),
        cmocka_unit_test(one_of_a_former_length_is_over_at_last),
        cmocka_unit_test(where_another_length_was_between_nothing_is_known),
        cmocka_unit_test(without_the_time_of_day_nothing_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
