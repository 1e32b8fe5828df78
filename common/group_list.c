#include "common/group_list.h"

#include <stdio.h>
#include <string.h>

#define SEPARATORS " ,"

bool group_list_next(const char **at, char *group, size_t size)
{
    *at += strspn(*at, SEPARATORS);
    int length = (int)strcspn(*at, SEPARATORS);
    snprintf(group, size, "%.*s", length, *at);
    *at += length;
    return length > 0;
}

bool group_path_valid(const char *group)
{
    for (const char *part = group;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += length;
        if (*part == '\0')
            return true;
    }
}

bool group_is_unit(const char *group)
{
    static const char *const kinds[] = {".slice", ".scope", ".service"};
    const char *last = strrchr(group, '/');
    const char *dot = strrchr(last != NULL ? last : group, '.');
    for (size_t i = 0; dot != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i]) == 0)
            return true;
    return false;
}

bool group_encloses(const char *outer, const char *inner)
{
    size_t length = strlen(outer);
    return strncmp(outer, inner, length) == 0 && (inner[length] == '/' || inner[length] == '\0');
}
