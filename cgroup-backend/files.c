#include "cgroup-backend/files.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *path_join(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

bool directory_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static const char *permission_hint(int code)
{
    if (code == EACCES || code == EPERM)
        return " (run as root, or have the group delegated to this user)";
    if (code == EROFS)
        return " (the cgroup file system is mounted read-only here, as in many containers)";
    return "";
}

int directory_make(const char *path, struct error *err)
{
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return 0;
    int code = errno;
    return error_errno(err, code, "cannot make the group %s%s", path, permission_hint(code));
}

int file_open(const char *directory, const char *name, int flags, struct error *err)
{
    cleanup_free char *path = path_join(directory, name);
    if (path == NULL)
        return error_errno(err, ENOMEM, "%s/%s", directory, name);
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) {
        int code = errno;
        return error_errno(err, code, "cannot open %s%s", path, permission_hint(code));
    }
    return fd;
}

int file_put(const char *directory, const char *name, enum file_readers readers,
             int (*fill)(int fd, const void *what), const void *what, struct error *err)
{

    cleanup_free char *path = path_join(directory, name), *draft = NULL;
    if (path == NULL || asprintf(&draft, "%s/.%s", directory, name) < 0)
        return error_errno(err, ENOMEM, "%s/%s", directory, name);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return error_errno(err, errno, "make %s", directory);
    int fd = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && readers == FILE_FOR_ALL && fchmod(fd, 0644) == 0)
        chmod(directory, 0755);
    if (fd >= 0 && fill(fd, what) == 0 && rename(draft, path) == 0)
        return fd;
    error_errno(err, errno, "write %s", path);
    if (fd >= 0)
        close(fd);
    unlink(draft);
    rmdir(directory);
    return -1;
}

int file_read(const char *directory, const char *name, char *buffer, size_t size, struct error *err)
{
    cleanup_close int fd = file_open(directory, name, O_RDONLY, err);
    if (fd < 0)
        return -1;
    size_t used = 0;
    while (used < size - 1) {
        ssize_t got = read(fd, buffer + used, size - 1 - used);
        if (got < 0)
            return error_errno(err, errno, "cannot read %s/%s", directory, name);
        if (got == 0)
            break;
        used += (size_t)got;
    }
    buffer[used] = '\0';
    return 0;
}

int file_write(const char *directory, const char *name, const char *text, struct error *err)
{
    // Appending is the same to the kernel; trees of plain files then keep every line.
    cleanup_close int fd = file_open(directory, name, O_WRONLY | O_APPEND, err);
    if (fd < 0)
        return -1;
    char line[64];
    int length = snprintf(line, sizeof line, "%s\n", text);
    if (write(fd, line, (size_t)length) != length) {
        int code = errno;
        return error_errno(err, code, "cannot write \"%s\" to %s/%s%s", text, directory, name,
                           permission_hint(code));
    }
    return 0;
}

bool text_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    while (*text != '\0') {
        text += strspn(text, " \t\n");
        size_t here = strcspn(text, " \t\n");
        if (here == length && strncmp(text, word, length) == 0)
            return true;
        text += here;
    }
    return false;
}

int text_keyed_number(const char *text, const char *key, uint64_t *value)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return sscanf(line + length, "%" SCNu64, value) == 1 ? 0 : -1;
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return -1;
}

uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void nap_us(unsigned us)
{
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};
    nanosleep(&pause, NULL);
}
