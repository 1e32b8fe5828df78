// A scheduler over the backend in memory, whose jobs are suspended, resumed and killed, and what it
// has told of that.
#ifndef COSCHED_TESTS_UNIT_TRACKED_NODE_H
#define COSCHED_TESTS_UNIT_TRACKED_NODE_H

#include "tests/unit/scheduler_node.h"

#include <stdio.h>

enum { A = 5000001, B }; // pids that no process can have
enum { OWNER = 1000, OTHER = 1001, SERVICE = 99 };

static struct tracking_result told;
static unsigned times_told;

static inline void take_news(const struct tracking_result *result, void *user)
{
    (void)user;
    told = *result;
    times_told++;
}

static inline int set_up(void **state)
{
    struct node *node = node_new();
    node_start(node);
    scheduler_on_tracked(node->scheduler, take_news, NULL);
    times_told = 0;
    *state = node;
    return 0;
}

static inline struct process *come_since(struct node *node, const char *job_id, uid_t uid,
                                         pid_t pid, uint64_t start_time)
{
    struct protocol_register wish = {.width = 1, .ranks = 1};
    struct process *process = NULL;
    snprintf(wish.job_id, sizeof wish.job_id, "%s", job_id);
    struct applicant applicant = {
        .uid = uid, .pid = pid, .start_time = start_time, .pidfd = -1, .wish = &wish};
    assert_int_equal(scheduler_register(node->scheduler, &applicant, node->now_ns, &process, NULL),
                     0);
    return process;
}

static inline struct process *come(struct node *node, const char *job_id, uid_t uid, pid_t pid)
{
    return come_since(node, job_id, uid, pid, 1);
}

static inline struct tracking_result track(struct node *node, struct job *job,
                                           enum tracking_kind kind, enum protocol_means means)
{
    struct tracking_order order = {.kind = kind, .means = means};
    struct tracking_result result;
    assert_true(scheduler_track(node->scheduler, job, &order, node->now_ns, &result));
    return result;
}

// What classd does at a deadline.
static inline void go_on(struct node *node)
{
    uid_t uid;
    scheduler_track_on(node->scheduler, node->now_ns, &uid);
    scheduler_deadline(node->scheduler, node->now_ns, 0);
}

static inline struct protocol_job_record record_of(struct node *node, uint32_t index)
{
    struct protocol_job_record record;
    assert_true(scheduler_describe_job(node->scheduler, 0, true, index, &record, node->now_ns));
    return record;
}

#define with_node(test) cmocka_unit_test_setup_teardown(test, set_up, node_free)

#endif
