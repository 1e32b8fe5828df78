// coschedctl trace.
#ifndef COSCHED_CTL_TRACE_H
#define COSCHED_CTL_TRACE_H

#include "common/config.h"
#include "common/error.h"

// 0 when `arguments` can be understood, else -1 with EINVAL and what there is.
int trace_check(int count, char *const *arguments, struct error *err);

// Carries out `arguments`: "start [EVENTS]", "stop", "dump [NODE]", "export json|svg [FILE...]" or
// "coscheduled|delays|requests [FILE...]". Without files the running classd is asked.
int trace_command(const struct config *config, int count, char *const *arguments,
                  struct error *err);

#endif
