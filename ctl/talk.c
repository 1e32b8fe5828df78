#include "ctl/talk.h"

#include "common/units.h"

#include <errno.h>
#include <stdlib.h>

enum {
    TIMEOUT_MS = 3000,
    TRACK_MARGIN_MS = 11000, // over what classd takes by its own count
    SHUTDOWN_TIMEOUT_MS = 10000,
    JOBS_MAX = 4096,
    LISTINGS_MAX = 5
};

int talk_connect(const struct config *config, struct error *err)
{
    int fd = client_connect_within(config->runtime_dir, TIMEOUT_MS, err);
    // Refused: its socket is still there, as it was killed.
    if (fd < 0 && (err->code == ENOENT || err->code == ECONNREFUSED))
        return error_set(err, err->code,
                         "no classd is running at %s; start it (systemctl start cosched-classd), "
                         "or name its file with --config",
                         config->runtime_dir);
    return fd;
}

int talk_node(int fd, struct protocol_node_record *node, struct error *err)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    struct protocol_reply reply;
    request.query.kind = PROTOCOL_QUERY_NODE;
    if (client_transact(fd, &request, &reply, NULL, TIMEOUT_MS, err) < 0)
        return -1;
    *node = reply.node;
    return 0;
}

// 1: there is one, 0: behind the last, -1: error.
static int talk_job(int fd, uint32_t index, struct protocol_job_record *job, struct error *err)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 2 + index);
    struct protocol_reply reply;
    request.query.kind = PROTOCOL_QUERY_JOB;
    request.query.index = index;
    if (client_transact(fd, &request, &reply, NULL, TIMEOUT_MS, err) < 0)
        return reply.header.status == ENOENT ? 0 : -1;
    *job = reply.job;
    return 1;
}

static int list_jobs(int fd, struct protocol_job_record **jobs, size_t *count, struct error *err)
{
    struct protocol_job_record *list = NULL;
    *count = 0;
    for (int rc = 1; *count < JOBS_MAX; (*count)++) {
        struct protocol_job_record *longer = realloc(list, (*count + 1) * sizeof *list);
        if (longer == NULL)
            rc = error_errno(err, ENOMEM, "list of jobs");
        else
            list = longer;
        if (rc > 0)
            rc = talk_job(fd, (uint32_t)*count, &list[*count], err);
        if (rc < 0)
            free(list);
        if (rc < 0)
            return -1;
        if (rc == 0)
            break;
    }
    *jobs = list;
    return 0;
}

static bool nothing_happened(const struct protocol_node_record *before,
                             const struct protocol_node_record *after)
{
    return before->switches == after->switches && before->jobs == after->jobs &&
           before->requests_granted == after->requests_granted;
}

int talk_jobs(int fd, struct protocol_job_record **jobs, size_t *count, struct error *err)
{
    struct protocol_node_record before, after;
    int rc = talk_node(fd, &before, err);
    *jobs = NULL;
    for (int i = 0; rc == 0 && i < LISTINGS_MAX; i++) {
        free(*jobs);
        *jobs = NULL;
        rc = list_jobs(fd, jobs, count, err);
        if (rc == 0)
            rc = talk_node(fd, &after, err);
        if (rc == 0 && nothing_happened(&before, &after))
            return 0;
        before = after;
    }
    if (rc != 0) {
        free(*jobs);
        *jobs = NULL;
    }
    return rc;
}

int talk_reload(int fd, struct error *err)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_RELOAD, 1);
    struct protocol_reply reply;
    if (client_transact(fd, &request, &reply, NULL, TIMEOUT_MS, err) == 0)
        return 0;
    if (reply.header.status == EPERM)
        return error_set(err, EPERM, "only root and [daemon] service_user may reload");
    if (reply.header.status > 0 && reply.text[0] != '\0')
        return error_set(err, reply.header.status, "nothing has changed: %s", reply.text);
    return -1;
}

unsigned talk_track_timeout_ms(const struct config *config)
{
    return TRACK_MARGIN_MS + (unsigned)(2 * config_tracking_limit_ns(config) / NS_PER_MS);
}

int talk_track(int fd, const struct config *config, enum protocol_command command,
               const struct protocol_target *target, struct protocol_tracked *tracked,
               struct error *err)
{
    struct protocol_request request = protocol_request_new(command, 1);
    struct protocol_reply reply;
    request.target = *target;
    if (client_transact(fd, &request, &reply, NULL, talk_track_timeout_ms(config), err) == 0) {
        *tracked = reply.tracked;
        return 0;
    }
    if (reply.header.status > 0 && reply.tracked.text[0] != '\0')
        return error_set(err, reply.header.status, "%s: %s", target->job_id, reply.tracked.text);
    return -1;
}

int talk_trace(int fd, bool on, uint32_t capacity, struct error *err)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_TRACE, 1);
    struct protocol_reply reply;
    request.trace.on = on;
    request.trace.capacity = capacity;
    if (client_transact(fd, &request, &reply, NULL, TIMEOUT_MS, err) == 0)
        return 0;
    if (reply.header.status == EPERM)
        return error_set(err, EPERM, "only root and [daemon] service_user may record a trace");
    if (reply.header.status == EINVAL)
        return error_set(err, EINVAL, "%u events are more than classd's trace keeps", capacity);
    return -1;
}

int talk_shutdown(int fd, struct error *err)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SHUTDOWN, 1);
    struct protocol_reply reply;
    struct error end;
    if (client_transact(fd, &request, &reply, NULL, TIMEOUT_MS, err) < 0)
        return reply.header.status == EPERM
                   ? error_set(err, EPERM, "only root and [daemon] service_user may stop classd")
                   : -1;
    if (client_receive(fd, &request, &reply, NULL, SHUTDOWN_TIMEOUT_MS, &end) < 0 &&
        end.code == ETIMEDOUT)
        return error_set(err, ETIMEDOUT, "classd has accepted the shutdown but does not end");
    return 0;
}
