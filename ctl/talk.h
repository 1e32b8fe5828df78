// coschedctl's questions to classd.
#ifndef COSCHED_CTL_TALK_H
#define COSCHED_CTL_TALK_H

#include "common/client.h"
#include "common/config.h"
#include "common/protocol.h"

#include <stdbool.h>
#include <stddef.h>

// Connects to classd; the caller closes the descriptor. On error -1, and err says what to do.
int talk_connect(const struct config *config, struct error *err);

// SUSPEND, RESUME or KILL; returns when it is done. err says why it is not.
int talk_track(int fd, const struct config *config, enum protocol_command command,
               const struct protocol_target *target, struct protocol_tracked *tracked,
               struct error *err);

// How long that waits for classd: longer than it takes a classd of the same configuration to do it,
// or to fail and to take it back.
unsigned talk_track_timeout_ms(const struct config *config);

int talk_node(int fd, struct protocol_node_record *node, struct error *err);

// The jobs that the caller may see, as they are at one moment unless there is never a quiet one;
// the caller frees *jobs.
int talk_jobs(int fd, struct protocol_job_record **jobs, size_t *count, struct error *err);

// Asks classd to read its configuration again; err says why it did not.
int talk_reload(int fd, struct error *err);

// Starts (with room for `capacity` events, 0: the default) or stops the recording.
int talk_trace(int fd, bool on, uint32_t capacity, struct error *err);

// Asks classd to end and waits until it has lifted every limit and closed the connection.
int talk_shutdown(int fd, struct error *err);

#endif
