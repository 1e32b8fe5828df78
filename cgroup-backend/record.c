#include "cgroup-backend/record.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"
#include "common/group_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The line that changes comes first and has always the same length: it is overwritten in one write.
#define SET_FORMAT "set %20" PRIu64 " %20" PRIu64 " %20" PRIu64 " %20" PRIu64 "\n"
enum { SET_LENGTH = 4 + 4 * 20 + 3 + 1 };

static int format_set(char text[SET_LENGTH + 1], const struct record *record)
{
    return snprintf(text, SET_LENGTH + 1, SET_FORMAT, record->set[0].quota_us,
                    record->set[0].period_us, record->set[1].quota_us, record->set[1].period_us);
}

// It is written to the group's files as root, so it must not lead out of the hierarchy.
static bool is_group(const char *path)
{
    return path[0] == '/' && group_path_valid(path + 1);
}

static int parse(const char *text, struct record *record)
{
    unsigned uid, manager;
    int end = 0;
    if (sscanf(text,
               "set %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " own %" SCNu64 " %" SCNu64
               " inode %" SCNu64 " uid %u manager %u group %4095[^\n]%n",
               &record->set[0].quota_us, &record->set[0].period_us, &record->set[1].quota_us,
               &record->set[1].period_us, &record->own.quota_us, &record->own.period_us,
               &record->inode, &uid, &manager, record->group, &end) != 10 ||
        strcmp(text + end, "\n") != 0 || !is_group(record->group) || manager > PLACEMENT_NAMED ||
        record->own.period_us == 0)
        return -1;
    record->uid = uid;
    record->manager = manager;
    return 0;
}

int record_read(const char *directory, const char *name, struct record *record, struct error *err)
{
    char text[PATH_MAX + 512];
    struct error fault = {0};
    if (directory == NULL)
        return 0;
    if (file_read(directory, name, text, sizeof text, &fault) != 0)
        return fault.code == ENOENT ? 0 : error_set(err, fault.code, "%s", fault.text);
    if (parse(text, record) != 0)
        return error_set(err, EBADMSG, "%s/%s is not what classd writes there", directory, name);
    return 1;
}

static int fill(int fd, const void *what)
{
    const struct record *record = what;
    char set[SET_LENGTH + 1], text[PATH_MAX + 512];
    format_set(set, record);
    int length =
        snprintf(text, sizeof text,
                 "%sown %" PRIu64 " %" PRIu64 "\ninode %" PRIu64 "\nuid %u\nmanager %u\ngroup %s\n",
                 set, record->own.quota_us, record->own.period_us, record->inode,
                 (unsigned)record->uid, (unsigned)record->manager, record->group);
    ssize_t written = pwrite(fd, text, (size_t)length, 0);
    if (written >= 0 && written != length)
        errno = ENOSPC;
    return written == length ? 0 : -1;
}

int record_write(const char *directory, const char *name, const struct record *record,
                 struct error *err)
{
    return file_put(directory, name, fill, record, err);
}

int record_open(const char *directory, const char *name, struct error *err)
{
    return file_open(directory, name, O_RDWR | O_NOFOLLOW, err);
}

int record_intend(int fd, const struct record *record, struct error *err)
{
    char text[SET_LENGTH + 1];
    int length = format_set(text, record);
    if (length == SET_LENGTH && pwrite(fd, text, SET_LENGTH, 0) == SET_LENGTH)
        return 0;
    return error_errno(err, errno, "cannot note the limit to come of %s", record->group);
}

void record_remove(const char *directory, const char *name)
{
    cleanup_free char *path = path_join(directory, name);
    if (path == NULL)
        return;
    unlink(path);
    rmdir(directory);
}

int record_each(const char *directory, int (*each)(const char *name, void *user), void *user)
{
    cleanup_closedir DIR *list = directory != NULL ? opendir(directory) : NULL;
    if (list == NULL)
        return 0;
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(list)) != NULL;) {
        if (entry->d_type == DT_REG && backend_name_valid(entry->d_name))
            rc = each(entry->d_name, user);
    }
    return rc;
}
