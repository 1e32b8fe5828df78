// The configuration file, /etc/cosched.ini. Keys, defaults, limits and their documentation stand in
// common/config_keys.def and nowhere else. There is no global configuration: whoever needs it is
// handed it.
#ifndef COSCHED_COMMON_CONFIG_H
#define COSCHED_COMMON_CONFIG_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_TEXT_MAX 160 // so that "key = value" fits a line of the parser

#ifndef COSCHED_CONFIG_FILE
#define COSCHED_CONFIG_FILE "/etc/cosched.ini"
#endif

struct config {
    char policy[CONFIG_TEXT_MAX];
    uint64_t time_slice_ns;
    uint64_t gmet_ns;
    uint32_t idle_share_ppm;
    uint32_t idle_total_ppm;
    bool strict;
    bool skip_dormant;
    uint64_t cpus;      // 0: not set, see config_cpus()
    unsigned held_cpus; // no key: config_hold_cpus()
    int64_t dcs_exponent;
    uint64_t dcs_constant_ns;
    uint64_t dcs_quantum_ns;
    bool dcs_calibrate;
    uint64_t gang_slot_ns;
    uint64_t gang_servants;
    char gang_lists[CONFIG_TEXT_MAX]; // as gang_lists_parse() takes it
    char backend[CONFIG_TEXT_MAX];
    char cgroup_root[CONFIG_TEXT_MAX];
    uint64_t period_ns;
    bool align_periods;
    char placement[CONFIG_TEXT_MAX];
    char sequential_groups[CONFIG_TEXT_MAX];
    uint32_t sequential_share_ppm; // 0: fair
    uint32_t interactive_share_ppm;
    char tracking_means[CONFIG_TEXT_MAX];
    uint64_t retry_interval_ns;
    char runtime_dir[CONFIG_TEXT_MAX];
    char log_level[CONFIG_TEXT_MAX];
    char service_user[CONFIG_TEXT_MAX];
    uint64_t max_jobs;
    uint64_t max_processes;
    uint64_t max_connections;
    uint64_t max_connections_per_user;
    uint64_t max_jobs_per_user;
    uint64_t max_requests_per_second;
    bool timer_align;
    char piggyback[CONFIG_TEXT_MAX];
    char wait[CONFIG_TEXT_MAX];
    uint64_t spin_limit_ns; // 0: what giving the CPU away costs
};

// Every key at its default.
void config_defaults(struct config *config);

// Defaults, then the file at `path`. Unknown sections and keys, keys given twice, bad values and
// wrong units are errors that name file and line. On error *config is unspecified. Returns 0 or -1.
int config_load(const char *path, struct config *config, struct error *err);

// The same from an open stream; `name` stands for the file in messages.
int config_load_stream(FILE *stream, const char *name, struct config *config, struct error *err);

// As much of the file at `path` as makes sense, defaults for the rest: for whoever must go on
// without a sound configuration. What keys say together is not checked.
void config_salvage(const char *path, struct config *config);

// CPUs that the node's jobs share: the `cpus` key or, when that is 0, the CPUs in the calling
// process's affinity mask. At least 1.
unsigned config_cpus(const struct config *config);

// From here on the CPUs are those that are counted now, or `held`, if that is not 0: limits, shares
// and what people read must go by one number, whatever becomes of the affinity mask.
void config_hold_cpus(struct config *config, unsigned held);

// Descriptors that classd wants: each process costs a connection and a pidfd, each
// job its page, the files of its class that are kept open, and what their groups need.
uint64_t config_descriptors(const struct config *config);

// The time-slice of the policy, and its GMET: policy gang has a slot in place of time_slice.
uint64_t config_slice_ns(const struct config *config);
uint64_t config_gmet_ns(const struct config *config);
bool config_is_gang(const struct config *config);

// How long suspending, resuming or killing a job may take; taking a suspension back, as long again.
uint64_t config_tracking_limit_ns(const struct config *config);

// Writes a configuration file with every key, its documentation as a comment and its value.
void config_print(const struct config *config, FILE *stream);

// Writes the keys as the body of a man page section in scdoc form.
void config_print_manual(FILE *stream);

#endif
