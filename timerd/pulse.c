#include "timerd/pulse.h"

#include "common/client.h"
#include "common/units.h"

#include <errno.h>
#include <unistd.h>

enum {
    LINE_MS = 100,
    LOST_MOST = 1, // SWITCHes: who ends once is restarted
};

void pulse_init(struct pulse *pulse, const struct config *config, uint64_t now_ns)
{
    *pulse = (struct pulse){.config = config, .fd = -1, .answered_ns = now_ns};
}

static void hang_up(struct pulse *pulse)
{
    if (pulse->fd >= 0)
        close(pulse->fd);
    pulse->fd = -1;
    pulse->outstanding = false;
}

void pulse_fini(struct pulse *pulse)
{
    hang_up(pulse);
}

// Where others ask for more connections than classd takes, only who waits in line has a place; not
// for so long that the switch came late.
static unsigned line_ms(const struct config *config)
{
    uint64_t most_ms = config->time_slice_ns / 8 / NS_PER_MS;
    return most_ms < LINE_MS ? (unsigned)most_ms : LINE_MS;
}

// Returns 0 when the request is on its way.
static int send_request(struct pulse *pulse, enum protocol_command command)
{
    pulse->asked = protocol_request_new(command, ++pulse->sequence);
    if (command == PROTOCOL_QUERY)
        pulse->asked.query.kind = PROTOCOL_QUERY_NODE;
    if (client_send(pulse->fd, &pulse->asked, &pulse->last_fault) == 0)
        return 0;
    hang_up(pulse);
    return -1;
}

// Returns 0 when a SWITCH is on its way.
static int ask(struct pulse *pulse)
{
    if (pulse->fd < 0)
        pulse->fd = client_connect_within(pulse->config->runtime_dir, line_ms(pulse->config),
                                          &pulse->last_fault);
    pulse->outstanding = pulse->fd >= 0 && send_request(pulse, PROTOCOL_SWITCH) == 0;
    return pulse->outstanding ? 0 : -1;
}

static bool is_answered_long_ago(const struct pulse *pulse, uint64_t now_ns)
{
    // The quarter allows for an answer that came a little after its tick.
    uint64_t patience_ns = 2 * pulse->config->time_slice_ns - pulse->config->time_slice_ns / 4;
    return now_ns - pulse->answered_ns >= patience_ns;
}

bool pulse_beat(struct pulse *pulse, uint64_t now_ns)
{
    bool missed = pulse->outstanding;
    bool had_connection = pulse->fd >= 0;
    if (missed) {
        error_set(&pulse->last_fault, ETIMEDOUT, "classd does not answer");
    } else {
        missed = ask(pulse) < 0;
        // A connection that broke since the last tick is replaced at once: classd was restarted.
        if (missed && had_connection)
            missed = ask(pulse) < 0;
    }
    return missed && is_answered_long_ago(pulse, now_ns);
}

void pulse_look(struct pulse *pulse)
{
    if (pulse->fd >= 0)
        return;
    pulse->fd = client_connect(pulse->config->runtime_dir, NULL);
    if (pulse->fd >= 0)
        send_request(pulse, PROTOCOL_QUERY);
}

// What matters is whether it answers the next SWITCH. One that has ended at the last ones will not,
// and has set limits again.
static enum pulse_news take_node(struct pulse *pulse, const struct protocol_node_record *node)
{
    if (pulse->lost > LOST_MOST)
        return PULSE_SILENT;
    pulse->switched = (struct protocol_switched){.time_slice_ns = node->time_slice_ns,
                                                 .align = pulse->config->timer_align};
    return PULSE_FOUND;
}

// The connection has gone bad.
static enum pulse_news lose(struct pulse *pulse, uint64_t now_ns)
{
    bool again = pulse->outstanding && ++pulse->lost > LOST_MOST;
    hang_up(pulse);
    return again && is_answered_long_ago(pulse, now_ns) ? PULSE_SILENT : PULSE_NOTHING;
}

enum pulse_news pulse_listen(struct pulse *pulse, uint64_t now_ns)
{
    struct protocol_reply reply;
    int rc = client_receive(pulse->fd, &pulse->asked, &reply, NULL, 0, &pulse->last_fault);
    bool answered = rc == 0 || reply.header.status > 0;
    if (answered && pulse->asked.header.command == PROTOCOL_QUERY)
        return rc == 0 ? take_node(pulse, &reply.node) : PULSE_NOTHING;
    if (answered) {
        pulse->outstanding = false;
        pulse->lost = 0;
        pulse->answered_ns = now_ns;
        pulse->switched = reply.switched;
        return rc == 0 ? PULSE_ANSWERED : PULSE_REFUSED;
    }
    return pulse->last_fault.code != ETIMEDOUT ? lose(pulse, now_ns) : PULSE_NOTHING;
}
