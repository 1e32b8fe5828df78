// What a job's user may set by environment variables.
#ifndef COSCHED_PMPI_VARIANT_SETTINGS_H
#define COSCHED_PMPI_VARIANT_SETTINGS_H

#include "common/gang_lists.h"

#include <stdbool.h>
#include <stdint.h>

enum wait_mode {
    WAIT_DEFAULT = 0, // not set: the node's configuration decides, auto without one
    WAIT_AUTO,
    WAIT_SPIN,
    WAIT_YIELD,
    WAIT_BLOCK,
    WAIT_MODES,
};

enum piggyback {
    PIGGYBACK_DEFAULT = 0, // not set: the node's configuration decides
    PIGGYBACK_OFF,
    PIGGYBACK_NOTICE,
    PIGGYBACK_HEADER,
};

#define SETTINGS_UNSET UINT64_MAX

struct settings {
    enum wait_mode wait;           // COSCHED_WAIT = auto | spin | yield | block
    enum piggyback piggyback;      // COSCHED_PIGGYBACK = notice | header | off
    bool stats;                    // COSCHED_STATS = 1
    uint64_t init_timeout_ns;      // COSCHED_INIT_TIMEOUT, a duration
    uint64_t spin_limit_ns;        // COSCHED_SPIN_LIMIT, a duration; SETTINGS_UNSET
    char runtime_dir[4096];        // COSCHED_RUNTIME_DIR; programs write over their environment
    char list[GANG_LIST_NAME_MAX]; // COSCHED_LIST, the name of a list of policy gang, or empty
    char complaint[256];           // one line about a bad value, or empty
};

// Reads the environment. A value that makes no sense is left at its default and named in
// `complaint`: a program is not to fail for it.
void settings_read(struct settings *settings);

#endif
