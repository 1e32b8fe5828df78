#include "classd/command.h"

#include "classd/clock.h"
#include "classd/log.h"
#include "common/status_page.h"

#include <errno.h>

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

static int do_register(struct commands *commands, struct caller *caller,
                       const struct protocol_request *request, uint64_t now_ns,
                       struct protocol_reply *reply, int *page_fd)
{
    struct error err;
    struct process *process = NULL;
    struct applicant applicant = {
        .uid = caller->peer.uid, .pid = caller->peer.pid, .wish = &request->register_};
    if (peer_pin(caller->socket_fd, &caller->peer, &applicant.pidfd, &applicant.start_time, &err) <
            0 ||
        scheduler_register(commands->scheduler, &applicant, now_ns, &process, &err) < 0) {
        log_line(LOG_DEBUG, "REGISTER of process %d of user %u refused: %s", (int)caller->peer.pid,
                 (unsigned)caller->peer.uid, err.text);
        return err.code;
    }
    caller->serial = process->serial;
    *page_fd = process->job->page_fd;
    reply->registered.node_id = process->job->page->node_id;
    reply->registered.page_bytes = STATUS_PAGE_BYTES;
    return 0;
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

static int do_switch(struct commands *commands, const struct caller *caller, uint64_t now_ns)
{
    if (!command_privileged(commands, caller->peer.uid))
        return EPERM;
    scheduler_switch(commands->scheduler, now_ns, clock_wall_ns());
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
        return 0;
    }
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
    case PROTOCOL_SWITCH:
        status = do_switch(commands, caller, now_ns);
        break;
    case PROTOCOL_SCHEDULE: {
        struct process *process = registered(commands, caller);
        if (process != NULL)
            scheduler_request(commands->scheduler, process, now_ns);
        return false;
    }
    case PROTOCOL_SHUTDOWN:
        status = do_shutdown(commands, caller);
        break;
    case PROTOCOL_QUERY:
        status = do_query(commands, caller, &request->query, now_ns, reply);
        break;
    }
    reply->header.status = status;
    return true;
}
