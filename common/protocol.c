#include "common/protocol.h"

#include "common/units.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct protocol_request protocol_request_new(enum protocol_command command, uint32_t sequence)
{
    struct protocol_request request = {
        .header = {.magic = PROTOCOL_MAGIC,
                   .version = PROTOCOL_VERSION,
                   .command = (uint16_t)command,
                   .sequence = sequence},
    };
    return request;
}

struct protocol_reply protocol_reply_new(const struct protocol_request *request, int status)
{
    struct protocol_reply reply = {
        .header = {.magic = PROTOCOL_MAGIC,
                   .version = PROTOCOL_VERSION,
                   .command = request->header.command,
                   .sequence = request->header.sequence,
                   .status = status},
    };
    return reply;
}

int protocol_job_id_valid(const char job_id[PROTOCOL_JOB_ID_MAX])
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_.-";
    const char *end = memchr(job_id, '\0', PROTOCOL_JOB_ID_MAX);
    if (end == NULL || end == job_id || job_id[0] == '.')
        return 0;
    return strspn(job_id, allowed) == (size_t)(end - job_id);
}

static int check_register(const struct protocol_register *body, struct error *err)
{
    if (!protocol_job_id_valid(body->job_id))
        return error_set(err, EPROTO, "REGISTER with an invalid job id");
    if (body->width == 0 || body->width > 65536)
        return error_set(err, EPROTO, "REGISTER with an impossible width %u", body->width);
    if (body->ranks == 0 || body->ranks > PROTOCOL_RANKS_MAX || body->rank >= body->ranks)
        return error_set(err, EPROTO, "REGISTER with rank %u of %u", body->rank, body->ranks);
    if (body->list[0] != '\0' && !gang_list_name_valid(body->list))
        return error_set(err, EPROTO, "REGISTER with an invalid name of a list");
    return 0;
}

static int check_target(const struct protocol_request *request, struct error *err)
{
    const struct protocol_target *target = &request->target;
    if (!protocol_job_id_valid(target->job_id))
        return error_set(err, EPROTO, "a command for an invalid job id");
    if (target->means > PROTOCOL_MEANS_SIGNALS ||
        (target->means != 0 && request->header.command != PROTOCOL_SUSPEND))
        return error_set(err, EPROTO, "a command with impossible means %u", target->means);
    if (target->subtree > INT32_MAX)
        return error_set(err, EPROTO, "a command for an impossible process id %u", target->subtree);
    return 0;
}

static int check_claim(const struct protocol_claim *body, struct error *err)
{
    if ((body->slots & ~SLOTS_ALL) != 0 || body->term >= SLOTS_TERMS || body->due > SLOTS_ROUND ||
        body->final > 1)
        return error_set(err, EPROTO, "a command for slots that there are not");
    return 0;
}

static int check_clock(const struct protocol_clock *body, struct error *err)
{
    if (body->ahead_ns == INT64_MIN || body->nodes < 2 || body->nodes > PROTOCOL_CLOCK_NODES_MAX ||
        body->agreeing > body->nodes)
        return error_set(err, EPROTO, "CLOCK that cannot be");
    return 0;
}

static int check_body(const struct protocol_request *request, struct error *err)
{
    switch (request->header.command) {
    case PROTOCOL_REGISTER:
        return check_register(&request->register_, err);
    case PROTOCOL_TRACE:
        if (request->trace.on > 1)
            return error_set(err, EPROTO, "TRACE of neither on nor off");
        return 0;
    case PROTOCOL_SUSPEND:
    case PROTOCOL_RESUME:
    case PROTOCOL_KILL:
        return check_target(request, err);
    case PROTOCOL_CLAIM:
    case PROTOCOL_NARROW:
        return check_claim(&request->claim, err);
    case PROTOCOL_CLOCK:
        return check_clock(&request->clock, err);
    default:
        return 0;
    }
}

// How many bytes of the body the command has, and what is reserved among them. False for a command
// of a later time.
static bool find_body(const struct protocol_request *request, size_t *size, uint32_t *reserved)
{
    *size = *reserved = 0;
    switch (request->header.command) {
    case PROTOCOL_REGISTER:
        *size = sizeof request->register_;
        *reserved = request->register_.reserved;
        return true;
    case PROTOCOL_QUERY:
        *size = sizeof request->query;
        return true;
    case PROTOCOL_TRACE:
        *size = sizeof request->trace;
        return true;
    case PROTOCOL_SUSPEND:
    case PROTOCOL_RESUME:
    case PROTOCOL_KILL:
        *size = sizeof request->target;
        *reserved = request->target.reserved;
        return true;
    case PROTOCOL_CLAIM:
    case PROTOCOL_NARROW:
        *size = sizeof request->claim;
        *reserved = request->claim.reserved;
        return true;
    case PROTOCOL_CLOCK:
        *size = sizeof request->clock;
        return true;
    case PROTOCOL_OFFER:
    case PROTOCOL_EXIT:
    case PROTOCOL_PART:
    case PROTOCOL_SWITCH:
    case PROTOCOL_SCHEDULE:
    case PROTOCOL_SHUTDOWN:
    case PROTOCOL_RELOAD:
        return true;
    default:
        return false;
    }
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    static const uint8_t zeros[sizeof((struct protocol_reply *)0)->bytes];
    return memcmp(bytes, zeros, count) == 0;
}

// What a later client may ask of this classd: to be answered, as the rest of it may go on as it is.
static int check_known(const struct protocol_request *request, struct error *err)
{
    size_t size;
    uint32_t reserved;
    if (!find_body(request, &size, &reserved))
        return error_set(err, EOPNOTSUPP, "unknown command %u", request->header.command);
    if (request->header.command == PROTOCOL_QUERY &&
        (request->query.kind < PROTOCOL_QUERY_NODE || request->query.kind > PROTOCOL_QUERY_WORLD))
        return error_set(err, EOPNOTSUPP, "QUERY of unknown kind %u", request->query.kind);
    if (request->header.command == PROTOCOL_QUERY && request->query.kind != PROTOCOL_QUERY_WORLD)
        reserved |= request->query.world != 0;
    if (reserved != 0 || request->header.status != 0 ||
        !is_zero(request->bytes + size, sizeof request->bytes - size))
        return error_set(err, EOPNOTSUPP, "command %u with an unknown field",
                         request->header.command);
    return 0;
}

int protocol_check_request(const void *bytes, size_t length, struct protocol_request *request,
                           struct error *err)
{
    memset(request, 0, sizeof *request);
    if (length < sizeof request->header)
        return error_set(err, EPROTO, "packet of %zu bytes, too short for a header", length);
    memcpy(&request->header, bytes, sizeof request->header);
    if (request->header.magic != PROTOCOL_MAGIC)
        return error_set(err, EPROTO, "packet that is not of cosched's protocol");
    if (request->header.version != PROTOCOL_VERSION)
        return error_set(err, EPROTONOSUPPORT,
                         "protocol version %u, this side speaks %u; use one cosched version on a "
                         "node",
                         request->header.version, PROTOCOL_VERSION);
    if (length != sizeof *request)
        return error_set(err, EPROTO, "request of %zu bytes instead of %zu", length,
                         sizeof *request);
    memcpy(request, bytes, sizeof *request);
    return check_body(request, err) == 0 ? check_known(request, err) : -1;
}

// ---- replies

// Commands that every classd of this version has refused by EOPNOTSUPP itself, or in words, it
// knows.
static bool is_unknown_to_classd(const struct protocol_reply *reply)
{
    switch (reply->header.command) {
    case PROTOCOL_REGISTER:
    case PROTOCOL_OFFER:
    case PROTOCOL_CLAIM:
    case PROTOCOL_NARROW:
    case PROTOCOL_CLOCK:
        return false;
    default:
        return reply->header.status == EOPNOTSUPP && is_zero(reply->bytes, sizeof reply->bytes);
    }
}

static int refused(const struct protocol_reply *reply, struct error *err)
{
    if (is_unknown_to_classd(reply))
        return error_set(err, EOPNOTSUPP,
                         "classd does not know this command: restart classd after an upgrade");
    if (reply->header.command == PROTOCOL_REGISTER && reply->text[0] != '\0')
        return error_set(err, reply->header.status, "classd refused: %s", reply->text);
    if (reply->header.command == PROTOCOL_REGISTER && reply->header.status == ENOSPC)
        return error_set(
            err, ENOSPC,
            "classd has no room: too many jobs or processes for [daemon] in cosched.ini, see "
            "its log, or a full directory");
    if (reply->header.command == PROTOCOL_REGISTER)
        return error_set(err, reply->header.status,
                         "classd refused: %s; its log says why (journalctl -u cosched-classd)",
                         strerror(reply->header.status));
    return error_errno(err, reply->header.status, "classd refused");
}

static int impossible(const char *what, struct error *err)
{
    return error_set(err, EPROTO, "classd's answer has %s", what);
}

static bool has_end(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static bool is_slice(uint64_t slice_ns)
{
    return slice_ns >= PROTOCOL_SLICE_MIN_NS && slice_ns <= PROTOCOL_SLICE_MAX_NS;
}

static int check_node(const struct protocol_node_record *node, struct error *err)
{
    if (!has_end(node->policy, sizeof node->policy) ||
        !has_end(node->backend, sizeof node->backend) ||
        !has_end(node->version, sizeof node->version))
        return impossible("a text without an end", err);
    if (!is_slice(node->time_slice_ns))
        return impossible("an impossible time-slice", err);
    if (node->idle_share_ppm > SHARE_WHOLE_PPM || node->dcs_calibrate > 1)
        return impossible("an impossible setting", err);
    return 0;
}

static int check_job(const struct protocol_job_record *job, struct error *err)
{
    if (!protocol_job_id_valid(job->job_id))
        return impossible("a job without an id", err);
    if (job->scheduled > 1 || job->limited > 1 || job->share_ppm > SHARE_WHOLE_PPM ||
        job->suspended > PROTOCOL_MEANS_SIGNALS || job->slots_agreed > 1 || job->dormant > 1)
        return impossible("a job in an impossible state", err);
    return 0;
}

static int check_events(const struct protocol_events *events, struct error *err)
{
    if (events->count > PROTOCOL_EVENTS_MAX || events->recording > 1)
        return impossible("an impossible number of events", err);
    return 0;
}

static int check_query_reply(uint32_t kind, const struct protocol_reply *reply, struct error *err)
{
    switch (kind) {
    case PROTOCOL_QUERY_NODE:
        return check_node(&reply->node, err);
    case PROTOCOL_QUERY_JOB:
    case PROTOCOL_QUERY_WORLD:
        return check_job(&reply->job, err);
    case PROTOCOL_QUERY_TRACE:
        return check_events(&reply->events, err);
    case PROTOCOL_QUERY_TRACE_JOB:
        return protocol_job_id_valid(reply->event_job.job_id)
                   ? 0
                   : impossible("a job without an id", err);
    default:
        return 0;
    }
}

// What comes with a refusal, too.
static int check_text(const struct protocol_reply *reply, struct error *err)
{
    bool good = true;
    switch (reply->header.command) {
    case PROTOCOL_RELOAD:
        good = has_end(reply->text, sizeof reply->text);
        break;
    case PROTOCOL_REGISTER:
        good = reply->header.status == 0 || has_end(reply->text, sizeof reply->text);
        break;
    case PROTOCOL_SUSPEND:
    case PROTOCOL_RESUME:
    case PROTOCOL_KILL:
        good = has_end(reply->tracked.text, sizeof reply->tracked.text);
        break;
    default:
        break;
    }
    return good ? 0 : impossible("a text without an end", err);
}

// Sets of slots are cut to what there is by who reads them.
static int check_consent(const struct protocol_request *request, const struct protocol_reply *reply,
                         struct error *err)
{
    switch (reply->header.command) {
    case PROTOCOL_SWITCH: // without a slice it says nothing
        if ((reply->switched.time_slice_ns != 0 && !is_slice(reply->switched.time_slice_ns)) ||
            reply->switched.align > 1)
            return impossible("an impossible time-slice", err);
        return 0;
    case PROTOCOL_QUERY:
        return check_query_reply(request->query.kind, reply, err);
    case PROTOCOL_SUSPEND:
    case PROTOCOL_RESUME:
    case PROTOCOL_KILL:
        return reply->tracked.means <= PROTOCOL_MEANS_SIGNALS ? 0
                                                              : impossible("impossible means", err);
    default:
        return 0;
    }
}

int protocol_check_reply(const void *bytes, size_t length, const struct protocol_request *request,
                         struct protocol_reply *reply, struct error *err)
{
    memset(reply, 0, sizeof *reply);
    if (length < sizeof reply->header)
        return error_set(err, EPROTO, "classd answered with %zu bytes", length);
    memcpy(&reply->header, bytes, sizeof reply->header);
    if (reply->header.magic != PROTOCOL_MAGIC)
        return error_set(err, EPROTO, "classd's answer is not of cosched's protocol");
    if (reply->header.version != PROTOCOL_VERSION)
        return error_set(err, EPROTONOSUPPORT,
                         "classd speaks protocol version %u, this program %u; restart classd after "
                         "an upgrade",
                         reply->header.version, PROTOCOL_VERSION);
    if (length != sizeof *reply || reply->header.command != request->header.command ||
        reply->header.sequence != request->header.sequence)
        return error_set(err, EPROTO, "classd's answer does not belong to the request");
    memcpy(reply, bytes, sizeof *reply);
    if (reply->header.status < 0)
        return impossible("an impossible status", err);
    if (check_text(reply, err) != 0)
        return -1;
    return reply->header.status == 0 ? check_consent(request, reply, err) : refused(reply, err);
}
