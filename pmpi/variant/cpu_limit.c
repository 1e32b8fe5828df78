#include "pmpi/variant/cpu_limit.h"

#include "common/cleanup.h"
#include "common/limit_record.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS_MAX = 4096 }; // that are looked at: classd has fewer jobs

// Reads a small file as a string. False when it cannot be read.
static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t count = read(fd, text, size - 1);
    close(fd);
    text[count > 0 ? count : 0] = '\0';
    return count > 0;
}

// Of one group's directory. False: there is none.
static bool read_limit(const char *directory, bool v2, struct limit *limit)
{
    char path[PATH_MAX + 32], text[64];
    int64_t quota_us = 0, period_us = 0;
    if (v2) {
        snprintf(path, sizeof path, "%s/cpu.max", directory);
        // "max 100000" is no limit.
        if (!read_text(path, text, sizeof text) ||
            sscanf(text, "%" SCNd64 " %" SCNd64, &quota_us, &period_us) != 2)
            return false;
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
        if (!read_text(path, text, sizeof text) || sscanf(text, "%" SCNd64, &quota_us) != 1)
            return false;
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
        if (!read_text(path, text, sizeof text) || sscanf(text, "%" SCNd64, &period_us) != 1)
            return false;
    }
    *limit = (struct limit){(uint64_t)quota_us, (uint64_t)period_us};
    return quota_us > 0 && period_us > 0;
}

// Where classd has set the limit, it is the group's own one that counts.
static void look_behind(const char *records, uint64_t inode, struct limit *limit)
{
    cleanup_closedir DIR *list = opendir(records);
    struct dirent *entry;
    for (int i = 0; list != NULL && i < RECORDS_MAX && (entry = readdir(list)) != NULL; i++) {
        char path[PATH_MAX + NAME_MAX + 2], text[LIMIT_RECORD_TEXT_MAX];
        struct limit_record record;
        snprintf(path, sizeof path, "%s/%s", records, entry->d_name);
        if (entry->d_type != DT_REG || entry->d_name[0] == '.' ||
            !read_text(path, text, sizeof text) || limit_record_parse(text, &record) != 0 ||
            record.inode != inode)
            continue;
        if (limit_record_has_set(&record, limit))
            *limit = record.own;
        return;
    }
}

static bool is_class(const char *directory)
{
    const char *name = strrchr(directory, '/');
    return name != NULL && strncmp(name, "/job-", 5) == 0 && isdigit((unsigned char)name[5]);
}

// What is being looked for, and where.
struct search {
    const char *mount;
    bool v2;
    const char *records;
    struct cpu_limit *limit;
};

static void consider(const struct search *search, const char *directory)
{
    struct stat status;
    struct limit limit;
    if (is_class(directory) || !read_limit(directory, search->v2, &limit) ||
        fstatat(AT_FDCWD, directory, &status, 0) < 0)
        return;
    look_behind(search->records, (uint64_t)status.st_ino, &limit);
    if (limit.quota_us == LIMIT_NONE || limit.quota_us < limit.period_us / 2)
        return;
    uint64_t cpus = limit.quota_us / limit.period_us + (limit.quota_us % limit.period_us != 0);
    if (cpus < search->limit->cpus)
        *search->limit =
            (struct cpu_limit){.cpus = (uint32_t)cpus, .group = (uint64_t)status.st_ino};
}

// From the group up to the mount point. In a container the path may be the host's, of which only
// the mount point itself exists.
static void climb(const struct search *search, const char *group)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", search->mount, group);
    if (length < 0 || (size_t)length >= sizeof path)
        return;
    size_t bottom = strlen(search->mount);
    for (size_t end = (size_t)length; end > bottom; end--) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        path[end] = '\0';
        consider(search, path);
    }
    path[bottom] = '\0';
    consider(search, path);
}

// Is the cpu controller in a list like "cpu,cpuacct"?
static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
            return true;
    }
    return false;
}

bool cpu_limit_find(const char *membership, const char *mounts, const char *runtime_dir,
                    struct cpu_limit *limit)
{
    char records[PATH_MAX];
    snprintf(records, sizeof records, "%s/" LIMIT_RECORD_DIRECTORY, runtime_dir);
    *limit = (struct cpu_limit){.cpus = UINT32_MAX};
    cleanup_fclose FILE *file = fopen(membership, "re");
    cleanup_free char *line = NULL;
    size_t room = 0;
    ssize_t length;
    if (file == NULL)
        return false;
    // NUMBER:CONTROLLERS:PATH; v2 has number 0 and no controllers.
    while ((length = getline(&line, &room, file)) > 0) {
        char mount[PATH_MAX];
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL || group[1] != '/')
            continue;
        *controllers++ = '\0';
        *group++ = '\0';
        bool v2 = strcmp(line, "0") == 0 && *controllers == '\0';
        if (!v2 && !has_cpu(controllers))
            continue;
        snprintf(mount, sizeof mount, "%s%s%s", mounts, v2 ? "" : "/", controllers);
        struct search search = {mount, v2, records, limit};
        climb(&search, strcmp(group, "/") == 0 ? "" : group);
    }
    return limit->cpus != UINT32_MAX;
}
