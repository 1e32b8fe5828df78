#include "classd/command.h"

#include "classd/descriptors.h"
#include "classd/log.h"
#include "classd/reload.h"
#include "common/clock.h"
#include "common/status_page.h"

#include <errno.h>
#include <stdio.h>

bool command_privileged(const struct commands *commands, uid_t uid)
{
    return uid == 0 || uid == commands->service_uid;
}

// The process that this connection has registered, if it still is.
static struct process *registered(const struct commands *commands, const struct caller *caller)
{
    if (caller->serial == 0)
        return NULL;
    return scheduler_find(commands->scheduler, caller->peer.pid, caller->serial);
}

// Who is missed by nobody.
static bool has_gone(const struct error *err)
{
    return err->code == ESRCH || err->code == ETIMEDOUT;
}

// Of a job that must run where it is its class has told. All else keeps jobs from being scheduled,
// and their users are not told where no rank is registered.
static bool is_worth_a_line(const struct error *err)
{
    return !has_gone(err) && err->code != EXDEV;
}

static void log_refusal(struct commands *commands, const struct peer *peer, bool hidden,
                        const struct error *err, uint64_t now_ns)
{
    bool loud = hidden ? !commands->told_hidden
                       : is_worth_a_line(err) && log_valve_open(&commands->refusals_valve, now_ns);
    commands->told_hidden |= hidden;
    log_line(loud ? LOG_NOTICE : LOG_DEBUG, "REGISTER of process %d of user %u refused: %s",
             (int)peer->pid, (unsigned)peer->uid, err->text);
}

// What is said of limits, of the client itself when it could not be pinned, and in the words of
// job_class.h. All else may be about others' jobs and processes, or for who runs the node, and is
// in the log.
static bool may_be_told(const struct error *err, bool pinned)
{
    return err->code == ENOSPC || err->code == E2BIG || err->code == EXDEV ||
           (!pinned && (err->code == EPERM || err->code == EACCES));
}

static int do_register(struct commands *commands, struct caller *caller,
                       const struct protocol_request *request, uint64_t now_ns,
                       struct protocol_reply *reply, int *page_fd)
{
    struct error err;
    struct process *process = NULL;
    struct applicant applicant = {
        .uid = caller->peer.uid, .pid = caller->peer.pid, .wish = &request->register_};
    bool pinned = peer_pin(caller->socket_fd, &caller->peer, &applicant.pidfd,
                           &applicant.start_time, &err) == 0;
    if (!pinned ||
        scheduler_register(commands->scheduler, &applicant, now_ns, &process, &err) < 0) {
        log_refusal(commands, &caller->peer, !pinned && err.code == EACCES, &err, now_ns);
        commands->refused += !has_gone(&err);
        if (may_be_told(&err, pinned))
            snprintf(reply->text, sizeof reply->text, "%s", err.text);
        return err.code;
    }
    caller->serial = process->serial;
    caller->untold = !process->again;
    *page_fd = process->job->page_fd;
    reply->registered.node_id = process->job->page->node_id;
    reply->registered.page_bytes = STATUS_PAGE_BYTES;
    reply->registered.tells = 1;
    return 0;
}

bool command_withdraw(struct commands *commands, struct caller *caller, uint64_t now_ns)
{
    struct process *process = caller->untold ? registered(commands, caller) : NULL;
    if (process == NULL)
        return false;
    log_line(LOG_DEBUG,
             "process %d of user %u has given up before it was told that it is registered",
             (int)caller->peer.pid, (unsigned)caller->peer.uid);
    caller->serial = 0;
    scheduler_exit(commands->scheduler, process, now_ns);
    return true;
}

static int do_exit(struct commands *commands, struct caller *caller, uint64_t now_ns)
{
    struct process *process = registered(commands, caller);
    caller->serial = 0;
    if (process == NULL)
        return ESRCH;
    scheduler_exit(commands->scheduler, process, now_ns);
    return 0;
}

static void do_part(struct commands *commands, struct caller *caller, uint64_t now_ns)
{
    struct process *process = registered(commands, caller);
    if (process != NULL)
        scheduler_part(commands->scheduler, process, now_ns);
}

static void describe_slice(const struct commands *commands, struct protocol_switched *switched)
{
    switched->time_slice_ns = config_slice_ns(commands->config);
    switched->align = commands->config->timer_align;
}

struct protocol_reply command_switched(const struct commands *commands,
                                       const struct protocol_request *request)
{
    struct protocol_reply reply = protocol_reply_new(request, 0);
    describe_slice(commands, &reply.switched);
    return reply;
}

static int do_switch(struct commands *commands, const struct caller *caller, uint64_t now_ns,
                     struct protocol_reply *reply)
{
    if (!command_privileged(commands, caller->peer.uid))
        return EPERM;
    int64_t offset_ns;
    if (clock_read_offset_ns(&offset_ns))
        scheduler_clock_at(commands->scheduler, offset_ns);
    scheduler_switch(commands->scheduler, now_ns, clock_wall_ns());
    describe_slice(commands, &reply->switched);
    return 0;
}

int command_reload(struct commands *commands, uint64_t now_ns, struct error *err)
{
    if (reload(commands->config_file, commands->config, err) < 0) {
        log_line(LOG_ERR, "configuration not reloaded: %s", err->text);
        return -1;
    }
    log_set_level(commands->config->log_level);
    descriptors_allow(commands->config);
    scheduler_reconfigure(commands->scheduler, now_ns);
    log_line(LOG_NOTICE, "configuration reloaded from %s", commands->config_file);
    return 0;
}

static int do_reload(struct commands *commands, const struct caller *caller, uint64_t now_ns,
                     struct protocol_reply *reply)
{
    struct error err;
    if (!command_privileged(commands, caller->peer.uid))
        return EPERM;
    if (command_reload(commands, now_ns, &err) == 0)
        return 0;
    snprintf(reply->text, sizeof reply->text, "%s", err.text);
    return err.code > 0 ? err.code : EINVAL;
}

static int do_trace(struct commands *commands, const struct caller *caller,
                    const struct protocol_trace_request *wish, uint64_t now_ns)
{
    struct error err;
    if (!command_privileged(commands, caller->peer.uid))
        return EPERM;
    if (wish->on == 0)
        trace_stop(scheduler_trace(commands->scheduler));
    else if (scheduler_start_trace(commands->scheduler, wish->capacity, now_ns, &err) < 0)
        return err.code;
    return 0;
}

static int do_query_trace(const struct commands *commands, const struct caller *caller,
                          const struct protocol_query_request *query, uint64_t now_ns,
                          struct protocol_reply *reply)
{
    (void)now_ns;
    const trace_t *trace = scheduler_trace(commands->scheduler);
    if (!command_privileged(commands, caller->peer.uid))
        return EPERM;
    if (query->kind == PROTOCOL_QUERY_TRACE_JOB)
        return trace_job_at(trace, query->index, &reply->event_job) ? 0 : ENOENT;
    trace_read(trace, query->index, &reply->events);
    // Of one moment, unlike now_ns, which is when the packet came: recordings are merged by it.
    reply->events.wall_offset_ns = (int64_t)(clock_wall_ns() - clock_now_ns());
    return 0;
}

struct protocol_reply command_tracked(const struct protocol_request *request,
                                      const struct tracking_result *result)
{
    struct protocol_reply reply = protocol_reply_new(request, result->fault.code);
    reply.tracked.means = result->means;
    reply.tracked.passes = result->passes;
    reply.tracked.took_ns = result->took_ns;
    if (result->fault.code != 0)
        snprintf(reply.tracked.text, sizeof reply.tracked.text, "%s", result->fault.text);
    return reply;
}

// Root, the service user, and the owner, who is not even told whether others have such a job.
static struct job *find_target(const struct commands *commands, const struct caller *caller,
                               const struct protocol_target *target, struct error *err)
{
    uint32_t uid = target->uid;
    if (!command_privileged(commands, caller->peer.uid)) {
        if (uid != PROTOCOL_NO_UID && uid != (uint32_t)caller->peer.uid) {
            error_set(err, EPERM, "only root and its owner may do this to a job");
            return NULL;
        }
        uid = (uint32_t)caller->peer.uid;
    }
    return scheduler_find_job(commands->scheduler, uid, target->job_id, err);
}

static enum tracking_kind kind_of(const struct protocol_request *request)
{
    return request->header.command == PROTOCOL_SUSPEND  ? TRACKING_SUSPEND
           : request->header.command == PROTOCOL_RESUME ? TRACKING_RESUME
                                                        : TRACKING_KILL;
}

// Returns true when *reply is complete.
static bool do_track(struct commands *commands, struct caller *caller,
                     const struct protocol_request *request, uint64_t now_ns,
                     struct protocol_reply *reply)
{
    const struct protocol_target *target = &request->target;
    struct tracking_result result = {0};
    struct tracking_order order = {.kind = kind_of(request),
                                   .means = (enum protocol_means)target->means,
                                   .root = (pid_t)target->subtree};
    bool done = true;
    if (caller->waits != 0)
        error_set(&result.fault, EBUSY, "this connection waits for another such command");
    struct job *job =
        caller->waits == 0 ? find_target(commands, caller, target, &result.fault) : NULL;
    if (job != NULL) {
        log_line(LOG_DEBUG, "command %u for job %u/%s by process %d of user %u",
                 request->header.command, (unsigned)job->uid, job->job_id, (int)caller->peer.pid,
                 (unsigned)caller->peer.uid);
        done = scheduler_track(commands->scheduler, job, &order, now_ns, &result);
    }
    if (!done) {
        caller->waits = result.number;
        caller->request = *request;
    }
    *reply = command_tracked(request, &result);
    return done;
}

// A node whose clock is off for the job leaves the choice to the others, and has no part in it.
static void leave_to_others(const struct protocol_request *request, struct protocol_reply *reply)
{
    if (request->header.command == PROTOCOL_CLAIM && request->claim.final == 0)
        reply->claimed.slots = request->claim.slots;
    if (request->header.command != PROTOCOL_OFFER)
        return;
    for (size_t i = 0; i < SLOTS_LEVELS; i++) {
        reply->offer.slots[i] = SLOTS_ALL;
        reply->offer.most[i] = SLOTS_ROUND;
    }
}

// Slots are the business of a job's own processes, under policy gang.
static int do_slots(struct commands *commands, const struct caller *caller,
                    const struct protocol_request *request, uint64_t now_ns,
                    struct protocol_reply *reply)
{
    const struct protocol_claim *claim = &request->claim;
    struct process *process = registered(commands, caller);
    if (process == NULL)
        return ESRCH;
    if (!config_is_gang(commands->config))
        return EOPNOTSUPP;
    if (request->header.command == PROTOCOL_CLOCK)
        scheduler_report_clock(commands->scheduler, process, &request->clock);
    else if (scheduler_clock_off(process))
        leave_to_others(request, reply);
    else if (request->header.command == PROTOCOL_OFFER)
        scheduler_offer(commands->scheduler, process, &reply->offer, now_ns);
    else if (request->header.command == PROTOCOL_CLAIM)
        reply->claimed.slots = scheduler_claim(commands->scheduler, process, claim, now_ns);
    else
        scheduler_narrow(commands->scheduler, process, claim);
    return 0;
}

static int do_shutdown(struct commands *commands, const struct caller *caller)
{
    if (!command_privileged(commands, caller->peer.uid))
        return EPERM;
    log_line(LOG_NOTICE, "SHUTDOWN by process %d of user %u", (int)caller->peer.pid,
             (unsigned)caller->peer.uid);
    commands->shutdown = true;
    return 0;
}

static int do_query(struct commands *commands, const struct caller *caller,
                    const struct protocol_query_request *query, uint64_t now_ns,
                    struct protocol_reply *reply)
{
    uid_t uid = caller->peer.uid;
    if (query->kind == PROTOCOL_QUERY_NODE) {
        scheduler_describe_node(commands->scheduler, &reply->node, now_ns);
        reply->node.refused = commands->refused;
        return 0;
    }
    if (query->kind == PROTOCOL_QUERY_WORLD) {
        return scheduler_describe_world(commands->scheduler, uid, query->world, &reply->job, now_ns)
                   ? 0
                   : ENOENT;
    }
    if (query->kind != PROTOCOL_QUERY_JOB)
        return do_query_trace(commands, caller, query, now_ns, reply);
    return scheduler_describe_job(commands->scheduler, uid, command_privileged(commands, uid),
                                  query->index, &reply->job, now_ns)
               ? 0
               : ENOENT;
}

bool command_execute(struct commands *commands, struct caller *caller,
                     const struct protocol_request *request, uint64_t now_ns,
                     struct protocol_reply *reply, int *page_fd)
{
    int status = EPROTO;
    *reply = protocol_reply_new(request, 0);
    *page_fd = -1;
    switch ((enum protocol_command)request->header.command) {
    case PROTOCOL_REGISTER:
        status = do_register(commands, caller, request, now_ns, reply, page_fd);
        break;
    case PROTOCOL_EXIT:
        status = do_exit(commands, caller, now_ns);
        break;
    case PROTOCOL_PART:
        do_part(commands, caller, now_ns);
        return false;
    case PROTOCOL_SWITCH:
        status = do_switch(commands, caller, now_ns, reply);
        break;
    case PROTOCOL_SCHEDULE: {
        struct process *process = registered(commands, caller);
        if (process != NULL)
            scheduler_request(commands->scheduler, process, now_ns);
        return false;
    }
    case PROTOCOL_NARROW:
        do_slots(commands, caller, request, now_ns, reply);
        return false;
    case PROTOCOL_OFFER:
    case PROTOCOL_CLAIM:
    case PROTOCOL_CLOCK:
        status = do_slots(commands, caller, request, now_ns, reply);
        break;
    case PROTOCOL_SHUTDOWN:
        status = do_shutdown(commands, caller);
        break;
    case PROTOCOL_RELOAD:
        status = do_reload(commands, caller, now_ns, reply);
        break;
    case PROTOCOL_TRACE:
        status = do_trace(commands, caller, &request->trace, now_ns);
        break;
    case PROTOCOL_QUERY:
        status = do_query(commands, caller, &request->query, now_ns, reply);
        break;
    case PROTOCOL_SUSPEND:
    case PROTOCOL_RESUME:
    case PROTOCOL_KILL:
        return do_track(commands, caller, request, now_ns, reply);
    case PROTOCOL_TURN: // is said by classd alone; protocol_check_request() lets none in
        break;
    }
    reply->header.status = status;
    return true;
}
