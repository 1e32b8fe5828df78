// What timerd does while classd is silent: it lifts every limit, so that no job starves for want of
// a scheduler.
#ifndef COSCHED_TIMERD_OUTAGE_H
#define COSCHED_TIMERD_OUTAGE_H

#include "common/config.h"

#include <stdbool.h>

enum { OUTAGE_GENERATION_MAX = 32 };

struct outage {
    const struct config *config;
    bool on;
    bool failed;                            // to lift; said once in an outage
    bool continued;                         // whoever was stopped
    char generation[OUTAGE_GENERATION_MAX]; // of the classd that had stopped them, as it notes it
};

// Classd is silent at this tick, because of `why`. Said once in an outage; the limits are lifted at
// every tick of it, as a classd that hangs may still wake up and set one. Who was stopped is
// continued once for each classd that was there, also one that never answered: whom his owner stops
// meanwhile stays stopped.
void outage_continue(struct outage *outage, const char *why);

// A classd is there, which may stop jobs again before it is silent, too.
void outage_classd_found(struct outage *outage);

// Classd is back.
void outage_end(struct outage *outage);

#endif
