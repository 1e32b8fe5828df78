// How ranks that share CPUs find out that somebody else computes there, told from the CPU times of
// all of them. The test is the clock, and whoever uses CPUs.
#include "pmpi/variant/contention.h"

#include "common/clock.h"
#include "common/units.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define YIELD_NS (4 * NS_PER_MS)

enum { MATES = 4, CPUS = 2 };

static uint64_t used[MATES + 1]; // by pid
static bool readable;
static uint64_t now_ns;

static bool read_fake(pid_t pid, uint64_t *used_ns)
{
    *used_ns = used[pid];
    return readable;
}

static bool (*read_real)(pid_t pid, uint64_t *used_ns);

static struct contention_process process_of(int pid)
{
    struct contention_process process = contention_own_process();
    process.pid = pid;
    return process;
}

static void start_with(const struct contention_process *mates, _Atomic uint64_t *until_ns)
{
    contention_start(mates, MATES, CPUS, until_ns);
}

static int start(void **state)
{
    struct contention_process mates[MATES];
    (void)state;
    for (int i = 0; i < MATES; i++)
        mates[i] = process_of(i + 1);
    readable = true;
    now_ns = clock_now_ns();
    contention.used_ns = read_fake;
    start_with(mates, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    contention_stop();
    return 0;
}

// For so long, all ranks together use so many per cent of their CPUs, and this one, waiting, has
// its CPU back every YIELD_NS, which it wanted for so many per cent of the time.
static void pass(uint64_t span_ns, unsigned used_pct, unsigned waited_pct)
{
    for (uint64_t passed = 0; passed < span_ns; passed += YIELD_NS) {
        now_ns += YIELD_NS;
        for (int i = 1; i <= MATES; i++)
            used[i] += YIELD_NS * CPUS / MATES * used_pct / 100;
        contention_yielded(now_ns, YIELD_NS * waited_pct / 100);
    }
}

static void ranks_that_use_their_cpus_are_alone(void **state)
{
    (void)state;
    pass(10 * contention.window_ns, 99, 90);
    assert_false(contention_known());
}

static void what_they_do_not_get_somebody_else_has(void **state)
{
    (void)state;
    pass(2 * contention.window_ns, 66, 90);
    assert_true(contention_known());
}

static void pass_alone(unsigned used_pct)
{
    for (uint64_t passed = 0; passed < 10 * contention.window_ns; passed += YIELD_NS) {
        now_ns += YIELD_NS;
        used[1] += YIELD_NS * used_pct / 100;
        contention_yielded(now_ns, YIELD_NS / 2);
    }
}

// A rank that has a CPU and shares it with one of another job, which yields, too, has half of it;
// beside one that computes a few per cent.
static void who_has_a_fair_part_is_beside_polite_ones(void **state)
{
    struct contention_process self = process_of(1);
    (void)state;
    contention_start(&self, 1, 1, NULL);
    pass_alone(40);
    assert_false(contention_known());
    pass_alone(20);
    assert_true(contention_known());
}

// All of them read a file, say.
static void ranks_that_do_not_want_their_cpus_are_alone(void **state)
{
    (void)state;
    contention.long_ns = 0;
    pass(10 * contention.window_ns, 10, 10);
    assert_false(contention_known());
    contention.long_ns = NS_PER_MS;
}

static void short_yields_are_not_looked_at(void **state)
{
    (void)state;
    contention.long_ns = YIELD_NS;
    pass(10 * contention.window_ns, 10, 90);
    assert_false(contention_known());
    contention.long_ns = NS_PER_MS;
}

static void less_than_a_window_says_nothing(void **state)
{
    (void)state;
    pass(contention.window_ns - YIELD_NS, 50, 90);
    assert_false(contention_known());
}

// A rank that computed for a second knows nothing of that second.
static void a_look_that_took_too_long_says_nothing(void **state)
{
    (void)state;
    pass(contention.window_ns / 2, 99, 90);
    now_ns += 10 * contention.window_ns;
    pass(contention.window_ns / 2, 99, 90);
    assert_false(contention_known());
}

static void what_is_forgotten_says_nothing(void **state)
{
    (void)state;
    pass(contention.window_ns / 2, 50, 90);
    contention_forget();
    pass(contention.window_ns - YIELD_NS, 50, 90);
    assert_false(contention_known());
    pass(contention.window_ns, 50, 90);
    assert_true(contention_known());
}

static void the_answer_expires(void **state)
{
    (void)state;
    now_ns -= contention.hold_ns;
    pass(contention.window_ns + 2 * YIELD_NS, 50, 90);
    while (clock_now_ns() < now_ns + contention.hold_ns)
        usleep(1000);
    assert_false(contention_known());
    assert_int_equal(*contention.until_ns, 0);
}

static void who_stays_is_believed_for_longer(void **state)
{
    (void)state;
    pass(contention.window_ns + 2 * YIELD_NS, 50, 90);
    uint64_t first_ns = *contention.until_ns - now_ns;
    now_ns = *contention.until_ns;
    pass(contention.window_ns + 2 * YIELD_NS, 50, 90);
    assert_true(*contention.until_ns - now_ns > first_ns + first_ns / 2);
    now_ns = *contention.until_ns + 10 * contention.window_ns;
    pass(contention.window_ns + 2 * YIELD_NS, 50, 90);
    assert_true(*contention.until_ns - now_ns <= contention.hold_ns);
}

static void ranks_of_a_machine_tell_each_other(void **state)
{
    struct contention_process mates[MATES];
    _Atomic uint64_t until_ns = 0;
    (void)state;
    for (int i = 0; i < MATES; i++)
        mates[i] = process_of(i + 1);
    start_with(mates, &until_ns);
    pass(2 * contention.window_ns, 50, 90);
    assert_true(until_ns > now_ns);
    until_ns = UINT64_MAX;
    assert_true(contention_known());
    until_ns = 0;
    assert_false(contention_known());
    contention_stop();
}

static void without_all_cpu_times_nobody_is_suspected(void **state)
{
    struct contention_process mates[MATES];
    (void)state;
    for (int i = 0; i < MATES; i++)
        mates[i] = process_of(i + 1);
    mates[2].numbers_id++; // in another container
    start_with(mates, NULL);
    pass(2 * contention.window_ns, 50, 90);
    assert_false(contention_known());
    mates[2].numbers_id--;
    start_with(mates, NULL);
    readable = false; // it has ended
    pass(2 * contention.window_ns, 50, 90);
    assert_false(contention_known());
}

// Of another process of this user, while it runs; nothing of one that is not there.
static void cpu_times_of_others_can_be_read(void **state)
{
    uint64_t before_ns = 0, after_ns = 0;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
    }
    assert_true(read_real(child, &before_ns));
    do {
        usleep(1000);
        assert_true(read_real(child, &after_ns));
    } while (after_ns <= before_ns);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(read_real(child, &after_ns));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)

int main(void)
{
    read_real = contention.used_ns;
    const struct CMUnitTest tests[] = {
        TEST(ranks_that_use_their_cpus_are_alone),
        TEST(what_they_do_not_get_somebody_else_has),
        TEST(who_has_a_fair_part_is_beside_polite_ones),
        TEST(ranks_that_do_not_want_their_cpus_are_alone),
        TEST(short_yields_are_not_looked_at),
        TEST(less_than_a_window_says_nothing),
        TEST(a_look_that_took_too_long_says_nothing),
        TEST(what_is_forgotten_says_nothing),
        TEST(the_answer_expires),
        TEST(who_stays_is_believed_for_longer),
        TEST(ranks_of_a_machine_tell_each_other),
        TEST(without_all_cpu_times_nobody_is_suspected),
        TEST(cpu_times_of_others_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
