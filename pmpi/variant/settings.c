#include "pmpi/variant/settings.h"

#include "common/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void settings_read(struct settings *settings)
{
    static const char *const waits[] = {"auto", "spin", "yield", NULL};
    static const char *const carriers[] = {"off", "notice", "header", NULL};
    static const char *const flags[] = {"0", "1", NULL};
    memset(settings, 0, sizeof *settings);
    settings->wait = (enum wait_mode)choice(settings, "COSCHED_WAIT", waits);
    settings->piggyback = (enum piggyback)choice(settings, "COSCHED_PIGGYBACK", carriers);
    settings->stats = choice(settings, "COSCHED_STATS", flags) == 2;
    settings->runtime_dir = getenv("COSCHED_RUNTIME_DIR");
    if (settings->runtime_dir == NULL || settings->runtime_dir[0] != '/')
        settings->runtime_dir = "/run/cosched";
    settings->init_timeout_ns = 60 * NS_PER_SEC;
    const char *timeout = getenv("COSCHED_INIT_TIMEOUT");
    struct error err = {0};
    if (timeout != NULL && units_parse_duration(timeout, &settings->init_timeout_ns, &err) < 0)
        snprintf(settings->complaint, sizeof settings->complaint,
                 "COSCHED_INIT_TIMEOUT: %.150s; it is ignored", err.text);
}
