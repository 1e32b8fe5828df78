// Preloaded into classd: while the file $COSCHED_REFUSE is there, changes of a class's CPU limit
// fail as if the kernel refused them. It holds the name of an error and "limits", for limits that
// are numbers, or "all", for those too that lift one.
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_limit_file(int fd)
{
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return strstr(path, "/cpu.cfs_quota_us") != NULL || strstr(path, "/cpu.max") != NULL;
}

static bool lifts(const char *text, size_t length)
{
    return length > 0 && (text[0] == '-' || text[0] == 'm');
}

static int error_named(const char *name)
{
    return strcmp(name, "EPERM") == 0 ? EPERM : strcmp(name, "ENOSPC") == 0 ? ENOSPC : EINVAL;
}

// The error to fail with, or 0.
static int refusal(int fd, const void *bytes, size_t length)
{
    char name[16], extent[16];
    const char *path = getenv("COSCHED_REFUSE");
    FILE *order = path != NULL ? fopen(path, "re") : NULL;
    if (order == NULL)
        return 0;
    int words = fscanf(order, "%15s %15s", name, extent);
    fclose(order);
    if (words != 2 || !is_limit_file(fd) || (lifts(bytes, length) && strcmp(extent, "all") != 0))
        return 0;
    return error_named(name);
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *bytes, size_t length,
                                                      off_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (next == NULL)
        next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    int before = errno;
    int code = refusal(fd, bytes, length);
    errno = code != 0 ? code : before;
    return code != 0 ? -1 : next(fd, bytes, length, offset);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t length)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (next == NULL)
        next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    int before = errno;
    int code = refusal(fd, bytes, length);
    errno = code != 0 ? code : before;
    return code != 0 ? -1 : next(fd, bytes, length);
}
