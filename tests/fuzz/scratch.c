#include "tests/fuzz/scratch.h"

#include "common/cleanup.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static char path[64];

static void remove_path(void)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scratch_wipe(fd);
    close(fd);
    rmdir(path);
}

const char *scratch_path(void)
{
    if (path[0] != '\0')
        return path;
    strcpy(path, "/dev/shm/cosched-fuzz-XXXXXX");
    if (mkdtemp(path) == NULL) {
        strcpy(path, "/tmp/cosched-fuzz-XXXXXX");
        REQUIRE(mkdtemp(path) != NULL);
    }
    atexit(remove_path);
    return path;
}

int scratch_open(void)
{
    int fd = open(scratch_path(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
}

void scratch_write(int directory, const char *name, const void *bytes, size_t size)
{
    cleanup_close int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
}

static DIR *list(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    DIR *opened = fdopendir(fd);
    REQUIRE(opened != NULL);
    return opened;
}

static const char *next_name(DIR *directory)
{
    struct dirent *entry = readdir(directory);
    while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0))
        entry = readdir(directory);
    return entry != NULL ? entry->d_name : NULL;
}

unsigned scratch_count(int directory)
{
    unsigned count = 0;
    cleanup_closedir DIR *entries = list(directory);
    while (next_name(entries) != NULL)
        count++;
    return count;
}

void scratch_wipe(int directory)
{
    cleanup_closedir DIR *entries = list(directory);
    for (const char *name; (name = next_name(entries)) != NULL;) {
        if (unlinkat(directory, name, 0) == 0 || errno != EISDIR)
            continue;
        int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scratch_wipe(below);
        close(below);
        REQUIRE(unlinkat(directory, name, AT_REMOVEDIR) == 0);
    }
}

unsigned scratch_descriptors(void)
{
    cleanup_close int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    return scratch_count(fd);
}
