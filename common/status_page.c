#include "common/status_page.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(offsetof(struct status_page, service_ns) == STATUS_PAGE_BYTES,
               "clients map exactly the first page");

static int check_page(const struct status_page *page, struct error *err)
{
    if (page->magic != STATUS_PAGE_MAGIC)
        return error_set(err, EBADMSG, "not a status page");
    if (page->version != STATUS_PAGE_VERSION || page->bytes != STATUS_PAGE_BYTES)
        return error_set(err, EBADMSG, "status page of version %u, this side knows %u",
                         page->version, STATUS_PAGE_VERSION);
    return 0;
}

static int check_size(int fd, struct error *err)
{
    struct stat status;
    if (fstatat(fd, "", &status, AT_EMPTY_PATH) < 0) // see sockets.h
        return error_errno(err, errno, "fstat of a status page");
    if (!S_ISREG(status.st_mode) || status.st_size != STATUS_PAGE_FILE_BYTES)
        return error_set(err, EBADMSG, "status page file of the wrong size");
    return 0;
}

static int open_page(int dir_fd, const char *name, bool adopt, struct status_page **page, int *fd,
                     struct error *err)
{
    // A stale page is replaced by a new file, never truncated: its old clients may still map it.
    if (!adopt && unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
        return error_errno(err, errno, "replace status page %s", name);
    int create = adopt ? 0 : O_CREAT | O_EXCL;
    cleanup_close int rw =
        openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | create, S_IRUSR | S_IWUSR);
    if (rw < 0)
        return error_errno(err, errno, "open status page %s", name);
    // posix_fallocate, not ftruncate: a full tmpfs must be an error here, not a SIGBUS later.
    int rc = adopt ? 0 : posix_fallocate(rw, 0, STATUS_PAGE_FILE_BYTES);
    if (rc != 0)
        return error_errno(err, rc, "allocate status page %s", name);
    if (check_size(rw, err) < 0)
        return error_context(err, "%s", name);
    struct status_page *map =
        mmap(NULL, STATUS_PAGE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, rw, 0);
    if (map == MAP_FAILED)
        return error_errno(err, errno, "map status page %s", name);
    int ro = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (ro < 0) {
        int code = errno;
        munmap(map, STATUS_PAGE_FILE_BYTES);
        return error_errno(err, code, "open status page %s", name);
    }
    if (!adopt) {
        map->magic = STATUS_PAGE_MAGIC;
        map->version = STATUS_PAGE_VERSION;
        map->bytes = STATUS_PAGE_BYTES;
    } else if (check_page(map, err) < 0) {
        status_page_close(map, ro);
        return error_context(err, "%s", name);
    }
    *page = map;
    *fd = ro;
    return 0;
}

int status_page_open(int dir_fd, const char *name, bool adopt, struct status_page **page, int *fd,
                     struct error *err)
{
    int rc = open_page(dir_fd, name, adopt, page, fd, err);
    if (rc < 0 && !adopt)
        unlinkat(dir_fd, name, 0);
    return rc;
}

void status_page_close(struct status_page *page, int fd)
{
    if (page != NULL)
        munmap(page, STATUS_PAGE_FILE_BYTES);
    if (fd >= 0)
        close(fd);
}

void status_page_publish(struct status_page *page, uint16_t generation, uint16_t flags)
{
    uint64_t old = atomic_load_explicit(&page->word, memory_order_relaxed), word;
    do { // a coschedctl that releases the job may be at it, too
        if (status_word_generation(old) == generation && status_word_flags(old) == flags)
            return;
        word = status_word(generation, flags, status_word_epoch(old) + 1);
    } while (!atomic_compare_exchange_weak_explicit(&page->word, &old, word, memory_order_release,
                                                    memory_order_relaxed));
}

void status_page_nudge(struct status_page *page)
{
    uint64_t old = atomic_load_explicit(&page->word, memory_order_relaxed), word;
    do {
        word = status_word(status_word_generation(old), status_word_flags(old),
                           status_word_epoch(old) + 1);
    } while (!atomic_compare_exchange_weak_explicit(&page->word, &old, word, memory_order_release,
                                                    memory_order_relaxed));
}

int status_page_map(int fd, const struct status_page **page, struct error *err)
{
    if (check_size(fd, err) < 0)
        return -1;
    const struct status_page *map = mmap(NULL, STATUS_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error_errno(err, errno, "map status page");
    if (check_page(map, err) < 0) {
        status_page_unmap(map);
        return -1;
    }
    *page = map;
    return 0;
}

void status_page_unmap(const struct status_page *page)
{
    if (page != NULL)
        munmap((void *)(uintptr_t)page, STATUS_PAGE_BYTES);
}
