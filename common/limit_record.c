#include "common/limit_record.h"

#include "common/group_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SET_FORMAT "set %20" PRIu64 " %20" PRIu64 " %20" PRIu64 " %20" PRIu64 "\n"

bool limit_same(const struct limit *a, const struct limit *b)
{
    return a->quota_us == b->quota_us && a->period_us == b->period_us;
}

static bool same_but_doubled(struct limit set, const struct limit *limit)
{
    while (set.period_us > 0 && set.period_us <= limit->period_us / 2) {
        set.period_us *= 2;
        set.quota_us *= 2;
    }
    return limit_same(&set, limit);
}

bool limit_record_has_set(const struct limit_record *record, const struct limit *limit)
{
    return same_but_doubled(record->set[0], limit) || same_but_doubled(record->set[1], limit);
}

int limit_record_format_set(char text[LIMIT_RECORD_SET_LENGTH + 1],
                            const struct limit_record *record)
{
    return snprintf(text, LIMIT_RECORD_SET_LENGTH + 1, SET_FORMAT, record->set[0].quota_us,
                    record->set[0].period_us, record->set[1].quota_us, record->set[1].period_us);
}

int limit_record_format(char text[LIMIT_RECORD_TEXT_MAX], const struct limit_record *record)
{
    char set[LIMIT_RECORD_SET_LENGTH + 1];
    limit_record_format_set(set, record);
    return snprintf(text, LIMIT_RECORD_TEXT_MAX,
                    "%sown %" PRIu64 " %" PRIu64 "\ninode %" PRIu64
                    "\nuid %u\nmanager %u\ngroup %s\n",
                    set, record->own.quota_us, record->own.period_us, record->inode,
                    (unsigned)record->uid, record->manager, record->group);
}

// It is written to the group's files as root, so it must not lead out of the hierarchy.
static bool is_group(const char *path)
{
    return path[0] == '/' && group_path_valid(path + 1);
}

int limit_record_parse(const char *text, struct limit_record *record)
{
    unsigned uid;
    int end = 0;
    if (sscanf(text,
               "set %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " own %" SCNu64 " %" SCNu64
               " inode %" SCNu64 " uid %u manager %u group %4095[^\n]%n",
               &record->set[0].quota_us, &record->set[0].period_us, &record->set[1].quota_us,
               &record->set[1].period_us, &record->own.quota_us, &record->own.period_us,
               &record->inode, &uid, &record->manager, record->group, &end) != 10 ||
        strcmp(text + end, "\n") != 0 || !is_group(record->group) || record->own.period_us == 0)
        return -1;
    record->uid = uid;
    return 0;
}
