// A node under policy yoo-jette, for tests of its rules one by one: what happens to it, and who is
// scheduled then with which share.
#ifndef COSCHED_TESTS_UNIT_YOO_JETTE_NODE_H
#define COSCHED_TESTS_UNIT_YOO_JETTE_NODE_H

#include "tests/unit/engine_caller.h"

#define SECOND 1000000000ull
#define SLICE  (15 * SECOND)
#define GMET   (5 * SECOND)

enum { A = 101, B, C, D, E };

static inline struct caller node_with(unsigned cpus)
{
    struct caller caller;
    caller_open(&caller, &(struct engine_settings){.policy = "yoo-jette",
                                                   .cpus = cpus,
                                                   .idle_share_ppm = 10000,
                                                   .time_slice_ns = SLICE,
                                                   .gmet_ns = GMET});
    return caller;
}

static inline struct engine_result enter(struct caller *caller, engine_job_t job, uint32_t width)
{
    return caller_event(caller, ENGINE_REGISTER, job, width, 0);
}

static inline struct engine_result leave(struct caller *caller, engine_job_t job, uint32_t width)
{
    return caller_event(caller, ENGINE_EXIT, job, width, 0);
}

static inline enum engine_outcome request(struct caller *caller, engine_job_t job)
{
    return caller_event(caller, ENGINE_SCHEDULE, job, 0, 0).outcome;
}

static inline struct engine_job_view view_of(struct caller *caller, engine_job_t job)
{
    struct engine_job_view view;
    assert_true(engine_job_find(caller->engine, job, &view));
    return view;
}

// Service as an account, not by way of USAGE: what most tests need.
static inline void served(struct caller *caller, engine_job_t job, uint64_t seconds)
{
    engine_set_service(caller->engine, job, seconds * SECOND);
}

static inline void run(struct caller *caller, uint64_t ns)
{
    caller->now_ns += ns;
}

static inline void tick(struct caller *caller)
{
    run(caller, SLICE);
    caller_event(caller, ENGINE_SWITCH, 0, 0, 0);
}

// The scheduled jobs are exactly these, given as letters.
static inline void assert_scheduled(struct caller *caller, const char *letters)
{
    char found[CALLER_JOBS + 1] = "";
    size_t length = 0;
    for (engine_job_t job = A; job < A + 26; job++) {
        struct engine_job_view view;
        if (engine_job_find(caller->engine, job, &view) && view.scheduled)
            found[length++] = (char)('A' + (job - A));
    }
    found[length] = '\0';
    assert_string_equal(found, letters);
}

static inline void assert_share(struct caller *caller, engine_job_t job, uint32_t share_ppm)
{
    assert_int_equal(view_of(caller, job).share_ppm, share_ppm);
}

#endif
