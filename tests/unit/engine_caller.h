// The caller's side of an engine, for tests: feeds events, carries out the decisions one by one as
// classd does, and checks after each that the shares in force fit the node.
#ifndef COSCHED_TESTS_UNIT_ENGINE_CALLER_H
#define COSCHED_TESTS_UNIT_ENGINE_CALLER_H

#include "classd/policy/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define CALLER_JOBS 256

struct caller {
    engine_t *engine;
    struct engine_settings settings;
    uint64_t now_ns;
    struct engine_decision in_force[CALLER_JOBS];
    size_t count;
    const char *context; // said when a check fails
};

#define CALLER_CHECK(caller, condition)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s: not so: %s", (caller)->context, #condition);                             \
    } while (0)

static inline void caller_open(struct caller *caller, const struct engine_settings *settings)
{
    *caller = (struct caller){.settings = *settings, .context = "caller"};
    caller->engine = engine_new(settings);
    assert_non_null(caller->engine);
}

static inline void caller_close(struct caller *caller)
{
    engine_free(caller->engine);
    caller->engine = NULL;
}

static inline struct engine_decision *caller_find(struct caller *caller, engine_job_t job)
{
    for (size_t i = 0; i < caller->count; i++) {
        if (caller->in_force[i].job == job)
            return &caller->in_force[i];
    }
    return NULL;
}

static inline void caller_forget_the_gone(struct caller *caller)
{
    struct engine_job_view view;
    for (size_t i = 0; i < caller->count;) {
        if (engine_job_find(caller->engine, caller->in_force[i].job, &view))
            i++;
        else
            caller->in_force[i] = caller->in_force[--caller->count];
    }
}

static inline void caller_carry_out(struct caller *caller, const struct engine_decision *decision)
{
    struct engine_decision *line = caller_find(caller, decision->job);
    if (line == NULL) {
        assert_true(caller->count < CALLER_JOBS);
        line = &caller->in_force[caller->count++];
    } else {
        CALLER_CHECK(caller, line->scheduled != decision->scheduled ||
                                 line->limited != decision->limited ||
                                 line->share_ppm != decision->share_ppm);
    }
    *line = *decision;
    uint64_t sum_ppm = 0;
    for (size_t i = 0; i < caller->count; i++)
        sum_ppm += caller->in_force[i].limited ? caller->in_force[i].share_ppm : 0;
    CALLER_CHECK(caller, sum_ppm <= ENGINE_WHOLE_PPM);
}

// What was carried out is what the engine believes, for every job and no other.
static inline void caller_compare(struct caller *caller)
{
    struct engine_job_view view;
    CALLER_CHECK(caller, engine_job_count(caller->engine) == caller->count);
    for (size_t i = 0; engine_job_at(caller->engine, i, &view); i++) {
        const struct engine_decision *line = caller_find(caller, view.job);
        CALLER_CHECK(caller, line != NULL);
        CALLER_CHECK(caller, line->scheduled == view.scheduled);
        CALLER_CHECK(caller, line->limited == view.limited);
        CALLER_CHECK(caller, line->share_ppm == view.share_ppm);
        CALLER_CHECK(caller, view.limited || view.share_ppm == ENGINE_WHOLE_PPM);
    }
}

static inline struct engine_result caller_post(struct caller *caller, struct engine_event event)
{
    struct engine_result result = engine_event(caller->engine, &event, caller->now_ns);
    caller_forget_the_gone(caller);
    for (size_t i = 0; i < result.decision_count; i++) {
        for (size_t k = 0; k < i; k++)
            CALLER_CHECK(caller, result.decisions[k].job != result.decisions[i].job);
        caller_carry_out(caller, &result.decisions[i]);
    }
    caller_compare(caller);
    return result;
}

static inline struct engine_result caller_event(struct caller *caller, enum engine_event_kind kind,
                                                engine_job_t job, uint32_t width, uint64_t usage_ns)
{
    return caller_post(caller, (struct engine_event){
                                   .kind = kind, .job = job, .width = width, .usage_ns = usage_ns});
}

#endif
