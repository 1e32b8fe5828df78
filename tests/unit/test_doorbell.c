// What wakes a rank that sleeps: rings of its peers, of which none is lost, in memory that only
// they can reach.
#include "common/clock.h"
#include "pmpi/variant/doorbell.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_NS UINT64_C(60000000000) // longer than the test may take

enum {
    SEATS = 3,
    TURNS = 10000,
};

static char directory[] = "/tmp/cosched-test-doorbell-XXXXXX";
static char name[DOORBELL_NAME_MAX];

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL ? -1 : 0;
}

// Also that nothing was left in it.
static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static int create(void **state)
{
    (void)state;
    return doorbell_create(directory, SEATS, name, NULL);
}

static int leave(void **state)
{
    (void)state;
    doorbell_leave();
    doorbell_remove(directory, name);
    return 0;
}

static const char *path(void)
{
    static char text[128];
    snprintf(text, sizeof text, "%s/%s", directory, name);
    return text;
}

static uint32_t rings(int seat)
{
    return doorbell.room->seats[seat].rings;
}

// As another process does it.
static void announce_at(int seat)
{
    doorbell.room->asleep++;
    doorbell.room->seats[seat].asleep = 1;
}

// --- the segment ---------------------------------------------------------------------------------

static void only_the_user_can_open_it_and_nobody_guess_it(void **state)
{
    (void)state;
    struct stat status;
    char other[DOORBELL_NAME_MAX];
    assert_int_equal(stat(path(), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    doorbell_leave();
    assert_int_equal(doorbell_create(directory, SEATS, other, NULL), 0);
    assert_string_not_equal(name, other);
    doorbell_remove(directory, other);
}

static void a_segment_that_others_can_open_is_refused(void **state)
{
    (void)state;
    struct error err = {0};
    doorbell_leave();
    assert_int_equal(chmod(path(), 0660), 0);
    assert_int_equal(doorbell_join(directory, name, SEATS, 1, &err), -1);
    assert_non_null(strstr(err.text, "is not this job's"));
    assert_null(doorbell.room);
}

static void one_of_another_size_is_refused(void **state)
{
    (void)state;
    doorbell_leave();
    assert_int_equal(doorbell_join(directory, name, SEATS + 1, 1, NULL), -1);
    assert_int_equal(truncate(path(), 0), 0);
    assert_int_equal(doorbell_join(directory, name, SEATS, 1, NULL), -1);
}

static void a_link_is_refused(void **state)
{
    (void)state;
    char link[128];
    doorbell_leave();
    snprintf(link, sizeof link, "%s/link", directory);
    assert_int_equal(symlink(path(), link), 0);
    assert_int_equal(doorbell_join(directory, "link", SEATS, 1, NULL), -1);
    unlink(link);
}

static void without_the_directory_there_is_none(void **state)
{
    (void)state;
    struct error err = {0};
    doorbell_leave();
    doorbell_remove(directory, name);
    assert_true(doorbell_place("/nonexistent") == 0);
    assert_int_equal(doorbell_create("/nonexistent", SEATS, name, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent"));
    assert_null(doorbell.room);
}

static void places_are_told_apart(void **state)
{
    (void)state;
    assert_true(doorbell_place(directory) != 0);
    assert_true(doorbell_place(directory) == doorbell_place(directory));
    assert_true(doorbell_place(directory) != doorbell_place("/proc"));
}

static void no_descriptor_is_kept(void **state)
{
    (void)state;
    int before = open("/dev/null", O_RDONLY);
    close(before);
    doorbell_leave();
    assert_int_equal(doorbell_join(directory, name, SEATS, 1, NULL), 0);
    int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(before, after);
}

static void leave_file(const char *file, time_t seconds_ago)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY);
    int fd = openat(at, file, O_WRONLY | O_CREAT, 0600);
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds_ago}};
    times[1] = times[0];
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    close(at);
}

static bool is_gone(const char *file)
{
    int at = open(directory, O_RDONLY | O_DIRECTORY);
    bool gone = unlinkat(at, file, 0) != 0;
    close(at);
    return gone;
}

static void what_a_killed_job_has_left_goes_with_a_later_one(void **state)
{
    (void)state;
    leave_file("cosched-0123456789abcdef", 2 * 3600);
    leave_file("cosched-0123456789abcde0", 60); // somebody may be about to join
    leave_file("cosched-0123456789abcdeg", 2 * 3600);
    leave_file("cosched-0123456789abcdef0", 2 * 3600);
    doorbell_leave();
    doorbell_remove(directory, name);
    assert_int_equal(doorbell_create(directory, SEATS, name, NULL), 0);
    assert_true(is_gone("cosched-0123456789abcdef"));
    assert_false(is_gone("cosched-0123456789abcde0"));
    assert_false(is_gone("cosched-0123456789abcdeg"));
    assert_false(is_gone("cosched-0123456789abcdef0"));
}

// --- rings ---------------------------------------------------------------------------------------

static void nobody_asleep_nothing_rung(void **state)
{
    (void)state;
    doorbell_ring(DOORBELL_ALL);
    doorbell_ring(1);
    for (int i = 0; i < SEATS; i++)
        assert_int_equal(rings(i), 0);
}

static void only_the_one_that_is_meant(void **state)
{
    (void)state;
    announce_at(1);
    announce_at(2);
    doorbell_ring(2);
    assert_int_equal(rings(1), 0);
    assert_int_equal(rings(2), 1);
    assert_int_equal(doorbell.room->asleep, 1);
    doorbell_ring(2); // awake by now
    assert_int_equal(rings(2), 1);
    doorbell_ring(DOORBELL_ALL);
    assert_int_equal(rings(1), 1);
    assert_int_equal(doorbell.room->asleep, 0);
}

static void a_ring_before_the_sleep_is_not_lost(void **state)
{
    (void)state;
    doorbell_announce();
    doorbell_ring(DOORBELL_ALL);
    assert_true(doorbell_sleep(LONG_NS));
    assert_int_equal(doorbell.room->asleep, 0);
    assert_false(doorbell_announced);
}

static void a_sleep_ends_without_a_ring(void **state)
{
    (void)state;
    doorbell_announce();
    assert_false(doorbell_sleep(1000));
    assert_int_equal(doorbell.room->asleep, 0);
}

static void who_withdraws_is_not_rung(void **state)
{
    (void)state;
    doorbell_announce();
    doorbell_withdraw();
    assert_int_equal(doorbell.room->asleep, 0);
    doorbell_ring(DOORBELL_ALL);
    assert_int_equal(rings(0), 0);
}

static void *sleep_here(void *woken)
{
    doorbell_announce();
    *(bool *)woken = doorbell_sleep(LONG_NS);
    return NULL;
}

static void wait_until_asleep(int seat)
{
    while (doorbell.room->seats[seat].asleep == 0)
        sched_yield();
}

// A seat stands for a process: the other thread must not go on sleeping as if it had not said so.
static void a_thread_that_withdraws_wakes_the_others(void **state)
{
    (void)state;
    pthread_t thread;
    bool woken = false;
    assert_int_equal(pthread_create(&thread, NULL, sleep_here, &woken), 0);
    wait_until_asleep(0);
    doorbell_announce();
    doorbell_withdraw();
    pthread_join(thread, NULL);
    assert_true(woken);
}

static void threads_of_the_ringer_are_rung_too(void **state)
{
    (void)state;
    pthread_t thread;
    bool woken = false;
    assert_int_equal(pthread_create(&thread, NULL, sleep_here, &woken), 0);
    wait_until_asleep(0);
    doorbell_ring(1);
    pthread_join(thread, NULL);
    assert_true(woken);
}

// --- several processes ---------------------------------------------------------------------------

static void who_was_killed_costs_one_ring(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        doorbell.own = 1;
        doorbell_announce();
        doorbell_sleep(LONG_NS);
        _exit(0);
    }
    wait_until_asleep(1);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    doorbell_ring(DOORBELL_ALL);
    assert_int_equal(doorbell.room->asleep, 0);
    doorbell_ring(DOORBELL_ALL);
    assert_int_equal(rings(1), 1);
}

// False when it was over in time: rung, or woken late for a ring that had been seen already, whose
// ringer was kept from its CPU between the two.
static bool sleeps_in_vain(void)
{
    uint64_t begun_ns = clock_now_ns();
    return !doorbell_sleep(LONG_NS) && clock_now_ns() - begun_ns >= LONG_NS;
}

// Takes its turns; the number of sleeps that nobody ended.
static int take_turns(_Atomic int *turn, int own)
{
    int overslept = 0;
    doorbell.own = own;
    for (int i = 0; i < TURNS; i++) {
        while (atomic_load_explicit(turn, memory_order_acquire) != own) {
            doorbell_announce();
            if (atomic_load_explicit(turn, memory_order_acquire) == own)
                doorbell_withdraw();
            else
                overslept += sleeps_in_vain();
        }
        atomic_store_explicit(turn, 1 - own, memory_order_release);
        doorbell_ring(i % 2 == 0 ? 1 - own : DOORBELL_ALL);
    }
    return overslept;
}

static void no_ring_is_lost_between_processes(void **state)
{
    (void)state;
    int status;
    _Atomic int *turn =
        mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(turn != MAP_FAILED);
    pid_t child = fork();
    if (child == 0)
        _exit(take_turns(turn, 1) == 0 ? 0 : 1);
    assert_int_equal(take_turns(turn, 0), 0);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(doorbell.room->asleep, 0);
    munmap((void *)turn, sizeof *turn);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, create, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_the_user_can_open_it_and_nobody_guess_it),
        TEST(a_segment_that_others_can_open_is_refused),
        TEST(one_of_another_size_is_refused),
        TEST(a_link_is_refused),
        TEST(without_the_directory_there_is_none),
        TEST(places_are_told_apart),
        TEST(no_descriptor_is_kept),
        TEST(what_a_killed_job_has_left_goes_with_a_later_one),
        TEST(nobody_asleep_nothing_rung),
        TEST(only_the_one_that_is_meant),
        TEST(a_ring_before_the_sleep_is_not_lost),
        TEST(a_sleep_ends_without_a_ring),
        TEST(who_withdraws_is_not_rung),
        TEST(a_thread_that_withdraws_wakes_the_others),
        TEST(threads_of_the_ringer_are_rung_too),
        TEST(who_was_killed_costs_one_ring),
        TEST(no_ring_is_lost_between_processes),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
