// To which CPUs a job is bound, by those of real processes.
#include "classd/job_cpus.h"
#include "common/units.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROCESSES = 2 };

static struct process processes[PROCESSES];
static struct process *list[PROCESSES] = {&processes[0], &processes[1]};

static void bind_to(pid_t pid, int cpu)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    assert_int_equal(sched_setaffinity(pid, sizeof cpus, &cpus), 0);
}

static void start(struct process *process)
{
    process->width = 1;
    process->pid = fork();
    if (process->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(process->pid > 0);
}

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSES; i++)
        start(&processes[i]);
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        kill(processes[i].pid, SIGKILL);
        waitpid(processes[i].pid, NULL, 0);
    }
    return 0;
}

static struct job job_of(uint32_t count)
{
    struct job job = {.processes = list};
    for (job.process_count = 1; job.process_count <= count; job.process_count++)
        job_cpus_join(&job, list[job.process_count - 1]);
    job.process_count = count;
    return job;
}

static uint64_t first_word(const struct job *job)
{
    return job_cpus(job) != NULL ? job_cpus(job)->words[0] : 0;
}

static bool can_bind(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) >= 2 && sched_getcpu() < 64;
}

static void who_may_run_anywhere_is_bound_to_nothing(void **state)
{
    (void)state;
    if (!can_bind())
        skip();
    struct job job = job_of(PROCESSES);
    assert_null(job_cpus(&job));
    bind_to(processes[0].pid, 0); // the other one is not
    job = job_of(PROCESSES);
    assert_null(job_cpus(&job));
}

static void the_cpus_of_all_count(void **state)
{
    (void)state;
    if (!can_bind())
        skip();
    bind_to(processes[0].pid, 1);
    bind_to(processes[1].pid, 1);
    struct job job = job_of(1);
    assert_int_equal(first_word(&job), 2);
    job = job_of(PROCESSES);
    assert_int_equal(first_word(&job), 2);
    bind_to(processes[1].pid, 0);
    job = job_of(PROCESSES);
    bool all = sysconf(_SC_NPROCESSORS_ONLN) == 2; // of the node
    assert_int_equal(first_word(&job), all ? 0 : 3);
}

// Its first thread is bound for itself.
static void who_has_more_threads_than_that_is_bound_to_nothing(void **state)
{
    (void)state;
    if (!can_bind())
        skip();
    bind_to(processes[0].pid, 0);
    processes[0].width = 2;
    struct job job = job_of(1);
    assert_null(job_cpus(&job));
}

static void who_binds_himself_later_is_seen(void **state)
{
    (void)state;
    uint64_t now_ns = 1000 * NS_PER_SEC;
    if (!can_bind())
        skip();
    struct job job = job_of(1);
    assert_false(job_cpus_look(&job, now_ns));
    bind_to(processes[0].pid, 1);
    assert_false(job_cpus_look(&job, now_ns + NS_PER_SEC)); // so soon
    assert_true(job_cpus_look(&job, now_ns + 6 * NS_PER_SEC));
    assert_int_equal(first_word(&job), 2);
    assert_false(job_cpus_look(&job, now_ns + 12 * NS_PER_SEC));
    kill(processes[0].pid, SIGKILL);
    waitpid(processes[0].pid, NULL, 0);
    job_cpus_look(&job, now_ns + 18 * NS_PER_SEC); // its end is heard of soon
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(who_may_run_anywhere_is_bound_to_nothing),
        test(the_cpus_of_all_count),
        test(who_has_more_threads_than_that_is_bound_to_nothing),
        test(who_binds_himself_later_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
