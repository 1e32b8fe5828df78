// For tests of sleeps on sockets: another thread that is asleep on them, and on an ear of its own,
// until it is told.
#ifndef COSCHED_TESTS_UNIT_LISTENER_H
#define COSCHED_TESTS_UNIT_LISTENER_H

#include "pmpi/variant/arrivals.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct listener {
    pthread_t thread;
    int ends[2]; // of a pipe; the first is the ear
};

static void *listener_sleep(void *listener)
{
    const uint64_t long_ns = UINT64_C(50000000000);
    bool heard;
    do
        arrivals_sleep(long_ns, ((struct listener *)listener)->ends[0], &heard);
    while (!heard);
    return NULL;
}

// Returns when the thread sleeps.
static inline void listener_start(struct listener *listener)
{
    bool heard;
    assert_int_equal(pipe(listener->ends), 0);
    assert_int_equal(pthread_create(&listener->thread, NULL, listener_sleep, listener), 0);
    while (arrivals_sleep(1000000, -1, &heard) != ARRIVALS_UNKNOWN)
        usleep(5000);
}

static inline void listener_stop(struct listener *listener)
{
    assert_int_equal(write(listener->ends[1], "x", 1), 1);
    pthread_join(listener->thread, NULL);
    close(listener->ends[0]);
    close(listener->ends[1]);
}

#endif
