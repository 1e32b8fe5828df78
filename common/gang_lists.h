// The lists of policy gang as people write them: "short:1:10min long:4", each a name, the length of
// its slots and, but for the last, the age at which a job goes on to the next. doc/design/gang.md,
// section 7.
#ifndef COSCHED_COMMON_GANG_LISTS_H
#define COSCHED_COMMON_GANG_LISTS_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GANG_LISTS_MAX     4u
#define GANG_LIST_NAME_MAX 16u // terminating zero included

struct gang_list {
    char name[GANG_LIST_NAME_MAX];
    unsigned slots;    // of the round, that follow each other
    uint64_t until_ns; // the age; UINT64_MAX for the last
};

struct gang_lists {
    struct gang_list list[GANG_LISTS_MAX];
    unsigned count; // at least 1
};

// Returns 0, or -1 with one line that names the list and the remedy.
int gang_lists_parse(const char *text, struct gang_lists *lists, struct error *err);

// The number of the list of that name, or -1.
int gang_lists_find(const struct gang_lists *lists, const char *name);

// True for 1 to 15 of [A-Za-z0-9_-] with an end.
bool gang_list_name_valid(const char name[GANG_LIST_NAME_MAX]);

#endif
