// What the next classd makes of the pages and classes that it finds: who is adopted, and that turns
// and accounts go on where they were.
#include "tests/unit/scheduler_jobs.h"

#include <errno.h>

static void adoption_keeps_those_that_live(void **state)
{
    struct node *node = *state;
    struct protocol_job_record job;
    pid_t lives = sleeper(), dies = sleeper(), alone = sleeper();
    come(node, "a", lives);
    come(node, "a", dies);
    come(node, "b", alone);
    come(node, "c", C); // no such process
    test_backend_set_usage(node->backend, "job-0-a", 0);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    test_backend_set_usage(node->backend, "job-0-a", 3 * NS_PER_SEC);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    node_stop(node);
    end(dies);
    clear(node);
    node_start(node);
    adopt(node);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-0-c\n"));
    assert_null(strstr(test_backend_log(node->backend), "remove job-0-a\n"));
    assert_true(scheduler_describe_job(node->scheduler, 0, true, 0, &job, node->now_ns));
    assert_string_equal(job.job_id, "a");
    assert_int_equal(job.processes, 1);
    assert_int_equal(job.cpu_ns, 3 * NS_PER_SEC);
    assert_true(scheduler_describe_job(node->scheduler, 0, true, 1, &job, node->now_ns));
    assert_string_equal(job.job_id, "b");
    assert_false(scheduler_describe_job(node->scheduler, 0, true, 2, &job, node->now_ns));
    // Both have words and limits of the new generation, one of them scheduled.
    assert_int_equal(flags_of(node, "a") ^ flags_of(node, "b"), STATUS_SCHEDULED);
    struct process *a = come(node, "a", lives);
    assert_int_equal(status_word_generation(atomic_load(&a->job->page->word)), node->generation);
    assert_int_equal(a->job->page->service_ns, 3 * NS_PER_SEC);
    assert_int_equal(a->job->page->member_count, 1);
    // Its death is seen through the pidfd that adoption has made.
    end(lives);
    scheduler_bury(node->scheduler, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-0-a\n"));
    end(alone);
}

// The jobs in order of arrival, the scheduled ones in capitals.
static const char *jobs_of(struct node *node)
{
    static char text[8];
    struct protocol_job_record job;
    uint32_t i = 0;
    for (; scheduler_describe_job(node->scheduler, 0, true, i, &job, node->now_ns); i++) {
        text[i] = (char)(job.scheduled ? job.job_id[0] - 'a' + 'A' : job.job_id[0]);
        assert_int_equal(flags_of(node, job.job_id),
                         STATUS_CONTENDED | (job.scheduled ? STATUS_SCHEDULED : 0));
    }
    text[i] = '\0';
    return text;
}

// However the file system lists the classes, and whether the last classd was killed or asked to
// end.
static void adoption_keeps_who_was_scheduled(void **state)
{
    static const char *const turns[] = {"aBc", "abC", "Abc"};
    struct node *node = *state;
    pid_t pids[] = {sleeper(), sleeper(), sleeper()};
    for (int i = 0; i < 3; i++) {
        come(node, (const char[]){(char)('a' + i), '\0'}, pids[i]);
        node->now_ns += NS_PER_MS;
    }
    assert_string_equal(jobs_of(node), "Abc");
    for (int turn = 0; turn < 6; turn++) {
        next_slice(node);
        assert_string_equal(jobs_of(node), turns[turn % 3]);
        for (int way = 0; way < 4; way++) {
            test_backend_list_backwards(node->backend, way & 1);
            adopt_anew(node, way & 2);
            assert_string_equal(jobs_of(node), turns[turn % 3]);
        }
    }
    for (int i = 0; i < 3; i++)
        end(pids[i]);
}

// The guaranteed minimum goes on where it was.
static void adoption_keeps_the_turn(void **state)
{
    struct node *node = *state;
    struct process *b;
    pid_t first = sleeper(), second = sleeper();
    come(node, "a", first);
    come(node, "b", second);
    node->now_ns += node->config.gmet_ns / 2;
    adopt_anew(node, false);
    b = come(node, "b", second);
    scheduler_request(node->scheduler, b, node->now_ns);
    assert_string_equal(jobs_of(node), "Ab");
    node->now_ns += node->config.gmet_ns / 2;
    scheduler_request(node->scheduler, b, node->now_ns);
    assert_string_equal(jobs_of(node), "aB");
    end(first);
    end(second);
}

// What people see goes on as well: since when, for how long scheduled, how often.
static void adoption_keeps_the_accounts(void **state)
{
    struct node *node = *state;
    struct protocol_job_record before, after;
    pid_t first = sleeper(), second = sleeper();
    come(node, "a", first);
    come(node, "b", second);
    for (int i = 0; i < 5; i++) {
        next_slice(node);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(scheduler_describe_job(node->scheduler, 0, true, i, &before, node->now_ns));
        adopt_anew(node, true);
        assert_true(scheduler_describe_job(node->scheduler, 0, true, i, &after, node->now_ns));
        assert_int_equal(after.registered_ns, 5 * node->config.time_slice_ns);
        assert_int_equal(after.scheduled_ns, before.scheduled_ns);
        assert_int_equal(after.switches, before.switches);
    }
    end(first);
    end(second);
}

// Else who had just come, or come back, would have a claim to all that others ever had.
static void adoption_keeps_who_had_just_come_beside_the_others(void **state)
{
    struct node *node = *state;
    pid_t pids[] = {sleeper(), sleeper()};
    struct process *a = come(node, "a", pids[0]);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    test_backend_set_usage(node->backend, "job-0-a", 3600 * NS_PER_SEC);
    next_slice(node);
    struct process *b = come(node, "b", pids[1]);
    assert_int_equal(b->job->page->service_ns, 3600 * NS_PER_SEC);
    assert_int_equal(a->job->page->service_ns, 3600 * NS_PER_SEC);
    adopt_anew(node, false);
    for (int i = 0; i < 4; i++) {
        const char *turn = jobs_of(node)[0] == 'A' ? "aB" : "Ab";
        next_slice(node);
        assert_string_equal(jobs_of(node), turn);
    }
    for (int i = 0; i < 2; i++)
        end(pids[i]);
}

static void track(struct node *node, struct job *job, enum tracking_kind kind)
{
    struct tracking_order order = {.kind = kind,
                                   .means = kind == TRACKING_SUSPEND ? PROTOCOL_MEANS_SHARE : 0};
    struct tracking_result result;
    assert_true(scheduler_track(node->scheduler, job, &order, node->now_ns, &result));
    assert_int_equal(result.fault.code, 0);
}

// Nobody's share changes by that.
static void adoption_keeps_who_had_just_come_back_beside_the_others(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    come(node, "b", B);
    come(node, "c", C);
    track(node, a->job, TRACKING_SUSPEND);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    test_backend_set_usage(node->backend, "job-0-b", 3600 * NS_PER_SEC);
    test_backend_set_usage(node->backend, "job-0-c", 3600 * NS_PER_SEC);
    track(node, a->job, TRACKING_RESUME);
    assert_int_equal(a->job->page->service_ns, 3600 * NS_PER_SEC);
}

// By a classd that died while it killed a part of it. One that is suspended by the freezer stays
// so.
static void who_is_frozen_and_not_by_a_suspension_is_thawed(void **state)
{
    static const enum protocol_means means[] = {0, PROTOCOL_MEANS_SHARE, PROTOCOL_MEANS_FREEZER};
    struct node *node = *state;
    pid_t pid = sleeper();
    struct process *a = come(node, "a", pid);
    assert_int_equal(class_freeze(a->job->class_, NULL), 0);
    test_backend_fail(node->backend, "thaw", EMFILE, 1); // which only delays it
    clear(node);
    adopt_anew(node, false);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_non_null(strstr(test_backend_log(node->backend), "thaw job-0-a\n"));
    a = come(node, "a", pid);
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = means[i]};
        struct tracking_result result;
        if (means[i] != 0)
            assert_true(scheduler_track(node->scheduler, a->job, &order, node->now_ns, &result));
        if (means[i] != PROTOCOL_MEANS_FREEZER)
            assert_int_equal(class_freeze(a->job->class_, NULL), 0);
        clear(node);
        adopt_anew(node, false);
        const char *thawed = strstr(test_backend_log(node->backend), "thaw job-0-a\n");
        assert_true((thawed == NULL) == (means[i] == PROTOCOL_MEANS_FREEZER));
        a = come(node, "a", pid);
        assert_int_equal(a->job->suspended, means[i] != 0);
        if (means[i] != 0)
            track(node, a->job, TRACKING_RESUME);
    }
    end(pid);
}

// A page of a classd that did not keep turns, or one that tells more scheduled jobs than fit.
static void adoption_makes_the_best_of_what_pages_tell(void **state)
{
    struct node *node = *state;
    pid_t first = sleeper(), second = sleeper();
    struct status_page *a = come(node, "a", first)->job->page;
    struct status_page *b = come(node, "b", second)->job->page;
    a->turns = b->turns = (struct status_turns){0};
    adopt_anew(node, false);
    assert_string_equal(jobs_of(node), "Ab");

    a = come(node, "a", first)->job->page;
    b = come(node, "b", second)->job->page;
    memset(&a->turns, 0xff, sizeof a->turns);
    memset(&b->turns, 0xff, sizeof b->turns);
    adopt_anew(node, false);
    const char *jobs = jobs_of(node);
    assert_true(strcmp(jobs, "Ab") == 0 || strcmp(jobs, "aB") == 0);
    end(first);
    end(second);
}

static void a_reused_pid_is_not_adopted(void **state)
{
    struct node *node = *state;
    pid_t pid = sleeper();
    struct process *process = come(node, "a", pid);
    process->job->page->members[0].start_time--; // as if the member had started earlier
    node_stop(node);
    clear(node);
    node_start(node);
    adopt(node);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-0-a\n"));
    end(pid);
}

static void members_listed_twice_are_adopted_once(void **state)
{
    struct node *node = *state;
    struct protocol_job_record job;
    pid_t pid = sleeper();
    struct process *process = come(node, "a", pid);
    // As a classd leaves it that was killed between the two steps of forgetting a member.
    process->job->page->members[1] = process->job->page->members[0];
    process->job->page->member_count = 2;
    adopt_anew(node, false);
    assert_true(scheduler_describe_job(node->scheduler, 0, true, 0, &job, node->now_ns));
    assert_int_equal(job.processes, 1);
    end(pid);
}

// A classd may be killed while it adopts, too.
static void the_page_lists_everybody_while_it_is_adopted(void **state)
{
    struct node *node = *state;
    pid_t dies = sleeper(), lives = sleeper();
    come(node, "a", dies);
    come(node, "a", lives);
    node_stop(node);
    end(dies);
    fewest_members = UINT32_MAX;
    node_start(node);
    adopt(node);
    assert_int_equal(fewest_members, 2);
    const struct status_page *page = come(node, "a", lives)->job->page;
    assert_int_equal(page->member_count, 1);
    assert_int_equal(page->members[0].pid, lives);
    end(lives);
}

static void what_cannot_be_adopted_is_not_limited(void **state)
{
    struct node *node = *state;
    pid_t a = sleeper(), b = sleeper();
    come(node, "a", a);
    come(node, "b", b);
    node_stop(node);
    clear(node);
    node_start(node);
    test_backend_fail(node->backend, "open", EMFILE, 1);
    adopt(node);
    assert_non_null(strstr(test_backend_log(node->backend), "share job-0-a max\n"));
    assert_null(strstr(test_backend_log(node->backend), "remove job-0-a\n"));
    end(a);
    end(b);
}

static void foreign_classes_are_left_alone(void **state)
{
    static const char *const foreign[] = {"other",    "job-x-a",  "job-0-",
                                          "job-0-.a", "job-00-a", "job--1-a"};
    struct node *node = *state;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        class_t *class_ = NULL;
        assert_int_equal(class_open(node->backend, foreign[i], &class_, NULL), 0);
        class_close(class_);
    }
    clear(node);
    adopt(node);
    assert_string_equal(test_backend_log(node->backend), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(adoption_keeps_those_that_live),
        TEST(adoption_keeps_who_was_scheduled),
        TEST(adoption_keeps_the_turn),
        TEST(adoption_keeps_the_accounts),
        TEST(adoption_keeps_who_had_just_come_beside_the_others),
        TEST(adoption_keeps_who_had_just_come_back_beside_the_others),
        TEST(who_is_frozen_and_not_by_a_suspension_is_thawed),
        TEST(adoption_makes_the_best_of_what_pages_tell),
        TEST(a_reused_pid_is_not_adopted),
        TEST(members_listed_twice_are_adopted_once),
        TEST(the_page_lists_everybody_while_it_is_adopted),
        TEST(what_cannot_be_adopted_is_not_limited),
        TEST(foreign_classes_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
