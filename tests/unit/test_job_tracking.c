// Protects suspend, resume and kill of jobs: the order of effects, all or none, who may, and what a
// restarted classd knows. Over the backend in memory.
#include "cgroup-backend/processes.h"
#include "classd/adopt.h"
#include "classd/command.h"
#include "tests/unit/tracked_node.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

// The loser's limit and the winner's, then the freezer, unlimited so that all have the CPU to stop,
// and the limit again. Back: thawed before the others lose anything.
static void order_of_effects(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    come(node, "b", OWNER, B);
    test_backend_clear_log(node->backend);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_FREEZER).fault.code, 0);
    assert_string_equal(test_backend_log(node->backend), "share job-1000-a 10000\n"
                                                         "share job-1000-b max\n"
                                                         "share job-1000-a max\n"
                                                         "freeze job-1000-a\n"
                                                         "share job-1000-a 10000\n");
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_FREEZER);
    assert_int_equal(record_of(node, 1).scheduled, 1);
    assert_int_equal(a->page->degree, 1);

    test_backend_clear_log(node->backend);
    assert_int_equal(track(node, a, TRACKING_RESUME, 0).fault.code, 0);
    static const char thawed[] = "share job-1000-a max\nthaw job-1000-a\n";
    assert_memory_equal(test_backend_log(node->backend), thawed, strlen(thawed));
    assert_int_equal(record_of(node, 0).suspended, 0);
    assert_int_equal(a->page->degree, 2);
}

static void each_means(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    static const char *const effects[] = {"", "", "freeze job-1000-a\n", "stop job-1000-a\n"};
    for (enum protocol_means means = PROTOCOL_MEANS_SHARE; means <= PROTOCOL_MEANS_SIGNALS;
         means++) {
        test_backend_clear_log(node->backend);
        struct tracking_result result = track(node, a, TRACKING_SUSPEND, means);
        assert_int_equal(result.fault.code, 0);
        assert_int_equal(result.means, means);
        assert_non_null(strstr(test_backend_log(node->backend), effects[means]));
        assert_int_equal(record_of(node, 0).suspended, means);
        assert_int_equal(record_of(node, 0).share_ppm, 10000);
        // The same once more is no fault; another one is.
        assert_int_equal(track(node, a, TRACKING_SUSPEND, means).fault.code, 0);
        assert_int_equal(track(node, a, TRACKING_SUSPEND, 1 + means % 3).fault.code, EBUSY);
        assert_int_equal(track(node, a, TRACKING_RESUME, 0).fault.code, 0);
        assert_int_equal(track(node, a, TRACKING_RESUME, 0).fault.code, EALREADY);
        assert_int_equal(record_of(node, 0).limited, 0);
    }
}

static void default_means(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    assert_int_equal(track(node, a, TRACKING_SUSPEND, 0).means, PROTOCOL_MEANS_FREEZER);
    track(node, a, TRACKING_RESUME, 0);
    strcpy(node->config.tracking_means, "signals");
    assert_int_equal(track(node, a, TRACKING_SUSPEND, 0).means, PROTOCOL_MEANS_SIGNALS);
    track(node, a, TRACKING_RESUME, 0);
    strcpy(node->config.tracking_means, "auto");
    test_backend_take_freezer(node->backend);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, 0).means, PROTOCOL_MEANS_SHARE);
    track(node, a, TRACKING_RESUME, 0);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_FREEZER).fault.code, ENOTSUP);
    assert_int_equal(record_of(node, 0).limited, 0);
}

// What a pass leaves is done by the next one, after the retry interval; then who waits is told.
static void passes(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    test_backend_fail(node->backend, "stop", EAGAIN, 2);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    assert_int_equal(scheduler_deadline_ns(node->scheduler),
                     node->now_ns + node->config.retry_interval_ns);
    assert_int_equal(track(node, a, TRACKING_RESUME, 0).fault.code, EBUSY);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(times_told, 0);
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        go_on(node);
    }
    assert_int_equal(times_told, 1);
    assert_int_equal(told.number, result.number);
    assert_int_equal(told.fault.code, 0);
    assert_int_equal(told.passes, 3);
    assert_int_equal(told.took_ns, 2 * node->config.retry_interval_ns);
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_SIGNALS);
}

// Neither can be done for want of descriptors. Who asked is told so, and the job has turns again.
static void a_suspension_that_neither_begins_nor_is_undone_is_none(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    test_backend_fail(node->backend, "find", EMFILE, 1);
    test_backend_fail(node->backend, "thaw", EMFILE, 1);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS).fault.code, EMFILE);
    assert_int_equal(record_of(node, 0).suspended, 0);
    assert_int_equal(record_of(node, 0).limited, 0);
    assert_int_equal(record_of(node, 0).scheduled, 1);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS).fault.code, 0);
}

// All of it may stand still at once, and is looked at sooner than after the retry interval; who
// takes long is not looked at without end.
static void the_freezer_is_looked_at_soon(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_FREEZER};
    struct tracking_result result;
    uint64_t begun_ns = node->now_ns, pause_ns = 0;
    unsigned soon = 0;
    test_backend_fail(node->backend, "freeze", EAGAIN, 40);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    assert_true(scheduler_deadline_ns(node->scheduler) - node->now_ns <
                node->config.retry_interval_ns / 10);
    while (times_told == 0) {
        pause_ns = scheduler_deadline_ns(node->scheduler) - node->now_ns;
        soon += pause_ns < node->config.retry_interval_ns;
        node->now_ns += pause_ns;
        go_on(node);
    }
    assert_in_range(soon, 10, 39);
    assert_int_equal(told.fault.code, 0);
    assert_int_equal(told.passes, 41);
    assert_true(node->now_ns - begun_ns < 41 * node->config.retry_interval_ns);
}

// By signals a pass mostly gets one level of a tree further, so it is passes that count.
static void the_limit_goes_by_the_interval(void **state)
{
    enum { LEVELS = 12 };
    struct node *node = *state;
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    struct job *a = come(node, "a", OWNER, A)->job;
    node->config.retry_interval_ns = NS_PER_SEC;
    test_backend_fail(node->backend, "stop", EAGAIN, LEVELS);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    while (times_told == 0) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        go_on(node);
    }
    assert_int_equal(told.fault.code, 0);
    assert_int_equal(told.passes, LEVELS + 1);

    // It ends all the same.
    node->now_ns += 100 * NS_PER_SEC;
    test_backend_fail(node->backend, "continue", EAGAIN, 1000000);
    times_told = 0;
    order.kind = TRACKING_RESUME;
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    uint64_t begun_ns = node->now_ns;
    while (times_told == 0) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        assert_true(node->now_ns < begun_ns + 100 * NS_PER_SEC);
        go_on(node);
    }
    assert_int_equal(told.fault.code, ETIMEDOUT);
}

// A write of a limit refills its quota, so a command that an idle job gives for itself must not
// bring one that changes nothing.
static void no_quota_for_nothing(void **state)
{
    struct node *node = *state;
    come(node, "a", OWNER, A);
    struct job *b = come(node, "b", OWNER, B)->job;
    test_backend_clear_log(node->backend);
    track(node, b, TRACKING_SUSPEND, PROTOCOL_MEANS_SHARE);
    track(node, b, TRACKING_RESUME, 0);
    assert_null(strstr(test_backend_log(node->backend), "share job-1000-b"));

    struct tracking_order order = {.kind = TRACKING_KILL, .root = getpid()}; // none of the job's
    struct tracking_result result;
    test_backend_clear_log(node->backend);
    assert_true(scheduler_track(node->scheduler, b, &order, node->now_ns, &result));
    assert_int_equal(result.fault.code, ESRCH);
    order = (struct tracking_order){.kind = TRACKING_SUSPEND, .root = getpid()};
    assert_true(scheduler_track(node->scheduler, b, &order, node->now_ns, &result));
    assert_int_equal(result.fault.code, ESRCH);
    assert_string_equal(test_backend_log(node->backend), "");
}

// Nor more than one in each period; who asks for more waits.
static void one_quota_a_period(void **state)
{
    enum { TIMES = 6 };
    const uint64_t period_ns = 100 * NS_PER_MS;
    struct node *node = *state;
    come(node, "a", OWNER, A);
    struct job *b = come(node, "b", OWNER, B)->job;
    test_backend_set_period(node->backend, period_ns);
    uint64_t begun_ns = node->now_ns;
    for (int i = 0; i < TIMES; i++) {
        struct tracking_order order = {.kind = i % 2 == 0 ? TRACKING_SUSPEND : TRACKING_RESUME,
                                       .means = PROTOCOL_MEANS_SIGNALS};
        struct tracking_result result;
        bool done = scheduler_track(node->scheduler, b, &order, node->now_ns, &result);
        assert_int_equal(done, i == 0);
        if (done)
            continue;
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        go_on(node);
        assert_int_equal(times_told, i);
        assert_int_equal(told.fault.code, 0);
    }
    assert_int_equal(node->now_ns - begun_ns, (TIMES - 1) * period_ns);

    // Its end waits for nothing.
    assert_int_equal(track(node, b, TRACKING_KILL, 0).fault.code, 0);
}

static const char *last_limit(struct node *node, const char *of_job)
{
    const char *last = NULL;
    for (const char *at = test_backend_log(node->backend); (at = strstr(at, of_job)) != NULL;)
        last = at += strlen(of_job);
    return last != NULL ? last : "";
}

// Somebody who cannot stop, as one that waits for a child that it vfork()ed, has his job's limit
// lifted for a tenth of the time and no longer, whatever the passes take.
static void a_way_ends_by_itself(void **state)
{
    struct node *node = *state;
    come(node, "a", OWNER, A);
    struct job *b = come(node, "b", OWNER, B)->job;
    uint64_t lifted_ns = 0, begun_ns = node->now_ns;
    for (int i = 0; i < 4; i++) {
        struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
        struct tracking_result result;
        test_backend_fail(node->backend, "stop", EAGAIN, 1000000);
        times_told = 0;
        bool done = scheduler_track(node->scheduler, b, &order, node->now_ns, &result);
        assert_false(done);
        while (times_told == 0) {
            bool lifted = strncmp(last_limit(node, "share job-1000-b "), "max", 3) == 0;
            uint64_t next_ns = scheduler_deadline_ns(node->scheduler);
            lifted_ns += lifted ? next_ns - node->now_ns : 0;
            node->now_ns = next_ns;
            go_on(node);
            scheduler_rest(node->scheduler, OWNER, node->now_ns + 300 * NS_PER_MS);
        }
        assert_int_equal(told.fault.code, ETIMEDOUT);
    }
    assert_in_range(lifted_ns * 100 / (node->now_ns - begun_ns), 1, 11);
}

// A daemon that was stopped for a minute meanwhile does not hold up whoever resumes for nine.
static void a_way_is_no_longer_than_it_was_to_be(void **state)
{
    struct node *node = *state;
    come(node, "a", OWNER, A);
    struct job *b = come(node, "b", OWNER, B)->job;
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    test_backend_fail(node->backend, "stop", EAGAIN, 1);
    assert_false(scheduler_track(node->scheduler, b, &order, node->now_ns, &result));
    assert_int_not_equal(b->way_end_ns, 0);
    node->now_ns += 60 * NS_PER_SEC;
    go_on(node);
    assert_int_equal(b->way_end_ns, 0);
    assert_in_range(b->way_ready_ns - node->now_ns, 1, NS_PER_SEC);
}

// A user whose processes fork and fork makes long passes, which rest for long. So do all of that
// user's jobs, and nobody else's.
static void a_rest_is_its_users(void **state)
{
    struct node *node = *state;
    struct job *jobs[] = {come(node, "a", OWNER, A)->job, come(node, "b", OWNER, B)->job,
                          come(node, "c", OTHER, B + 1)->job};
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    test_backend_fail(node->backend, "stop", EAGAIN, 4);
    for (size_t i = 0; i < 3; i++)
        assert_false(scheduler_track(node->scheduler, jobs[i], &order, node->now_ns, &result));
    node->now_ns = scheduler_deadline_ns(node->scheduler);
    uint64_t rested_ns = node->now_ns + 3 * NS_PER_SEC;
    uid_t uid = 0;
    assert_true(scheduler_track_on(node->scheduler, node->now_ns, &uid)); // one, though all are due
    assert_int_equal(uid, OWNER);
    scheduler_rest(node->scheduler, uid, rested_ns);
    assert_true(scheduler_track_on(node->scheduler, node->now_ns, &uid));
    assert_int_equal(uid, OTHER);
    assert_int_equal(times_told, 1);
    assert_int_equal(told.number, result.number);
    assert_int_equal(told.fault.code, 0);
    assert_false(scheduler_track_on(node->scheduler, rested_ns - 1, &uid));
    assert_true(scheduler_track_on(node->scheduler, rested_ns, &uid));
    assert_int_equal(uid, OWNER);
}

static unsigned count_of(struct node *node, const char *line)
{
    unsigned count = 0;
    for (const char *at = test_backend_log(node->backend); (at = strstr(at, line)) != NULL; at++)
        count++;
    return count;
}

// Whoever has come since a job was suspended is stopped a turn later, not in the turn, and not
// while the user rests. The same is true of one that somebody has thawed.
static void stop_who_comes_later(struct node *node, enum protocol_means means, const char *effect)
{
    struct job *a = come(node, "a", OWNER, A)->job;
    come(node, "b", OTHER, B);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, means).fault.code, 0);
    for (int rests = 0; rests < 2; rests++) {
        test_backend_clear_log(node->backend);
        node->now_ns += node->config.time_slice_ns;
        uint64_t until_ns = node->now_ns + NS_PER_SEC / 10;
        uid_t uid = OTHER;
        if (rests != 0)
            scheduler_rest(node->scheduler, OWNER, until_ns);
        scheduler_switch(node->scheduler, node->now_ns, 0);
        scheduler_switch(node->scheduler, node->now_ns, 0); // they do not pile up
        assert_int_equal(count_of(node, effect), 0);
        if (rests != 0) {
            assert_false(scheduler_track_on(node->scheduler, node->now_ns, &uid));
            assert_true(scheduler_deadline_ns(node->scheduler) == until_ns);
            node->now_ns = until_ns;
        }
        assert_true(scheduler_deadline_ns(node->scheduler) <= node->now_ns);
        assert_true(scheduler_track_on(node->scheduler, node->now_ns, &uid));
        assert_int_equal(uid, OWNER);
        assert_false(scheduler_track_on(node->scheduler, node->now_ns, &uid));
        assert_int_equal(count_of(node, effect), 1);
    }
    test_backend_clear_log(node->backend);
    node->now_ns += NS_PER_SEC; // it may be given way again
    track(node, a, TRACKING_RESUME, 0);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    go_on(node);
    assert_int_equal(count_of(node, effect), 0);
}

static void who_comes_later_is_stopped_after_the_rest(void **state)
{
    stop_who_comes_later(*state, PROTOCOL_MEANS_SIGNALS, "stop job-1000-a\n");
}

static void who_was_thawed_is_frozen_after_the_rest(void **state)
{
    stop_who_comes_later(*state, PROTOCOL_MEANS_FREEZER, "freeze job-1000-a\n");
}

static void all_or_none(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    test_backend_fail(node->backend, "stop", EPERM, 1);
    struct tracking_result result = track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS);
    assert_int_equal(result.fault.code, EPERM);
    assert_non_null(strstr(test_backend_log(node->backend), "continue job-1000-a\n"));
    assert_int_equal(record_of(node, 0).suspended, 0);
    assert_int_equal(record_of(node, 0).limited, 0);

    // Nor when it takes too long.
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    test_backend_fail(node->backend, "stop", EAGAIN, 1000000);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    uint64_t begun_ns = node->now_ns;
    while (times_told == 0) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        assert_true(node->now_ns < begun_ns + 10 * NS_PER_SEC);
        go_on(node);
    }
    assert_int_equal(told.fault.code, ETIMEDOUT);
    assert_int_equal(record_of(node, 0).suspended, 0);
}

// What was suspended before stays so.
static void a_second_suspension_that_fails_resumes_nobody(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS).fault.code, 0);
    node->now_ns += NS_PER_SEC; // it may be given way again
    test_backend_fail(node->backend, "stop", EPERM, 1);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS).fault.code, EPERM);
    assert_null(strstr(test_backend_log(node->backend), "continue"));
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_SIGNALS);

    // Nor when it takes too long.
    node->now_ns += NS_PER_SEC;
    test_backend_fail(node->backend, "stop", EAGAIN, 1000000);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    while (times_told == 0) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        go_on(node);
    }
    assert_int_equal(told.fault.code, ETIMEDOUT);
    assert_null(strstr(test_backend_log(node->backend), "continue"));
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_SIGNALS);
    assert_int_equal(track(node, a, TRACKING_RESUME, 0).fault.code, 0);
}

// Only the subtree that is suspended, by its root, which need not live any more.
static void a_subtree_is_resumed_by_its_root(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    struct process *root = come(node, "a", OWNER, getpid());
    struct tracking_order suspend = {.kind = TRACKING_SUSPEND, .root = getpid()};
    struct tracking_order resume = {.kind = TRACKING_RESUME, .root = getpid()};
    struct tracking_result result;
    assert_true(scheduler_track(node->scheduler, a, &resume, node->now_ns, &result));
    assert_int_equal(result.fault.code, EALREADY);
    assert_true(scheduler_track(node->scheduler, a, &suspend, node->now_ns, &result));
    assert_int_equal(result.fault.code, 0);
    scheduler_exit(node->scheduler, root, node->now_ns);
    node->now_ns += NS_PER_SEC; // it may be given way again
    resume.root = A;
    assert_true(scheduler_track(node->scheduler, a, &resume, node->now_ns, &result));
    assert_int_equal(result.fault.code, ESRCH);
    assert_null(strstr(test_backend_log(node->backend), "continue"));
    resume.root = getpid();
    assert_true(scheduler_track(node->scheduler, a, &resume, node->now_ns, &result));
    assert_int_equal(result.fault.code, 0);
    assert_non_null(strstr(test_backend_log(node->backend), "continue job-1000-a\n"));

    // Nobody is taken out of a job that is suspended as a whole.
    node->now_ns += NS_PER_SEC;
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS).fault.code, 0);
    node->now_ns += NS_PER_SEC;
    assert_true(scheduler_track(node->scheduler, a, &resume, node->now_ns, &result));
    assert_int_equal(result.fault.code, EINVAL);
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_SIGNALS);
}

// Neither gives the deadline of tracking anybody an early turn.
static void no_turn_by_a_pass(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    come(node, "b", OWNER, B);
    struct tracking_order order = {.kind = TRACKING_KILL};
    struct tracking_result result;
    test_backend_fail(node->backend, "kill", EAGAIN, 1);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    node->now_ns = scheduler_deadline_ns(node->scheduler);
    go_on(node);
    assert_int_equal(times_told, 1);
    assert_int_equal(told.fault.code, 0);
    assert_int_equal(record_of(node, 0).scheduled, 1);
}

static void kill_in_vain(struct node *node, struct job *job)
{
    struct tracking_order order = {.kind = TRACKING_KILL};
    struct tracking_result result;
    test_backend_fail(node->backend, "kill", EAGAIN, 1000000);
    assert_false(scheduler_track(node->scheduler, job, &order, node->now_ns, &result));
    while (times_told == 0) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        go_on(node);
    }
    assert_int_equal(told.fault.code, ETIMEDOUT);
}

// One that cannot die yet, as it is in an uninterruptible sleep, is not frozen again at the next
// turn.
static void who_was_killed_is_not_suspended_any_more(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_FREEZER).fault.code, 0);
    kill_in_vain(node, a);
    assert_non_null(strstr(test_backend_log(node->backend), "thaw job-1000-a\n"));
    assert_int_equal(record_of(node, 0).suspended, 0);
    test_backend_clear_log(node->backend);
    node->now_ns += 10 * NS_PER_SEC;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    go_on(node);
    assert_null(strstr(test_backend_log(node->backend), "freeze"));
}

// By share nobody stands still, and who could not be killed is as suspended as before.
static void who_was_not_killed_stays_suspended_by_share(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SHARE).fault.code, 0);
    kill_in_vain(node, a);
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_SHARE);
}

static void a_restarted_classd_knows(void **state)
{
    struct node *node = *state;
    // Adoption needs processes that live.
    uint64_t start_time = processes_start_time("/proc", getpid());
    struct job *a = come_since(node, "a", OWNER, getpid(), start_time)->job;
    track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_FREEZER);
    node_stop(node);
    class_t *class_ = NULL;
    struct class_suspension how;
    assert_int_equal(class_open(node->backend, "job-1000-a", &class_, NULL), 0);
    assert_true(class_suspended(class_, &how));
    assert_int_equal(how.means, CLASS_BY_FREEZER);
    class_close(class_);
    node_start(node);
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
    assert_int_equal(record_of(node, 0).suspended, PROTOCOL_MEANS_FREEZER);
}

// ---- who may

static int ask(struct node *node, uid_t uid, enum protocol_command command, uint32_t target_uid,
               const char *job_id)
{
    struct commands commands = {
        .scheduler = node->scheduler, .config = &node->config, .service_uid = SERVICE};
    struct caller caller = {.peer = {.uid = uid, .pid = 1}, .socket_fd = -1};
    struct protocol_request request = protocol_request_new(command, 1);
    struct protocol_reply reply;
    int page_fd;
    snprintf(request.target.job_id, sizeof request.target.job_id, "%s", job_id);
    request.target.uid = target_uid;
    assert_true(command_execute(&commands, &caller, &request, node->now_ns, &reply, &page_fd));
    if (reply.header.status != 0)
        assert_true(reply.tracked.text[0] != '\0');
    return reply.header.status;
}

static void who_may(void **state)
{
    struct node *node = *state;
    come(node, "a", OWNER, A);
    static const enum protocol_command all[] = {PROTOCOL_SUSPEND, PROTOCOL_RESUME};
    static const uid_t may[] = {0, SERVICE, OWNER};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(ask(node, may[i], all[k], PROTOCOL_NO_UID, "a"), 0);
    // Others are not even told that there is one.
    assert_int_equal(ask(node, OTHER, PROTOCOL_SUSPEND, PROTOCOL_NO_UID, "a"), ENOENT);
    assert_int_equal(ask(node, OTHER, PROTOCOL_SUSPEND, OWNER, "a"), EPERM);
    assert_int_equal(ask(node, OTHER, PROTOCOL_KILL, OWNER, "nothing"), EPERM);
    assert_int_equal(ask(node, OTHER, PROTOCOL_KILL, PROTOCOL_NO_UID, "a"), ENOENT);
    come(node, "a", OTHER, B);
    assert_int_equal(ask(node, 0, PROTOCOL_SUSPEND, PROTOCOL_NO_UID, "a"), ENOTUNIQ);
    assert_int_equal(ask(node, 0, PROTOCOL_SUSPEND, OTHER, "a"), 0);
    assert_int_equal(record_of(node, 0).suspended, 0);
    assert_int_equal(record_of(node, 1).suspended, PROTOCOL_MEANS_FREEZER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_node(order_of_effects),
        with_node(each_means),
        with_node(default_means),
        with_node(passes),
        with_node(a_suspension_that_neither_begins_nor_is_undone_is_none),
        with_node(the_freezer_is_looked_at_soon),
        with_node(the_limit_goes_by_the_interval),
        with_node(no_quota_for_nothing),
        with_node(one_quota_a_period),
        with_node(a_way_ends_by_itself),
        with_node(a_way_is_no_longer_than_it_was_to_be),
        with_node(a_rest_is_its_users),
        with_node(who_comes_later_is_stopped_after_the_rest),
        with_node(who_was_thawed_is_frozen_after_the_rest),
        with_node(all_or_none),
        with_node(a_second_suspension_that_fails_resumes_nobody),
        with_node(a_subtree_is_resumed_by_its_root),
        with_node(no_turn_by_a_pass),
        with_node(who_was_killed_is_not_suspended_any_more),
        with_node(who_was_not_killed_stays_suspended_by_share),
        with_node(a_restarted_classd_knows),
        with_node(who_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
