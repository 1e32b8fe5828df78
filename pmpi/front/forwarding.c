#include "pmpi/front/forwarding.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool is_option(const char *argument, const char *name)
{
    if (argument[0] != '-')
        return false;
    return strcmp(argument + 1, name) == 0 ||
           (argument[1] == '-' && strcmp(argument + 2, name) == 0);
}

char **forwarding_argument(char **arguments, const char *parameter)
{
    for (char **at = arguments; at[0] != NULL && at[0][0] != ':'; at++) {
        if (at[1] == NULL || at[2] == NULL)
            return NULL;
        if ((is_option(at[0], "mca") || is_option(at[0], "gmca")) && strcmp(at[1], parameter) == 0)
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

static bool has(const char *list, char delimiter, const char *name)
{
    size_t length = strlen(name);
    for (const char *entry = list; entry != NULL;) {
        if (strncmp(entry, name, length) == 0 &&
            (entry[length] == '\0' || entry[length] == '=' || entry[length] == delimiter))
            return true;
        entry = strchr(entry, delimiter);
        entry = entry != NULL ? entry + 1 : NULL;
    }
    return false;
}

char *forwarding_join(const char *list, char delimiter, const char *const *names)
{
    size_t size = strlen(list) + 1;
    bool lacks = false;
    for (size_t i = 0; names[i] != NULL; i++) {
        size += strlen(names[i]) + 1;
        lacks = lacks || !has(list, delimiter, names[i]);
    }
    char *joined = lacks ? malloc(size) : NULL;
    if (joined == NULL)
        return NULL;
    char *end = stpcpy(joined, list);
    for (size_t i = 0; names[i] != NULL; i++) {
        if (has(list, delimiter, names[i]))
            continue;
        if (end > joined)
            *end++ = delimiter;
        end = stpcpy(end, names[i]);
    }
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
