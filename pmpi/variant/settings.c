#include "pmpi/variant/settings.h"

#include "common/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPIN_LIMIT_MAX_NS   NS_PER_SEC                     // as [client] spin_limit
#define INIT_TIMEOUT_MAX_NS (365 * 24 * 3600 * NS_PER_SEC) // can be added to any time

// The position of the variable's value among `words` (ended by null) + 1, or 0 when it is not set.
static int choice(struct settings *settings, const char *variable, const char *const *words)
{
    const char *value = getenv(variable);
    char known[64] = "";
    if (value == NULL || *value == '\0')
        return 0;
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0)
            return i + 1;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    snprintf(settings->complaint, sizeof settings->complaint,
             "%s=%.40s is not one of: %s; it is ignored", variable, value, known);
    return 0;
}

// The variable's value, at most `most_ns`; *value_ns stays when it is not set or makes no sense.
static void duration(struct settings *settings, const char *variable, uint64_t most_ns,
                     uint64_t *value_ns)
{
    const char *text = getenv(variable);
    uint64_t read_ns = 0;
    struct error err = {0};
    if (text == NULL || *text == '\0')
        return;
    if (units_parse_duration(text, &read_ns, &err) == 0 ? read_ns > most_ns : err.code == ERANGE)
        error_set(&err, ERANGE, "'%.40s' is more than %" PRIu64 "s", text, most_ns / NS_PER_SEC);
    if (err.code == 0)
        *value_ns = read_ns;
    else
        snprintf(settings->complaint, sizeof settings->complaint, "%s: %.150s; it is ignored",
                 variable, err.text);
}

// Which lists there are only the nodes know.
static void list_name(struct settings *settings)
{
    const char *name = getenv("COSCHED_LIST");
    char read[GANG_LIST_NAME_MAX + 1] = "";
    if (name == NULL || *name == '\0')
        return;
    snprintf(read, sizeof read, "%s", name);
    if (gang_list_name_valid(read))
        memcpy(settings->list, read, sizeof settings->list);
    else
        snprintf(
            settings->complaint, sizeof settings->complaint,
            "COSCHED_LIST=%.40s is not the name of a list, at most %u letters, digits, _ or -; "
            "it is ignored",
            name, GANG_LIST_NAME_MAX - 1);
}

// Absolute only: a program may change its directory before the library connects.
static void runtime_dir(struct settings *settings)
{
    const char *path = getenv("COSCHED_RUNTIME_DIR");
    bool usable = path != NULL && path[0] == '/';
    if (path != NULL && *path != '\0' && !usable)
        snprintf(settings->complaint, sizeof settings->complaint,
                 "COSCHED_RUNTIME_DIR=%.40s is not an absolute path; it is ignored", path);
    snprintf(settings->runtime_dir, sizeof settings->runtime_dir, "%s",
             usable ? path : "/run/cosched");
}

void settings_read(struct settings *settings)
{
    static const char *const waits[] = {"auto", "spin", "yield", "block", NULL};
    static const char *const carriers[] = {"off", "notice", "header", NULL};
    static const char *const flags[] = {"0", "1", NULL};
    memset(settings, 0, sizeof *settings);
    settings->wait = (enum wait_mode)choice(settings, "COSCHED_WAIT", waits);
    settings->piggyback = (enum piggyback)choice(settings, "COSCHED_PIGGYBACK", carriers);
    list_name(settings);
    settings->stats = choice(settings, "COSCHED_STATS", flags) == 2;
    runtime_dir(settings);
    settings->init_timeout_ns = 60 * NS_PER_SEC;
    settings->spin_limit_ns = SETTINGS_UNSET;
    duration(settings, "COSCHED_INIT_TIMEOUT", INIT_TIMEOUT_MAX_NS, &settings->init_timeout_ns);
    duration(settings, "COSCHED_SPIN_LIMIT", SPIN_LIMIT_MAX_NS, &settings->spin_limit_ns);
}
