// What coschedctl prints: tables for people, JSON for programs.
#ifndef COSCHED_CTL_SHOW_H
#define COSCHED_CTL_SHOW_H

#include "common/protocol.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SHOW_PREEMPTION_MAX 128

// Writes what decides when a message preempts under the node's policy, a phrase for people, into
// `text`: GMET, or what policy dcs has instead.
void show_preemption(const struct protocol_node_record *node, char text[SHOW_PREEMPTION_MAX]);

// Whether timerd has not been heard for more than two time-slices: it has died, hangs, or may not
// ask. False where classd does not tell.
bool show_timer_is_late(const struct protocol_node_record *node);

#define SHOW_TIMER_MAX 64
#define SHOW_TIMER_REMEDY                                                                          \
    "see whether it runs (systemctl status cosched-timerd); classd switches by itself, half as "   \
    "often"

// Writes how long ago timerd was heard, a phrase for people; nothing where classd does not tell.
void show_timer(const struct protocol_node_record *node, char text[SHOW_TIMER_MAX]);

#define SHOW_SLOTS_MAX 16

// Writes how many slots of a round the job has under policy gang: "30/60", or "-" without any.
void show_slots(const struct protocol_job_record *job, char text[SHOW_SLOTS_MAX]);

#define SHOW_CLOCK_MAX    192
#define SHOW_CLOCK_REMEDY "synchronise the clocks, e.g. with chrony"

// Writes what the job has found out about this node's clock, a phrase for people; nothing where
// that is right.
void show_clock(const struct protocol_job_record *job, char text[SHOW_CLOCK_MAX]);
const char *show_clock_remedy(const struct protocol_job_record *job);

// Whether it is scheduled, as a word for people.
const char *show_state(const struct protocol_job_record *job);

// Among how many the node's turns are shared: its jobs without those that are suspended or sleep
// (as far as the caller may see them among `jobs`), and the sequential class while it takes part.
// At least 1.
uint32_t show_turn_takers(const struct protocol_node_record *node,
                          const struct protocol_job_record *jobs, size_t count);

// The job for programs, a new reference; null without memory.
json_t *show_job_json(const struct protocol_job_record *job);

// The node for programs, a new reference; null without memory.
json_t *show_node_json(const struct protocol_node_record *node);

void show_node(const struct protocol_node_record *node, bool json);
void show_jobs(const struct protocol_job_record *jobs, size_t count, bool json);

#endif
