// Jobs that come to the node of scheduler_node.h, and what is done to them: class_set_share() and
// deaths_watch() are wrapped, so that a test sees what the status page said at the moment of each
// write, and of each entry. To be included by one file of a program, which is linked with these
// wraps.
#ifndef COSCHED_TESTS_UNIT_SCHEDULER_JOBS_H
#define COSCHED_TESTS_UNIT_SCHEDULER_JOBS_H

#include "classd/adopt.h"
#include "classd/deaths.h"
#include "classd/process.h"
#include "tests/unit/scheduler_node.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

// What was effected, in order: "a quota 10000 page idle" and the like.
static struct {
    char text[4096];
    const struct node *node;
} effects;

int __real_class_set_share(class_t *class_, uint32_t share_ppm, struct error *err);
int __wrap_class_set_share(class_t *class_, uint32_t share_ppm, struct error *err);

static inline uint16_t flags_of(const struct node *node, const char *job_id)
{
    char name[PAGE_NAME_MAX];
    struct status_page *page = NULL;
    int fd = -1;
    page_name(name, 0, job_id);
    int jobs = openat(node->dir_fd, STATUS_PAGE_DIRECTORY, O_RDONLY | O_DIRECTORY);
    assert_int_equal(status_page_open(jobs, name, true, &page, &fd, NULL), 0);
    uint16_t flags = status_word_flags(atomic_load(&page->word));
    status_page_close(page, fd);
    close(jobs);
    return flags;
}

int __wrap_class_set_share(class_t *class_, uint32_t share_ppm, struct error *err)
{
    const char *job_id = class_name(class_) + strlen("job-0-");
    size_t used = strlen(effects.text);
    char share[16] = "max";
    if (share_ppm != BACKEND_UNLIMITED)
        snprintf(share, sizeof share, "%u", share_ppm);
    snprintf(effects.text + used, sizeof effects.text - used, "%s %s while %s\n", job_id, share,
             flags_of(effects.node, job_id) & STATUS_SCHEDULED ? "scheduled" : "idle");
    return __real_class_set_share(class_, share_ppm, err);
}

// What the page of a job says whenever a process enters it.
static uint32_t fewest_members;

int __real_deaths_watch(int deaths, struct process *process, struct error *err);
int __wrap_deaths_watch(int deaths, struct process *process, struct error *err);

int __wrap_deaths_watch(int deaths, struct process *process, struct error *err)
{
    if (process->job->page->member_count < fewest_members)
        fewest_members = process->job->page->member_count;
    return __real_deaths_watch(deaths, process, err);
}

static inline int set_up(void **state)
{
    struct node *node = node_new();
    node->config.strict = true;
    node->config.max_jobs = 3;
    node->config.max_processes = 2;
    effects.node = node;
    node_start(node);
    *state = node;
    return 0;
}

static uint64_t starts_ns; // of who comes
static uint32_t width = 1; // likewise
static struct world world_of_who_comes = {.ranks = 1};

static inline int try(struct node *node, const char *job_id, pid_t pid, struct process **process)
{
    struct protocol_register wish = {.width = width,
                                     .ranks = world_of_who_comes.ranks,
                                     .starts_ns = starts_ns,
                                     .world = world_of_who_comes.key,
                                     .parent = world_of_who_comes.parent};
    struct error err = {0};
    uint64_t start_time = 1;
    snprintf(wish.job_id, sizeof wish.job_id, "%s", job_id);
    if (node->list != NULL)
        strcpy(wish.list, node->list);
    process_start_time(pid, &start_time, NULL); // pids of tests that need no process have none
    struct applicant applicant = {.pid = pid, .start_time = start_time, .pidfd = -1, .wish = &wish};
    return scheduler_register(node->scheduler, &applicant, node->now_ns, process, &err) == 0
               ? 0
               : err.code;
}

// Pids that no process can have.
enum { A = 5000001, A2, B, B2, C, D };

static inline struct process *come(struct node *node, const char *job_id, pid_t pid)
{
    struct process *process = NULL;
    assert_int_equal(try(node, job_id, pid, &process), 0);
    return process;
}

static inline void clear(struct node *node)
{
    test_backend_clear_log(node->backend);
    effects.text[0] = '\0';
}

static inline pid_t sleeper(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG,
              SIGKILL); // a test that fails leaves nobody who holds its output open
        pause();
        _exit(0);
    }
    return pid;
}

static inline void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

// A slice passes, and its end is timerd's SWITCH.
static inline void next_slice(struct node *node)
{
    node->now_ns += node->config.time_slice_ns;
    scheduler_switch(node->scheduler, node->now_ns, 0);
}

// A classd that has begun takes over what the last one left.
static inline void adopt(struct node *node)
{
    assert_int_equal(adopt_jobs(node->scheduler, node->backend, node->pages, node->now_ns, NULL),
                     0);
}

static inline void adopt_anew(struct node *node, bool farewell)
{
    if (farewell)
        scheduler_lift(node->scheduler);
    node_stop(node);
    node_start(node);
    adopt(node);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, node_free)

#endif
