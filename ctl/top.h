// coschedctl top: the jobs of the node, refreshed.
#ifndef COSCHED_CTL_TOP_H
#define COSCHED_CTL_TOP_H

#include "common/config.h"
#include "common/error.h"

// On a terminal: full screen until "q". Elsewhere: one table, with the rates of one interval.
int top_run(const struct config *config, double interval_s, struct error *err);

#endif
