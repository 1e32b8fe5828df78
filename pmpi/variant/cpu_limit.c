#include "pmpi/variant/cpu_limit.h"

#include "common/cleanup.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Quota and period of one group's directory.
static bool read_limit(const char *directory, bool v2, int64_t *quota, int64_t *period)
{
    char path[PATH_MAX + 32], text[64];
    if (v2) {
        snprintf(path, sizeof path, "%s/cpu.max", directory);
        // "max 100000" is no limit.
        return read_text(path, text, sizeof text) &&
               sscanf(text, "%" SCNd64 " %" SCNd64, quota, period) == 2;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!read_text(path, text, sizeof text) || sscanf(text, "%" SCNd64, quota) != 1)
        return false;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    return read_text(path, text, sizeof text) && sscanf(text, "%" SCNd64, period) == 1;
}

static bool is_class(const char *directory)
{
    const char *name = strrchr(directory, '/');
    return name != NULL && strncmp(name, "/job-", 5) == 0 && isdigit((unsigned char)name[5]);
}

static void consider(const char *directory, bool v2, struct cpu_limit *limit)
{
    struct stat status;
    int64_t quota = 0, period = 0;
    if (is_class(directory) || !read_limit(directory, v2, &quota, &period) || quota <= 0 ||
        period <= 0 || quota < period / 2 || stat(directory, &status) < 0)
        return;
    int64_t cpus = quota / period + (quota % period != 0);
    if (cpus < limit->cpus)
        *limit = (struct cpu_limit){.cpus = (uint32_t)cpus, .group = (uint64_t)status.st_ino};
}

// From the group up to the mount point. In a container the path may be the host's, of which only
// the mount point itself exists.
static void climb(const char *mount, const char *group, bool v2, struct cpu_limit *limit)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof path)
        return;
    size_t bottom = strlen(mount);
    for (size_t end = (size_t)length; end > bottom; end--) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        path[end] = '\0';
        consider(path, v2, limit);
    }
    path[bottom] = '\0';
    consider(path, v2, limit);
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

bool cpu_limit_find(const char *membership, const char *mounts, struct cpu_limit *limit)
{
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
        climb(mount, strcmp(group, "/") == 0 ? "" : group, v2, limit);
    }
    return limit->cpus != UINT32_MAX;
}
