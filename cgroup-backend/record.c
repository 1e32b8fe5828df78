#include "cgroup-backend/record.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int record_read(const char *directory, const char *name, struct limit_record *record,
                struct error *err)
{
    char text[LIMIT_RECORD_TEXT_MAX];
    struct error fault = {0};
    if (directory == NULL)
        return 0;
    if (file_read(directory, name, text, sizeof text, &fault) != 0)
        return fault.code == ENOENT ? 0 : error_set(err, fault.code, "%s", fault.text);
    if (limit_record_parse(text, record) != 0 || record->manager > PLACEMENT_NAMED)
        return error_set(err, EBADMSG, "%s/%s is not what classd writes there", directory, name);
    return 1;
}

static int fill(int fd, const void *what)
{
    char text[LIMIT_RECORD_TEXT_MAX];
    int length = limit_record_format(text, what);
    ssize_t written = pwrite(fd, text, (size_t)length, 0);
    if (written >= 0 && written != length)
        errno = ENOSPC;
    return written == length ? 0 : -1;
}

int record_write(const char *directory, const char *name, const struct limit_record *record,
                 struct error *err)
{
    return file_put(directory, name, FILE_FOR_ALL, fill, record, err);
}

int record_open(const char *directory, const char *name, struct error *err)
{
    return file_open(directory, name, O_RDWR | O_NOFOLLOW, err);
}

int record_intend(int fd, const struct limit_record *record, struct error *err)
{
    char text[LIMIT_RECORD_SET_LENGTH + 1];
    int length = limit_record_format_set(text, record);
    if (length == LIMIT_RECORD_SET_LENGTH && pwrite(fd, text, (size_t)length, 0) == length)
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
        bool may_be = entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN; // not all can tell
        if (may_be && backend_name_valid(entry->d_name))
            rc = each(entry->d_name, user);
    }
    return rc;
}
