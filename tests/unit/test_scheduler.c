// The scheduler over the backend in memory: order of effects, failures that must leave a job free,
// who comes and goes, and ticks that fail to come.
#include "classd/command.h"
#include "classd/reload.h"
#include "tests/unit/scheduler_jobs.h"

#include <errno.h>
#include <sched.h>

static void a_job_comes_as_page_class_place_share(void **state)
{
    struct node *node = *state;
    clear(node);
    struct process *process = come(node, "a", A);
    assert_string_equal(test_backend_log(node->backend), "open job-0-a\nshare job-0-a max\n"
                                                         "place job-0-a 5000001\n"
                                                         "share job-0-a max\n");
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED);
    assert_int_equal(process->job->page->member_count, 1);
    assert_int_equal(process->job->page->members[0].pid, A);
    assert_int_equal(process->job->page->degree, 1);
}

static void losers_go_first_page_before_quota(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    next_slice(node);
    // The loser is told before its limit; the winner, still idle by its page, after its own. What
    // follows is the first SWITCH asserting everything once more.
    const char *expected = "a 10000 while idle\nb 990000 while idle\n";
    assert_memory_equal(effects.text, expected, strlen(expected));
    assert_int_equal(flags_of(node, "a"), STATUS_CONTENDED);
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED | STATUS_CONTENDED);
}

static void who_is_idle_no_more_is_called(void **state)
{
    struct node *node = *state;
    const struct job *a = come(node, "a", A)->job;
    struct process *only_b = come(node, "b", B);
    const struct job *b = only_b->job;
    scheduler_called(node->scheduler);
    next_slice(node);
    assert_true(scheduler_calls(node->scheduler));
    assert_false(a->called);
    assert_true(b->called);
    scheduler_called(node->scheduler);
    assert_false(scheduler_calls(node->scheduler));
    assert_false(b->called);
    scheduler_exit(node->scheduler, only_b, node->now_ns); // a has the node
    assert_true(scheduler_calls(node->scheduler));
    assert_true(a->called);
    scheduler_called(node->scheduler);
    scheduler_switch(node->scheduler, node->now_ns, 0); // alone, and stays it
    assert_false(scheduler_calls(node->scheduler));
}

static void regular_switches_write_only_changes(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    clear(node);
    next_slice(node);
    assert_string_equal(effects.text, "b 10000 while idle\na 990000 while idle\n");
}

static void after_a_silence_everything_is_asserted(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    come(node, "c", C);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    clear(node);
    node->now_ns += 2 * node->config.time_slice_ns; // timerd has lifted all limits by now
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_non_null(strstr(effects.text, "a 10000"));
    assert_non_null(strstr(effects.text, "b 10000"));
    assert_non_null(strstr(effects.text, "c 980000"));
}

// It lifts everything once more when the answer to its SWITCH comes late.
static void a_turn_after_a_silence_asserts_again(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    come(node, "c", C);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    node->now_ns += 2 * node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    unsigned lines[2];
    for (int turn = 0; turn < 2; turn++) {
        clear(node);
        next_slice(node);
        lines[turn] = 0;
        for (const char *at = effects.text; (at = strchr(at, '\n')) != NULL; at++)
            lines[turn]++;
    }
    assert_int_equal(lines[0], 2 + 3); // who loses and who gets the node, then all
    assert_int_equal(lines[1], 2);
}

static void a_limit_that_cannot_be_set_leaves_the_job_free(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    node->now_ns += node->config.time_slice_ns;
    test_backend_fail(node->backend, "share", EIO, 1);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    const char *expected = "a 10000 while idle\na max while idle\nb 990000 while idle\n";
    assert_memory_equal(effects.text, expected, strlen(expected));
}

static void a_kernel_that_refuses_limits_harms_nobody(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    test_backend_fail(node->backend, "share", EIO, 1000);
    struct process *b = come(node, "b", B);
    next_slice(node);
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED);
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED);
    assert_true(b->job->share_failed);
}

static void a_limit_that_cannot_be_lifted_is_lifted_later(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    struct process *b = come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 0); // one of them is limited from here on
    bool a_goes = flags_of(node, "a") & STATUS_SCHEDULED;
    test_backend_fail(node->backend, "share", EINTR, 1);
    scheduler_exit(node->scheduler, a_goes ? a : b, node->now_ns);
    clear(node);
    next_slice(node);
    assert_string_equal(effects.text,
                        a_goes ? "b max while scheduled\n" : "a max while scheduled\n");
    clear(node);
    next_slice(node);
    assert_string_equal(effects.text, "");
}

// On how many of 20 ticks, right after it has come, a newcomer has the node; it says that all its
// nodes know of it `later_ns` after the tick.
static unsigned first_turns_at_once(struct node *node, int64_t later_ns)
{
    unsigned turns = 0;
    uint64_t slice_ns = node->config.time_slice_ns, wall_ns = 1000 * slice_ns;
    for (int i = 0; i < 20; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        for (int tick = 0; tick < 4; tick++, node->now_ns += slice_ns, wall_ns += slice_ns)
            scheduler_switch(node->scheduler, node->now_ns, wall_ns);
        starts_ns = (uint64_t)((int64_t)wall_ns + later_ns);
        struct process *newcomer = come(node, name, C);
        scheduler_switch(node->scheduler, node->now_ns, wall_ns);
        turns += (flags_of(node, name) & STATUS_SCHEDULED) != 0;
        scheduler_exit(node->scheduler, newcomer, node->now_ns);
        starts_ns = 0;
    }
    return turns;
}

static void a_newcomer_has_no_turn_before_all_its_nodes_know_of_it(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 999 * node->config.time_slice_ns);
    assert_int_equal(first_turns_at_once(node, 1), 0);
    assert_in_range(first_turns_at_once(node, -1), 1, 20);
    // Another time of day is none: by that it would have a turn after some slices.
    int64_t ahead_ns = (int64_t)(NS_PER_SEC + 3 * node->config.time_slice_ns);
    assert_in_range(first_turns_at_once(node, ahead_ns), 1, 20);
}

// On each of its nodes another job of one rank is beside it: all have to come to the same order.
static void a_wide_job_has_the_same_turns_beside_any_small_ones(void **state)
{
    struct node *node = *state;
    uint64_t slice_ns = node->config.time_slice_ns;
    world_of_who_comes.ranks = 2;
    come(node, "wide", A);
    world_of_who_comes.ranks = 1;
    for (int i = 0; i < 16; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        struct process *small = come(node, name, B);
        for (uint64_t turn = 1000; turn < 1008; turn++, node->now_ns += slice_ns) {
            scheduler_switch(node->scheduler, node->now_ns, turn * slice_ns);
            if (turn >= 1006) // by then nobody has come for two rounds
                assert_int_equal((flags_of(node, "wide") & STATUS_SCHEDULED) != 0, turn % 2 == 0);
        }
        scheduler_exit(node->scheduler, small, node->now_ns);
    }
}

static void who_comes_back_is_as_far_ahead(void **state)
{
    struct node *node = *state;
    struct protocol_node_record record;
    come(node, "a", A);
    struct process *b = come(node, "b", B);
    test_backend_set_usage(node->backend, "job-0-b", 3600 * NS_PER_SEC);
    scheduler_exit(node->scheduler, b, node->now_ns);
    struct process *c = come(node, "c", C);
    node->now_ns += node->config.gmet_ns;
    scheduler_request(node->scheduler, c, node->now_ns);
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.requests_discarded, 1);
    assert_int_equal(record.requests_granted, 0);
}

static void the_end_lifts_what_the_backend_cannot(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    clear(node);
    test_backend_fail(node->backend, "share", EIO, 1); // of all classes at once
    scheduler_lift(node->scheduler);
    assert_non_null(strstr(effects.text, "a max"));
    assert_non_null(strstr(effects.text, "b max"));
}

static void without_a_timer_jobs_still_take_turns(void **state)
{
    struct node *node = *state;
    struct protocol_node_record record;
    uint64_t slice_ns = node->config.time_slice_ns;
    assert_int_equal(scheduler_deadline_ns(node->scheduler), SCHEDULER_NO_DEADLINE);
    come(node, "a", A);
    come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    for (int i = 0; i < 4; i++) {
        uint16_t before = flags_of(node, "a");
        assert_int_equal(scheduler_deadline_ns(node->scheduler), node->now_ns + 2 * slice_ns);
        node->now_ns += 2 * slice_ns;
        scheduler_deadline(node->scheduler, node->now_ns, 0);
        assert_int_equal(flags_of(node, "a") ^ before, STATUS_SCHEDULED);
    }
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.switches, 1); // those that were asked for
}

static uint64_t silence_of(const struct node *node)
{
    struct protocol_node_record record;
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    return record.timer_silent_ns;
}

static void the_timers_silence_is_told(void **state)
{
    struct node *node = *state;
    assert_int_equal(silence_of(node), 1); // 0 would be another classd
    node->now_ns += NS_PER_SEC;
    assert_int_equal(silence_of(node), NS_PER_SEC);
    come(node, "a", A);
    come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(silence_of(node), 1);
    node->now_ns += 2 * node->config.time_slice_ns;
    scheduler_deadline(node->scheduler, node->now_ns, 0); // which nobody asked for
    assert_int_equal(silence_of(node), 2 * node->config.time_slice_ns);
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_int_equal(silence_of(node), 2 * node->config.time_slice_ns);
    node->config.time_slice_ns /= 4;
    scheduler_reconfigure(node->scheduler, node->now_ns); // timerd learns of it now
    assert_int_equal(silence_of(node), 1);
}

static void a_shorter_slice_is_no_silence(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    node->now_ns += node->config.time_slice_ns / 2;
    node->config.time_slice_ns /= 16;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_int_equal(scheduler_deadline_ns(node->scheduler),
                     node->now_ns + 2 * node->config.time_slice_ns);
}

static void a_timer_that_is_back_finds_limits_asserted(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    come(node, "c", C);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    node->now_ns += 2 * node->config.time_slice_ns;
    scheduler_deadline(node->scheduler, node->now_ns, 0);
    clear(node);
    node->now_ns += NS_PER_MS; // timerd may have lifted limits up to now
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_non_null(strstr(effects.text, "a "));
    assert_non_null(strstr(effects.text, "b "));
    assert_non_null(strstr(effects.text, "c "));
}

static void a_failed_registration_leaves_nothing(void **state)
{
    static const char *const operations[] = {"open", "place"};
    struct node *node = *state;
    struct protocol_node_record record;
    struct process *process;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        test_backend_fail(node->backend, operations[i], EACCES, 1);
        assert_int_equal(try(node, "a", A, &process), EACCES);
        assert_null(process);
        scheduler_describe_node(node->scheduler, &record, node->now_ns);
        assert_int_equal(record.jobs, 0);
        assert_int_equal(record.processes, 0);
        int jobs = openat(node->dir_fd, STATUS_PAGE_DIRECTORY, O_RDONLY | O_DIRECTORY);
        assert_int_equal(faccessat(jobs, "0-a", F_OK, 0), -1);
        close(jobs);
    }
    come(node, "a", A);
}

static void limits_of_the_configuration_hold(void **state)
{
    struct node *node = *state;
    struct process *process;
    come(node, "a", A);
    come(node, "a", A2);
    assert_int_equal(try(node, "a", D, &process), ENOSPC);
    come(node, "b", B);
    come(node, "c", C);
    assert_int_equal(try(node, "d", D, &process), ENOSPC);
    assert_int_equal(try(node, "b", A, &process), EBUSY);
}

static void registering_again_renews_the_serial(void **state)
{
    struct node *node = *state;
    struct process *process = come(node, "a", A);
    uint64_t serial = process->serial;
    assert_ptr_equal(come(node, "a", A), process);
    assert_null(scheduler_find(node->scheduler, A, serial));
    assert_ptr_equal(scheduler_find(node->scheduler, A, process->serial), process);
    assert_int_equal(process->job->process_count, 1);
}

// Nobody goes for the sum of what the process had and what it gets.
static void another_width_disturbs_nobody_who_fits(void **state)
{
    struct node *node = *state;
    node_stop(node);
    node->config.cpus = 4;
    node_start(node);
    width = 2;
    come(node, "a", A);
    width = 1;
    come(node, "b", B);
    clear(node);
    width = 2;
    come(node, "b", B);
    width = 1;
    assert_string_equal(effects.text, "");
    assert_string_equal(test_backend_log(node->backend), "");
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED);
    width = 3; // together they are too wide now
    come(node, "b", B);
    width = 1;
    assert_string_not_equal(effects.text, "");
}

static void exit_expels_and_the_last_one_removes(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    struct process *a2 = come(node, "a", A2);
    clear(node);
    scheduler_exit(node->scheduler, a, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "expel job-0-a 5000001\n"));
    assert_int_equal(a2->job->page->member_count, 1);
    assert_int_equal(a2->job->page->members[0].pid, A2);
    clear(node);
    scheduler_exit(node->scheduler, a2, node->now_ns);
    assert_string_equal(test_backend_log(node->backend), "remove job-0-a\n");
}

static void who_was_never_told_is_no_member(void **state)
{
    struct node *node = *state;
    struct commands commands = {.scheduler = node->scheduler, .config = &node->config};
    struct protocol_node_record record;
    struct process *a = come(node, "a", A);
    struct caller caller = {.peer.pid = A, .socket_fd = -1, .serial = a->serial};
    assert_false(a->again);
    assert_false(
        command_withdraw(&commands, &caller, node->now_ns)); // a lost connection is no EXIT
    caller.untold = true;
    assert_ptr_equal(come(node, "a", A), a); // by another connection, where it may have been told
    assert_true(a->again);
    assert_false(command_withdraw(&commands, &caller, node->now_ns));
    caller.serial = a->serial;
    assert_true(command_withdraw(&commands, &caller, node->now_ns));
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.jobs, 0);
    assert_false(command_withdraw(&commands, &caller, node->now_ns));
}

static void usage_is_counted_from_registration(void **state)
{
    struct node *node = *state;
    test_backend_set_usage(node->backend, "job-0-a", 50 * NS_PER_SEC); // a class that was there
    struct process *a = come(node, "a", A);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(a->job->page->service_ns, 0);
    test_backend_set_usage(node->backend, "job-0-a", 57 * NS_PER_SEC);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(a->job->page->service_ns, 7 * NS_PER_SEC);
}

static bool request_preempts(struct node *node, struct process *process, uint64_t now_ns)
{
    node->now_ns = now_ns;
    scheduler_request(node->scheduler, process, now_ns);
    return flags_of(node, process->job->job_id) & STATUS_SCHEDULED;
}

// Each key of section [dcs] reaches the policy, and changes under running jobs.
static void dynamic_coscheduling_follows_its_section(void **state)
{
    struct node *node = *state;
    struct config *config = &node->config;
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    uint64_t came_ns = node->now_ns;
    strcpy(config->policy, "dcs");
    config->dcs_exponent = -2;
    config->dcs_calibrate = false;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_false(request_preempts(node, b, came_ns + 159 * NS_PER_MS));
    assert_true(request_preempts(node, b, came_ns + 160 * NS_PER_MS));
    config->dcs_exponent = 1;
    config->dcs_quantum_ns = 200 * NS_PER_MS;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_false(request_preempts(node, a, came_ns + 199 * NS_PER_MS));
    config->dcs_quantum_ns = 20 * NS_PER_MS;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_true(request_preempts(node, a, came_ns + 199 * NS_PER_MS));
    config->dcs_exponent = -16;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_false(request_preempts(node, b, came_ns + 230 * NS_PER_MS));
    config->dcs_constant_ns = 40 * NS_PER_MS;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    assert_true(request_preempts(node, b, came_ns + 230 * NS_PER_MS));
    config->dcs_constant_ns = 0;
    config->dcs_calibrate = true;
    scheduler_reconfigure(node->scheduler, node->now_ns);
    test_backend_set_usage(node->backend, "job-0-b", NS_PER_SEC);
    assert_true(request_preempts(node, a, came_ns + 260 * NS_PER_MS)); // it has had so much less
}

static void only_dynamic_coscheduling_tells_its_terms(void **state)
{
    struct node *node = *state;
    struct config *config = &node->config;
    struct protocol_node_record record;
    config->dcs_exponent = -2;
    config->dcs_constant_ns = 30 * NS_PER_MS;
    config->dcs_calibrate = true;
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.dcs_quantum_ns, 0);
    assert_int_equal(record.dcs_exponent, 0);
    strcpy(config->policy, "dcs");
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.dcs_quantum_ns, config->dcs_quantum_ns);
    assert_int_equal(record.dcs_constant_ns, 30 * NS_PER_MS);
    assert_int_equal(record.dcs_exponent, -2);
    assert_int_equal(record.dcs_calibrate, 1);
}

static void requests_are_counted(void **state)
{
    struct node *node = *state;
    struct protocol_node_record record;
    come(node, "a", A);
    struct process *b = come(node, "b", B);
    scheduler_request(node->scheduler, b, node->now_ns + NS_PER_MS);
    node->now_ns += node->config.gmet_ns;
    scheduler_request(node->scheduler, b, node->now_ns);
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.requests, 2);
    assert_int_equal(record.requests_discarded, 1);
    assert_int_equal(record.requests_granted, 1);
    assert_int_equal(b->job->requests, 2);
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED | STATUS_CONTENDED);
}

static uint64_t start_of(pid_t pid)
{
    uint64_t start_time = 0;
    assert_int_equal(process_start_time(pid, &start_time, NULL), 0);
    return start_time;
}

// Its number may have been another's while it was placed.
static void who_ends_while_it_is_placed_is_no_member(void **state)
{
    struct node *node = *state;
    pid_t pid = sleeper();
    int pidfd = process_pin(pid, start_of(pid), NULL);
    assert_true(pidfd >= 0);
    struct protocol_register wish = {.width = 1, .ranks = 2, .job_id = "a"};
    struct applicant applicant = {
        .pid = pid, .start_time = start_of(pid), .pidfd = pidfd, .wish = &wish};
    struct process *process = NULL;
    struct protocol_node_record record;
    struct error err;
    come(node, "a", A);
    clear(node);
    end(pid);
    assert_int_equal(scheduler_register(node->scheduler, &applicant, node->now_ns, &process, &err),
                     -1);
    assert_int_equal(err.code, ESRCH);
    assert_non_null(strstr(test_backend_log(node->backend), "expel job-0-a"));
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(record.processes, 1);
}

// The limits were made for the CPUs of the start.
static void the_cpus_of_the_start_are_those_of_a_reload(void **state)
{
    struct node *node = *state;
    struct protocol_node_record record;
    cpu_set_t usual, one;
    char path[64];
    assert_int_equal(sched_getaffinity(0, sizeof usual, &usual), 0);
    if (CPU_COUNT(&usual) < 2)
        skip();
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &usual))
            CPU_SET(cpu, &one);
    node_stop(node);
    node->config.cpus = 0;
    config_hold_cpus(&node->config, 0);
    node_start(node);
    snprintf(path, sizeof path, "%s/x.ini", node->dir);
    fclose(fopen(path, "we"));
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(reload(path, &node->config, NULL), 0);
    scheduler_reconfigure(node->scheduler, node->now_ns);
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    assert_int_equal(sched_setaffinity(0, sizeof usual, &usual), 0);
    unlink(path);
    assert_int_equal(record.cpus, CPU_COUNT(&usual));
}

// Slices are numbered by the wall clock, on the pages of all jobs; 0 where that is not known.
static void slices_are_numbered(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    struct process *b = come(node, "b", B);
    assert_int_equal(a->job->page->turn, 0);
    for (uint64_t turn = 600; turn < 603; turn++) {
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, turn * node->config.time_slice_ns);
        assert_int_equal(a->job->page->turn, status_turn(turn));
        assert_int_equal(b->job->page->turn, status_turn(turn));
    }
    assert_int_equal(come(node, "c", C)->job->page->turn, a->job->page->turn);
    next_slice(node);
    assert_int_equal(a->job->page->turn, 0);
}

static uint32_t epochs_of_a_slice(struct node *node, const struct process *process)
{
    uint32_t epoch = status_word_epoch(process->job->page->word);
    next_slice(node);
    return status_word_epoch(process->job->page->word) - epoch;
}

// Processes that run look once in each slice what those of other nodes say, also where nobody else
// wants the CPUs; a job that is here alone has nobody to hear.
static void who_runs_for_another_slice_is_told_so(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    a->job->worlds.all->ranks = 2;
    assert_int_equal(epochs_of_a_slice(node, a), 1);
    a->job->worlds.all->ranks = 1;
    assert_int_equal(epochs_of_a_slice(node, a), 0);
}

static void lifting_frees_everybody(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    scheduler_lift(node->scheduler);
    assert_string_equal(test_backend_log(node->backend), "share job-0-a max\nshare job-0-b max\n");
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED);
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slices_are_numbered),
        TEST(who_runs_for_another_slice_is_told_so),
        TEST(a_job_comes_as_page_class_place_share),
        TEST(losers_go_first_page_before_quota),
        TEST(who_is_idle_no_more_is_called),
        TEST(regular_switches_write_only_changes),
        TEST(after_a_silence_everything_is_asserted),
        TEST(a_turn_after_a_silence_asserts_again),
        TEST(a_limit_that_cannot_be_set_leaves_the_job_free),
        TEST(a_kernel_that_refuses_limits_harms_nobody),
        TEST(a_limit_that_cannot_be_lifted_is_lifted_later),
        TEST(a_newcomer_has_no_turn_before_all_its_nodes_know_of_it),
        TEST(a_wide_job_has_the_same_turns_beside_any_small_ones),
        TEST(who_comes_back_is_as_far_ahead),
        TEST(the_end_lifts_what_the_backend_cannot),
        TEST(without_a_timer_jobs_still_take_turns),
        TEST(the_timers_silence_is_told),
        TEST(a_shorter_slice_is_no_silence),
        TEST(a_timer_that_is_back_finds_limits_asserted),
        TEST(a_failed_registration_leaves_nothing),
        TEST(who_ends_while_it_is_placed_is_no_member),
        TEST(limits_of_the_configuration_hold),
        TEST(registering_again_renews_the_serial),
        TEST(another_width_disturbs_nobody_who_fits),
        TEST(exit_expels_and_the_last_one_removes),
        TEST(who_was_never_told_is_no_member),
        TEST(usage_is_counted_from_registration),
        TEST(dynamic_coscheduling_follows_its_section),
        TEST(only_dynamic_coscheduling_tells_its_terms),
        TEST(requests_are_counted),
        TEST(the_cpus_of_the_start_are_those_of_a_reload),
        TEST(lifting_frees_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
