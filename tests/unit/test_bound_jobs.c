// Which jobs doctor takes for bound to the same CPUs, on nodes of more CPUs than tests have.
#include "ctl/bindings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// So many processes, each bound to the CPUs from `first` to `last`.
static struct bound job(int first, int last, size_t processes)
{
    struct bound bound = {.processes = processes};
    for (int cpu = first; cpu <= last; cpu++)
        CPU_SET(cpu, &bound.cpus);
    if (first == last)
        bound.single = bound.cpus;
    return bound;
}

static void two_ranks_have_room_on_the_threads_of_a_core(void **state)
{
    struct bound list[] = {job(0, 1, 1), job(0, 1, 1), job(2, 3, 2)};
    struct bindings_crowd crowd;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_false(bindings_crowded(list, 3, i, &crowd));
}

static void three_have_not_and_it_is_said_once(void **state)
{
    struct bound list[] = {job(0, 1, 1), job(2, 3, 1), job(0, 1, 2), job(1, 1, 1)};
    struct bindings_crowd crowd;
    (void)state;
    list[0].in_place = true;
    assert_true(bindings_crowded(list, 4, 0, &crowd));
    assert_int_equal(crowd.jobs, 3); // with the one on a CPU of these
    assert_int_equal(crowd.processes, 4);
    assert_false(crowd.in_place);
    for (size_t i = 1; i < 4; i++)
        assert_false(bindings_crowded(list, 4, i, &crowd));
}

static void a_job_is_not_in_its_own_way(void **state)
{
    struct bound list[] = {job(0, 1, 8)};
    struct bindings_crowd crowd;
    (void)state;
    assert_false(bindings_crowded(list, 1, 0, &crowd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks_have_room_on_the_threads_of_a_core),
        cmocka_unit_test(three_have_not_and_it_is_said_once),
        cmocka_unit_test(a_job_is_not_in_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
