// When the ranks of a job are said to share their CPUs with each other.
#include "pmpi/variant/crowding.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS_MAX = 8 };

struct job {
    struct crowding_place places[RANKS_MAX];
    int ranks;
};

static void add(struct job *job, uint64_t cpus_id, uint32_t cpus, uint32_t width)
{
    assert_true(job->ranks < RANKS_MAX);
    job->places[job->ranks++] =
        (struct crowding_place){.cpus_id = cpus_id, .cpus = cpus, .width = width};
}

static bool at(const struct job *job, int rank)
{
    return crowding_at(job->places, job->ranks, &job->places[rank]);
}

static void a_rank_for_each_cpu_is_no_crowd(void **state)
{
    struct job job = {0};
    (void)state;
    for (int i = 0; i < 4; i++)
        add(&job, 7, 4, 1);
    assert_false(at(&job, 0));
    assert_false(crowding_anywhere(job.places, job.ranks));
}

static void one_rank_more_is_one(void **state)
{
    struct job job = {0};
    (void)state;
    for (int i = 0; i < 5; i++)
        add(&job, 7, 4, 1);
    assert_true(at(&job, 4));
    assert_true(crowding_anywhere(job.places, job.ranks));
}

static void ranks_with_cpus_of_their_own_do_not_add_up(void **state)
{
    struct job job = {0};
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        add(&job, i, 1, 1);
    assert_false(at(&job, 2));
    assert_false(crowding_anywhere(job.places, job.ranks));
}

static void threads_count(void **state)
{
    struct job job = {0};
    (void)state;
    add(&job, 7, 4, 2);
    add(&job, 7, 4, 3);
    assert_true(at(&job, 0));
    assert_true(crowding_anywhere(job.places, job.ranks));
}

// Only one of three machines is crowded: its ranks know, and so do all that somebody is.
static void others_are_told_apart(void **state)
{
    struct job job = {0};
    (void)state;
    add(&job, 9, 2, 1);
    add(&job, 3, 1, 1);
    add(&job, 5, 2, 1);
    add(&job, 3, 1, 1);
    add(&job, 9, 2, 1);
    assert_false(at(&job, 0));
    assert_true(at(&job, 1));
    assert_false(at(&job, 2));
    assert_true(crowding_anywhere(job.places, job.ranks));
}

static void widths_do_not_overflow(void **state)
{
    struct job job = {0};
    (void)state;
    add(&job, 7, 4, UINT32_MAX);
    add(&job, 7, 4, UINT32_MAX);
    assert_true(at(&job, 0));
}

static void the_own_place_depends_on_the_cpus_allowed(void **state)
{
    cpu_set_t all, one;
    (void)state;
    setenv("OMP_NUM_THREADS", "1000", 1);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    struct crowding_place before = crowding_own_place("/nonexistent");
    assert_in_range(before.cpus, 1, CPU_COUNT(&all)); // less where a container limits the test
    assert_int_equal(before.width, before.cpus);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct crowding_place after = crowding_own_place("/nonexistent");
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(after.cpus, 1);
    assert_int_equal(after.width, 1);
    if (CPU_COUNT(&all) > 1)
        assert_true(after.cpus_id != before.cpus_id);
    setenv("OMP_NUM_THREADS", "none", 1);
    struct crowding_place again = crowding_own_place("/nonexistent");
    assert_true(again.cpus_id == before.cpus_id);
    assert_int_equal(again.width, 1);
    unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_for_each_cpu_is_no_crowd),
        cmocka_unit_test(one_rank_more_is_one),
        cmocka_unit_test(ranks_with_cpus_of_their_own_do_not_add_up),
        cmocka_unit_test(threads_count),
        cmocka_unit_test(others_are_told_apart),
        cmocka_unit_test(widths_do_not_overflow),
        cmocka_unit_test(the_own_place_depends_on_the_cpus_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
