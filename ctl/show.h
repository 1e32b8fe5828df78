// What coschedctl prints: tables for people, JSON for programs.
#ifndef COSCHED_CTL_SHOW_H
#define COSCHED_CTL_SHOW_H

#include "common/protocol.h"

#include <stdbool.h>
#include <stddef.h>

void show_node(const struct protocol_node_record *node, bool json);
void show_jobs(const struct protocol_job_record *jobs, size_t count, bool json);

#endif
