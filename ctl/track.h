// coschedctl suspend | resume | kill [USER/]JOB.
#ifndef COSCHED_CTL_TRACK_H
#define COSCHED_CTL_TRACK_H

#include "common/config.h"
#include "common/error.h"
#include "common/protocol.h"

#include <stdbool.h>

struct track_wish {
    enum protocol_command command; // SUSPEND, RESUME or KILL
    const char *job;               // [USER/]JOB, where USER is a name or a number; null: missing
    const char *means;             // null: the configuration's
    const char *subtree;           // a process id; null: the whole job
};

// 0 when the wish can be understood, else -1 with EINVAL. Whether there is such a job is not asked.
int track_check(const struct track_wish *wish, struct error *err);

// Has classd do it and prints that it is done.
int track_run(const struct config *config, const struct track_wish *wish, bool json,
              struct error *err);

#endif
