// Pictures of a timeline.
#ifndef COSCHED_CTL_CHART_H
#define COSCHED_CTL_CHART_H

#include "ctl/timeline.h"

#include <stdio.h>

// The JSON format that Chrome's tracing page and Perfetto read: a process per node, a thread per
// job, requests as instants.
int chart_json(const struct timeline *timeline, FILE *stream, struct error *err);

// A Gantt chart: a lane per job and node, full where the job held the CPUs, with the coscheduled
// fraction of each job.
int chart_svg(struct timeline *timeline, FILE *stream, struct error *err);

#endif
