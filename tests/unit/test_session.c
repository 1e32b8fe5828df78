// A process's session with a classd of the test's own: what it sends, what it survives.
#include "tests/unit/fake_classd.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void the_page_is_seen_at_once(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    assert_false(session_word_idle(session_word()));
    status_page_publish(fake->page, 1, STATUS_CONTENDED);
    assert_true(session_word_idle(session_word()));
    assert_true(session_word_contended(session_word()));
    session_exit();
    assert_int_equal(fake->exited, 1);
    assert_int_equal(session_word(), STATUS_WORD_FREE);
}

// Peers wait for what a rank that parts has to say to them, not for its classd.
static void parting_waits_for_nobody(void **state)
{
    struct fake_classd *fake = *state;
    session_part(); // nobody to say it to
    assert_int_equal(join(fake), 0);
    session_part();
    eventually_equal(&fake->parted, 1);
    assert_int_equal(fake->exited, 0);
    session_exit();
    assert_int_equal(fake->exited, 1);
}

// An older one answers PART by a refusal, which is not the answer to EXIT, and does not know when
// jobs start.
static void an_older_classd_is_registered_with_and_left(void **state)
{
    struct fake_classd *fake = *state;
    fake->old = 2;
    assert_int_equal(join(fake), 0);
    assert_int_equal(fake->starts_ns, 0);
    session_part();
    session_exit();
    assert_int_equal(fake->exited, 1);
    assert_int_equal(fake->parted, 0);
}

static void an_older_classd_is_told_what_it_knows(void **state)
{
    struct fake_classd *fake = *state;
    fake->old = 1;
    assert_int_equal(join(fake), 0);
    assert_int_equal(fake->world, 0);
    assert_int_equal(fake->parent, 0);
    assert_int_equal(fake->starts_ns, 1);
}

// By their world, with a connection of their own.
static void a_job_is_found_before_it_is_joined(void **state)
{
    struct fake_classd *fake = *state;
    char job_id[PROTOCOL_JOB_ID_MAX] = "";
    fake->world = 10;
    assert_false(session_find_job(fake->directory, 11, job_id));
    assert_true(session_find_job(fake->directory, 10, job_id));
    assert_string_equal(job_id, "found");
    assert_int_equal(join(fake), 0);
    assert_int_equal(fake->world, 11);
    assert_int_equal(fake->parent, 10);
    session_exit();
    fake->hangs_up = 2; // it has no place for another connection
    assert_true(session_find_job(fake->directory, 11, job_id));
    fake->old = 1;
    assert_false(session_find_job(fake->directory, 11, job_id));
    assert_false(session_find_job("/nonexistent", 11, job_id));
}

// As when classd was killed between this process's registration and the ranks' agreement.
static void a_classd_that_has_taken_over_is_left_too(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    shutdown(fake->connection, SHUT_RDWR);
    session_leave();
    assert_int_equal(fake->registered, 2);
    assert_int_equal(fake->exited, 1);
    assert_int_equal(session_word(), STATUS_WORD_FREE);
}

// Though a process whose peers are all on its node has not seen it come.
static void an_exit_is_said_to_a_classd_that_has_taken_over(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    status_page_publish(fake->page, 2, STATUS_SCHEDULED);
    shutdown(fake->connection, SHUT_RDWR); // the old classd is gone
    session_exit();
    assert_int_equal(fake->registered, 2);
    assert_int_equal(fake->exited, 1);
}

// Nobody knows of it who would have to be told.
static void an_exit_is_said_to_nobody_else(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    shutdown(fake->connection, SHUT_RDWR);
    session_exit();
    assert_int_equal(fake->registered, 1);
    assert_int_equal(fake->exited, 0);
}

// As programs do that close all descriptors they do not know.
static void close_the_connection(const struct fake_classd *fake)
{
    struct stat status;
    for (int fd = 3; fd < 1024; fd++) {
        if (fd != fake->listener && fd != fake->connection && fstat(fd, &status) == 0 &&
            S_ISSOCK(status.st_mode))
            close(fd);
    }
}

// Else classd keeps it as a member of the job for as long as it lives.
static void an_exit_is_said_though_the_program_has_closed_the_connection(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    close_the_connection(fake);
    session_exit();
    assert_int_equal(fake->registered, 2);
    assert_int_equal(fake->exited, 1);
}

// As when the program has no descriptor left, or no memory to map it.
static void who_cannot_have_the_page_leaves(void **state)
{
    struct fake_classd *fake = *state;
    int page_fd = fake->page_fd;
    fake->page_fd = -1;
    assert_int_equal(join(fake), -1);
    eventually_equal(&fake->exited, 1);
    assert_int_equal(session_word(), STATUS_WORD_FREE);
    fake->page_fd = page_fd;
}

static void requests_are_at_most_one_a_millisecond(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    uint64_t time = now();
    assert_true(session_request(time, 1));
    assert_false(session_request(time + NS_PER_MS - 1, 1));
    assert_true(session_request(time + NS_PER_MS, 1));
    eventually_equal(&fake->scheduled, 2);
}

static void ranks_of_a_node_ask_so_often_together(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    uint64_t time = now() + NS_PER_SEC; // the test before has asked
    assert_true(session_request(time, 64));
    assert_false(session_request(time + 63 * NS_PER_MS, 64));
    assert_true(session_request(time + 64 * NS_PER_MS, 64));
    assert_true(session_request(time + 164 * NS_PER_MS, 100000));
    eventually_equal(&fake->scheduled, 3);
}

static void a_new_generation_is_registered_with(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    session_check_generation(session_word());
    assert_int_equal(fake->registered, 1);
    status_page_publish(fake->page, 2, STATUS_SCHEDULED);
    shutdown(fake->connection, SHUT_RDWR); // the old classd is gone
    session_check_generation(session_word());
    assert_int_equal(fake->registered, 2);
    session_check_generation(session_word());
    assert_int_equal(fake->registered, 2);
}

static void *ask_and_look(void *argument)
{
    _Atomic bool *over = argument;
    while (!*over) {
        session_check_generation(session_word());
        session_request(now(), 1);
    }
    return NULL;
}

// For the thread sanitizer: the page changes under threads that communicate.
static void threads_may_meet_a_new_page(void **state)
{
    struct fake_classd *fake = *state;
    struct status_page *old_page = fake->page;
    int old_fd = fake->page_fd, new_fd = -1;
    _Atomic bool over = false;
    pthread_t threads[2];
    assert_int_equal(join(fake), 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, ask_and_look, &over);
    int directory = open(fake->directory, O_RDONLY | O_DIRECTORY);
    unlinkat(directory, "page", 0);
    assert_int_equal(status_page_open(directory, "page", false, &fake->page, &new_fd, NULL), 0);
    close(directory);
    fake->page_fd = new_fd;
    status_page_publish(fake->page, 2, STATUS_CONTENDED);
    status_page_publish(old_page, 2, STATUS_SCHEDULED);
    eventually_equal(&fake->registered, 2);
    for (int i = 0; i < 5000 && !session_word_contended(session_word()); i++)
        usleep(1000);
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(session_word_contended(session_word()));
    status_page_close(old_page, old_fd);
}

// A program that closes what it does not know gets the number back for a file of its own.
static void a_reused_descriptor_is_never_written_to(void **state)
{
    struct fake_classd *fake = *state;
    struct stat status;
    char path[] = "/tmp/cosched-test-file-XXXXXX";
    assert_int_equal(join(fake), 0);
    int file = mkstemp(path);
    for (int fd = file + 1; fd < 1024; fd++) {
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && fd != fake->listener &&
            fd != fake->connection)
            dup2(file, fd);
    }
    // Over a new connection, which is tried at most once a second, and in vain while classd is kept
    // from its CPU.
    for (unsigned tries = 1; !session_request(now() + 2 * tries * NS_PER_SEC, 1); tries++)
        assert_true(tries < 20);
    eventually_equal(&fake->registered, 2);
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, 0);
    unlink(path);
    close(file);
}

static void nobody_home_is_an_answer(void **state)
{
    struct fake_classd *fake = *state;
    struct session_identity identity = {
        .runtime_dir = "/nonexistent", .job_id = "test", .ranks = 1, .width = 1};
    struct error err = {0};
    assert_int_equal(session_register(&identity, &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_false(session_met());
    assert_null(session_page());
    assert_false(session_request(now(), 1));
    assert_int_equal(fake->registered, 0);
    char too_long[200] = "/";
    memset(too_long + 1, 'x', sizeof too_long - 2);
    identity.runtime_dir = too_long; // no fault of a scheduler's
    assert_int_equal(session_register(&identity, &err), -1);
    assert_int_equal(err.code, ENAMETOOLONG);
    assert_false(session_met());
}

static void a_classd_that_hangs_is_given_up(void **state)
{
    struct fake_classd *fake = *state;
    fake->mute = true;
    assert_int_equal(join(fake), -1);
    assert_true(session_met());
    assert_null(session_page());
    assert_int_equal(session_word(), STATUS_WORD_FREE);
}

static void a_forked_child_does_not_speak_for_its_parent(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    pid_t child = fork();
    if (child == 0) {
        bool spoke = session_request(now(), 1);
        session_exit();
        _exit(spoke ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(fake->scheduled, 0);
    assert_int_equal(fake->registered, 1);
    assert_int_equal(fake->exited, 0);
}

static long size_of_the_table(void)
{
    char line[128];
    long size = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && size < 0 && fgets(line, sizeof line, status) != NULL)
        sscanf(line, "FDSize: %ld", &size);
    if (status != NULL)
        fclose(status);
    return size;
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void *sleep_on(void *argument)
{
    pause();
    return argument;
}

// In a child, whose table is as small as its descriptors allow. What it exits with says what is
// wrong.
static int prepare_in_child(bool with_thread)
{
    pthread_t thread;
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (with_thread)
            pthread_create(&thread, NULL, sleep_on, NULL);
        long size = size_of_the_table();
        int open = open_descriptors();
        session_prepare();
        if (open_descriptors() != open)
            _exit(2);
        _exit(with_thread ? size_of_the_table() != size : size_of_the_table() <= 400);
    }
    waitpid(child, &status, 0);
    return status;
}

// With threads there it would make MPI_Init wait in this place, for who may have no classd.
static void the_table_grows_before_there_are_threads(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__ // has a thread of its own
    skip();
#endif
    assert_int_equal(prepare_in_child(false), 0);
    assert_int_equal(prepare_in_child(true), 0);
}

static bool hears(void)
{
    struct pollfd ear = {.fd = session_ear(), .events = POLLIN};
    return poll(&ear, 1, 0) > 0;
}

static void who_sleeps_is_told_of_his_turn(void **state)
{
    struct fake_classd *fake = *state;
    struct protocol_request unasked = protocol_request_new(PROTOCOL_TURN, 0);
    struct protocol_reply turn = protocol_reply_new(&unasked, 0);
    struct slots_choice choice = {.slots = 0xf0, .due = 20};
    struct slots_offer offer;
    assert_int_equal(session_ear(), -1);
    fake->tells = true;
    assert_int_equal(join(fake), 0);
    assert_true(session_ear() >= 0);
    assert_false(hears());
    send_reply(fake->connection, &turn, -1);
    assert_true(hears());
    session_listen();
    assert_false(hears());
    assert_true(session_ear() >= 0);
    // It would take the answer for a turn, and the turn is no answer.
    send_reply(fake->connection, &turn, -1);
    assert_true(session_ask_offer());
    assert_int_equal(session_ear(), -1);
    session_listen();
    assert_int_equal(eventually_offered(&offer), SESSION_ANSWERED);
    assert_true(session_ear() >= 0);
    assert_true(session_ask_claim(&choice, 2, true)); // has an answer that nobody fetches
    for (int i = 0; i < 5000 && !hears(); i++)
        usleep(1000);
    assert_true(hears());
    session_listen();
    assert_false(hears());
    shutdown(fake->connection, SHUT_RDWR); // who is gone tells nothing
    assert_true(hears());
    session_listen();
    assert_int_equal(session_ear(), -1);
}

static void an_earlier_classd_tells_of_no_turn(void **state)
{
    struct fake_classd *fake = *state;
    assert_int_equal(join(fake), 0);
    assert_int_equal(session_ear(), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_grows_before_there_are_threads),
        TEST(the_page_is_seen_at_once),
        TEST(a_classd_that_has_taken_over_is_left_too),
        TEST(an_exit_is_said_to_a_classd_that_has_taken_over),
        TEST(an_exit_is_said_to_nobody_else),
        TEST(an_exit_is_said_though_the_program_has_closed_the_connection),
        TEST(parting_waits_for_nobody),
        TEST(an_older_classd_is_registered_with_and_left),
        TEST(an_older_classd_is_told_what_it_knows),
        TEST(who_cannot_have_the_page_leaves),
        TEST(a_job_is_found_before_it_is_joined),
        TEST(requests_are_at_most_one_a_millisecond),
        TEST(ranks_of_a_node_ask_so_often_together),
        TEST(who_sleeps_is_told_of_his_turn),
        TEST(an_earlier_classd_tells_of_no_turn),
        TEST(a_new_generation_is_registered_with),
        TEST(threads_may_meet_a_new_page),
        TEST(a_reused_descriptor_is_never_written_to),
        TEST(nobody_home_is_an_answer),
        TEST(a_classd_that_hangs_is_given_up),
        TEST(a_forked_child_does_not_speak_for_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
