// The file of a status page, as a client maps it and as the next classd takes it over.
#include "classd/pages.h"
#include "common/cleanup.h"
#include "tests/fuzz/page_file.h"
#include "tests/fuzz/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { UID = 1000, GENERATION = 7 };

static const char name[] = "1000-a";

static void read_everything(const struct status_page *page, size_t size)
{
    const volatile uint8_t *bytes = (const volatile uint8_t *)page;
    for (size_t i = 0; i < size; i++)
        (void)bytes[i];
}

static bool client_maps(int directory)
{
    struct error err = {0};
    const struct status_page *page = NULL;
    cleanup_close int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (status_page_map(fd, &page, &err) < 0) {
        REQUIRE(err.code == EBADMSG);
        return false;
    }
    read_everything(page, STATUS_PAGE_BYTES);
    status_page_unmap(page);
    return true;
}

static void check_publishing(struct status_page *page, uint16_t generation, uint16_t flags)
{
    uint64_t before = atomic_load(&page->word);
    status_page_publish(page, generation, flags);
    uint64_t after = atomic_load(&page->word);
    bool same = status_word_generation(before) == generation && status_word_flags(before) == flags;
    REQUIRE(status_word_generation(after) == generation && status_word_flags(after) == flags);
    REQUIRE(status_word_epoch(after) == (uint32_t)(status_word_epoch(before) + !same));
}

static bool daemon_opens(int directory, struct input *input)
{
    struct status_page *page = NULL;
    int fd = -1;
    if (status_page_open(directory, name, true, &page, &fd, NULL) < 0)
        return false;
    check_publishing(page, (uint16_t)input_number(input, 2), (uint16_t)input_number(input, 2));
    read_everything(page, STATUS_PAGE_FILE_BYTES);
    status_page_close(page, fd);
    return true;
}

static void check_adoption(pages_t *pages)
{
    struct status_page *page = NULL;
    int fd = -1;
    if (pages_open_job(pages, UID, "a", true, &page, &fd, NULL) < 0)
        return;
    REQUIRE(page->uid == UID && strcmp(page->job_id, "a") == 0);
    REQUIRE(page->member_count <= STATUS_PAGE_MEMBERS_MAX);
    status_page_close(page, fd);
}

static bool nobody(const char *page, void *user)
{
    (void)page;
    (void)user;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct config config;
    pages_t *pages = NULL;
    unsigned descriptors = scratch_descriptors();
    cleanup_close int directory = scratch_open();
    config_defaults(&config);
    REQUIRE(pages_open(directory, &config, 42, GENERATION, &pages, NULL) == 0);
    cleanup_close int jobs =
        openat(directory, STATUS_PAGE_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    page_file_write(jobs, name, UID, "a", 1, &input);
    REQUIRE(client_maps(jobs) == daemon_opens(jobs, &input));
    check_adoption(pages);
    pages_remove_orphans(pages, nobody, NULL);
    REQUIRE(scratch_count(jobs) == 0);
    pages_close(pages);
    REQUIRE(scratch_descriptors() == descriptors + 2); // directory and jobs
    return 0;
}
