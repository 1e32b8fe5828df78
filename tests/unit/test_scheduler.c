// The scheduler over the backend in memory: order of effects, failures that must leave a job free,
// and adoption. class_set_share() is wrapped, so that a test sees what the status page said at the
// moment of each write.
#include "classd/adopt.h"
#include "classd/command.h"
#include "classd/deaths.h"
#include "classd/process.h"
#include "classd/reload.h"
#include "tests/unit/scheduler_node.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

// What was effected, in order: "a quota 10000 page idle" and the like.
static struct {
    char text[4096];
    const struct node *node;
} effects;

int __real_class_set_share(class_t *class_, uint32_t share_ppm, struct error *err);
int __wrap_class_set_share(class_t *class_, uint32_t share_ppm, struct error *err);

static uint16_t flags_of(const struct node *node, const char *job_id)
{
    char name[PAGE_NAME_MAX];
    struct status_page *page = NULL;
    int fd = -1;
    page_name(name, 0, job_id);
    int jobs = openat(node->dir_fd, STATUS_PAGE_DIRECTORY, O_RDONLY | O_DIRECTORY);
    assert_int_equal(status_page_open(jobs, name, true, &page, &fd, NULL), 0);
    uint16_t flags = status_word_flags(atomic_load(&page->word));
    status_page_close(page, fd);
    close(jobs);
    return flags;
}

int __wrap_class_set_share(class_t *class_, uint32_t share_ppm, struct error *err)
{
    const char *job_id = class_name(class_) + strlen("job-0-");
    size_t used = strlen(effects.text);
    char share[16] = "max";
    if (share_ppm != BACKEND_UNLIMITED)
        snprintf(share, sizeof share, "%u", share_ppm);
    snprintf(effects.text + used, sizeof effects.text - used, "%s %s while %s\n", job_id, share,
             flags_of(effects.node, job_id) & STATUS_SCHEDULED ? "scheduled" : "idle");
    return __real_class_set_share(class_, share_ppm, err);
}

// What the page of a job says whenever a process enters it.
static uint32_t fewest_members;

int __real_deaths_watch(int deaths, struct process *process, struct error *err);
int __wrap_deaths_watch(int deaths, struct process *process, struct error *err);

int __wrap_deaths_watch(int deaths, struct process *process, struct error *err)
{
    if (process->job->page->member_count < fewest_members)
        fewest_members = process->job->page->member_count;
    return __real_deaths_watch(deaths, process, err);
}

static int set_up(void **state)
{
    struct node *node = node_new();
    node->config.strict = true;
    node->config.max_jobs = 3;
    node->config.max_processes = 2;
    effects.node = node;
    node_start(node);
    *state = node;
    return 0;
}

static uint64_t starts_ns; // of who comes
static uint32_t width = 1; // likewise

static int try(struct node *node, const char *job_id, pid_t pid, struct process **process)
{
    struct protocol_register wish = {.width = width, .ranks = 1, .starts_ns = starts_ns};
    struct error err = {0};
    uint64_t start_time = 1;
    snprintf(wish.job_id, sizeof wish.job_id, "%s", job_id);
    if (node->list != NULL)
        strcpy(wish.list, node->list);
    process_start_time(pid, &start_time, NULL); // pids of tests that need no process have none
    struct applicant applicant = {.pid = pid, .start_time = start_time, .pidfd = -1, .wish = &wish};
    return scheduler_register(node->scheduler, &applicant, node->now_ns, process, &err) == 0
               ? 0
               : err.code;
}

// Pids that no process can have.
enum { A = 5000001, A2, B, B2, C, D };

static struct process *come(struct node *node, const char *job_id, pid_t pid)
{
    struct process *process = NULL;
    assert_int_equal(try(node, job_id, pid, &process), 0);
    return process;
}

static void clear(struct node *node)
{
    test_backend_clear_log(node->backend);
    effects.text[0] = '\0';
}

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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
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
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, 0);
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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_string_equal(effects.text,
                        a_goes ? "b max while scheduled\n" : "a max while scheduled\n");
    clear(node);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_string_equal(effects.text, "");
}

// Runs one removal that is due; true: the class is gone.
static bool class_goes(struct node *node, const char *removal)
{
    node->now_ns = scheduler_deadline_ns(node->scheduler);
    scheduler_leave_on(node->scheduler, node->now_ns);
    return strstr(test_backend_log(node->backend), removal) != NULL;
}

static void who_parts_hands_over_its_turn_and_keeps_its_class_for_a_moment(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    struct process *b = come(node, "b", B), *b2 = come(node, "b", B2);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(flags_of(node, "b"), STATUS_SCHEDULED | STATUS_CONTENDED);
    clear(node);
    scheduler_part(node->scheduler, b, node->now_ns);
    assert_string_equal(test_backend_log(node->backend), ""); // its mate is still there
    assert_int_equal(flags_of(node, "a"), STATUS_CONTENDED);
    scheduler_part(node->scheduler, b2, node->now_ns);
    assert_int_equal(flags_of(node, "a"), STATUS_SCHEDULED);
    assert_null(strstr(test_backend_log(node->backend), "expel"));
    assert_null(strstr(test_backend_log(node->backend), "remove"));
    uint64_t most_ns = node->now_ns + node->config.time_slice_ns;
    assert_true(class_goes(node, "remove job-0-b\n"));
    assert_in_range(node->now_ns, most_ns - node->config.time_slice_ns + 1, most_ns);
}

static void who_parts_idle_is_limited_no_more(void **state)
{
    struct node *node = *state;
    come(node, "a", A);
    struct process *b = come(node, "b", B);
    come(node, "c", C);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    if (flags_of(node, "b") & STATUS_SCHEDULED) {
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, 0);
    }
    assert_int_equal(flags_of(node, "b"), STATUS_CONTENDED);
    clear(node);
    scheduler_part(node->scheduler, b, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "share job-0-b max\n"));
    assert_true(class_goes(node, "remove job-0-b\n"));
}

// One whose mates do not part, after all, leaves as everybody does.
static void who_parts_alone_can_leave(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A), *a2 = come(node, "a", A2);
    come(node, "b", B);
    scheduler_part(node->scheduler, a, node->now_ns);
    clear(node);
    scheduler_exit(node->scheduler, a, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "expel job-0-a 5000001\n"));
    assert_int_equal(a2->job->process_count, 1);
}

// Who says PART and stays for long, again and again, is without a limit for a tenth of the time.
static void who_parts_often_gains_little(void **state)
{
    enum { TIMES = 50 };
    struct node *node = *state;
    come(node, "a", A);
    uint64_t free_ns = 0, limited_ns = 0;
    for (int i = 0; i < TIMES; i++) {
        struct process *b = come(node, "b", B);
        uint64_t stays_ns = (uint64_t)i * 100 * NS_PER_MS / TIMES;
        node->now_ns += stays_ns;
        clear(node);
        scheduler_part(node->scheduler, b, node->now_ns);
        uint64_t parted_ns = node->now_ns;
        if (strstr(test_backend_log(node->backend), "remove") == NULL)
            assert_true(class_goes(node, "remove job-0-b\n"));
        free_ns += node->now_ns - parted_ns;
        limited_ns += stays_ns;
    }
    assert_in_range(free_ns, limited_ns / 12, limited_ns / 9);
}

// Their places come home before a job of the same name is made, which would know no way back.
static void who_comes_back_at_once_is_not_kept(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    node->now_ns += node->config.time_slice_ns;
    scheduler_part(node->scheduler, a, node->now_ns);
    clear(node);
    come(node, "a", A);
    assert_memory_equal(test_backend_log(node->backend), "remove job-0-a\n", 15);
    clear(node);
    scheduler_leave_on(node->scheduler, node->now_ns + NS_PER_SEC);
    assert_string_equal(test_backend_log(node->backend), "");
}

static void nobody_is_kept_in_a_class_in_place(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    struct process *a = come(node, "a", A);
    node->now_ns += node->config.time_slice_ns;
    clear(node);
    scheduler_part(node->scheduler, a, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-0-a\n"));
}

// With one job name after the other.
static void classes_of_who_parted_do_not_pile_up(void **state)
{
    enum { JOBS = 100, KEPT_MOST = 16 };
    struct node *node = *state;
    char name[8];
    unsigned removed = 0;
    for (int i = 0; i < JOBS; i++) {
        snprintf(name, sizeof name, "p%d", i);
        struct process *process = come(node, name, A);
        process->job->registered_ns = 0; // long ago
        clear(node);
        scheduler_part(node->scheduler, process, node->now_ns);
        char removal[32];
        snprintf(removal, sizeof removal, "remove job-0-%s\n", name);
        removed +=
            strstr(test_backend_log(node->backend), removal) != NULL; // its own, no older one
    }
    assert_int_equal(removed, JOBS - KEPT_MOST);
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

static pid_t sleeper(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG,
              SIGKILL); // a test that fails leaves nobody who holds its output open
        pause();
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
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
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
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

static void adopt_anew(struct node *node, bool farewell)
{
    if (farewell)
        scheduler_lift(node->scheduler);
    node_stop(node);
    node_start(node);
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
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
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, 0);
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

static void become_gang(struct node *node)
{
    strcpy(node->config.policy, "gang");
    node->config.gang_slot_ns = 200 * NS_PER_MS;
    scheduler_reconfigure(node->scheduler, node->now_ns);
}

// As ranks do at MPI_Init: asks, chooses, reserves, takes.
static uint64_t agree_alone(struct node *node, const struct process *process)
{
    struct slots_offer offer = slots_offer_any();
    struct protocol_offer answer;
    scheduler_offer(node->scheduler, process, &answer, node->now_ns);
    for (unsigned i = 0; i < SLOTS_LEVELS; i++) {
        offer.slots[i] = answer.slots[i];
        offer.most[i] = slots_most(answer.most[i]);
    }
    offer.cut = answer.cut;
    offer.room = slots_most(SLOTS_ROUND - answer.dummies);
    struct slots_choice choice = slots_choose(&offer, 1);
    struct protocol_claim claim = {.slots = choice.slots, .due = choice.due, .term = 3};
    claim.slots = scheduler_claim(node->scheduler, process, &claim, node->now_ns);
    claim.final = 1;
    return scheduler_claim(node->scheduler, process, &claim, node->now_ns);
}

static uint64_t word_of(const struct process *process)
{
    return process->job->page->slots;
}

// The clock says whose slot it is, however late it is asked; pages tell who has which.
static void slots_are_agreed_and_kept_to(void **state)
{
    struct node *node = *state;
    become_gang(node);
    struct process *a = come(node, "a", A);
    assert_int_equal(agree_alone(node, a), SLOTS_ALL);
    struct process *b = come(node, "b", B);
    assert_int_equal(slots_count(agree_alone(node, b)), 30);
    assert_int_equal(slots_of_word(word_of(a)) ^ slots_of_word(word_of(b)), SLOTS_ALL);
    assert_int_equal(slots_term_of_word(word_of(b)), 3);
    for (uint64_t turn = 600; turn < 720; turn++) {
        uint64_t wall_ns = turn * node->config.gang_slot_ns + turn % 3 * 60 * NS_PER_MS;
        node->now_ns += node->config.gang_slot_ns;
        scheduler_switch(node->scheduler, node->now_ns, wall_ns);
        bool own = slots_of_word(word_of(b)) >> turn % SLOTS_ROUND & 1;
        assert_int_equal(flags_of(node, "b") & STATUS_SCHEDULED, own ? STATUS_SCHEDULED : 0);
        assert_int_equal(flags_of(node, "a") & STATUS_SCHEDULED, own ? 0 : STATUS_SCHEDULED);
    }
}

static uint64_t cut_of(struct node *node, const struct process *process)
{
    struct protocol_offer answer;
    scheduler_offer(node->scheduler, process, &answer, node->now_ns);
    return answer.cut;
}

// A job begins in the list that it asks for, or in the first; the next classd knows.
static void jobs_begin_in_a_list(void **state)
{
    static const struct {
        const char *list;
        uint64_t cut;
    } jobs[] = {{"", SLOTS_ALL}, {"long", UINT64_C(0x111111111111111)}, {"nowhere", SLOTS_ALL}};
    struct node *node = *state;
    pid_t pids[sizeof jobs / sizeof *jobs];
    strcpy(node->config.gang_lists, "short:1:10min long:4");
    become_gang(node);
    for (unsigned i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char id[] = {(char)('a' + i), '\0'};
        pids[i] = sleeper();
        node->list = jobs[i].list;
        assert_int_equal(cut_of(node, come(node, id, pids[i])), jobs[i].cut);
        node->list = NULL;
        adopt_anew(node, false);
        assert_int_equal(cut_of(node, come(node, id, pids[i])), jobs[i].cut);
    }
    for (unsigned i = 0; i < sizeof jobs / sizeof *jobs; i++)
        end(pids[i]);
}

static void slots_narrow_by_what_others_say(void **state)
{
    struct node *node = *state;
    struct protocol_job_record record;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct protocol_claim claim = {.slots = 0xff, .term = 2};
    uint32_t epoch = status_word_epoch(a->job->page->word);
    scheduler_narrow(node->scheduler, a, &claim);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);
    assert_int_equal(status_word_epoch(a->job->page->word), epoch);
    claim.term = 3;
    scheduler_narrow(node->scheduler, a, &claim);
    assert_int_equal(slots_of_word(word_of(a)), 0xff);
    assert_int_equal(status_word_epoch(a->job->page->word), epoch + 1); // for others to be told
    scheduler_narrow(node->scheduler, a, &claim);
    assert_int_equal(status_word_epoch(a->job->page->word), epoch + 1);
    scheduler_describe_job(node->scheduler, 0, true, 0, &record, node->now_ns);
    assert_int_equal(record.slots, 0xff);
    assert_int_equal(record.slots_agreed, 1);
}

static const struct protocol_clock ahead = {
    .ahead_ns = 3 * (int64_t)NS_PER_SEC, .nodes = 3, .agreeing = 2};

static uint32_t clock_off_jobs(const struct node *node)
{
    struct protocol_node_record record;
    scheduler_describe_node(node->scheduler, &record, node->now_ns);
    return record.clock_off_jobs;
}

// A job's word about the clock costs that job its slots, and nobody else.
static void a_clock_that_is_off_costs_the_job_its_slots(void **state)
{
    struct node *node = *state;
    struct protocol_job_record record;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    agree_alone(node, b);
    uint64_t others = word_of(a);
    assert_false(scheduler_clock_off(b));
    scheduler_report_clock(node->scheduler, b, &ahead);
    assert_true(scheduler_clock_off(b));
    assert_false(scheduler_clock_off(a));
    assert_int_equal(word_of(b), 0); // nor a term, so that nobody elsewhere takes it for a loss
    assert_int_equal(word_of(a), others);
    scheduler_describe_job(node->scheduler, 0, true, 1, &record, node->now_ns);
    assert_int_equal(record.clock.ahead_ns, ahead.ahead_ns);
    assert_int_equal(record.slots_agreed, 0);
    assert_int_equal(clock_off_jobs(node), 1);
    scheduler_report_clock(node->scheduler, b, &(struct protocol_clock){.nodes = 3, .agreeing = 3});
    assert_false(scheduler_clock_off(b));
    assert_int_equal(clock_off_jobs(node), 0);
}

static struct protocol_reply say(struct node *node, const struct process *process,
                                 struct protocol_request request)
{
    struct commands commands = {.scheduler = node->scheduler, .config = &node->config};
    struct caller caller = {.peer.pid = process->pid, .socket_fd = -1, .serial = process->serial};
    struct protocol_reply reply;
    int page_fd;
    assert_true(command_execute(&commands, &caller, &request, node->now_ns, &reply, &page_fd));
    return reply;
}

// The job's other nodes agree without this one: it is for anything, and takes nothing.
static void where_the_clock_is_off_the_choice_is_left_to_others(void **state)
{
    struct node *node = *state;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    struct protocol_request clock = protocol_request_new(PROTOCOL_CLOCK, 1);
    struct protocol_request offer = protocol_request_new(PROTOCOL_OFFER, 2);
    struct protocol_request claim = protocol_request_new(PROTOCOL_CLAIM, 3);
    clock.clock = ahead;
    assert_int_equal(say(node, b, clock).header.status, 0);
    struct protocol_reply reply = say(node, b, offer);
    for (unsigned i = 0; i < SLOTS_LEVELS; i++) {
        assert_int_equal(reply.offer.slots[i], SLOTS_ALL);
        assert_int_equal(reply.offer.most[i], SLOTS_ROUND);
    }
    claim.claim = (struct protocol_claim){.slots = 0xf0f, .due = 30, .term = 3};
    assert_int_equal(say(node, b, claim).claimed.slots, 0xf0f);
    claim.claim.final = 1;
    assert_int_equal(say(node, b, claim).claimed.slots, 0);
    assert_int_equal(word_of(b), 0);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);

    strcpy(node->config.policy, "yoo-jette");
    assert_int_equal(say(node, b, clock).header.status, EOPNOTSUPP);
}

// It has its turns all the same; without any job that has slots as under yoo-jette.
static void a_job_with_its_clock_off_gets_its_part(void **state)
{
    struct node *node = *state;
    unsigned out = 0;
    become_gang(node);
    struct process *a = come(node, "a", A);
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    scheduler_report_clock(node->scheduler, b, &ahead);
    for (uint64_t turn = 600; turn < 720; turn++) {
        node->now_ns += node->config.gang_slot_ns;
        scheduler_switch(node->scheduler, node->now_ns, turn * node->config.gang_slot_ns);
        out += (flags_of(node, "b") & STATUS_SCHEDULED) != 0;
    }
    assert_in_range(out, 58, 62);
}

static void adoption_keeps_what_a_job_said_about_the_clock(void **state)
{
    struct node *node = *state;
    pid_t first = sleeper();
    become_gang(node);
    struct process *a = come(node, "a", first);
    scheduler_report_clock(node->scheduler, a, &ahead);
    adopt_anew(node, false);
    assert_int_equal(clock_off_jobs(node), 1);
    a = come(node, "a", first);
    assert_true(scheduler_clock_off(a));
    end(first);
}

static void set_clock(struct node *node, int64_t by_ns)
{
    static int64_t offset_ns = 1700000000 * (int64_t)NS_PER_SEC;
    offset_ns += by_ns;
    scheduler_clock_at(node->scheduler, offset_ns);
}

// Then this node's slots are not those of its jobs' other nodes.
static void a_clock_that_is_set_costs_jobs_of_several_nodes_their_slots(void **state)
{
    struct node *node = *state;
    int64_t tenth_ns = (int64_t)(20 * NS_PER_MS);
    become_gang(node);
    struct process *a = come(node, "a", A), *b = come(node, "b", B);
    b->job->ranks = 2;
    agree_alone(node, a);
    agree_alone(node, b);
    uint64_t here = word_of(a);
    set_clock(node, 0);
    set_clock(node, tenth_ns);
    assert_int_equal(clock_off_jobs(node), 0);
    set_clock(node, 1); // in all
    assert_int_equal(clock_off_jobs(node), 1);
    assert_int_equal(word_of(a), here);
    assert_int_equal(word_of(b), 0);
    struct process *c = come(node, "c", C); // it agrees by the clock as it is now
    c->job->ranks = 2;
    agree_alone(node, c);
    set_clock(node, -tenth_ns);
    assert_false(scheduler_clock_off(c));
    set_clock(node, -(int64_t)(3600 * NS_PER_SEC));
    assert_true(scheduler_clock_off(c));
    assert_int_equal(word_of(a), here);
}

static void under_other_policies_a_clock_may_be_set(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    a->job->ranks = 2;
    set_clock(node, 0);
    set_clock(node, (int64_t)NS_PER_SEC);
    assert_false(scheduler_clock_off(a));
}

// timerd is dead, and classd switches at every second slice: by the clock that would be the same
// job's each time.
static void nobody_starves_without_timerd(void **state)
{
    struct node *node = *state;
    unsigned out = 0;
    become_gang(node);
    agree_alone(node, come(node, "a", A));
    agree_alone(node, come(node, "b", B));
    scheduler_switch(node->scheduler, node->now_ns, 600 * node->config.gang_slot_ns);
    uint64_t start_ns = node->now_ns;
    for (int i = 0; i < 30; i++) {
        node->now_ns = scheduler_deadline_ns(node->scheduler);
        uint64_t wall_ns = 600 * node->config.gang_slot_ns + node->now_ns - start_ns;
        scheduler_deadline(node->scheduler, node->now_ns, wall_ns);
        out += (flags_of(node, "a") & STATUS_SCHEDULED) != 0;
    }
    assert_in_range(out, 14, 16);
}

// So many slots pass; returns how often the page told job a's processes to look.
static unsigned pass_slots(struct node *node, const struct process *a, uint64_t *turn,
                           unsigned count)
{
    uint32_t epoch = status_word_epoch(a->job->page->word);
    for (unsigned i = 0; i < count; i++) {
        node->now_ns += node->config.gang_slot_ns;
        scheduler_switch(node->scheduler, node->now_ns, ++*turn * node->config.gang_slot_ns);
    }
    return status_word_epoch(a->job->page->word) - epoch;
}

// Of two jobs, one of them on other nodes too if `elsewhere`, the other ends. Nobody is told
// anything before.
static struct process *open_halves_of_which_one_ends(struct node *node, bool elsewhere,
                                                     uint64_t *turn)
{
    become_gang(node);
    struct process *a = come(node, "a", A);
    a->job->ranks = elsewhere ? 2 : 1;
    agree_alone(node, a);
    struct process *b = come(node, "b", B);
    agree_alone(node, b);
    pass_slots(node, a, turn, 2 * SLOTS_ROUND);
    assert_int_equal(slots_count(slots_of_word(word_of(a))), 30);
    assert_int_equal(a->job->page->more_slots, 0);
    scheduler_exit(node->scheduler, b, node->now_ns);
    return a;
}

static void a_job_of_this_node_alone_takes_what_is_free(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, false, &turn);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(slots_of_word(word_of(a)), SLOTS_ALL);
    assert_int_equal(slots_term_of_word(word_of(a)), 3);
    assert_int_equal(pass_slots(node, a, &turn, 5 * SLOTS_ROUND), 0);
    assert_int_equal(a->job->page->more_slots, 0);
}

static void a_job_of_other_nodes_is_told_to_look(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(slots_count(slots_of_word(word_of(a))), 30);
    uint8_t sign = a->job->page->more_slots;
    assert_int_not_equal(sign, 0);
    pass_slots(node, a, &turn, 6 * SLOTS_ROUND);
    assert_int_not_equal(a->job->page->more_slots, sign);
    sign = a->job->page->more_slots;
    assert_int_not_equal(sign, 0);
    // In each slot once, the same thing as a rule: it has looked in vain some times.
    unsigned told = 0;
    for (unsigned i = 0; i < 2 * SLOTS_ROUND; i++) {
        assert_int_equal(pass_slots(node, a, &turn, 1), 1);
        told += a->job->page->more_slots != sign;
        sign = a->job->page->more_slots;
    }
    assert_in_range(told, 0, 1);
    assert_int_equal(agree_alone(node, a), SLOTS_ALL);
    assert_int_equal(a->job->page->more_slots, 0);
    pass_slots(node, a, &turn, 5 * SLOTS_ROUND);
    assert_int_equal(a->job->page->more_slots, 0);
}

// However often it has looked in vain before.
static void a_job_is_told_to_look_soon_after_somebody_came_or_went(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    pass_slots(node, a, &turn, 30 * SLOTS_ROUND);
    for (unsigned i = 0; i < 4; i++) {
        uint8_t sign = a->job->page->more_slots;
        struct process *c = come(node, "c", B);
        pass_slots(node, a, &turn, 40);
        assert_int_not_equal(a->job->page->more_slots, sign);
        sign = a->job->page->more_slots;
        scheduler_exit(node->scheduler, c, node->now_ns);
        pass_slots(node, a, &turn, 40);
        assert_int_not_equal(a->job->page->more_slots, sign);
    }
}

// It has other things to do with the little CPU time that it has then.
static void an_idle_job_is_not_told_to_look(void **state)
{
    struct node *node = *state;
    struct protocol_claim claim = {.slots = 0xff, .term = 3};
    uint64_t turn = 600;
    unsigned idle = 0;
    become_gang(node);
    struct process *a = come(node, "a", A);
    a->job->ranks = 2;
    agree_alone(node, a);
    agree_alone(node, come(node, "b", B));
    scheduler_narrow(node->scheduler, a, &claim);
    pass_slots(node, a, &turn, SLOTS_ROUND);
    assert_int_not_equal(a->job->page->more_slots, 0);
    for (unsigned i = 0; i < SLOTS_ROUND; i++) {
        uint16_t before = flags_of(node, "a");
        unsigned changes = pass_slots(node, a, &turn, 1);
        if ((before & STATUS_SCHEDULED) != 0 || (flags_of(node, "a") & STATUS_SCHEDULED) != 0)
            continue;
        assert_int_equal(changes, 0);
        idle++;
    }
    assert_true(idle > 0);
}

static void who_never_agreed_is_given_nothing(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    become_gang(node);
    struct process *a = come(node, "a", A);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    assert_int_equal(word_of(a), 0);
}

// Without a clock that the nodes share there are no slots to look for, nor under another policy.
static void nobody_looks_without_slots(void **state)
{
    struct node *node = *state;
    uint64_t turn = 600;
    struct process *a = open_halves_of_which_one_ends(node, true, &turn);
    pass_slots(node, a, &turn, 2 * SLOTS_ROUND);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(a->job->page->more_slots, 0);
    pass_slots(node, a, &turn, 6 * SLOTS_ROUND);
    assert_int_not_equal(a->job->page->more_slots, 0);
    strcpy(node->config.policy, "yoo-jette");
    scheduler_reconfigure(node->scheduler, node->now_ns);
    pass_slots(node, a, &turn, 1);
    assert_int_equal(a->job->page->more_slots, 0);
    pass_slots(node, a, &turn, SLOTS_ROUND);
    assert_int_equal(a->job->page->more_slots, 0);
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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(a->job->page->turn, 0);
}

static uint32_t epochs_of_a_slice(struct node *node, const struct process *process)
{
    uint32_t epoch = status_word_epoch(process->job->page->word);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    return status_word_epoch(process->job->page->word) - epoch;
}

// Processes that run look once in each slice what those of other nodes say, also where nobody else
// wants the CPUs; a job that is here alone has nobody to hear.
static void who_runs_for_another_slice_is_told_so(void **state)
{
    struct node *node = *state;
    struct process *a = come(node, "a", A);
    a->job->ranks = 2;
    assert_int_equal(epochs_of_a_slice(node, a), 1);
    a->job->ranks = 1;
    assert_int_equal(epochs_of_a_slice(node, a), 0);
}

static void adoption_keeps_the_slots(void **state)
{
    struct node *node = *state;
    struct protocol_job_record jobs[2];
    pid_t first = sleeper(), second = sleeper();
    become_gang(node);
    struct process *a = come(node, "a", first);
    agree_alone(node, a);
    struct process *b = come(node, "b", second);
    agree_alone(node, b);
    uint64_t words[] = {word_of(a), word_of(b)};
    for (int farewell = 0; farewell < 2; farewell++) {
        adopt_anew(node, farewell);
        for (uint32_t i = 0; i < 2; i++) {
            scheduler_describe_job(node->scheduler, 0, true, i, &jobs[i], node->now_ns);
            assert_int_equal(jobs[i].slots, slots_of_word(words[i]));
        }
    }
    // Term and all: what is said of the same agreement still holds.
    b = come(node, "b", second);
    assert_int_equal(word_of(b), words[1]);
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
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, 0);
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
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    struct process *b = come(node, "b", pids[1]);
    assert_int_equal(b->job->page->service_ns, 3600 * NS_PER_SEC);
    assert_int_equal(a->job->page->service_ns, 3600 * NS_PER_SEC);
    adopt_anew(node, false);
    for (int i = 0; i < 4; i++) {
        const char *turn = jobs_of(node)[0] == 'A' ? "aB" : "Ab";
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, 0);
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
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
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
    node_stop(node);
    node_start(node);
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
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
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
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
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
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
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
    assert_string_equal(test_backend_log(node->backend), "");
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

// ---- placement

static void a_job_with_a_group_of_its_own_is_classed_in_place(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    clear(node);
    struct process *a = come(node, "a", A);
    assert_string_equal(test_backend_log(node->backend), "in-place job-0-a\nshare job-0-a max\n"
                                                         "check job-0-a 5000001\n"
                                                         "share job-0-a max\n");
    come(node, "a", A2);
    clear(node);
    scheduler_exit(node->scheduler, a, node->now_ns); // it stays where it is
    assert_null(strstr(test_backend_log(node->backend), "expel"));
}

static void placement_move_does_not_ask(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    strcpy(node->config.placement, "move");
    clear(node);
    come(node, "a", A);
    assert_null(strstr(test_backend_log(node->backend), "in-place"));
    assert_non_null(strstr(test_backend_log(node->backend), "place job-0-a 5000001\n"));
}

static void placement_in_place_never_moves(void **state)
{
    struct node *node = *state;
    struct process *process;
    strcpy(node->config.placement, "in-place");
    clear(node);
    assert_int_equal(try(node, "a", A, &process), EXDEV);
    assert_string_equal(test_backend_log(node->backend), "");
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    // A stranger in whichever is limited: it is freed, and stays where it is.
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_non_null(strstr(effects.text, "a 10000 while idle\na max while idle\n"));
    assert_null(strstr(test_backend_log(node->backend), "displace"));
    // Nor is a rank that lives elsewhere taken in.
    test_backend_fail(node->backend, "check", EXDEV, 1);
    assert_int_equal(try(node, "a", A2, &process), EXDEV);
}

static void a_stranger_makes_it_move(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    struct process *a = come(node, "a", A);
    come(node, "a", A2);
    test_backend_set_usage(node->backend, "job-0-a", 5 * NS_PER_SEC);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nplace job-0-a 5000002\n"
                           "share job-0-a 10000\nshare job-0-b 990000\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
    assert_int_equal(flags_of(node, "a"), STATUS_CONTENDED);
    // What it has consumed stays counted, and what it consumes from now on is added.
    assert_int_equal(a->job->page->service_ns, 5 * NS_PER_SEC);
    test_backend_set_usage(node->backend, "job-0-a", 2 * NS_PER_SEC);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_int_equal(a->job->page->service_ns, 7 * NS_PER_SEC);
}

// On cgroup v2 it goes when the group above does not pass cpu on any more.
static void a_group_without_a_limit_makes_it_move(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", ENODEV, 1);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nshare job-0-a 10000\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
}

static void a_rank_that_lives_elsewhere_makes_it_move(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    clear(node);
    test_backend_fail(node->backend, "check", EXDEV, 1);
    struct process *second = come(node, "a", A2);
    const char *expected = "displace job-0-a\nplace job-0-a 5000001\nplace job-0-a 5000002\n";
    assert_memory_equal(test_backend_log(node->backend), expected, strlen(expected));
    assert_int_equal(second->job->process_count, 2);
}

static void what_cannot_move_is_not_limited(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    come(node, "b", B);
    clear(node);
    test_backend_fail(node->backend, "share", EXDEV, 1);
    test_backend_fail(node->backend, "displace", ENOSPC, 1);
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
    assert_non_null(strstr(effects.text, "a 10000 while idle\na max while idle\n"));
}

// Whether a stranger has come is looked at every turn, not only when the job's own turn changes.
static void an_idle_job_in_place_is_looked_at_every_turn(void **state)
{
    struct node *node = *state;
    test_backend_offer_place(node->backend, true);
    come(node, "a", A);
    test_backend_offer_place(node->backend, false);
    come(node, "b", B);
    come(node, "c", C);
    scheduler_switch(node->scheduler, node->now_ns, 0);
    for (int turn = 0; turn < 6; turn++) {
        bool idle = !(flags_of(node, "a") & STATUS_SCHEDULED);
        clear(node);
        node->now_ns += node->config.time_slice_ns;
        scheduler_switch(node->scheduler, node->now_ns, 0);
        if (idle && !(flags_of(node, "a") & STATUS_SCHEDULED))
            assert_non_null(strstr(effects.text, "a 10000 while idle\n"));
    }
}

static void a_restart_keeps_it_in_place(void **state)
{
    struct node *node = *state;
    pid_t pid = sleeper();
    test_backend_offer_place(node->backend, true);
    come(node, "a", pid);
    node_stop(node);
    node_start(node);
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
    struct process *a = come(node, "a", pid);
    assert_true(class_is_in_place(a->job->class_));
    scheduler_exit(node->scheduler, a, node->now_ns);
    end(pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, node_free)

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
        TEST(who_parts_hands_over_its_turn_and_keeps_its_class_for_a_moment),
        TEST(who_parts_idle_is_limited_no_more),
        TEST(who_parts_alone_can_leave),
        TEST(who_parts_often_gains_little),
        TEST(who_comes_back_at_once_is_not_kept),
        TEST(nobody_is_kept_in_a_class_in_place),
        TEST(classes_of_who_parted_do_not_pile_up),
        TEST(a_newcomer_has_no_turn_before_all_its_nodes_know_of_it),
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
        TEST(adoption_keeps_those_that_live),
        TEST(adoption_keeps_who_was_scheduled),
        TEST(adoption_keeps_the_turn),
        TEST(slots_are_agreed_and_kept_to),
        TEST(jobs_begin_in_a_list),
        TEST(slots_narrow_by_what_others_say),
        TEST(a_clock_that_is_off_costs_the_job_its_slots),
        TEST(where_the_clock_is_off_the_choice_is_left_to_others),
        TEST(a_job_with_its_clock_off_gets_its_part),
        TEST(adoption_keeps_what_a_job_said_about_the_clock),
        TEST(a_clock_that_is_set_costs_jobs_of_several_nodes_their_slots),
        TEST(under_other_policies_a_clock_may_be_set),
        TEST(nobody_starves_without_timerd),
        TEST(a_job_of_this_node_alone_takes_what_is_free),
        TEST(a_job_of_other_nodes_is_told_to_look),
        TEST(a_job_is_told_to_look_soon_after_somebody_came_or_went),
        TEST(an_idle_job_is_not_told_to_look),
        TEST(who_never_agreed_is_given_nothing),
        TEST(nobody_looks_without_slots),
        TEST(adoption_keeps_the_slots),
        TEST(adoption_keeps_the_accounts),
        TEST(adoption_keeps_who_had_just_come_beside_the_others),
        TEST(adoption_keeps_who_had_just_come_back_beside_the_others),
        TEST(adoption_makes_the_best_of_what_pages_tell),
        TEST(a_reused_pid_is_not_adopted),
        TEST(members_listed_twice_are_adopted_once),
        TEST(the_page_lists_everybody_while_it_is_adopted),
        TEST(what_cannot_be_adopted_is_not_limited),
        TEST(foreign_classes_are_left_alone),
        TEST(lifting_frees_everybody),
        TEST(a_job_with_a_group_of_its_own_is_classed_in_place),
        TEST(placement_move_does_not_ask),
        TEST(placement_in_place_never_moves),
        TEST(a_stranger_makes_it_move),
        TEST(a_group_without_a_limit_makes_it_move),
        TEST(a_rank_that_lives_elsewhere_makes_it_move),
        TEST(what_cannot_move_is_not_limited),
        TEST(an_idle_job_in_place_is_looked_at_every_turn),
        TEST(a_restart_keeps_it_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
