#include "cgroup-backend/suspension.h"

#include "cgroup-backend/files.h"
#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED_MAX = 65536 };

void suspension_forget(struct suspension *suspension)
{
    genealogy_free(&suspension->others);
    genealogy_free(&suspension->ours);
    *suspension = (struct suspension){0};
}

static int parse_list(FILE *file, unsigned count, struct genealogy *list)
{
    for (unsigned i = 0; i < count; i++) {
        struct genealogy_process process = {0};
        if (fscanf(file, "%d %" SCNu64, &process.pid, &process.start_time) != 2 || process.pid <= 0)
            return ferror(file) ? EIO : EBADMSG;
        if (genealogy_add(list, &process, NULL) != 0)
            return ENOMEM;
    }
    return 0;
}

// Returns 0 or an errno value: EBADMSG for what is no record, another when it cannot be known.
static int parse(FILE *file, struct suspension *suspension)
{
    unsigned means, count;
    int root, code;
    if (fscanf(file, "means %u root %d %" SCNu64 " others %u", &means, &root,
               &suspension->how.root_start, &count) != 4 ||
        means < CLASS_BY_SHARE || means > CLASS_BY_SIGNALS || root < 0 || count > LISTED_MAX)
        return ferror(file) ? EIO : EBADMSG;
    suspension->how.means = means;
    suspension->how.root = root;
    code = parse_list(file, count, &suspension->others);
    if (code == 0 && fscanf(file, " ours %u", &count) == 1) // not of an older classd
        code = count <= LISTED_MAX ? parse_list(file, count, &suspension->ours) : EBADMSG;
    suspension->on = code == 0;
    return code == 0 && ferror(file) ? EIO : code;
}

static bool is_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static int no_record(const char *directory, const char *name, struct error *err)
{
    return error_set(err, EBADMSG, "%s/%s is not what classd writes there", directory, name);
}

int suspension_read(const char *directory, const char *name, struct suspension *suspension,
                    struct error *err)
{
    *suspension = (struct suspension){0};
    if (directory == NULL)
        return 0;
    struct error fault = {0};
    // Not to wait for who would write into a pipe of this name.
    int fd = file_open(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &fault);
    if (fd < 0 && fault.code == ELOOP)
        return no_record(directory, name, err);
    if (fd < 0)
        return fault.code == ENOENT ? 0 : error_set(err, fault.code, "%s", fault.text);
    cleanup_fclose FILE *file = fdopen(fd, "r");
    if (file == NULL) {
        close(fd);
        return error_errno(err, ENOMEM, "%s/%s", directory, name);
    }
    int code = is_file(fd) ? parse(file, suspension) : EBADMSG;
    if (code == 0)
        return 1;
    suspension_forget(suspension);
    return code == EBADMSG ? no_record(directory, name, err)
                           : error_errno(err, code, "%s/%s", directory, name);
}

static void print_list(FILE *file, const char *title, const struct genealogy *list)
{
    fprintf(file, "%s %zu\n", title, list->count);
    for (size_t i = 0; i < list->count; i++)
        fprintf(file, "%d %" PRIu64 "\n", (int)list->list[i].pid, list->list[i].start_time);
}

static int fill(int fd, const void *what)
{
    const struct suspension *suspension = what;
    int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cleanup_fclose FILE *file = own_fd >= 0 ? fdopen(own_fd, "w") : NULL;
    if (file == NULL) {
        if (own_fd >= 0)
            close(own_fd);
        return -1;
    }
    fprintf(file, "means %u root %d %" PRIu64 " ", (unsigned)suspension->how.means,
            (int)suspension->how.root, suspension->how.root_start);
    print_list(file, "others", &suspension->others);
    if (suspension->ours.count > 0)
        print_list(file, "ours", &suspension->ours);
    return fflush(file) == 0 && !ferror(file) ? 0 : -1;
}

int suspension_write(const char *directory, const char *name, const struct suspension *suspension,
                     struct error *err)
{
    int fd =
        directory != NULL ? file_put(directory, name, FILE_FOR_OWNER, fill, suspension, err) : -1;
    if (fd >= 0)
        close(fd);
    return directory == NULL || fd >= 0 ? 0 : -1;
}

void suspension_remove(const char *directory, const char *name)
{
    cleanup_free char *path = directory != NULL ? path_join(directory, name) : NULL;
    if (path == NULL)
        return;
    unlink(path);
    rmdir(directory);
}
