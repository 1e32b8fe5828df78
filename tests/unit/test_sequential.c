// The sequential class in the scheduler, over the backend in memory: when it takes part, what is
// limited then, and that whatever fails leaves everybody free.
#include "classd/adopt.h"
#include "tests/unit/scheduler_node.h"

#include <errno.h>
#include <stdio.h>

enum { A = 5000001, B }; // pids that no process can have

static uint64_t usage_ns[2]; // of the groups

static void start(struct node *node)
{
    node_start(node);
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
}

static int set_up_with(void **state, const char *groups, unsigned cpus)
{
    struct node *node = node_new();
    node->config.cpus = cpus;
    snprintf(node->config.sequential_groups, CONFIG_TEXT_MAX, "%s", groups);
    memset(usage_ns, 0, sizeof usage_ns);
    start(node);
    *state = node;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, "user.slice", 1);
}

static int set_up_two(void **state)
{
    return set_up_with(state, "user.slice, other", 1);
}

static int set_up_wide(void **state)
{
    return set_up_with(state, "user.slice", 2);
}

static struct process *come(struct node *node, const char *job_id, pid_t pid)
{
    struct process *process = NULL;
    struct protocol_register wish = {.width = 1, .ranks = 1};
    snprintf(wish.job_id, sizeof wish.job_id, "%s", job_id);
    struct applicant applicant = {.pid = pid, .start_time = 1, .pidfd = -1, .wish = &wish};
    assert_int_equal(scheduler_register(node->scheduler, &applicant, node->now_ns, &process, NULL),
                     0);
    return process;
}

// A second in which the first group uses so much CPU time, and a look.
static void spend(struct node *node, unsigned ms)
{
    node->now_ns += NS_PER_SEC;
    usage_ns[0] += ms * NS_PER_MS;
    test_backend_set_usage(node->backend, "sequential-0", usage_ns[0]);
    scheduler_watch(node->scheduler, node->now_ns);
}

static void turn(struct node *node)
{
    node->now_ns += NS_PER_MS;
    scheduler_switch(node->scheduler, node->now_ns, 0);
}

static bool said(const struct node *node, const char *line)
{
    return strstr(test_backend_log(node->backend), line) != NULL;
}

static void clear(struct node *node)
{
    test_backend_clear_log(node->backend);
}

// Its line among the jobs that anybody may see.
static struct protocol_job_record line_of(struct node *node, uint32_t index)
{
    struct protocol_job_record record;
    assert_true(
        scheduler_describe_job(node->scheduler, 1234, index > 0, index, &record, node->now_ns));
    assert_string_equal(record.job_id, "sequential");
    assert_false(
        scheduler_describe_job(node->scheduler, 1234, index > 0, index + 1, &record, node->now_ns));
    return record;
}

static void without_a_job_nothing_is_limited(void **state)
{
    struct node *node = *state;
    assert_string_equal(test_backend_log(node->backend), "named sequential-0 user.slice\n");
    clear(node);
    spend(node, 0);
    for (int i = 0; i < 5; i++)
        spend(node, 1000);
    assert_string_equal(test_backend_log(node->backend), "");
    assert_true(line_of(node, 0).scheduled);
    assert_false(line_of(node, 0).limited);
}

static void without_demand_a_job_has_the_node(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    for (int i = 0; i < 5; i++)
        spend(node, 50);
    turn(node);
    assert_int_equal(a->job->page->degree, 1);
    assert_false(said(node, "share sequential-0 50000"));
    assert_false(said(node, "share job-0-a 10000"));
}

static void they_take_turns(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    spend(node, 0);
    clear(node);
    spend(node, 500);
    // The scheduled job is not limited, but told that somebody else wants the node.
    assert_true(said(node, "share job-0-a max\nshare sequential-0 50000\n"));
    assert_int_equal(status_word_flags(a->job->page->word), STATUS_SCHEDULED | STATUS_CONTENDED);
    assert_int_equal(a->job->page->degree, 2);
    struct protocol_job_record line = line_of(node, 1);
    assert_false(line.scheduled);
    assert_true(line.limited);
    assert_int_equal(line.share_ppm, 50000);
    assert_int_equal(line.cpu_ns, 500 * NS_PER_MS);
    clear(node);
    turn(node);
    assert_true(said(node, "share job-0-a 10000\nshare sequential-0 max\n"));
    assert_int_equal(status_word_flags(a->job->page->word), STATUS_CONTENDED);
    clear(node);
    turn(node);
    assert_true(said(node, "share sequential-0 50000\nshare job-0-a max\n"));
}

static void who_finds_room_beside_the_jobs_takes_no_turns(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    spend(node, 0);
    clear(node);
    for (int i = 0; i < 5; i++)
        spend(node, 1000);
    turn(node);
    assert_false(said(node, "share sequential-0 50000"));
    assert_false(said(node, "share job-0-a 10000"));
    assert_int_equal(a->job->page->degree, 1);
    come(node, "b", B); // two jobs of one CPU, and who computes on one: of two
    clear(node);
    spend(node, 1000);
    assert_int_equal(a->job->page->degree, 3);
    assert_true(said(node, "share sequential-0 50000\n"));
    scheduler_exit(node->scheduler, a, node->now_ns);
    spend(node, 0);
    assert_false(line_of(node, 1).limited);
}

static void who_is_quiet_leaves_the_node_to_the_job(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
    turn(node);
    clear(node);
    for (int i = 0; i < 9; i++)
        spend(node, 0);
    assert_string_equal(test_backend_log(node->backend), "");
    for (int i = 0; i < 2; i++)
        spend(node, 0);
    assert_true(said(node, "share job-0-a max\nshare sequential-0 max\n"));
    assert_int_equal(a->job->page->degree, 1);
    assert_int_equal(status_word_flags(a->job->page->word), STATUS_SCHEDULED);
}

static void when_the_last_job_leaves_nothing_is_limited(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    struct process *b = come(node, "b", B);
    spend(node, 0);
    spend(node, 500);
    clear(node);
    scheduler_exit(node->scheduler, b, node->now_ns);
    assert_false(said(node, "share sequential-0 max"));
    scheduler_exit(node->scheduler, a, node->now_ns);
    assert_true(said(node, "share sequential-0 max\n"));
    // The next job finds the node free, and takes turns from the next look on.
    clear(node);
    a = come(node, "a", A);
    assert_int_equal(status_word_flags(a->job->page->word), STATUS_SCHEDULED);
    spend(node, 0);
    assert_true(said(node, "share sequential-0 50000\n"));
}

// Who computed before, or beside a job that has left, is no concern of the next one.
static void who_was_quiet_since_takes_no_turn(void **state)
{
    struct node *node = *state;
    spend(node, 0);
    spend(node, 1000);
    for (int i = 0; i < 11; i++)
        spend(node, 0);
    struct process *a = come(node, "a", A);
    spend(node, 0);
    assert_int_equal(a->job->page->degree, 1);
    spend(node, 1000);
    assert_int_equal(a->job->page->degree, 2);
    scheduler_exit(node->scheduler, a, node->now_ns);
    for (int i = 0; i < 11; i++)
        spend(node, 0);
    clear(node);
    a = come(node, "a", A);
    spend(node, 0);
    turn(node);
    assert_int_equal(a->job->page->degree, 1);
    assert_int_equal(status_word_flags(a->job->page->word), STATUS_SCHEDULED);
    assert_false(said(node, "share sequential-0 50000\n"));
}

static void a_group_that_is_not_there_is_looked_for(void **state)
{
    struct node *node = node_new();
    snprintf(node->config.sequential_groups, CONFIG_TEXT_MAX, "user.slice");
    *state = node;
    test_backend_fail(node->backend, "named", ENOENT, 2);
    start(node);
    come(node, "a", A);
    turn(node);
    assert_false(said(node, "named"));
    spend(node, 500);
    assert_false(said(node, "share sequential-0"));
    turn(node);
    assert_true(said(node, "named sequential-0 user.slice\n"));
    spend(node, 500); // the second since it was found
    assert_true(said(node, "share sequential-0 50000\n"));
}

static void a_group_that_is_gone_is_looked_for(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
    clear(node);
    test_backend_fail(node->backend, "usage", ENODEV, 1);
    spend(node, 500);
    // (The backend in memory keeps nothing of a removed group, the kernel neither.)
    usage_ns[0] = 0;
    spend(node, 0);
    assert_true(said(node, "remove sequential-0\n"));
    assert_true(said(node, "share job-0-a max\n"));
    turn(node);
    assert_true(said(node, "named sequential-0 user.slice\n"));
}

static void a_limit_that_is_gone_is_looked_for(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    clear(node);
    test_backend_fail(node->backend, "share", ENODEV, 2); // the job's is the first
    spend(node, 500);
    assert_true(said(node, "remove sequential-0\n"));
    usage_ns[0] = 0;
    turn(node);
    assert_true(said(node, "named sequential-0 user.slice\n"));
}

static void a_limit_that_cannot_be_set_is_lifted(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    clear(node);
    test_backend_fail(node->backend, "share", EINVAL, 2); // the job's is the first
    spend(node, 500);
    assert_string_equal(test_backend_log(node->backend), "share sequential-0 max\n");
    clear(node);
    turn(node); // the job's turn or not, it goes on
    turn(node);
    assert_true(said(node, "share sequential-0 50000\n"));
}

static void the_end_gives_the_groups_back(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
    clear(node);
    scheduler_lift(node->scheduler);
    assert_true(said(node, "share sequential-0 max\n"));
    assert_true(said(node, "remove sequential-0\n"));
}

static void what_a_killed_one_left_is_given_back(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
    node_stop(node);
    clear(node);
    start(node);
    const char *log = test_backend_log(node->backend);
    const char *removed = strstr(log, "remove sequential-0\n");
    assert_non_null(removed);
    assert_non_null(strstr(removed, "named sequential-0 user.slice\n"));
    node_stop(node);
    // Also when nobody names it any more.
    node->config.sequential_groups[0] = '\0';
    clear(node);
    start(node);
    assert_true(said(node, "remove sequential-0\n"));
    assert_false(said(node, "named"));
}

static void groups_divide_the_share(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    clear(node);
    usage_ns[1] = 240 * NS_PER_MS;
    test_backend_set_usage(node->backend, "sequential-1", usage_ns[1]);
    spend(node, 240); // only together they are more than the share and a command
    assert_true(said(node, "share sequential-0 25000\nshare sequential-1 25000\n"));
}

// Whichever of them computes has all of the class's turn, as all of it is on account of the class.
static void in_their_turn_groups_do_not_divide_it(void **state)
{
    struct node *node = *state;
    node->config.strict = true;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
    clear(node);
    turn(node);
    assert_true(said(node, "share sequential-0 990000\n"));
    assert_true(said(node, "share sequential-1 990000\n"));
}

static void a_reload_changes_the_share(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
    clear(node);
    node->config.interactive_share_ppm = 100000;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_true(said(node, "share sequential-0 100000\n"));
}

// ---- when periods begin

enum { OFTEN = 300 };

// With somebody who computes each job that ends may be the first of a turn, or the last.
static void come_and_go(struct node *node)
{
    for (int i = 0; i < OFTEN; i++) {
        struct process *a = come(node, "a", A);
        scheduler_exit(node->scheduler, come(node, "b", B), node->now_ns);
        assert_true(line_of(node, 1).limited);
        scheduler_exit(node->scheduler, a, node->now_ns);
        assert_false(line_of(node, 0).limited);
    }
}

static void nobody_fills_the_log(void **state)
{
    struct node *node = *state;
    spend(node, 0);
    spend(node, 1000);
    // Of who comes and goes, too.
    assert_in_range(node_count_lines(node, come_and_go), 2, OFTEN / 2);
}

#define PERIOD_NS (100 * NS_PER_MS)
#define WALL_NS   (UINT64_C(1700000000) * NS_PER_SEC) // a multiple of the period

// A turn so long after the last one, in which the group went on computing, and the time of day.
static void turn_at(struct node *node, uint64_t after_ns, uint64_t wall_ns)
{
    node->now_ns += after_ns;
    usage_ns[0] += after_ns / 2;
    test_backend_set_usage(node->backend, "sequential-0", usage_ns[0]);
    clear(node);
    scheduler_switch(node->scheduler, node->now_ns, wall_ns);
}

static void come_both(struct node *node)
{
    test_backend_set_period(node->backend, PERIOD_NS);
    come(node, "a", A);
    spend(node, 0);
    spend(node, 500);
}

static void periods_begin_with_the_turns_of_the_clock(void **state)
{
    struct node *node = *state;
    node->config.timer_align = false; // turns by the accounts: they alternate
    come_both(node);
    turn_at(node, NS_PER_SEC, WALL_NS);
    assert_true(said(node, "begin job-0-a 10000\nshare sequential-0 max\n"));
    turn_at(node, 50 * NS_PER_MS, WALL_NS + 50 * NS_PER_MS);
    assert_true(said(node, "share sequential-0 50000\nshare job-0-a max\n"));
    turn_at(node, 950 * NS_PER_MS, WALL_NS + NS_PER_SEC);
    assert_true(said(node, "share job-0-a 10000\nshare sequential-0 max\n")); // they did already
    turn_at(node, NS_PER_SEC, WALL_NS + 2 * NS_PER_SEC);
    assert_true(said(node, "begin sequential-0 50000\nshare job-0-a max\n"));
    for (uint64_t s = 3; s < 9; s++) {
        turn_at(node, NS_PER_SEC, WALL_NS + s * NS_PER_SEC);
        assert_false(said(node, "begin"));
    }
    // The clock was set: once for each of them.
    unsigned begun = 0;
    node->now_ns += 30 * NS_PER_MS;
    for (uint64_t s = 9; s < 20; s++) {
        turn_at(node, NS_PER_SEC, WALL_NS + s * NS_PER_SEC);
        begun += said(node, "begin");
    }
    assert_int_equal(begun, 2);
}

static void periods_stay_where_they_are(void **state)
{
    struct node *node = *state;
    come_both(node);
    turn_at(node, NS_PER_SEC, 0); // the time of day is not known
    assert_false(said(node, "begin"));
    node->config.align_periods = false;
    turn_at(node, NS_PER_SEC, WALL_NS);
    assert_false(said(node, "begin"));
    node->config.align_periods = true;
    // A kernel that refuses: the share is set all the same, and it is tried again.
    test_backend_fail(node->backend, "begin", EINVAL, 1);
    turn_at(node, NS_PER_SEC, WALL_NS + NS_PER_SEC);
    assert_false(said(node, "begin"));
    assert_true(said(node, " 10000\n") || said(node, " 50000\n"));
}

#define with(set_up, test) cmocka_unit_test_setup_teardown(test, set_up, node_free)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with(set_up, without_a_job_nothing_is_limited),
        with(set_up, without_demand_a_job_has_the_node),
        with(set_up, they_take_turns),
        with(set_up_wide, who_finds_room_beside_the_jobs_takes_no_turns),
        with(set_up, who_is_quiet_leaves_the_node_to_the_job),
        with(set_up, when_the_last_job_leaves_nothing_is_limited),
        with(set_up, who_was_quiet_since_takes_no_turn),
        with(NULL, a_group_that_is_not_there_is_looked_for),
        with(set_up, a_group_that_is_gone_is_looked_for),
        with(set_up, a_limit_that_is_gone_is_looked_for),
        with(set_up, a_limit_that_cannot_be_set_is_lifted),
        with(set_up, the_end_gives_the_groups_back),
        with(set_up, what_a_killed_one_left_is_given_back),
        with(set_up_two, groups_divide_the_share),
        with(set_up_two, in_their_turn_groups_do_not_divide_it),
        with(set_up, a_reload_changes_the_share),
        with(set_up, nobody_fills_the_log),
        with(set_up, periods_begin_with_the_turns_of_the_clock),
        with(set_up, periods_stay_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
