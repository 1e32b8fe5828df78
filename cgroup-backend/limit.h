// The CPU bandwidth limit of a group that somebody else has made: read, set, and given back. v1 and
// v2 differ in its files only.
#ifndef COSCHED_CGROUP_BACKEND_LIMIT_H
#define COSCHED_CGROUP_BACKEND_LIMIT_H

#include "cgroup-backend/record.h"

struct limit_files {
    int quota;  // cpu.max or cpu.cfs_quota_us
    int period; // cpu.cfs_period_us; -1 on v2
};

// Whether the group has a limit: on v2 it has none as long as the group above passes no cpu on,
// which a manager may change at any time, and what was set is gone with it.
bool limit_exists(const char *path, bool v2);

// Opens the files of the group at `path`, for messages of the following, too. Returns 0 or -1:
// ENOTSUP where there is no limit on v2.
int limit_open(const char *path, bool v2, struct limit_files *files, struct error *err);
void limit_close(struct limit_files *files);

// The limit in force. Returns 0 or -1: ENODEV when the group is gone, EBADMSG when it is not what
// the kernel writes.
int limit_read(const struct limit_files *files, const char *path, struct limit *limit,
               struct error *err);

// Sets `limit` in place of `now`. Returns 0, or -1 when `now` is in force again.
int limit_write(const struct limit_files *files, const char *path, const struct limit *now,
                const struct limit *limit, struct error *err);

// Whether the limit is one of those that the record names as ours, or, where `v2` is false, what is
// in force between the writes that change the one to the other.
bool limit_is_ours(const struct limit_record *record, const struct limit *limit, bool v2);

// Sets the group's own limit again where ours is in force: what somebody else has set meanwhile is
// left, and a group that is gone needs nothing. Where that fails there is no limit rather than
// ours. Returns 0 or -1.
int limit_restore(const struct limit_files *files, const char *path,
                  const struct limit_record *record, struct error *err);

#endif
