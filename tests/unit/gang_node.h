// A node under policy gang, for tests of its rules one by one: what happens to it, slot by slot,
// and what its office says.
#ifndef COSCHED_TESTS_UNIT_GANG_NODE_H
#define COSCHED_TESTS_UNIT_GANG_NODE_H

#include "tests/unit/engine_caller.h"
#include "tests/unit/gang_settings.h"

enum { A = 101, B, C, D };

struct node {
    struct caller caller;
    uint64_t turn;
};

static inline struct engine_settings with_servants(unsigned cpus, unsigned servants)
{
    struct engine_settings settings = gang_settings(cpus);
    settings.servants = servants;
    return settings;
}

static inline void node_close(struct node *node)
{
    caller_close(&node->caller);
}

static inline void enter(struct node *node, engine_job_t job, uint32_t width)
{
    caller_post(&node->caller,
                (struct engine_event){
                    .kind = ENGINE_REGISTER, .job = job, .width = width, .name = gang_name(job)});
}

static inline struct engine_job_view view_of(const struct node *node, engine_job_t job)
{
    struct engine_job_view view = {0};
    assert_true(engine_job_find(node->caller.engine, job, &view));
    return view;
}

static inline bool is_out(const struct node *node, engine_job_t job)
{
    return view_of(node, job).scheduled;
}

static inline uint64_t slots_of(const struct node *node, engine_job_t job)
{
    return view_of(node, job).slots;
}

static inline unsigned count_of(uint64_t slots)
{
    return (unsigned)__builtin_popcountll(slots);
}

// The next slot begins.
static inline void tick(struct node *node)
{
    node->turn++;
    node->caller.now_ns += SLOT;
    caller_post(&node->caller, (struct engine_event){.kind = ENGINE_SWITCH, .turn = node->turn});
}

static inline void tick_to(struct node *node, unsigned slot)
{
    do
        tick(node);
    while (node->turn % ENGINE_ROUND != slot);
}

static inline uint64_t claim(struct node *node, engine_job_t job, uint64_t slots)
{
    return engine_claim(node->caller.engine, job, slots, 1, node->caller.now_ns);
}

static inline uint64_t promise(struct node *node, engine_job_t job, uint64_t wish, uint8_t due)
{
    return engine_promise(node->caller.engine, job, wish, due, node->caller.now_ns);
}

static inline uint64_t offer(struct node *node, engine_job_t job, uint8_t due, unsigned *most)
{
    uint64_t slots = 0;
    uint8_t count = 0;
    engine_offer(node->caller.engine, job, &due, 1, &slots, &count, node->caller.now_ns);
    if (most != NULL)
        *most = count;
    return slots;
}

static inline enum engine_outcome request_after(struct node *node, engine_job_t job,
                                                uint64_t after_ns)
{
    node->caller.now_ns += after_ns;
    return caller_event(&node->caller, ENGINE_SCHEDULE, job, 0, 0).outcome;
}

static inline void served(struct node *node, engine_job_t job, uint64_t service_ns)
{
    engine_set_service(node->caller.engine, job, service_ns);
}

// What a test begins with: a node on which so many jobs, A and so on, have come, each as wide as
// that.
static inline struct node scene(struct engine_settings settings, unsigned jobs, uint32_t width)
{
    struct node node = {.turn = 6000};
    caller_open(&node.caller, &settings);
    for (unsigned i = 0; i < jobs; i++)
        enter(&node, A + i, width);
    return node;
}

// A node of one CPU, A and B with every other slot, and so many jobs that have come after that.
static inline struct node halves(unsigned newcomers)
{
    struct node node = scene(gang_settings(1), 2, 1);
    assert_int_equal(claim(&node, A, EVENS), EVENS);
    assert_int_equal(claim(&node, B, ODDS), ODDS);
    for (unsigned i = 0; i < newcomers; i++)
        enter(&node, C + i, 1);
    return node;
}

#endif
