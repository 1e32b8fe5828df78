// Protects everybody else from classes of ended jobs that do not go, because processes in them fork
// and end faster than they can be moved: nobody waits for such a class, none is forgotten, its user
// has a job less for it, and all of them together cost a tenth of a CPU.
#include "classd/adopt.h"
#include "classd/leavers.h"
#include "classd/scheduler_state.h"
#include "tests/unit/random.h"
#include "tests/unit/scheduler_node.h"

#include <errno.h>
#include <stdio.h>

enum { OWNER = 1000, OTHER = 1001, NOBODY_HAS = 5000001 }; // pids from there on
enum { STEPPED_MAX = 64 };

static bool stuck;     // no class below the root goes
static pid_t pid;      // of who comes next
static unsigned waits; // for classes
static unsigned steps; // and of the classes "job-1000-jN" by N:
static unsigned stepped[STEPPED_MAX];

int __real_class_remove(class_t *class_, struct error *err);
int __wrap_class_remove(class_t *class_, struct error *err);
int __real_class_remove_step(class_t *class_, size_t limit, struct error *err);
int __wrap_class_remove_step(class_t *class_, size_t limit, struct error *err);

int __wrap_class_remove(class_t *class_, struct error *err)
{
    waits++;
    if (!stuck)
        return __real_class_remove(class_, err);
    class_close(class_);
    return error_set(err, EBUSY, "somebody is left");
}

int __wrap_class_remove_step(class_t *class_, size_t limit, struct error *err)
{
    unsigned number;
    steps++;
    if (sscanf(class_name(class_), "job-1000-j%u", &number) == 1 && number < STEPPED_MAX)
        stepped[number]++;
    if (!stuck || class_is_in_place(class_))
        return __real_class_remove_step(class_, limit, err);
    return error_set(err, EAGAIN, "somebody is left");
}

static int set_up(void **state)
{
    struct node *node = node_new();
    node_start(node);
    stuck = false;
    pid = NOBODY_HAS;
    waits = steps = 0;
    memset(stepped, 0, sizeof stepped);
    *state = node;
    return 0;
}

static int tear_down(void **state)
{
    stuck = false;
    return node_free(state);
}

static int try_as(struct node *node, uid_t uid, const char *job_id, struct process **process,
                  struct error *err)
{
    struct protocol_register wish = {.width = 1, .ranks = 1};
    snprintf(wish.job_id, sizeof wish.job_id, "%s", job_id);
    struct applicant applicant = {
        .uid = uid, .pid = pid++, .start_time = 1, .pidfd = -1, .wish = &wish};
    return scheduler_register(node->scheduler, &applicant, node->now_ns, process, err);
}

// 0, or why the job runs unmanaged. One that comes goes again.
static int come_and_go(struct node *node, uid_t uid, const char *job_id)
{
    struct error err = {0};
    struct process *process = NULL;
    if (try_as(node, uid, job_id, &process, &err) == 0)
        scheduler_exit(node->scheduler, process, node->now_ns);
    return err.code;
}

static void come_and_go_often(struct node *node, uid_t uid, int count)
{
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "j%d", i);
        assert_int_equal(come_and_go(node, uid, name), 0);
    }
}

// What classd does until then, if every step takes so long; returns the time for which it did.
static uint64_t leave_on(struct node *node, uint64_t until_ns, uint64_t step_ns)
{
    uint64_t spent_ns = 0;
    for (uint64_t next_ns; (next_ns = scheduler_deadline_ns(node->scheduler)) < until_ns;) {
        node->now_ns = next_ns > node->now_ns ? next_ns : node->now_ns;
        scheduler_deadline(node->scheduler, node->now_ns, 0);
        if (!scheduler_leave_on(node->scheduler, node->now_ns))
            continue;
        node->now_ns += step_ns;
        spent_ns += step_ns;
        scheduler_rest_leaving(node->scheduler, step_ns, node->now_ns);
    }
    return spent_ns;
}

// A daemon that was stopped meanwhile makes up for none of it.
static void a_step_is_no_longer_than_one_can_be(void **state)
{
    struct node *node = *state;
    scheduler_rest_leaving(node->scheduler, 60 * NS_PER_SEC, node->now_ns);
    assert_in_range(node->scheduler->leaving_ready_ns - node->now_ns, NS_PER_SEC, 10 * NS_PER_SEC);
}

static bool is_left(struct node *node)
{
    return scheduler_deadline_ns(node->scheduler) != SCHEDULER_NO_DEADLINE;
}

static void an_empty_class_goes_at_once(void **state)
{
    struct node *node = *state;
    assert_int_equal(come_and_go(node, OWNER, "a"), 0);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-1000-a\n"));
    assert_false(is_left(node));
}

static void nobody_waits_for_the_end_of_a_job(void **state)
{
    struct node *node = *state;
    stuck = true;
    come_and_go_often(node, 0, 100);
    leave_on(node, node->now_ns + 100 * NS_PER_SEC, NS_PER_MS);
    assert_int_equal(waits, 0);
}

static void a_class_is_looked_at_as_long_as_it_stays(void **state)
{
    struct node *node = *state;
    stuck = true;
    assert_int_equal(come_and_go(node, OWNER, "a"), 0);
    leave_on(node, node->now_ns + 100 * NS_PER_SEC, 0);
    steps = 0;
    leave_on(node, node->now_ns + 100 * NS_PER_SEC, 0);
    assert_in_range(steps, 99, 101);
    stuck = false;
    uint64_t free_ns = node->now_ns;
    leave_on(node, UINT64_MAX, 0);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-1000-a\n"));
    assert_in_range(node->now_ns, free_ns, free_ns + NS_PER_SEC);
    assert_int_equal(waits, 0);
}

static void all_together_get_a_tenth_and_take_turns(void **state)
{
    enum { CLASSES = 32 };
    struct node *node = *state;
    const uint64_t long_ns = 50 * NS_PER_SEC;
    stuck = true;
    come_and_go_often(node, OWNER, CLASSES);
    memset(stepped, 0, sizeof stepped);
    uint64_t begun_ns = node->now_ns;
    uint64_t spent_ns = leave_on(node, begun_ns + long_ns, 2 * NS_PER_MS);
    assert_in_range(spent_ns, long_ns / 11, long_ns / 10);
    for (int i = 0; i < CLASSES; i++)
        assert_in_range(stepped[i], steps / CLASSES - 2, steps / CLASSES + 2);
}

static void ended_jobs_whose_processes_stay_count(void **state)
{
    struct node *node = *state;
    struct process *process = NULL;
    struct error err = {0};
    node->config.max_jobs_per_user = 3;
    stuck = true;
    assert_int_equal(come_and_go(node, OWNER, "a"), 0);
    assert_int_equal(come_and_go(node, OWNER, "b"), 0);
    assert_int_equal(try_as(node, OWNER, "c", &process, &err), 0);
    leave_on(node, node->now_ns + 70 * NS_PER_MS, 0);
    assert_int_equal(try_as(node, OWNER, "d", &process, &err), -1);
    assert_int_equal(err.code, ENOSPC);
    assert_non_null(strstr(err.text, "(2 have ended and still have processes"));
    for (int i = 0; i < 5; i++)
        assert_int_equal(come_and_go(node, 0, (const char[]){(char)('r' + i), '\0'}), 0);
    assert_int_equal(come_and_go(node, OTHER, "d"), 0);
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0); // another of that name
    assert_int_equal(try_as(node, OWNER, "d", &process, &err), -1);
    stuck = false;
    leave_on(node, node->now_ns + 2 * NS_PER_SEC, 0);
    assert_int_equal(try_as(node, OWNER, "d", &process, &err), 0);
}

// They end by themselves, mostly.
static void who_has_just_parted_does_not_count(void **state)
{
    struct node *node = *state;
    struct error err = {0};
    struct process *process = NULL;
    node->config.max_jobs_per_user = 1;
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0);
    node->now_ns += NS_PER_SEC;
    scheduler_part(node->scheduler, process, node->now_ns);
    assert_true(is_left(node));
    assert_int_equal(try_as(node, OWNER, "b", &process, &err), 0);
    stuck = true;
    leave_on(node, node->now_ns + NS_PER_SEC, 0);
    scheduler_exit(node->scheduler, process, node->now_ns);
    assert_int_equal(try_as(node, OWNER, "c", &process, &err), -1); // now they do
}

static void a_job_that_cannot_begin_forgets_no_class(void **state)
{
    struct node *node = *state;
    struct process *process = NULL;
    struct error err = {0};
    stuck = true;
    assert_int_equal(come_and_go(node, OWNER, "a"), 0);
    test_backend_fail(node->backend, "open", EMFILE, 1);
    assert_int_equal(come_and_go(node, OWNER, "a"), EMFILE);
    assert_true(is_left(node));
    test_backend_offer_place(node->backend, true);
    assert_int_equal(come_and_go(node, OWNER, "a"), EBUSY); // in place it would be its second one
    assert_true(is_left(node));
    assert_int_equal(come_and_go(node, OWNER, "b"), 0);
    test_backend_offer_place(node->backend, false);
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0);
    leave_on(node, node->now_ns + NS_PER_SEC, 0);
    assert_int_equal(class_set_share(process->job->class_, 10000, NULL), 0); // it is its own now
}

static void suspend_by_signals(struct node *node, struct process *process)
{
    struct tracking_result result;
    const struct tracking_order order = {.kind = TRACKING_SUSPEND, .means = PROTOCOL_MEANS_SIGNALS};
    assert_true(scheduler_track(node->scheduler, process->job, &order, node->now_ns, &result));
}

// Its class would be suspended again at the next turn, new ranks and all, and a class in place
// would take the record from who is still stopped.
static void a_job_begins_when_those_before_it_are_continued(void **state)
{
    struct node *node = *state;
    struct process *process = NULL;
    struct error err = {0};
    struct class_suspension how;
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0);
    suspend_by_signals(node, process);
    test_backend_fail(node->backend, "continue", EMFILE, 20);
    scheduler_exit(node->scheduler, process, node->now_ns);
    for (int in_place = 0; in_place < 2; in_place++) {
        test_backend_offer_place(node->backend, in_place == 1);
        test_backend_clear_log(node->backend);
        assert_int_equal(come_and_go(node, OWNER, "a"), EBUSY);
        assert_null(strstr(test_backend_log(node->backend), "open"));
        assert_true(is_left(node));
    }
    test_backend_offer_place(node->backend, false);
    leave_on(node, UINT64_MAX, 0); // until it does not fail any more
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0);
    assert_false(class_suspended(process->job->class_, &how));
}

// Of a class that stayed behind only its record tells.
static void a_job_begins_when_those_of_an_unknown_one_are_continued(void **state)
{
    struct node *node = *state;
    struct process *process = NULL;
    struct error err = {0};
    class_t *stays = NULL;
    struct class_suspension how = {.means = CLASS_BY_SIGNALS};
    assert_int_equal(class_open(node->backend, "job-1000-a", &stays, &err), 0);
    assert_int_equal(class_suspend(stays, &how, &err), 0);
    class_close(stays);
    test_backend_fail(node->backend, "continue", EMFILE, 3);
    assert_int_equal(come_and_go(node, OWNER, "a"), EBUSY);
    assert_true(is_left(node));
    leave_on(node, UINT64_MAX, 0);
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0);
    assert_false(class_suspended(process->job->class_, &how));
}

static void end_while_nobody_is_continued(struct node *node, int code)
{
    struct process *process = NULL;
    struct error err = {0};
    assert_int_equal(try_as(node, OWNER, "a", &process, &err), 0);
    suspend_by_signals(node, process);
    test_backend_fail(node->backend, "continue", code, 3);
    test_backend_clear_log(node->backend);
    scheduler_exit(node->scheduler, process, node->now_ns);
    assert_non_null(strstr(test_backend_log(node->backend), "share job-1000-a max\n"));
    assert_null(strstr(test_backend_log(node->backend), "remove job-1000-a\n"));
    leave_on(node, UINT64_MAX, 0);
    assert_non_null(strstr(test_backend_log(node->backend), "continue job-1000-a\n"));
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-1000-a\n"));
}

static void who_is_not_continued_yet_is_not_limited(void **state)
{
    static const int codes[] = {EAGAIN, EMFILE, ENOMEM, EPERM};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        end_while_nobody_is_continued(*state, codes[i]);
}

static void there_is_room_for_every_class(void **state)
{
    struct node *node = *state;
    char name[16];
    stuck = true;
    for (int i = 0; i < SCHEDULER_CLASSES_MAX; i++) {
        snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(come_and_go(node, OTHER + (uid_t)i % 200, name), 0);
        test_backend_clear_log(node->backend); // which is copied when it grows
    }
    assert_int_equal(come_and_go(node, OWNER, "one-more"), ENOSPC);
    assert_int_equal(come_and_go(node, 0, "one-more"), ENOSPC);
    assert_int_equal(waits, 0);
    stuck = false;
    leave_on(node, UINT64_MAX, 0);
    assert_int_equal(come_and_go(node, OWNER, "one-more"), 0);
    assert_false(is_left(node));
}

static void the_end_of_classd_waits_for_a_few(void **state)
{
    struct node *node = *state;
    stuck = true;
    come_and_go_often(node, OWNER, 30);
    scheduler_dissolve(node->scheduler, node->now_ns);
    assert_in_range(waits, 1, 10);
    assert_false(is_left(node));
}

// ---- what a former classd left

static void adopt_anew(struct node *node)
{
    node_stop(node);
    node_start(node);
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
}

static void a_start_waits_for_no_class(void **state)
{
    enum { CLASSES = 20 };
    struct node *node = *state;
    stuck = true;
    come_and_go_often(node, OWNER, CLASSES);
    adopt_anew(node);
    assert_int_equal(waits, 0);
    node->config.max_jobs_per_user = CLASSES;
    assert_int_equal(come_and_go(node, OWNER, "a"), ENOSPC);
    stuck = false;
    leave_on(node, UINT64_MAX, 0);
    assert_int_equal(come_and_go(node, OWNER, "a"), 0);
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-1000-j0\n"));
    assert_non_null(strstr(test_backend_log(node->backend), "remove job-1000-j19\n"));
}

// Who is not found among too many is at least not limited.
static void of_too_many_classes_all_are_lifted(void **state)
{
    struct node *node = *state;
    for (int i = 0; i <= SCHEDULER_CLASSES_MAX; i++) {
        char name[32];
        class_t *class_ = NULL;
        snprintf(name, sizeof name, "job-1001-%d", i);
        assert_int_equal(class_open(node->backend, name, &class_, NULL), 0);
        class_close(class_);
    }
    test_backend_clear_log(node->backend);
    adopt_anew(node);
    assert_non_null(strstr(test_backend_log(node->backend), "share job-1001-4096 max\n"));
}

// ---- who is due

static void check_first(const leavers_t *leavers, struct leaver *const *all, size_t count)
{
    const struct leaver *first = leavers_first(leavers);
    assert_int_equal(leavers_count(leavers), count);
    assert_true((first == NULL) == (count == 0));
    for (size_t i = 0; i < count; i++)
        assert_true(first->next_ns <= all[i]->next_ns);
}

static void check_users(const leavers_t *leavers, size_t count)
{
    enum { USERS = 5 };
    size_t found = 0;
    for (uid_t uid = 0; uid < USERS; uid++)
        for (struct leaver *one = leavers_of(leavers, uid * 256, NULL); one != NULL;
             one = leavers_of(leavers, uid * 256, one), found++)
            assert_int_equal(one->uid, uid * 256);
    assert_int_equal(found, count);
}

static void run_history(uint64_t seed)
{
    enum { MOST = 40, STEPS = 400 };
    struct leaver *all[MOST];
    size_t count = 0;
    leavers_t *leavers = leavers_new(MOST);
    assert_non_null(leavers);
    for (int i = 0; i < STEPS; i++) {
        struct leaver leaver = {.uid = (uid_t)random_below(&seed, 5) * 256,
                                .next_ns = random_below(&seed, 1000)};
        size_t at = count > 0 ? random_below(&seed, count) : 0;
        uint64_t what = random_below(&seed, 5);
        if (what < 2) {
            struct leaver *made = leavers_add(leavers, &leaver);
            assert_true((made == NULL) == (count == MOST));
            if (made != NULL)
                all[count++] = made;
        } else if (count > 0 && what < 4) {
            leavers_put_off(leavers, all[at], leaver.next_ns);
        } else if (count > 0) {
            leavers_take(leavers, all[at]);
            all[at] = all[--count];
        }
        check_first(leavers, all, count);
        check_users(leavers, count);
    }
    while (count > 0)
        leavers_take(leavers, all[--count]);
    leavers_free(leavers);
}

static void who_is_due_first_is_first(void **state)
{
    (void)state;
    random_run_histories(run_history, 20);
}

int main(void)
{
#define with_node(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        with_node(an_empty_class_goes_at_once),
        with_node(nobody_waits_for_the_end_of_a_job),
        with_node(a_class_is_looked_at_as_long_as_it_stays),
        with_node(all_together_get_a_tenth_and_take_turns),
        with_node(a_step_is_no_longer_than_one_can_be),
        with_node(ended_jobs_whose_processes_stay_count),
        with_node(who_has_just_parted_does_not_count),
        with_node(a_job_that_cannot_begin_forgets_no_class),
        with_node(a_job_begins_when_those_before_it_are_continued),
        with_node(a_job_begins_when_those_of_an_unknown_one_are_continued),
        with_node(who_is_not_continued_yet_is_not_limited),
        with_node(there_is_room_for_every_class),
        with_node(the_end_of_classd_waits_for_a_few),
        with_node(a_start_waits_for_no_class),
        with_node(of_too_many_classes_all_are_lifted),
        cmocka_unit_test(who_is_due_first_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
