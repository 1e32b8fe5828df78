// The pages of all jobs, for who lifts limits; not in the preloaded library, which needs no functions
// that a program may have itself.
#include "common/cleanup.h"
#include "common/status_page.h"
#include "common/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static DIR *list_pages(const char *runtime_dir, struct error *err)
{
    cleanup_close int runtime = trust_open(runtime_dir, err);
    if (runtime < 0)
        return NULL;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    int jobs = openat(runtime, STATUS_PAGE_DIRECTORY, flags);
    DIR *directory = jobs >= 0 ? fdopendir(jobs) : NULL;
    if (directory == NULL)
        error_errno(err, errno, "list the pages in %s", runtime_dir);
    if (jobs >= 0 && directory == NULL)
        close(jobs);
    return directory;
}

int status_page_free_all(const char *runtime_dir, struct error *err)
{
    struct error fault = {0};
    cleanup_closedir DIR *directory = list_pages(runtime_dir, &fault);
    if (directory == NULL)
        return fault.code == ENOENT ? 0 : error_set(err, fault.code, "%s", fault.text);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct status_page *page = NULL;
        int fd = -1;
        if (entry->d_name[0] == '.' ||
            status_page_open(dirfd(directory), entry->d_name, true, &page, &fd, NULL) < 0)
            continue;
        uint16_t generation = status_word_generation(atomic_load(&page->word));
        status_page_publish(page, generation, STATUS_SCHEDULED);
        status_page_close(page, fd);
    }
    return 0;
}
