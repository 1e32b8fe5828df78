// Protects what threads are bound to when their process is moved: each is bound as before, and who
// has not been bound otherwise is left alone.
#include "cgroup-backend/affinity.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static _Atomic pid_t thread_id;
static pthread_barrier_t over;

static void *thread_waits(void *unused)
{
    (void)unused;
    thread_id = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&over);
    return NULL;
}

static cpu_set_t cpus_of(pid_t thread)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    assert_int_equal(sched_getaffinity(thread, sizeof cpus, &cpus), 0);
    return cpus;
}

static void bind_to(pid_t thread, const cpu_set_t *cpus)
{
    assert_int_equal(sched_setaffinity(thread, sizeof *cpus, cpus), 0);
}

static cpu_set_t last_of(cpu_set_t cpus)
{
    for (int cpu = 0; CPU_COUNT(&cpus) > 1; cpu++)
        CPU_CLR(cpu, &cpus);
    return cpus;
}

static void threads_are_bound_as_they_were(void **state)
{
    (void)state;
    cpu_set_t all = cpus_of(0), last = last_of(all);
    if (CPU_EQUAL(&all, &last))
        skip();
    pthread_t thread;
    pthread_barrier_init(&over, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, thread_waits, NULL), 0);
    while (thread_id == 0)
        sched_yield();
    bind_to(thread_id, &last);
    struct affinity affinity = {0};
    affinity_note(getpid(), &affinity);
    assert_int_equal(affinity.count, 2);
    bind_to(thread_id, &all); // as a move does
    affinity_restore(getpid(), &affinity);
    cpu_set_t restored = cpus_of(thread_id), own = cpus_of(0);
    assert_true(CPU_EQUAL(&restored, &last));
    assert_true(CPU_EQUAL(&own, &all));
    affinity_free(&affinity);
    pthread_barrier_wait(&over);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&over);
}

// A move takes a while, in which the process makes threads.
static void who_was_born_meanwhile_is_bound_with_the_others(void **state)
{
    (void)state;
    cpu_set_t all = cpus_of(0), last = last_of(all);
    if (CPU_EQUAL(&all, &last))
        skip();
    for (int binds_itself = 0; binds_itself < 2; binds_itself++) {
        pthread_t thread;
        struct affinity affinity = {0};
        pthread_barrier_init(&over, NULL, 2);
        thread_id = 0;
        bind_to(0, &last);
        affinity_note(getpid(), &affinity);
        bind_to(0, &all); // as a move does
        assert_int_equal(pthread_create(&thread, NULL, thread_waits, NULL), 0);
        while (thread_id == 0)
            sched_yield();
        if (binds_itself)
            bind_to(thread_id, &last);
        affinity_restore(getpid(), &affinity);
        cpu_set_t newcomer = cpus_of(thread_id), own = cpus_of(0);
        assert_true(CPU_EQUAL(&newcomer, &last));
        assert_true(CPU_EQUAL(&own, &last));
        affinity_free(&affinity);
        bind_to(0, &all);
        pthread_barrier_wait(&over);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&over);
    }
}

// A move takes a while: what somebody chooses in it is his, not the kernel's.
static void who_binds_himself_meanwhile_stays_bound(void **state)
{
    (void)state;
    cpu_set_t all = cpus_of(0), last = last_of(all);
    if (CPU_EQUAL(&all, &last))
        skip();
    struct affinity affinity = {0};
    affinity_note(getpid(), &affinity);
    bind_to(0, &last);
    affinity_restore(getpid(), &affinity);
    cpu_set_t own = cpus_of(0);
    bind_to(0, &all);
    affinity_free(&affinity);
    assert_true(CPU_EQUAL(&own, &last));
}

static void who_is_gone_has_none(void **state)
{
    (void)state;
    struct affinity affinity = {0};
    affinity_note(0x7fffffff, &affinity);
    assert_int_equal(affinity.count, 0);
    affinity_restore(0x7fffffff, &affinity);
    affinity_free(&affinity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_bound_as_they_were),
        cmocka_unit_test(who_was_born_meanwhile_is_bound_with_the_others),
        cmocka_unit_test(who_binds_himself_meanwhile_stays_bound),
        cmocka_unit_test(who_is_gone_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
