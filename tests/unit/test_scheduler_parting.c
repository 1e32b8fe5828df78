// Who says PART, as ranks do in MPI_Finalize: he hands over his turn, keeps his class for a moment,
// and gains nothing by it.
#include "tests/unit/scheduler_jobs.h"

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
    next_slice(node);
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
    next_slice(node);
    if (flags_of(node, "b") & STATUS_SCHEDULED) {
        next_slice(node);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_parts_hands_over_its_turn_and_keeps_its_class_for_a_moment),
        TEST(who_parts_idle_is_limited_no_more),
        TEST(who_parts_alone_can_leave),
        TEST(who_parts_often_gains_little),
        TEST(who_comes_back_at_once_is_not_kept),
        TEST(nobody_is_kept_in_a_class_in_place),
        TEST(classes_of_who_parted_do_not_pile_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
