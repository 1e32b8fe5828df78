#include "pmpi/front/forwarding.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Behind this entry of a list is what this library has added.
#define MARK "COSCHED_FORWARDED=1"

enum { ENTRIES_MAX = 32 };

static bool is_option(const char *argument, const char *name)
{
    if (argument[0] != '-')
        return false;
    return strcmp(argument + 1, name) == 0 ||
           (argument[1] == '-' && strcmp(argument + 2, name) == 0);
}

static bool is_mca(enum forwarding_launcher launcher, const char *argument)
{
    return is_option(argument, "mca") || is_option(argument, "gmca") ||
           (launcher == FORWARDING_PRRTE &&
            (is_option(argument, "omca") || is_option(argument, "gomca")));
}

char **forwarding_argument(enum forwarding_launcher launcher, char **arguments,
                           const char *parameter)
{
    for (char **at = arguments; at[0] != NULL && at[1] != NULL && at[2] != NULL; at++) {
        if (launcher == FORWARDING_ORTE && at[0][0] == ':')
            return NULL;
        if (is_mca(launcher, at[0]) && strcmp(at[1], parameter) == 0)
            return at + 2;
    }
    return NULL;
}

char **forwarding_option(char **arguments, const char *option)
{
    for (char **at = arguments; at[0] != NULL && at[0][0] != ':' && at[1] != NULL; at++) {
        if (is_option(at[0], option))
            return at + 1;
    }
    return NULL;
}

// The entry of that name in a list; null: it has none.
static const char *find(const char *list, char delimiter, const char *name, size_t length)
{
    for (const char *entry = list; entry != NULL;) {
        if (strncmp(entry, name, length) == 0 &&
            (entry[length] == '\0' || entry[length] == '=' || entry[length] == delimiter))
            return entry;
        entry = strchr(entry, delimiter);
        entry = entry != NULL ? entry + 1 : NULL;
    }
    return NULL;
}

static bool has(const char *list, char delimiter, const char *entry)
{
    return find(list, delimiter, entry, strcspn(entry, "=")) != NULL;
}

char *forwarding_join(const char *list, char delimiter, const char *const *entries)
{
    size_t size = strlen(list) + 1;
    bool lacks = false;
    for (size_t i = 0; entries[i] != NULL; i++) {
        size += strlen(entries[i]) + 1;
        lacks = lacks || !has(list, delimiter, entries[i]);
    }
    char *joined = lacks ? malloc(size) : NULL;
    if (joined == NULL)
        return NULL;
    char *end = stpcpy(joined, list);
    for (size_t i = 0; entries[i] != NULL; i++) {
        if (has(list, delimiter, entries[i]))
            continue;
        if (end > joined)
            *end++ = delimiter;
        end = stpcpy(end, entries[i]);
    }
    return joined;
}

char *forwarding_join_anew(const char *list, const char *const *entries)
{
    const char *marked[ENTRIES_MAX + 2] = {MARK};
    for (size_t i = 0; i < ENTRIES_MAX && entries[i] != NULL; i++)
        marked[i + 1] = entries[i];
    const char *mark = find(list, ';', MARK, strlen(MARK));
    size_t length = mark == NULL ? strlen(list) : mark > list ? (size_t)(mark - list) - 1 : 0;
    char *users = strndup(list, length);
    char *joined = users != NULL ? forwarding_join(users, ';', marked) : NULL;
    free(users);
    return joined;
}

// Such lines hold options as on the command line.
static bool exports(const char *options)
{
    for (const char *at = options; (at = strstr(at, "-x")) != NULL; at += 2) {
        bool begins = at == options || strchr(" \t", at[-1]) != NULL ||
                      (at[-1] == '-' && (at - 1 == options || strchr(" \t", at[-2]) != NULL));
        if (begins && strchr(" \t\r\n", at[2]) != NULL)
            return true;
    }
    return false;
}

bool forwarding_line_lists(const char *line)
{
    line += strspn(line, " \t");
    if (line[0] == '-')
        return strstr(line, "mca_base_env_list") != NULL || exports(line);
    return strncmp(line, "mca_base_env_list", strlen("mca_base_env_list")) == 0;
}
