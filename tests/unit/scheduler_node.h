// A node for tests of the scheduler: the real one over the backend in memory, with pages in a
// directory of its own. Include after cmocka's prerequisites.
#ifndef COSCHED_TESTS_UNIT_SCHEDULER_NODE_H
#define COSCHED_TESTS_UNIT_SCHEDULER_NODE_H

#include "cgroup-backend/test_backend.h"
#include "classd/log.h"
#include "classd/scheduler.h"
#include "common/units.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct node {
    char dir[32];
    int dir_fd;
    struct config config; // to be changed between node_new() and node_start()
    backend_t *backend;
    pages_t *pages;
    scheduler_t *scheduler;
    uint64_t now_ns;
    uint16_t generation;
    const char *list; // in which jobs that come are to begin; null: none is asked for
};

// A node of one CPU, not started.
static inline struct node *node_new(void)
{
    struct node *node = calloc(1, sizeof *node);
    log_init("test", "err");
    strcpy(node->dir, "/tmp/cosched-test-XXXXXX");
    assert_non_null(mkdtemp(node->dir));
    node->dir_fd = open(node->dir, O_RDONLY | O_DIRECTORY);
    config_defaults(&node->config);
    node->config.cpus = 1;
    node->config.skip_dormant = false; // nobody uses CPU time here, unless a test says so
    node->now_ns = NS_PER_SEC;
    node->backend = test_backend_new();
    return node;
}

// A classd begins, or the next one after node_stop(). It has not adopted anybody yet.
static inline void node_start(struct node *node)
{
    node->generation++;
    assert_int_equal(
        pages_open(node->dir_fd, &node->config, 42, node->generation, &node->pages, NULL), 0);
    assert_int_equal(scheduler_open(&node->config, node->backend, node->pages, node->now_ns,
                                    &node->scheduler, NULL),
                     0);
}

// It is gone without a word: limits and pages stay.
static inline void node_stop(struct node *node)
{
    scheduler_close(node->scheduler);
    pages_close(node->pages);
}

// How many lines are logged while a user has done what he likes.
static inline size_t node_count_lines(struct node *node, void (*act)(struct node *node))
{
    size_t lines = 0;
    FILE *file = tmpfile();
    int terminal = dup(STDERR_FILENO);
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    log_init("test", "info");
    act(node);
    log_init("test", "err");
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    rewind(file);
    for (int c; (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

// A teardown: nothing may be left in the directory.
static inline int node_free(void **state)
{
    struct node *node = *state;
    scheduler_dissolve(node->scheduler, node->now_ns);
    node_stop(node);
    backend_close(node->backend);
    unlinkat(node->dir_fd, STATUS_PAGE_DIRECTORY, AT_REMOVEDIR);
    close(node->dir_fd);
    int rc = rmdir(node->dir);
    free(node);
    return rc;
}

#endif
