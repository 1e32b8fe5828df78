#include "common/gang_lists.h"

#include "common/slots.h"
#include "common/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEPARATORS " ,"

enum { WORD_MAX = 64 };

bool gang_list_name_valid(const char name[GANG_LIST_NAME_MAX])
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    const char *end = memchr(name, '\0', GANG_LIST_NAME_MAX);
    return end != NULL && end != name && strspn(name, allowed) == (size_t)(end - name);
}

int gang_lists_find(const struct gang_lists *lists, const char *name)
{
    for (unsigned i = 0; i < lists->count; i++) {
        if (strcmp(lists->list[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

// The part of a word before the next colon, cut to `size`; moves *at behind it.
static void next_part(const char **at, char *part, size_t size)
{
    int length = (int)strcspn(*at, ":");
    snprintf(part, size, "%.*s", length, *at);
    *at += length + ((*at)[length] == ':');
}

static int parse_length(const char *word, const char *text, unsigned *slots, struct error *err)
{
    uint64_t count = 0;
    if (units_parse_count(text, &count, err) == 0 && count > 0 && count <= SLOTS_ROUND / 2 &&
        SLOTS_ROUND % count == 0) {
        *slots = (unsigned)count;
        return 0;
    }
    return error_set(
        err, EINVAL,
        "\"%s\": the length must be a number of slots that divides the round of %u, at "
        "most half; for example long:4",
        word, SLOTS_ROUND);
}

static int parse_age(const char *word, const char *text, uint64_t *until_ns, struct error *err)
{
    if (*text == '\0') {
        *until_ns = UINT64_MAX;
        return 0;
    }
    return units_parse_duration(text, until_ns, err) == 0 && *until_ns > 0
               ? 0
               : error_set(err, EINVAL, "\"%s\": \"%s\" is not an age; for example short:1:10min",
                           word, text);
}

static int parse_list(const char *word, struct gang_list *list, struct error *err)
{
    char name[WORD_MAX], length[WORD_MAX];
    const char *at = word;
    next_part(&at, name, sizeof name);
    next_part(&at, length, sizeof length);
    if (strlen(name) >= sizeof list->name || strchr(at, ':') != NULL)
        name[0] = '\0';
    snprintf(list->name, sizeof list->name, "%.*s", (int)sizeof list->name - 1, name);
    if (!gang_list_name_valid(list->name))
        return error_set(
            err, EINVAL,
            "\"%s\" is not a list: NAME:LENGTH:AGE, the name of 1 to %u letters, digits, "
            "_ or -; for example short:1:10min",
            word, GANG_LIST_NAME_MAX - 1);
    if (parse_length(word, length, &list->slots, err) < 0)
        return -1;
    return parse_age(word, at, &list->until_ns, err);
}

// A list beside the one before it.
static int check_order(const struct gang_lists *lists, const struct gang_list *list,
                       struct error *err)
{
    const struct gang_list *before = &lists->list[lists->count - 1];
    if (gang_lists_find(lists, list->name) >= 0)
        return error_set(err, EINVAL, "there are two lists \"%s\"; rename one", list->name);
    if (before->until_ns == UINT64_MAX)
        return error_set(
            err, EINVAL,
            "nobody ever leaves list \"%s\" for \"%s\"; give it an age, as in %s:%u:10min",
            before->name, list->name, before->name, before->slots);
    if (list->until_ns <= before->until_ns)
        return error_set(
            err, EINVAL,
            "ages count from a job's start, so that of list \"%s\" must be above that of "
            "\"%s\"",
            list->name, before->name);
    if (list->slots % before->slots != 0)
        return error_set(err, EINVAL,
                         "the length %u of list \"%s\" must be a multiple of %u, that of \"%s\"",
                         list->slots, list->name, before->slots, before->name);
    return 0;
}

static int check_last(const struct gang_lists *lists, struct error *err)
{
    if (lists->count == 0)
        return error_set(err, EINVAL, "there must be a list; for example all:1");
    const struct gang_list *last = &lists->list[lists->count - 1];
    if (last->until_ns != UINT64_MAX)
        return error_set(err, EINVAL,
                         "nobody leaves \"%s\", the last list; remove its age, or add a list",
                         last->name);
    return 0;
}

int gang_lists_parse(const char *text, struct gang_lists *lists, struct error *err)
{
    *lists = (struct gang_lists){0};
    for (const char *at = text + strspn(text, SEPARATORS); *at != '\0';
         at += strspn(at, SEPARATORS)) {
        char word[WORD_MAX];
        struct gang_list list;
        int length = (int)strcspn(at, SEPARATORS);
        snprintf(word, sizeof word, "%.*s", length, at);
        at += length;
        if (lists->count == GANG_LISTS_MAX)
            return error_set(err, EINVAL, "\"%s\" is one list too many; there are at most %u", word,
                             GANG_LISTS_MAX);
        if (parse_list(word, &list, err) < 0 ||
            (lists->count > 0 && check_order(lists, &list, err) < 0))
            return -1;
        lists->list[lists->count++] = list;
    }
    return check_last(lists, err);
}
