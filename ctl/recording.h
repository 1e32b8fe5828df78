// The scheduling events of one node, as classd has recorded them and as they are kept in a file.
#ifndef COSCHED_CTL_RECORDING_H
#define COSCHED_CTL_RECORDING_H

#include "common/error.h"
#include "common/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { RECORDING_NODE_MAX = 64 };

struct recording_event {
    uint64_t at_ns; // time of day
    uint64_t job;   // its number, the same on all nodes; 0: none
    uint32_t kind;  // enum protocol_event_kind
    uint32_t value;
};

struct recording_job {
    uint64_t job;
    uint32_t uid;
    char job_id[PROTOCOL_JOB_ID_MAX];
};

struct recording {
    char node[RECORDING_NODE_MAX];
    uint64_t lost;     // events that were overwritten before they were read
    uint64_t until_ns; // time of day up to which it has everything. 0: unknown
    struct recording_job *jobs;
    size_t job_count;
    struct recording_event *events; // in order of time
    size_t event_count;
};

// Whether a node may be called so: its name is printed as it is. Returns 0, or -1 with EINVAL.
int recording_check_node(const char *node, struct error *err);

// Reads what classd has recorded so far. `node` is the name that the node gets.
int recording_fetch(int fd, const char *node, struct recording *recording, struct error *err);

// Writes and reads the file. Reading checks everything: files come from other nodes.
int recording_write(const struct recording *recording, FILE *stream, struct error *err);
int recording_read(const char *path, struct recording *recording, struct error *err);

// Frees what the three above have filled in; all zero is allowed.
void recording_free(struct recording *recording);

#endif
