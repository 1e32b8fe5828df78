#include "cgroup-backend/in_force.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"
#include "common/group_list.h"
#include "common/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fill(int fd, const void *what)
{
    const struct in_force *noted = what;
    char text[sizeof *noted + 2];
    int length = snprintf(text, sizeof text, "%s %s\n", noted->kind, noted->root);
    ssize_t written = write(fd, text, (size_t)length);
    if (written >= 0 && written != length)
        errno = ENOSPC;
    return written == length ? 0 : -1;
}

int in_force_write(const char *directory, const backend_t *backend, const char *root,
                   struct error *err)
{
    struct in_force noted, old;
    snprintf(noted.kind, sizeof noted.kind, "%s", backend_name(backend));
    if ((size_t)snprintf(noted.root, sizeof noted.root, "%s", root) >= sizeof noted.root)
        return error_set(err, ENAMETOOLONG, "the cgroup root \"%s\" is too long", root);
    // One that is there already needs no space.
    if (in_force_read(directory, &old, NULL) > 0 && strcmp(old.kind, noted.kind) == 0 &&
        strcmp(old.root, noted.root) == 0)
        return 0;
    int fd = file_put(directory, IN_FORCE_FILE, FILE_FOR_OWNER, fill, &noted, err);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : -1;
}

// Root writes into groups below what it names.
static int check_owner(int fd, const char *directory, struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & 022) == 0)
        return 0;
    return error_set(err, EPERM, "%s/%s can be changed by others: remove it", directory,
                     IN_FORCE_FILE);
}

static int parse(char *text, struct in_force *noted)
{
    char *space = strchr(text, ' '), *end = strchr(text, '\n');
    if (space == NULL || end == NULL || end < space || end[1] != '\0')
        return -1;
    *space = *end = '\0';
    const char *root = space + 1;
    if ((strcmp(text, "v1") != 0 && strcmp(text, "v2") != 0) || !group_path_valid(root) ||
        strlen(root) >= sizeof noted->root)
        return -1;
    snprintf(noted->kind, sizeof noted->kind, "%s", text);
    snprintf(noted->root, sizeof noted->root, "%s", root);
    return 0;
}

int in_force_read(const char *directory, struct in_force *noted, struct error *err)
{
    char text[sizeof *noted + 2];
    struct error fault = {0};
    // Not to wait for who would write into a pipe of this name.
    cleanup_close int fd =
        file_open(directory, IN_FORCE_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &fault);
    if (fd < 0)
        return fault.code == ENOENT ? 0 : error_set(err, fault.code, "%s", fault.text);
    if (check_owner(fd, directory, err) != 0)
        return -1;
    ssize_t length = read(fd, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    if (length > 0 && strlen(text) == (size_t)length && parse(text, noted) == 0)
        return 1;
    return error_set(err, EBADMSG, "%s/%s is not what classd writes there: remove it", directory,
                     IN_FORCE_FILE);
}

static bool is_there(const struct in_force *noted, const struct backend_settings *settings)
{
    return strcmp(noted->root, settings->root) == 0 &&
           (strcmp(settings->kind, "auto") == 0 || strcmp(settings->kind, noted->kind) == 0);
}

int in_force_open_other(const struct backend_settings *settings, backend_t **other,
                        struct error *err)
{
    struct in_force noted;
    struct backend_settings place = *settings;
    int rc = settings->records != NULL ? in_force_read(settings->records, &noted, err) : 0;
    if (rc <= 0 || is_there(&noted, settings))
        return rc > 0 ? 0 : rc;
    place.kind = noted.kind;
    place.root = noted.root;
    return backend_open(&place, other, err) == 0 ? 1 : -1;
}

static int release(backend_t *backend, unsigned *lifted, struct error *err)
{
    unsigned count = 0;
    int rc = backend_release_all(backend, &count, err);
    *lifted += count;
    backend_close(backend);
    return rc == 0 ? 0 : -1;
}

// What is noted in a directory that others can change is not believed; the error says so.
static bool is_believed(const struct backend_settings *settings, struct error *err)
{
    struct error fault = {0};
    int fd = settings->records != NULL ? trust_open(settings->records, &fault) : -1;
    if (fd >= 0)
        close(fd);
    if (fault.code != EPERM)
        return true;
    error_set(err, EPERM, "%s: by what is noted there nothing is lifted", fault.text);
    return false;
}

int in_force_release(const struct backend_settings *settings, unsigned *lifted, struct error *err)
{
    struct error fault = {0}, doubt = {0};
    struct backend_settings place = *settings;
    backend_t *own = NULL, *other = NULL;
    unsigned count = 0;
    place.as_it_is = true;
    if (!is_believed(settings, &doubt))
        place.records = NULL;
    bool opened = backend_open(&place, &own, &fault) == 0;
    int there = in_force_open_other(&place, &other, opened ? err : NULL);
    int rc = opened && there >= 0 ? 0 : -1;
    if (there > 0)
        rc = release(other, &count, err);
    if (opened && release(own, &count, rc == 0 ? err : NULL) != 0)
        rc = -1;
    if (lifted != NULL)
        *lifted = count;
    if (!opened && there <= 0)
        return error_set(err, fault.code, "%s", fault.text);
    return rc == 0 && doubt.code != 0 ? error_set(err, doubt.code, "%s", doubt.text) : rc;
}
