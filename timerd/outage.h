// What timerd does while classd is silent: it lifts every limit, so that no job starves for want of
// a scheduler.
#ifndef COSCHED_TIMERD_OUTAGE_H
#define COSCHED_TIMERD_OUTAGE_H

#include "common/config.h"

#include <stdbool.h>

struct outage {
    const struct config *config;
    bool on;
    bool failed; // to lift; said once in an outage
};

// Classd is silent at this tick, because of `why`. Said once in an outage; the limits are lifted at
// every tick of it, as a classd that hangs may still wake up and set one. Who was stopped is
// continued once: whom his owner stops meanwhile stays stopped.
void outage_continue(struct outage *outage, const char *why);

// Classd is back.
void outage_end(struct outage *outage);

#endif
