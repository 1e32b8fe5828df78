#include "classd/runtime.h"

#include "common/cleanup.h"
#include "common/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct runtime {
    int directory;
    int lock;
    uint64_t node_id;
    uint16_t generation;
};

// `first` is what to do before systemd can let classd write there.
static int refuse(int code, const char *first, const char *path, const char *file,
                  struct error *err)
{
    if (code == EROFS)
        return error_errno(err, code,
                           "make %s%s (%sadd ReadWritePaths=%s to a drop-in of "
                           "cosched-classd.service; see classd(8))",
                           path, file, first, path);
    bool denied = code == EACCES || code == EPERM;
    return error_errno(err, code, "make %s%s%s", path, file, denied ? " (run it as root)" : "");
}

static int open_directory(const char *path, struct error *err)
{
    if (mkdir(path, 0755) == 0)
        chmod(path, 0755); // whatever the umask is: clients of all users must reach the socket
    else if (errno != EEXIST)
        return refuse(errno, "make the directory, and ", path, "", err);
    return trust_open(path, err);
}

// For who finds the lock taken: no room for it is no reason not to start.
static void note_pid(int fd)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (pwrite(fd, text, (size_t)length, 0) != length)
        length = 0;
    if (ftruncate(fd, length) < 0)
        return;
}

// The lock lives as long as the descriptor, so a killed classd leaves none behind. Who can open the
// file can lock it, be it for reading, and would keep the next classd from starting.
static int take_lock(int directory, const char *path, struct error *err)
{
    cleanup_close int fd =
        openat(directory, "classd.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fchmod(fd, 0600) < 0)
        return refuse(errno, "", path, "/classd.lock", err);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return error_errno(err, errno, "lock %s/classd.lock", path);
        char pid[16] = "";
        ssize_t length = pread(fd, pid, sizeof pid - 1, 0);
        pid[length > 1 ? length - 1 : 0] = '\0';
        return error_set(err, EWOULDBLOCK,
                         "another classd (pid %s) runs on %s; stop it, or give this one its own "
                         "[daemon] runtime_dir and [cgroup] root",
                         pid[0] != '\0' ? pid : "?", path);
    }
    note_pid(fd);
    int kept = fd;
    fd = -1;
    return kept;
}

// A number in a small text file; 0 when there is none.
static uint64_t read_number(int directory, const char *name)
{
    char text[32];
    uint64_t number = 0;
    cleanup_close int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (length <= 0)
        return 0;
    text[length] = '\0';
    return sscanf(text, "%" SCNx64, &number) == 1 ? number : 0;
}

// Renamed into place, so that a crash leaves the old number or the new one.
static int rename_into_place(int directory, const char *name, const char *text, size_t length,
                             struct error *err)
{
    char draft[32];
    snprintf(draft, sizeof draft, "%s.new", name);
    cleanup_close int fd =
        openat(directory, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return error_errno(err, errno, "write %s in the runtime directory", draft);
    ssize_t written = fchmod(fd, 0644) == 0 ? write(fd, text, length) : -1;
    if (written == (ssize_t)length && renameat(directory, draft, directory, name) == 0)
        return 0;
    int code = written >= 0 && written != (ssize_t)length ? ENOSPC : errno;
    unlinkat(directory, draft, 0);
    return error_errno(err, code, "write %s in the runtime directory", name);
}

// Over the one that is there, which needs no room. Nothing behind the newline is read.
static int overwrite(int directory, const char *name, const char *text, size_t length)
{
    cleanup_close int fd = openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 && pwrite(fd, text, length, 0) == (ssize_t)length ? 0 : -1;
}

// A directory that is full must not keep the next classd from the jobs that are there.
static int write_number(int directory, const char *name, uint64_t number, struct error *err)
{
    char text[32];
    struct error fault;
    size_t length = (size_t)snprintf(text, sizeof text, "%" PRIx64 "\n", number);
    if (rename_into_place(directory, name, text, length, &fault) == 0 ||
        overwrite(directory, name, text, length) == 0)
        return 0;
    return error_set(err, fault.code, "%s", fault.text);
}

static int remember(struct runtime *runtime, struct error *err)
{
    runtime->node_id = read_number(runtime->directory, "node_id");
    while (runtime->node_id == 0) {
        if (getrandom(&runtime->node_id, sizeof runtime->node_id, 0) < 0)
            return error_errno(err, errno, "draw a node id");
        if (runtime->node_id != 0 &&
            write_number(runtime->directory, "node_id", runtime->node_id, err) < 0)
            return -1;
    }
    runtime->generation = (uint16_t)(read_number(runtime->directory, "generation") + 1);
    if (runtime->generation == 0)
        runtime->generation = 1;
    return write_number(runtime->directory, "generation", runtime->generation, err);
}

int runtime_open(const char *path, runtime_t **runtime, struct error *err)
{
    struct runtime *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_errno(err, ENOMEM, "runtime directory");
    made->lock = -1;
    made->directory = open_directory(path, err);
    if (made->directory >= 0)
        made->lock = take_lock(made->directory, path, err);
    if (made->lock < 0 || remember(made, err) < 0) {
        runtime_close(made);
        return -1;
    }
    *runtime = made;
    return 0;
}

void runtime_close(runtime_t *runtime)
{
    if (runtime == NULL)
        return;
    if (runtime->lock >= 0)
        close(runtime->lock);
    if (runtime->directory >= 0)
        close(runtime->directory);
    free(runtime);
}

int runtime_directory(const runtime_t *runtime)
{
    return runtime->directory;
}

uint64_t runtime_node_id(const runtime_t *runtime)
{
    return runtime->node_id;
}

uint16_t runtime_generation(const runtime_t *runtime)
{
    return runtime->generation;
}
