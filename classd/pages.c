#include "classd/pages.h"

#include "common/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pages {
    int directory;
    const struct config *config;
    uint64_t node_id;
    uint16_t generation;
};

int pages_open(int runtime_directory, const struct config *config, uint64_t node_id,
               uint16_t generation, pages_t **pages, struct error *err)
{
    if (mkdirat(runtime_directory, STATUS_PAGE_DIRECTORY, 0700) < 0 && errno != EEXIST)
        return error_errno(err, errno, "make %s/%s", config->runtime_dir, STATUS_PAGE_DIRECTORY);
    struct pages *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_errno(err, ENOMEM, "status pages");
    made->directory = openat(runtime_directory, STATUS_PAGE_DIRECTORY,
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (made->directory < 0) {
        error_errno(err, errno, "%s/%s", config->runtime_dir, STATUS_PAGE_DIRECTORY);
        free(made);
        return -1;
    }
    made->config = config;
    made->node_id = node_id;
    made->generation = generation;
    *pages = made;
    return 0;
}

void pages_close(pages_t *pages)
{
    if (pages == NULL)
        return;
    close(pages->directory);
    free(pages);
}

uint64_t pages_node_id(const pages_t *pages)
{
    return pages->node_id;
}

uint16_t pages_generation(const pages_t *pages)
{
    return pages->generation;
}

void page_name(char name[PAGE_NAME_MAX], uid_t uid, const char *job_id)
{
    snprintf(name, PAGE_NAME_MAX, "%u-%s", (unsigned)uid, job_id);
}

void pages_describe_node(const pages_t *pages, struct status_page *page)
{
    const struct config *config = pages->config;
    page->node_id = pages->node_id;
    page->time_slice_ns = config_slice_ns(config);
    page->gmet_ns = config_gmet_ns(config);
    page->gang = config_is_gang(config);
    page->cpus = config_cpus(config);
    page->piggyback = strcmp(config->piggyback, "off") == 0      ? STATUS_PIGGYBACK_OFF
                      : strcmp(config->piggyback, "header") == 0 ? STATUS_PIGGYBACK_HEADER
                                                                 : STATUS_PIGGYBACK_NOTICE;
    page->wait = strcmp(config->wait, "yield") == 0   ? STATUS_WAIT_YIELD
                 : strcmp(config->wait, "spin") == 0  ? STATUS_WAIT_SPIN
                 : strcmp(config->wait, "block") == 0 ? STATUS_WAIT_BLOCK
                                                      : STATUS_WAIT_AUTO;
    page->spin_limit_ns = config->spin_limit_ns;
}

// The next classd may have been told other slots than the one that wrote this.
static void note_other_slots(const pages_t *pages, struct status_page *page)
{
    uint64_t slice_ns = config_slice_ns(pages->config);
    if ((page->gang != 0 || page->slots != 0) && page->time_slice_ns != slice_ns)
        page->clock = protocol_slots_became((int64_t)(slice_ns - page->time_slice_ns));
}

int pages_open_job(pages_t *pages, uid_t uid, const char *job_id, bool adopt,
                   struct status_page **page, int *fd, struct error *err)
{
    char name[PAGE_NAME_MAX];
    page_name(name, uid, job_id);
    if (status_page_open(pages->directory, name, adopt, page, fd, err) < 0)
        return -1;
    if (!adopt) {
        (*page)->uid = (uint32_t)uid;
        snprintf((*page)->job_id, sizeof(*page)->job_id, "%s", job_id);
    } else if ((*page)->uid != uid || !protocol_job_id_valid((*page)->job_id) ||
               strcmp((*page)->job_id, job_id) != 0 ||
               (*page)->member_count > STATUS_PAGE_MEMBERS_MAX) {
        status_page_close(*page, *fd);
        *page = NULL;
        *fd = -1;
        return error_set(err, EBADMSG, "status page %s belongs to another job", name);
    }
    if (adopt)
        note_other_slots(pages, *page);
    pages_describe_node(pages, *page);
    atomic_store_explicit(&(*page)->turn, 0, memory_order_relaxed); // until the next slice begins
    if (!adopt)
        pages_publish(pages, *page, true, false);
    return 0;
}

uint64_t pages_registered_ns(const pages_t *pages, uid_t uid, const char *job_id)
{
    char name[PAGE_NAME_MAX];
    struct status_page *page = NULL;
    int fd = -1;
    page_name(name, uid, job_id);
    if (status_page_open(pages->directory, name, true, &page, &fd, NULL) < 0)
        return 0;
    uint64_t registered_ns = page->turns.registered_ns;
    status_page_close(page, fd);
    return registered_ns;
}

void pages_remove_job(pages_t *pages, uid_t uid, const char *job_id)
{
    char name[PAGE_NAME_MAX];
    page_name(name, uid, job_id);
    unlinkat(pages->directory, name, 0);
}

static void remove_orphan(struct pages *pages, const char *name)
{
    struct status_page *page = NULL;
    int fd = -1;
    if (status_page_open(pages->directory, name, true, &page, &fd, NULL) == 0) {
        pages_publish(pages, page, true, false);
        status_page_close(page, fd);
    }
    unlinkat(pages->directory, name, 0);
}

void pages_remove_orphans(pages_t *pages, bool (*known)(const char *name, void *user), void *user)
{
    int fd = openat(pages->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_closedir DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.' && !known(entry->d_name, user))
            remove_orphan(pages, entry->d_name);
    }
}

void pages_publish(const pages_t *pages, struct status_page *page, bool scheduled, bool limited)
{
    unsigned flags = (scheduled ? STATUS_SCHEDULED : 0u) | (limited ? STATUS_CONTENDED : 0u);
    status_page_publish(page, pages->generation, (uint16_t)flags);
}

void page_record_member(struct status_page *page, const struct status_member *member)
{
    page->members[page->member_count] = *member;
    __atomic_store_n(&page->member_count, page->member_count + 1, __ATOMIC_RELEASE);
}

void page_forget_member(struct status_page *page, uint32_t slot)
{
    // Between the two steps the last member is listed twice, which adoption does not mind.
    page->members[slot] = page->members[page->member_count - 1];
    __atomic_store_n(&page->member_count, page->member_count - 1, __ATOMIC_RELEASE);
}

void page_keep_members(struct status_page *page, uint32_t count)
{
    __atomic_store_n(&page->member_count, count, __ATOMIC_RELEASE);
}
