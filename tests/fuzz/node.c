#include "tests/fuzz/node.h"

#include "cgroup-backend/test_backend.h"
#include "classd/adopt.h"
#include "classd/job_class.h"
#include "classd/log.h"
#include "classd/process.h"
#include "common/units.h"
#include "tests/fuzz/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOT = 0, SERVICE = 1 };

static const uid_t users[] = {ROOT, SERVICE, 1000, 1001};

static struct node *here; // whose processes the wrapped functions know

int __wrap_peer_pin(int socket_fd, const struct peer *peer, int *pidfd, uint64_t *start_time,
                    struct error *err);
int __wrap_process_pin(pid_t pid, uint64_t start_time, struct error *err);
void __wrap_log_line(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- processes

struct node_process *node_process(struct node *node, unsigned index)
{
    struct node_process *process = &node->processes[index % NODE_PROCESSES];
    if (process->reader >= 0 || process->dead)
        return process;
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    process->reader = ends[0];
    process->writer = ends[1];
    process->start_time++;
    return process;
}

static void end_process(struct node_process *process)
{
    if (process->reader < 0)
        return;
    REQUIRE(write(process->writer, "x", 1) == 1);
    close(process->reader);
    close(process->writer);
    process->reader = process->writer = -1;
}

// As a pidfd: a description of its own for every call, readable from the process's end on.
static int pin(const struct node_process *process, struct error *err)
{
    char path[64];
    if (process->reader < 0)
        return error_set(err, ESRCH, "process %d has ended", (int)process->pid);
    snprintf(path, sizeof path, "/proc/self/fd/%d", process->reader);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    REQUIRE(fd >= 0);
    return fd;
}

static struct node_process *process_with(pid_t pid)
{
    if (pid < NODE_FIRST_PID || pid >= NODE_FIRST_PID + NODE_PROCESSES)
        return NULL;
    return node_process(here, (unsigned)(pid - NODE_FIRST_PID));
}

int __wrap_peer_pin(int socket_fd, const struct peer *peer, int *pidfd, uint64_t *start_time,
                    struct error *err)
{
    (void)socket_fd;
    const struct node_process *process = process_with(peer->pid);
    if (process == NULL)
        return error_set(err, EPERM, "the client cannot be seen");
    *start_time = process->start_time;
    *pidfd = pin(process, err);
    return *pidfd < 0 ? -1 : 0;
}

int __wrap_process_pin(pid_t pid, uint64_t start_time, struct error *err)
{
    const struct node_process *process = process_with(pid);
    if (process == NULL || process->start_time != start_time)
        return error_set(err, ESRCH, "process %d has ended", (int)pid);
    return pin(process, err);
}

// What a line says comes partly from outside; the journal and terminals take it at its word.
void __wrap_log_line(int priority, const char *format, ...)
{
    char line[1024];
    va_list args;
    (void)priority;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (const char *at = line; *at != '\0'; at++)
        REQUIRE((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f);
}

// ---- classd

static void choose_config(struct config *config, struct input *input)
{
    uint8_t flags = input_byte(input);
    config_defaults(config);
    if (flags & 1)
        strcpy(config->policy, (flags & 12) == 12 ? "gang" : "uncoordinated");
    config->strict = (flags & 2) != 0;
    config->timer_align = (flags & 4) != 0;
    config->gmet_ns = flags & 8 ? 0 : 50 * NS_PER_MS;
    config->time_slice_ns = 100 * NS_PER_MS;
    config->idle_share_ppm = flags & 16 ? 100000 : 10000;
    config->cpus = 1 + (flags >> 5) % 8;
    config->max_jobs = 1 + input_byte(input) % 8;
    uint8_t limits = input_byte(input);
    config->max_processes = 1 + limits % 4;
    config->max_jobs_per_user = 1 + limits / 4 % 8;
}

void node_open(struct node *node, struct input *input)
{
    *node = (struct node){.now_ns = NS_PER_SEC, .descriptors = scratch_descriptors()};
    here = node;
    choose_config(&node->config, input);
    node->directory = scratch_open();
    mkdirat(node->directory, STATUS_PAGE_DIRECTORY, 0700);
    node->jobs = openat(node->directory, STATUS_PAGE_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(node->jobs >= 0);
    node->backend = test_backend_new();
    node->commands.config = &node->config;
    node->commands.config_file = "/dev/null"; // RELOAD sets everything to its default
    node->commands.service_uid = SERVICE;
    for (int i = 0; i < NODE_PROCESSES; i++) {
        node->processes[i].uid = users[i % 4];
        node->processes[i].pid = NODE_FIRST_PID + i;
        node->processes[i].reader = node->processes[i].writer = -1;
    }
    for (int i = 0; i < NODE_CALLERS; i++) {
        const struct node_process *process = &node->processes[i % NODE_PROCESSES];
        node->callers[i].peer = (struct peer){.uid = process->uid, .pid = process->pid};
        node->callers[i].socket_fd = -1;
    }
}

void node_start(struct node *node)
{
    node->generation = (uint16_t)(node->generation + 1);
    REQUIRE(pages_open(node->directory, &node->config, 42, node->generation, &node->pages, NULL) ==
            0);
    REQUIRE(scheduler_open(&node->config, node->backend, node->pages, node->now_ns,
                           &node->commands.scheduler, NULL) == 0);
    int rc = adopt_jobs(node->commands.scheduler, node->backend, node->pages, node->now_ns, NULL);
    REQUIRE(rc == 0 || node->faulty);
}

void node_kill(struct node *node)
{
    scheduler_close(node->commands.scheduler);
    pages_close(node->pages);
    node->commands.scheduler = NULL;
    node->pages = NULL;
    for (int i = 0; i < NODE_CALLERS; i++)
        node->callers[i].serial = node->callers[i].waits = 0; // connections end with the daemon
}

// ---- what must hold between steps

// The limit in force: what the backend was told last about the class.
static uint32_t share_in_force(const struct node *node, const char *class_name)
{
    char line[BACKEND_NAME_MAX + 16];
    int length = snprintf(line, sizeof line, "share %s ", class_name);
    uint32_t share_ppm = BACKEND_UNLIMITED;
    for (const char *at = test_backend_log(node->backend); (at = strstr(at, line)) != NULL;) {
        at += length;
        share_ppm =
            strncmp(at, "max", 3) == 0 ? BACKEND_UNLIMITED : (uint32_t)strtoul(at, NULL, 10);
    }
    return share_ppm;
}

static void check_page(const struct node *node, const struct protocol_job_record *job)
{
    char name[PAGE_NAME_MAX];
    struct status_page *page = NULL;
    int fd = -1;
    page_name(name, job->uid, job->job_id);
    REQUIRE(status_page_open(node->jobs, name, true, &page, &fd, NULL) == 0);
    uint64_t word = atomic_load(&page->word);
    REQUIRE(page->uid == job->uid && strcmp(page->job_id, job->job_id) == 0);
    REQUIRE(page->member_count == job->processes);
    REQUIRE(status_word_generation(word) == node->generation);
    if (!node->faulty)
        REQUIRE(status_word_flags(word) == ((job->scheduled ? STATUS_SCHEDULED : 0u) |
                                            (job->limited ? STATUS_CONTENDED : 0u)));
    status_page_close(page, fd);
}

static void check_share(const struct node *node, const struct protocol_job_record *job)
{
    char name[BACKEND_NAME_MAX];
    bool held = job->limited && (!job->scheduled || node->config.strict);
    job_class_name(name, job->uid, job->job_id);
    REQUIRE(share_in_force(node, name) == (held ? job->share_ppm : BACKEND_UNLIMITED));
}

void node_check(struct node *node)
{
    struct protocol_job_record job;
    struct protocol_node_record record;
    uint64_t sum_ppm = 0;
    uint32_t processes = 0, limited = 0, scheduled = 0, count = 0, aside = 0, held_asleep = 0;
    for (; scheduler_describe_job(node->commands.scheduler, ROOT, true, count, &job, node->now_ns);
         count++) {
        check_page(node, &job);
        if (!node->faulty)
            check_share(node, &job);
        sum_ppm += job.limited ? job.share_ppm : 0;
        processes += job.processes;
        bool is_aside = job.suspended != 0 || job.dormant != 0;
        limited += job.limited && !is_aside;
        scheduled += job.scheduled;
        aside += is_aside;
        held_asleep += job.dormant && job.limited;
        REQUIRE(job.suspended == 0 || (job.limited && !job.scheduled && job.dormant == 0));
        REQUIRE(job.dormant == 0 || job.limited != job.scheduled);
        REQUIRE(job.processes > 0 && job.width >= job.processes);
    }
    scheduler_describe_node(node->commands.scheduler, &record, node->now_ns);
    REQUIRE(record.jobs == count && record.processes == processes);
    REQUIRE(node->faulty || scratch_count(node->jobs) == count);
    REQUIRE(sum_ppm <= SHARE_WHOLE_PPM);
    uint32_t in_sight = count - aside;
    REQUIRE(limited == 0 || (limited == in_sight && in_sight > 1)); // nobody is limited for nobody
    REQUIRE(held_asleep == 0 || in_sight > 0);
    REQUIRE(in_sight == 0 || scheduled > 0);
}

// ---- steps

static void check_registered(const struct caller *caller, const struct protocol_request *request,
                             int page_fd)
{
    const struct status_page *page = NULL;
    REQUIRE(caller->serial != 0);
    REQUIRE((fcntl(page_fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    REQUIRE(status_page_map(page_fd, &page, NULL) == 0);
    REQUIRE(page->uid == caller->peer.uid);
    REQUIRE(strcmp(page->job_id, request->register_.job_id) == 0);
    status_page_unmap(page);
}

static bool is_tracking(enum protocol_command command)
{
    return command == PROTOCOL_SUSPEND || command == PROTOCOL_RESUME || command == PROTOCOL_KILL;
}

static bool is_slots(enum protocol_command command)
{
    return command >= PROTOCOL_OFFER && command <= PROTOCOL_NARROW;
}

static void check_slots(const struct node *node, const struct protocol_request *request,
                        const struct protocol_reply *reply)
{
    REQUIRE(config_is_gang(&node->config));
    for (unsigned i = 0; request->header.command == PROTOCOL_OFFER && i < SLOTS_LEVELS; i++)
        REQUIRE(reply->offer.most[i] <= slots_count(reply->offer.slots[i] & SLOTS_ALL));
    if (request->header.command == PROTOCOL_CLAIM)
        REQUIRE((reply->claimed.slots & ~request->claim.slots) == 0);
}

static void check_reply(const struct node *node, const struct caller *caller,
                        const struct protocol_request *request, const struct protocol_reply *reply,
                        int page_fd)
{
    struct protocol_reply copy;
    struct error err = {0};
    bool privileged = command_privileged(&node->commands, caller->peer.uid);
    enum protocol_command command = request->header.command;
    bool registered = command == PROTOCOL_REGISTER && reply->header.status == 0;
    bool asks_trace =
        command == PROTOCOL_QUERY && (request->query.kind == PROTOCOL_QUERY_TRACE ||
                                      request->query.kind == PROTOCOL_QUERY_TRACE_JOB);
    int rc = protocol_check_reply(reply, sizeof *reply, request, &copy, &err);
    REQUIRE(rc == 0 ? reply->header.status == 0 : err.code == reply->header.status);
    REQUIRE((page_fd >= 0) == registered);
    if (registered)
        check_registered(caller, request, page_fd);
    if (is_slots(command) && rc == 0)
        check_slots(node, request, reply);
    if (command == PROTOCOL_SWITCH || command == PROTOCOL_SHUTDOWN)
        REQUIRE(reply->header.status == (privileged ? 0 : EPERM));
    if (!privileged && is_tracking(command) && request->target.uid != PROTOCOL_NO_UID &&
        request->target.uid != caller->peer.uid)
        REQUIRE(reply->header.status == EPERM || reply->header.status == EBUSY);
    if (!privileged && (command == PROTOCOL_RELOAD || command == PROTOCOL_TRACE || asks_trace))
        REQUIRE(reply->header.status == EPERM);
    if (command == PROTOCOL_QUERY && request->query.kind == PROTOCOL_QUERY_JOB && rc == 0)
        REQUIRE(privileged || reply->job.uid == caller->peer.uid);
    if (command == PROTOCOL_QUERY && request->query.kind == PROTOCOL_QUERY_WORLD && rc == 0)
        REQUIRE(reply->job.uid == caller->peer.uid);
}

// As the server does it with a packet.
static void take_packet(struct node *node, struct caller *caller, const void *bytes, size_t length)
{
    struct protocol_request request;
    struct protocol_reply reply;
    struct error err = {0};
    int page_fd = -1;
    if (protocol_check_request(bytes, length, &request, &err) < 0) {
        REQUIRE(err.code == EPROTO || err.code == EPROTONOSUPPORT || err.code == EOPNOTSUPP);
        return;
    }
    bool answer =
        command_execute(&node->commands, caller, &request, node->now_ns, &reply, &page_fd);
    bool waits = is_tracking(request.header.command) && caller->waits != 0;
    bool silent = request.header.command == PROTOCOL_SCHEDULE ||
                  request.header.command == PROTOCOL_NARROW ||
                  request.header.command == PROTOCOL_PART;
    REQUIRE(answer == !silent || waits);
    if (answer)
        check_reply(node, caller, &request, &reply, page_fd);
}

static void take_raw(struct node *node, struct caller *caller, struct input *input)
{
    size_t length = input_byte(input);
    const uint8_t *bytes = input_bytes(input, &length);
    take_packet(node, caller, bytes, length);
}

static void fill_register(struct protocol_register *wish, struct input *input)
{
    uint8_t name = input_byte(input);
    if (name < 0xf0) {
        snprintf(wish->job_id, sizeof wish->job_id, "%c", 'a' + name % 6);
    } else {
        size_t length = sizeof wish->job_id;
        const uint8_t *bytes = input_bytes(input, &length);
        memcpy(wish->job_id, bytes, length);
    }
    wish->width = (uint32_t)input_number(input, name & 1 ? 4 : 1);
    wish->ranks = input_byte(input);
    wish->rank = input_byte(input);
}

static void fill_target(struct protocol_target *target, struct input *input)
{
    uint8_t name = input_byte(input), rest = input_byte(input);
    snprintf(target->job_id, sizeof target->job_id, "%c", 'a' + name % 6);
    target->uid = rest & 1 ? PROTOCOL_NO_UID : users[rest / 2 % 4];
    target->means = rest / 8 % 5;
    if (rest & 0x80)
        target->subtree = (uint32_t)input_number(input, 4);
}

static void fill_claim(struct protocol_claim *claim, struct input *input)
{
    uint8_t rest = input_byte(input);
    claim->slots = input_number(input, 8) & (rest & 1 ? UINT64_MAX : SLOTS_ALL);
    claim->term = rest / 4 % 16;
    claim->due = input_byte(input) % 64;
    claim->final = rest / 2 % 2;
}

static void fill_clock(struct protocol_clock *clock, struct input *input)
{
    clock->ahead_ns = (int64_t)input_number(input, 8);
    clock->nodes = input_byte(input);
    clock->agreeing = input_byte(input);
}

static void take_formed(struct node *node, struct caller *caller, struct input *input)
{
    uint8_t command = input_byte(input);
    // Those of tracking, slots and clocks came later: what older inputs say stays what it was.
    command = command >= 0xe0   ? PROTOCOL_SUSPEND + command % 3
              : command >= 0xc8 ? PROTOCOL_OFFER + command % 3
              : command >= 0xc4 ? PROTOCOL_CLOCK
                                : command % (PROTOCOL_TRACE + 2);
    struct protocol_request request = protocol_request_new(command, input_byte(input));
    if (is_tracking(request.header.command))
        fill_target(&request.target, input);
    if (request.header.command == PROTOCOL_RESUME && request.header.sequence % 2 == 0)
        request.target.subtree = 0; // whatever is suspended
    if (is_slots(request.header.command))
        fill_claim(&request.claim, input);
    if (request.header.command == PROTOCOL_OFFER) // it has no body
        request.claim = (struct protocol_claim){0};
    if (request.header.command == PROTOCOL_CLOCK)
        fill_clock(&request.clock, input);
    if (request.header.command == PROTOCOL_REGISTER)
        fill_register(&request.register_, input);
    if (request.header.command == PROTOCOL_QUERY) {
        request.query.kind = input_byte(input);
        request.query.index = input_byte(input);
    }
    if (request.header.command == PROTOCOL_TRACE) {
        request.trace.on = input_byte(input) & 1;
        request.trace.capacity = input_byte(input);
    }
    take_packet(node, caller, &request, sizeof request);
}

// A new connection of some process, or of one that cannot be seen.
static void connect_caller(struct node *node, struct caller *caller, struct input *input)
{
    unsigned index = input_byte(input) % (NODE_PROCESSES + 1);
    if (index < NODE_PROCESSES) {
        const struct node_process *process = node_process(node, index);
        caller->peer = (struct peer){.uid = process->uid, .pid = process->pid};
    } else {
        caller->peer = (struct peer){.uid = users[3], .pid = 0};
    }
    caller->serial = caller->waits = 0;
}

static void set_usage(struct node *node, struct input *input)
{
    struct protocol_job_record job;
    char name[BACKEND_NAME_MAX];
    if (!scheduler_describe_job(node->commands.scheduler, ROOT, true, input_byte(input), &job,
                                node->now_ns))
        return;
    job_class_name(name, job.uid, job.job_id);
    test_backend_set_usage(node->backend, name, input_number(input, 8));
}

static void order_failure(struct node *node, struct input *input)
{
    static const char *const operations[] = {"open",  "place",   "expel",  "share",
                                             "usage", "members", "remove", "each"};
    static const int codes[] = {ENOENT, EACCES, EBUSY, ESRCH, EIO, ENOMEM};
    const char *operation = operations[input_byte(input) % 8];
    int code = codes[input_byte(input) % 6];
    test_backend_fail(node->backend, operation, code, input_byte(input) % 4);
    node->faulty = true;
}

static void restart(struct node *node, bool farewell)
{
    if (farewell)
        scheduler_lift(node->commands.scheduler);
    node_kill(node);
    node_start(node);
}

enum { PACKET, RAW, CONNECT, DIE, REBORN, BURY, WAIT, USAGE, FAIL, RESTART, CHECK, STEPS };

static void step(struct node *node, struct input *input)
{
    uint8_t what = input_byte(input), who = input_byte(input);
    struct caller *caller = &node->callers[who % NODE_CALLERS];
    struct node_process *process = &node->processes[who % NODE_PROCESSES];
    switch (what % STEPS) {
    case PACKET:
        take_formed(node, caller, input);
        break;
    case RAW:
        take_raw(node, caller, input);
        break;
    case CONNECT:
        connect_caller(node, caller, input);
        break;
    case DIE:
        end_process(process);
        process->dead = true;
        break;
    case REBORN: // its number is used again, perhaps before anybody knows
        end_process(process);
        process->dead = false;
        break;
    case BURY:
        scheduler_bury(node->commands.scheduler, node->now_ns);
        break;
    case WAIT:
        node->now_ns += who * NS_PER_MS;
        scheduler_look_at_dormant(node->commands.scheduler, node->now_ns);
        break;
    case USAGE:
        set_usage(node, input);
        break;
    case FAIL:
        order_failure(node, input);
        break;
    case RESTART:
        restart(node, who & 1);
        break;
    case CHECK:
        node_check(node);
        break;
    }
}

void node_run(struct node *node, struct input *input)
{
    while (input->left > 0 && !node->commands.shutdown)
        step(node, input);
    node_check(node);
}

// ---- the end

// Of the classes that exist, none is classd's.
static int require_foreign(const char *name, void *user)
{
    char job_id[BACKEND_NAME_MAX] = "", again[BACKEND_NAME_MAX];
    unsigned uid = 0;
    (void)user;
    sscanf(name, "job-%u-%95s", &uid, job_id);
    job_class_name(again, uid, job_id);
    REQUIRE(strlen(job_id) >= PROTOCOL_JOB_ID_MAX || !protocol_job_id_valid(job_id) ||
            strcmp(again, name) != 0);
    return 0;
}

void node_close(struct node *node)
{
    scheduler_dissolve(node->commands.scheduler, node->now_ns);
    REQUIRE(node->faulty || scratch_count(node->jobs) == 0);
    if (!node->faulty)
        backend_each_class(node->backend, require_foreign, NULL, NULL);
    scratch_wipe(node->jobs);
    node_kill(node);
    backend_close(node->backend);
    for (int i = 0; i < NODE_PROCESSES; i++)
        end_process(&node->processes[i]);
    close(node->jobs);
    close(node->directory);
    REQUIRE(scratch_descriptors() == node->descriptors);
    here = NULL;
}
