// A node without a kernel: classd's scheduler and commands on the backend in memory, with status
// pages in a directory of its own and processes that exist only here. An input tells what happens
// on it, step by step; after each step what clients may see is compared with what was effected.
//
// peer_pin(), process_pin() and log_line() are wrapped (see CMakeLists.txt): pids are those of the
// processes here, and a line may hold nothing that would look like two.
#ifndef COSCHED_TESTS_FUZZ_NODE_H
#define COSCHED_TESTS_FUZZ_NODE_H

#include "cgroup-backend/backend.h"
#include "classd/command.h"
#include "classd/pages.h"
#include "common/config.h"
#include "tests/fuzz/target.h"

#include <stdbool.h>

enum {
    NODE_PROCESSES = 12,
    NODE_CALLERS = 16,
    NODE_FIRST_PID = 5000001, // no real process has it
};

struct node_process {
    uid_t uid;
    pid_t pid;
    uint64_t start_time;
    int reader; // of a pipe that gets a byte at its death; -1: there is no such process
    int writer;
    bool dead;
};

struct node {
    int directory;
    int jobs; // the directory of the pages
    struct config config;
    backend_t *backend;
    pages_t *pages;
    struct commands commands;
    struct node_process processes[NODE_PROCESSES];
    struct caller callers[NODE_CALLERS];
    uint64_t now_ns;
    uint16_t generation;
    bool faulty; // the backend was told to fail: limits may be missing, classes stay behind
    unsigned descriptors;
};

// A node with an empty runtime directory and no classd yet. The input chooses the configuration.
void node_open(struct node *node, struct input *input);

// classd starts on what is there, and is gone again without a farewell.
void node_start(struct node *node);
void node_kill(struct node *node);

// Lets happen what is left of the input.
void node_run(struct node *node, struct input *input);

// Ends classd by SHUTDOWN and checks that nothing is left: no class, page, descriptor.
void node_close(struct node *node);

// The process at `index`, alive unless an input has ended it.
struct node_process *node_process(struct node *node, unsigned index);

// Compares limits, pages and answers of all jobs.
void node_check(struct node *node);

#endif
