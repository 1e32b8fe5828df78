// The node and its jobs as OpenMetrics text, for a textfile collector.
#ifndef COSCHED_CTL_METRICS_H
#define COSCHED_CTL_METRICS_H

#include "common/protocol.h"

#include <stddef.h>
#include <stdio.h>

void metrics_print(const struct protocol_node_record *node, const struct protocol_job_record *jobs,
                   size_t count, FILE *stream);

#endif
