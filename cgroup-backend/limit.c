#include "cgroup-backend/limit.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void limit_close(struct limit_files *files)
{
    cleanup_close_fn(&files->quota);
    cleanup_close_fn(&files->period);
    files->quota = files->period = -1;
}

static const char *quota_file(bool v2)
{
    return v2 ? "cpu.max" : "cpu.cfs_quota_us";
}

bool limit_exists(const char *path, bool v2)
{
    cleanup_free char *file = path_join(path, quota_file(v2));
    return file == NULL || access(file, F_OK) == 0 || errno != ENOENT;
}

int limit_open(const char *path, bool v2, struct limit_files *files, struct error *err)
{
    files->quota = files->period = -1;
    if (v2 && !limit_exists(path, v2))
        return error_set(
            err, ENOTSUP,
            "%s has no cpu.max: the group above it must pass the cpu controller on, as "
            "a slice of systemd's does with a CPUWeight= in one of its units",
            path);
    files->quota = file_open(path, quota_file(v2), O_RDWR, err);
    files->period = v2 || files->quota < 0 ? -1 : file_open(path, "cpu.cfs_period_us", O_RDWR, err);
    if (files->quota >= 0 && (v2 || files->period >= 0))
        return 0;
    limit_close(files);
    return -1;
}

static bool read_number(int fd, const char *none, uint64_t numbers[2], int *count)
{
    char text[64] = "";
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    if (length <= 0)
        return false;
    size_t word = strlen(none);
    numbers[0] = LIMIT_NONE;
    if (strncmp(text, none, word) == 0)
        *count = 1 + (sscanf(text + word, "%" SCNu64, &numbers[1]) == 1);
    else
        *count = sscanf(text, "%" SCNu64 " %" SCNu64, &numbers[0], &numbers[1]);
    return true;
}

int limit_read(const struct limit_files *files, const char *path, struct limit *limit,
               struct error *err)
{
    uint64_t quota[2] = {0}, period[2] = {0};
    int count = 0, periods = 0;
    bool v2 = files->period < 0;
    errno = ENODATA;
    if (!read_number(files->quota, v2 ? "max" : "-1", quota, &count) ||
        (!v2 && !read_number(files->period, "-1", period, &periods)))
        return error_errno(err, errno, "cannot read the limit of %s", path);
    *limit = (struct limit){quota[0], v2 ? quota[1] : period[0]};
    if (count != (v2 ? 2 : 1) || (!v2 && periods != 1) || limit->period_us == 0)
        return error_set(err, EBADMSG, "the limit of %s is not of the form that the kernel writes",
                         path);
    return 0;
}

static bool put(int fd, const char *text)
{
    size_t length = strlen(text);
    return pwrite(fd, text, length, 0) == (ssize_t)length;
}

static void name_quota(const struct limit *limit, bool v2, char text[32])
{
    if (limit->quota_us == LIMIT_NONE)
        strcpy(text, v2 ? "max" : "-1");
    else
        snprintf(text, 32, "%" PRIu64, limit->quota_us);
}

// v1 has a file for each number. Between the writes there is no limit: that is what the kernel
// takes in any case, and nobody has less than his share.
static bool put_in_pieces(const struct limit_files *files, const struct limit *now,
                          const struct limit *limit)
{
    char quota[32], period[32];
    name_quota(limit, false, quota);
    snprintf(period, sizeof period, "%" PRIu64 "\n", limit->period_us);
    if (now->period_us != limit->period_us &&
        !(put(files->quota, "-1\n") && put(files->period, period)))
        return false;
    return put(files->quota, quota);
}

// What the kernel took of it alone would be the group's own limit from then on.
static bool put_all_or_none(const struct limit_files *files, const struct limit *now,
                            const struct limit *limit)
{
    if (put_in_pieces(files, now, limit))
        return true;
    int code = errno;
    if (now->period_us != limit->period_us)
        put_in_pieces(files, limit, now);
    errno = code;
    return false;
}

int limit_write(const struct limit_files *files, const char *path, const struct limit *now,
                const struct limit *limit, struct error *err)
{
    char text[64], quota[32];
    bool v2 = files->period < 0;
    name_quota(limit, v2, quota);
    snprintf(text, sizeof text, "%s %" PRIu64 "\n", quota, limit->period_us);
    if (v2 ? put(files->quota, text) : put_all_or_none(files, now, limit))
        return 0;
    int code = errno;
    return error_errno(err, code, "cannot set the limit of %s to %s%s", path, quota,
                       code == EINVAL ? " (more than a group above allows, or less than one below "
                                        "has?)"
                                      : "");
}

// Whether it is between the two of the record, see put_in_pieces().
static bool is_on_the_way(const struct limit_record *record, const struct limit *limit)
{
    const struct limit *set = record->set;
    return limit->quota_us == LIMIT_NONE && set[0].period_us != set[1].period_us &&
           (limit->period_us == set[0].period_us || limit->period_us == set[1].period_us);
}

bool limit_is_ours(const struct limit_record *record, const struct limit *limit, bool v2)
{
    return limit_record_has_set(record, limit) || (!v2 && is_on_the_way(record, limit)) ||
           (limit->quota_us == LIMIT_NONE && limit->period_us == BACKEND_SHORTEST_PERIOD_US);
}

int limit_restore(const struct limit_files *files, const char *path,
                  const struct limit_record *record, struct error *err)
{
    struct limit now = {0};
    struct error fault = {0};
    if (limit_read(files, path, &now, &fault) != 0)
        return fault.code == ENODEV ? 0 : error_set(err, fault.code, "%s", fault.text);
    if (limit_same(&now, &record->own) || !limit_is_ours(record, &now, files->period < 0))
        return 0;
    if (limit_write(files, path, &now, &record->own, &fault) == 0 || fault.code == ENODEV)
        return 0;
    // Rather no limit than ours.
    struct limit none = {LIMIT_NONE, now.period_us};
    limit_write(files, path, &now, &none, NULL);
    return error_set(err, fault.code, "%s", fault.text);
}
