// The pulse of classd: a SWITCH at every tick, and whether it was answered. Waits for nothing but,
// for a moment, a place in the line of those who connect.
#ifndef COSCHED_TIMERD_PULSE_H
#define COSCHED_TIMERD_PULSE_H

#include "common/config.h"
#include "common/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct pulse {
    const struct config *config;
    int fd; // of the connection; -1: none
    uint32_t sequence;
    struct protocol_request asked;     // last
    bool outstanding;                  // a SWITCH waits for its answer
    unsigned lost;                     // SWITCHes since the last answer whose connection has ended
    uint64_t answered_ns;              // when the last answer came, or the start
    struct protocol_switched switched; // what it said
    struct error last_fault;           // why there was no answer; code 0: there was none yet
};

// Starts without a connection. The time until the first tick counts as answered.
void pulse_init(struct pulse *pulse, const struct config *config, uint64_t now_ns);
void pulse_fini(struct pulse *pulse);

// At a tick: asks classd to switch, connecting first where needed. At most one SWITCH is
// outstanding, so a classd that was stopped does not find a heap of them later. Returns true when
// classd is silent: this tick or the last had no answer and none came for two time-slices.
bool pulse_beat(struct pulse *pulse, uint64_t now_ns);

// Between ticks, where there is no connection: looks whether a classd has come, to be asked for its
// slice, which may be another; the next tick may be an hour away. It is asked for no switch, as one
// between ticks would be this node's alone.
void pulse_look(struct pulse *pulse);

enum pulse_news {
    PULSE_NOTHING,
    PULSE_FOUND, // pulse_look() has, and pulse->switched says what is in force there
    PULSE_ANSWERED,
    PULSE_REFUSED, // classd lives, but does not obey: pulse->last_fault says why
    PULSE_SILENT,  // it has ended at another SWITCH, and answered none for two time-slices; or is
                   // here again after that
};

// When pulse->fd is readable: takes the answer, or drops a connection that has gone bad. A classd
// that ends at its SWITCH is no more than restarted; one that ends at each is silent.
enum pulse_news pulse_listen(struct pulse *pulse, uint64_t now_ns);

#endif
