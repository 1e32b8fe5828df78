// Protects what becomes of jobs that end, or are left, while they are tracked: nobody of a killed
// one is set free, classes are removed step by step, and neither tables nor the log are filled by
// it.
#include "classd/command.h"
#include "tests/unit/tracked_node.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_job_that_ends_meanwhile(void **state)
{
    struct node *node = *state;
    struct process *process = come(node, "a", OWNER, A);
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    test_backend_fail(node->backend, "stop", EAGAIN, 1);
    assert_false(scheduler_track(node->scheduler, process->job, &order, node->now_ns, &result));
    scheduler_exit(node->scheduler, process, node->now_ns);
    assert_int_equal(times_told, 1);
    assert_int_equal(told.fault.code, ESRCH);
    // A job of this name is another one.
    come(node, "a", OWNER, A);
    assert_int_equal(record_of(node, 0).suspended, 0);
}

// Its registered process is dead first; what it has started dies, too, before the class goes.
static void nobody_of_a_killed_job_is_set_free(void **state)
{
    struct node *node = *state;
    struct process *process = come(node, "a", OWNER, A);
    struct tracking_order order = {.kind = TRACKING_KILL};
    struct tracking_result result;
    test_backend_fail(node->backend, "kill", EAGAIN, 1);
    assert_false(scheduler_track(node->scheduler, process->job, &order, node->now_ns, &result));
    test_backend_clear_log(node->backend);
    scheduler_exit(node->scheduler, process, node->now_ns);
    assert_string_equal(test_backend_log(node->backend), "kill job-1000-a\nremove job-1000-a\n");
    assert_int_equal(times_told, 1);
    assert_int_equal(told.fault.code, 0);
}

// Nor of a subtree, which stands still by signals where there is no freezer.
static void nobody_of_a_killed_subtree_is_left_stopped(void **state)
{
    struct node *node = *state;
    struct process *process = come(node, "a", OWNER, A);
    struct process *root = come(node, "a", OWNER, getpid());
    struct tracking_order order = {.kind = TRACKING_KILL, .root = getpid()};
    struct tracking_result result;
    char expected[64];
    test_backend_take_freezer(node->backend);
    test_backend_fail(node->backend, "kill", EAGAIN, 1);
    assert_false(scheduler_track(node->scheduler, process->job, &order, node->now_ns, &result));
    scheduler_exit(node->scheduler, root, node->now_ns);
    test_backend_clear_log(node->backend);
    scheduler_exit(node->scheduler, process, node->now_ns);
    snprintf(expected, sizeof expected, "kill job-1000-a %d\nremove job-1000-a\n", (int)getpid());
    assert_non_null(strstr(test_backend_log(node->backend), expected));
    assert_int_equal(times_told, 1);
    assert_int_equal(told.fault.code, 0);
}

// Not even when its helpers cannot die: they are doomed, and nobody waits for them. Only where
// nothing holds them still a few more passes look for who was forked meanwhile.
static void the_end_of_a_killed_job_waits_for_nobody(void **state)
{
    struct node *node = *state;
    for (unsigned freezer = 2; freezer-- > 0;) {
        struct process *process = come(node, "a", OWNER, A);
        struct tracking_order order = {.kind = TRACKING_KILL};
        struct tracking_result result;
        times_told = 0;
        if (freezer == 0)
            test_backend_take_freezer(node->backend);
        test_backend_fail(node->backend, "kill", EAGAIN, freezer != 0 ? 2 : 1000000);
        assert_false(scheduler_track(node->scheduler, process->job, &order, node->now_ns, &result));
        test_backend_clear_log(node->backend);
        scheduler_exit(node->scheduler, process, node->now_ns);
        assert_string_equal(test_backend_log(node->backend), "remove job-1000-a\n");
        assert_int_equal(times_told, 1);
        assert_int_equal(told.fault.code, 0);
    }
}

// Its SIGSTOP may have come between its EXIT and classd's reading that. Outside of the class nobody
// would continue it.
static void who_leaves_a_stopped_job_stays_in_its_class(void **state)
{
    struct node *node = *state;
    struct process *first = come(node, "a", OWNER, A), *second = come(node, "a", OWNER, B);
    struct process *third = come(node, "a", OWNER, B + 1);
    come(node, "a", OWNER, B + 2);
    struct job *a = first->job;
    struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    struct tracking_result result;
    test_backend_fail(node->backend, "stop", EAGAIN, 1);
    assert_false(scheduler_track(node->scheduler, a, &order, node->now_ns, &result));
    scheduler_exit(node->scheduler, first, node->now_ns); // while it is being suspended
    node->now_ns = scheduler_deadline_ns(node->scheduler);
    go_on(node);
    assert_int_equal(times_told, 1);
    scheduler_exit(node->scheduler, second, node->now_ns);
    assert_null(strstr(test_backend_log(node->backend), "expel"));

    // By share nobody stands still.
    node->now_ns += NS_PER_SEC;
    track(node, a, TRACKING_RESUME, 0);
    track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SHARE);
    scheduler_exit(node->scheduler, third, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "expel job-1000-a 5000003\n"));
}

// 0, or the errno value with which it is refused.
static int try_as(struct node *node, uid_t uid, const char *job_id, pid_t pid)
{
    struct protocol_register wish = {.width = 1, .ranks = 1};
    struct process *process = NULL;
    struct error err = {0};
    snprintf(wish.job_id, sizeof wish.job_id, "%s", job_id);
    struct applicant applicant = {
        .uid = uid, .pid = pid, .start_time = 1, .pidfd = -1, .wish = &wish};
    int rc = scheduler_register(node->scheduler, &applicant, node->now_ns, &process, &err);
    return rc == 0 ? 0 : err.code;
}

// Of a job that a stopped job has started: in a class of its own nobody would continue it.
static void nobody_leaves_a_stopped_class_for_a_job_of_his_own(void **state)
{
    struct node *node = *state;
    struct job *a = come(node, "a", OWNER, A)->job;
    assert_int_equal(class_place(a->class_, B, NULL), 0);
    assert_int_equal(track(node, a, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS).fault.code, 0);
    test_backend_clear_log(node->backend);
    assert_int_equal(try_as(node, OWNER, "b", B), EBUSY);
    assert_null(strstr(test_backend_log(node->backend), "place"));
    // Somebody else's. What that takes is charged to him, so it must not grow with others' jobs.
    size_t count;
    test_backend_fail(node->backend, "members", EIO, 1);
    assert_int_equal(try_as(node, OWNER, "b", B + 1), 0);
    assert_int_equal(class_members(a->class_, NULL, 0, &count, NULL), -1); // the first that asks
    // Nor does he for a registration in that class that fails.
    test_backend_fail(node->backend, "place", E2BIG, 1);
    assert_int_equal(try_as(node, OWNER, "a", B), E2BIG);
    assert_null(strstr(test_backend_log(node->backend), "expel"));
    assert_int_equal(track(node, a, TRACKING_RESUME, 0).fault.code, 0);
    assert_int_equal(try_as(node, OWNER, "c", B), 0);
}

// Whatever dies at once, others are served in between.
static void many_deaths_take_several_turns(void **state)
{
    enum { JOBS = 40 };
    struct node *node = *state;
    int pidfds[JOBS];
    for (int i = 0; i < JOBS; i++) {
        struct protocol_register wish = {.width = 1, .ranks = 1};
        struct process *process = NULL;
        snprintf(wish.job_id, sizeof wish.job_id, "job%d", i);
        pidfds[i] = eventfd(0, EFD_CLOEXEC);
        struct applicant applicant = {
            .pid = A + i, .start_time = 1, .pidfd = pidfds[i], .wish = &wish};
        assert_int_equal(
            scheduler_register(node->scheduler, &applicant, node->now_ns, &process, NULL), 0);
    }
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(eventfd_write(pidfds[i], 1), 0); // readable, as that of a dead process is
    struct protocol_node_record record = {.jobs = JOBS};
    unsigned turns = 0;
    for (uint32_t before = JOBS; record.jobs > 0; before = record.jobs, turns++) {
        scheduler_bury(node->scheduler, node->now_ns);
        scheduler_describe_node(node->scheduler, &record, node->now_ns);
        assert_true(record.jobs < before);
    }
    assert_true(turns > 1);
}

// A job whose class has `count` members left when the last of its processes has died.
static void die_with_many(struct node *node, int count)
{
    struct protocol_node_record record;
    int pidfds[256];
    for (int i = 0; i < count; i++) {
        struct protocol_register wish = {.job_id = "a", .width = 1, .ranks = 1};
        struct process *process = NULL;
        pidfds[i] = eventfd(0, EFD_CLOEXEC);
        struct applicant applicant = {
            .uid = OWNER, .pid = A + i, .start_time = 1, .pidfd = pidfds[i], .wish = &wish};
        assert_int_equal(
            scheduler_register(node->scheduler, &applicant, node->now_ns, &process, NULL), 0);
    }
    for (int i = 0; i < count; i++)
        assert_int_equal(eventfd_write(pidfds[i], 1), 0); // readable, as that of a dead process is
    do {
        scheduler_bury(node->scheduler, node->now_ns);
        scheduler_describe_node(node->scheduler, &record, node->now_ns);
    } while (record.jobs > 0);
}

static bool is_removed(struct node *node)
{
    return strstr(test_backend_log(node->backend), "remove job-1000-a\n") != NULL;
}

// Others are served while they are moved back.
static void a_class_with_many_members_is_removed_step_by_step(void **state)
{
    enum { MEMBERS = 200 };
    struct node *node = *state;
    die_with_many(node, MEMBERS);
    unsigned steps = 0;
    for (; !is_removed(node); steps++) {
        uint64_t next_ns = scheduler_deadline_ns(node->scheduler);
        assert_in_range(next_ns, node->now_ns + 1, node->now_ns + NS_PER_SEC);
        node->now_ns = next_ns;
        scheduler_leave_on(node->scheduler, node->now_ns);
    }
    assert_in_range(steps, 2, MEMBERS);
    assert_true(scheduler_deadline_ns(node->scheduler) == SCHEDULER_NO_DEADLINE);
}

static void a_new_job_keeps_the_class_of_its_name(void **state)
{
    struct node *node = *state;
    die_with_many(node, 200);
    assert_false(is_removed(node));
    struct job *a = come(node, "a", OWNER, B + 500)->job;
    for (int i = 0; i < 100; i++)
        scheduler_leave_on(node->scheduler, node->now_ns += NS_PER_SEC);
    assert_false(is_removed(node));
    assert_int_equal(class_set_share(a->class_, 10000, NULL), 0);
}

// Without a connection, too: each holds a descriptor of classd's.
static void processes_are_bounded_like_connections(void **state)
{
    struct node *node = *state;
    node->config.max_connections_per_user = 2;
    node->config.max_connections = 3;
    assert_int_equal(try_as(node, OWNER, "a", A), 0);
    assert_int_equal(try_as(node, OWNER, "b", A - 1), 0);
    assert_int_equal(try_as(node, OWNER, "b", B), ENOSPC);
    assert_int_equal(try_as(node, OWNER, "c", B), ENOSPC);
    assert_int_equal(try_as(node, OTHER, "c", B), 0); // no job c was left behind
    assert_int_equal(try_as(node, OTHER, "c", B + 1), ENOSPC);
    assert_int_equal(try_as(node, OWNER, "a", A), 0); // again
}

// A child of classd's may still hold a copy of the pidfd, which keeps it in the set of deaths.
static void who_has_left_is_not_buried(void **state)
{
    struct node *node = *state;
    struct protocol_register wish = {.job_id = "a", .width = 1, .ranks = 2};
    struct process *process = NULL;
    int pidfd = eventfd(0, EFD_CLOEXEC), copy = dup(pidfd);
    struct applicant applicant = {.pid = A, .start_time = 1, .pidfd = pidfd, .wish = &wish};
    assert_int_equal(scheduler_register(node->scheduler, &applicant, node->now_ns, &process, NULL),
                     0);
    scheduler_exit(node->scheduler, process, node->now_ns);
    assert_int_equal(eventfd_write(copy, 1), 0);
    struct pollfd deaths = {.fd = scheduler_deaths_fd(node->scheduler), .events = POLLIN};
    assert_int_equal(poll(&deaths, 1, 0), 0);
    close(copy);
}

enum { OFTEN = 300 };

static void come_and_go(struct node *node)
{
    for (int i = 0; i < OFTEN; i++)
        scheduler_exit(node->scheduler, come(node, "a", OWNER, A), node->now_ns);
}

static void suspend_and_resume(struct node *node)
{
    struct job *b = come(node, "b", OWNER, B)->job;
    for (int i = 0; i < OFTEN; i++) {
        track(node, b, TRACKING_SUSPEND, PROTOCOL_MEANS_SHARE);
        track(node, b, TRACKING_RESUME, 0);
        test_backend_fail(node->backend, "stop", EPERM, 1);
        track(node, b, TRACKING_SUSPEND, PROTOCOL_MEANS_SIGNALS);
    }
}

static void leave_classes_behind(struct node *node)
{
    for (int i = 0; i < OFTEN; i++) {
        test_backend_fail(node->backend, "remove", EBUSY, 1);
        scheduler_exit(node->scheduler, come(node, "c", OWNER, A), node->now_ns);
    }
}

static void stay_unsuspended(struct node *node)
{
    test_backend_fail(node->backend, "freeze", EPERM, OFTEN);
    for (int i = 0; i < OFTEN; i++) {
        scheduler_switch(node->scheduler, node->now_ns, 0);
        go_on(node);
    }
}

static void be_refused(struct node *node, int code, int times)
{
    struct commands commands = {
        .scheduler = node->scheduler, .config = &node->config, .service_uid = SERVICE};
    struct protocol_request request = protocol_request_new(PROTOCOL_REGISTER, 1);
    struct protocol_reply reply;
    int page_fd, ends[2];
    request.register_ = (struct protocol_register){.job_id = "d", .width = 1, .ranks = 1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    struct caller caller = {.peer = {.uid = OWNER, .pid = getpid()}, .socket_fd = ends[0]};
    test_backend_fail(node->backend, "place", code, times);
    for (int i = 0; i < times; i++) {
        assert_true(command_execute(&commands, &caller, &request, node->now_ns, &reply, &page_fd));
        assert_int_equal(reply.header.status, code);
    }
    close(ends[0]);
    close(ends[1]);
}

static void bring_too_many(struct node *node)
{
    be_refused(node, E2BIG, OFTEN);
}

static void find_the_root_threaded(struct node *node)
{
    be_refused(node, EOPNOTSUPP, 1);
}

static void end_meanwhile(struct node *node)
{
    be_refused(node, ESRCH, 1);
}

// Jobs that go without a scheduler for that say nothing themselves.
static void what_keeps_the_node_from_taking_jobs_is_told(void **state)
{
    struct node *node = *state;
    assert_int_equal(node_count_lines(node, find_the_root_threaded), 1);
    assert_int_equal(node_count_lines(node, end_meanwhile), 0);
}

// Some are told, and later how many were not.
static void nobody_fills_the_log(void **state)
{
    struct node *node = *state;
    size_t lines = node_count_lines(node, come_and_go);
    assert_in_range(lines, 2, OFTEN / 2);
    assert_in_range(node_count_lines(node, suspend_and_resume), 2, OFTEN / 2);
    assert_in_range(node_count_lines(node, leave_classes_behind), 2, OFTEN / 2);
    assert_in_range(node_count_lines(node, bring_too_many), 2, OFTEN / 2);
    track(node, come(node, "c", OWNER, A)->job, TRACKING_SUSPEND, PROTOCOL_MEANS_FREEZER);
    assert_in_range(node_count_lines(node, stay_unsuspended), 0, OFTEN / 2);
    scheduler_exit(node->scheduler, come(node, "c", OWNER, A), node->now_ns);
    node->now_ns += 120 * NS_PER_SEC;
    assert_true(node_count_lines(node, come_and_go) > lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_node(a_job_that_ends_meanwhile),
        with_node(nobody_of_a_killed_job_is_set_free),
        with_node(nobody_of_a_killed_subtree_is_left_stopped),
        with_node(the_end_of_a_killed_job_waits_for_nobody),
        with_node(who_leaves_a_stopped_job_stays_in_its_class),
        with_node(nobody_leaves_a_stopped_class_for_a_job_of_his_own),
        with_node(many_deaths_take_several_turns),
        with_node(a_class_with_many_members_is_removed_step_by_step),
        with_node(a_new_job_keeps_the_class_of_its_name),
        with_node(processes_are_bounded_like_connections),
        with_node(who_has_left_is_not_buried),
        with_node(what_keeps_the_node_from_taking_jobs_is_told),
        with_node(nobody_fills_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
