// Processes that others of their job have spawned: they are of another MPI_COMM_WORLD, find their
// parents' job by that of their parents, and are of it. A node of one CPU with the backend in
// memory.
#include "classd/scheduler_state.h"
#include "tests/unit/scheduler_jobs.h"

enum { PARENTS = 11, CHILDREN, GRANDCHILDREN, STRANGERS };

static struct process *come_of(struct node *node, const char *job_id, pid_t pid, struct world world)
{
    world_of_who_comes = world;
    struct process *process = come(node, job_id, pid);
    world_of_who_comes = (struct world){.ranks = 1};
    return process;
}

// The job that is found by a world; "" for none.
static const char *job_of(struct node *node, uid_t uid, uint64_t world)
{
    static struct protocol_job_record record;
    if (!scheduler_describe_world(node->scheduler, uid, world, &record, node->now_ns))
        return "";
    return record.job_id;
}

static uint32_t ranks_of(struct node *node)
{
    struct protocol_job_record record;
    assert_true(scheduler_describe_job(node->scheduler, 0, true, 0, &record, node->now_ns));
    return record.ranks;
}

static uint32_t width_of(struct node *node, const char *job_id)
{
    return table_find_job(node->scheduler->table, 0, job_id)->page->width;
}

static void a_job_is_found_by_its_worlds(void **state)
{
    struct node *node = *state;
    come_of(node, "b", B, (struct world){.key = STRANGERS, .ranks = 1});
    come_of(node, "a", A, (struct world){.key = PARENTS, .ranks = 1});
    come(node, "c", C); // whose launcher tells nothing
    assert_string_equal(job_of(node, 0, PARENTS), "a");
    assert_string_equal(job_of(node, 0, STRANGERS), "b");
    assert_string_equal(job_of(node, 0, CHILDREN), "");
    assert_string_equal(job_of(node, 0, 0), "");
    assert_string_equal(job_of(node, 1, PARENTS), ""); // nobody else's
}

// Whoever of the family is left here.
static void a_job_is_found_by_those_who_are_left(void **state)
{
    struct node *node = *state;
    struct process *parent = come_of(node, "a", A, (struct world){.key = PARENTS, .ranks = 1});
    come_of(node, "a", A2, (struct world){.key = CHILDREN, .parent = PARENTS, .ranks = 1});
    assert_string_equal(job_of(node, 0, CHILDREN), "a");
    scheduler_exit(node->scheduler, parent, node->now_ns);
    assert_string_equal(job_of(node, 0, PARENTS), "a");
    come_of(node, "a", A, (struct world){.key = GRANDCHILDREN, .parent = CHILDREN, .ranks = 1});
    assert_string_equal(job_of(node, 0, GRANDCHILDREN), "a");
}

static void the_ranks_of_a_job_are_those_of_all_its_worlds(void **state)
{
    struct node *node = *state;
    struct process *a = come_of(node, "a", A, (struct world){.key = PARENTS, .ranks = 2});
    come_of(node, "a", A2, (struct world){.key = PARENTS, .ranks = 2});
    assert_int_equal(ranks_of(node), 2);
    assert_true(jobs_is_here_alone(a->job));
    struct process *child =
        come_of(node, "a", B, (struct world){.key = CHILDREN, .parent = PARENTS, .ranks = 3});
    assert_int_equal(ranks_of(node), 5);
    assert_int_equal(a->job->page->ranks, 5);
    assert_false(jobs_is_here_alone(a->job)); // two of the children are elsewhere
    scheduler_exit(node->scheduler, child, node->now_ns);
    assert_int_equal(ranks_of(node), 2);
    assert_int_equal(a->job->page->ranks, 2);
    assert_true(jobs_is_here_alone(a->job));
}

static void more_ranks_than_mpi_can_count_are_as_many_as_it_can(void **state)
{
    struct node *node = *state;
    come_of(node, "a", A, (struct world){.key = PARENTS, .ranks = PROTOCOL_RANKS_MAX});
    come_of(node, "a", A2, (struct world){.key = CHILDREN, .ranks = PROTOCOL_RANKS_MAX});
    assert_int_equal(ranks_of(node), PROTOCOL_RANKS_MAX);
}

// Who is not let in would be without a scheduler, and a job of its own has one.
static void a_job_without_room_is_not_found(void **state)
{
    struct node *node = *state;
    struct world parents = {.key = PARENTS, .ranks = 3};
    come_of(node, "a", A, parents);
    come_of(node, "a", A2, parents);
    assert_string_equal(job_of(node, 0, PARENTS), "a");
    come_of(node, "a", B, parents);
    assert_string_equal(job_of(node, 0, PARENTS), "");
}

// What a page says that was written by hand, or has no room for, is no harm.
static void pages_keep_some_worlds(void **state)
{
    (void)state;
    struct worlds worlds = {0}, again = {0};
    struct status_world kept[STATUS_WORLDS_MAX];
    for (uint64_t key = 0; key <= STATUS_WORLDS_MAX + 1; key++)
        assert_int_equal(worlds_enter(&worlds, &(struct world){.key = key, .ranks = 2}), 0);
    worlds_keep(&worlds, kept);
    kept[2].key = kept[1].key; // twice
    worlds_take_over(&again, kept);
    assert_int_equal(worlds_ranks(&again), 2 * (STATUS_WORLDS_MAX - 1));
    worlds_leave(&again, kept[0].key); // nobody has come
    assert_true(worlds_have(&again, kept[0].key));
    worlds_free(&worlds);
    worlds_keep(&worlds, kept);
    assert_int_equal(kept[0].key, 0);
    worlds_free(&again);
}

// Processes of a job that was taken over tell their worlds again, one by one. What is left then had
// ended while no classd was there.
static void worlds_that_have_ended_meanwhile_are_forgotten(void **state)
{
    (void)state;
    struct worlds worlds = {0};
    const struct world parents = {.key = PARENTS, .ranks = 2}, unknown = {.ranks = 5};
    const struct status_world kept[STATUS_WORLDS_MAX] = {
        {.key = PARENTS, .ranks = 2}, {.key = CHILDREN, .parent = PARENTS, .ranks = 3}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(worlds_enter(&worlds, &unknown), 0);
    worlds_take_over(&worlds, kept);
    assert_int_equal(worlds_enter(&worlds, &parents), 0);
    worlds_leave(&worlds, 0);
    assert_true(worlds_have(&worlds, CHILDREN));
    assert_int_equal(worlds_enter(&worlds, &parents), 0);
    worlds_leave(&worlds, 0);
    assert_false(worlds_have(&worlds, CHILDREN));
    assert_int_equal(worlds_ranks(&worlds), 2);
    worlds_free(&worlds);
}

// Its ranks look at the page again where they have to share the CPU from then on, or not any more.
static void a_job_is_told_how_wide_it_is_here(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    struct status_page *page = a->job->page;
    uint32_t epoch = status_word_epoch(page->word);
    assert_int_equal(page->width, 1);
    struct process *child = come(node, "a", A2);
    assert_int_equal(page->width, 2);
    assert_int_not_equal(status_word_epoch(page->word), epoch);
    epoch = status_word_epoch(page->word);
    scheduler_exit(node->scheduler, come(node, "a", B), node->now_ns);
    assert_int_equal(page->width, 2);
    assert_int_not_equal(status_word_epoch(page->word), epoch);
    epoch = status_word_epoch(page->word);
    scheduler_exit(node->scheduler, child, node->now_ns);
    assert_int_equal(page->width, 1);
    assert_int_not_equal(status_word_epoch(page->word), epoch);
}

// What the next classd knows of those that have not registered again holds of the whole job.
static void worlds_are_known_after_an_adoption(void **state)
{
    struct node *node = *state;
    pid_t pids[] = {sleeper(), sleeper(), sleeper()};
    struct world parents = {.key = PARENTS, .ranks = 2};
    struct world children = {.key = CHILDREN, .parent = PARENTS, .ranks = 1};
    node->config.max_processes = 4;
    come_of(node, "a", pids[0], parents);
    come_of(node, "a", pids[1], parents);
    come_of(node, "a", pids[2], children);
    adopt_anew(node, false);
    assert_int_equal(width_of(node, "a"), 3);
    assert_int_equal(ranks_of(node), 3);
    assert_string_equal(job_of(node, 0, PARENTS), "a"); // by the page
    come_of(node, "a", pids[2], children);
    assert_int_equal(ranks_of(node), 3);
    assert_string_equal(job_of(node, 0, PARENTS), "a");
    come_of(node, "a", pids[0], parents);
    assert_int_equal(ranks_of(node), 3);
    come_of(node, "a", pids[1], parents);
    assert_int_equal(ranks_of(node), 3);
    for (int i = 0; i < 3; i++)
        end(pids[i]);
}

// It has the same place on all nodes, and not all of them have a new classd.
static void a_job_keeps_its_place_over_an_adoption(void **state)
{
    struct node *node = *state;
    pid_t pids[] = {sleeper(), sleeper()};
    struct world parents = {.key = PARENTS, .ranks = 4};
    struct world children = {.key = CHILDREN, .parent = PARENTS, .ranks = 8};
    struct job *job = come_of(node, "a", pids[0], parents)->job;
    uint64_t name = job_turn_name(job);
    come_of(node, "a", pids[1], children);
    assert_int_equal(job_turn_name(job), name);
    for (int i = 0; i < 2; i++) {
        adopt_anew(node, i > 0);
        job = table_find_job(node->scheduler->table, 0, "a");
        assert_int_equal(job_turn_name(job), name);
        come_of(node, "a", pids[0], parents);
        assert_int_equal(job_turn_name(job), name);
    }
    // The page of a classd that did not keep it.
    job->page->turns.named_ranks = 0;
    adopt_anew(node, false);
    job = table_find_job(node->scheduler->table, 0, "a");
    assert_int_equal(job->named_ranks, 12);
    for (int i = 0; i < 2; i++)
        end(pids[i]);
}

static int set_up_families(void **state)
{
    set_up(state);
    struct node *node = *state;
    node->config.max_processes = 3;
    return 0;
}

#define FAMILY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_families, node_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAMILY_TEST(a_job_is_found_by_its_worlds),
        FAMILY_TEST(a_job_is_found_by_those_who_are_left),
        FAMILY_TEST(the_ranks_of_a_job_are_those_of_all_its_worlds),
        FAMILY_TEST(more_ranks_than_mpi_can_count_are_as_many_as_it_can),
        FAMILY_TEST(a_job_without_room_is_not_found),
        cmocka_unit_test(pages_keep_some_worlds),
        cmocka_unit_test(worlds_that_have_ended_meanwhile_are_forgotten),
        FAMILY_TEST(a_job_is_told_how_wide_it_is_here),
        FAMILY_TEST(worlds_are_known_after_an_adoption),
        FAMILY_TEST(a_job_keeps_its_place_over_an_adoption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
