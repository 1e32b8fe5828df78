// Protects the status page: what is published is what clients map, who can only read it, and nobody
// maps less than a page.
#include "common/status_page.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void a_page_is_what_clients_map(void **state)
{
    char dir[] = "/tmp/cosched-test-XXXXXX";
    struct status_page *page = NULL;
    const struct status_page *mapped = NULL;
    int fd = -1;
    (void)state;
    assert_non_null(mkdtemp(dir));
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(status_page_open(dir_fd, "p", true, &page, &fd, NULL), -1);
    assert_int_equal(status_page_open(dir_fd, "p", false, &page, &fd, NULL), 0);
    assert_int_equal(status_page_map(fd, &mapped, NULL), 0);

    status_page_publish(page, 5, STATUS_SCHEDULED);
    uint64_t word = atomic_load(&mapped->word);
    assert_int_equal(status_word_generation(word), 5);
    assert_int_equal(status_word_flags(word), STATUS_SCHEDULED);
    status_page_publish(page, 5, STATUS_SCHEDULED);
    assert_int_equal(atomic_load(&mapped->word), word);
    status_page_publish(page, 5, STATUS_CONTENDED);
    assert_int_equal(status_word_epoch(atomic_load(&mapped->word)), status_word_epoch(word) + 1);
    status_page_nudge(page); // nothing but the epoch
    assert_int_equal(atomic_load(&mapped->word),
                     status_word(5, STATUS_CONTENDED, status_word_epoch(word) + 2));

    assert_ptr_equal(mmap(NULL, STATUS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                     MAP_FAILED);
    status_page_close(page, fd);
    assert_int_equal(status_word_generation(atomic_load(&mapped->word)), 5);
    assert_int_equal(status_page_open(dir_fd, "p", true, &page, &fd, NULL), 0);
    status_page_close(page, fd);
    status_page_unmap(mapped);
    unlinkat(dir_fd, "p", 0);
    close(dir_fd);
    rmdir(dir);
}

static void pages_are_freed_where_nobody_else_can_put_them(void **state)
{
    char dir[] = "/tmp/cosched-test-XXXXXX", jobs[64];
    struct status_page *page = NULL;
    struct error err = {0};
    int fd = -1;
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(status_page_free_all(dir, &err), 0);
    snprintf(jobs, sizeof jobs, "%s/" STATUS_PAGE_DIRECTORY, dir);
    assert_int_equal(mkdir(jobs, 0755), 0);
    int jobs_fd = open(jobs, O_RDONLY | O_DIRECTORY);
    assert_int_equal(status_page_open(jobs_fd, "p", false, &page, &fd, NULL), 0);
    status_page_publish(page, 5, STATUS_CONTENDED);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(status_page_free_all(dir, &err), -1);
    assert_int_equal(err.code, EPERM);
    assert_int_equal(status_word_flags(atomic_load(&page->word)), STATUS_CONTENDED);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(status_page_free_all(dir, &err), 0);
    assert_int_equal(status_word_flags(atomic_load(&page->word)), STATUS_SCHEDULED);
    status_page_close(page, fd);
    unlinkat(jobs_fd, "p", 0);
    close(jobs_fd);
    rmdir(jobs);
    rmdir(dir);
}

static void a_page_without_room_leaves_no_file(void **state)
{
    char dir[] = "/tmp/cosched-test-XXXXXX";
    struct status_page *page = NULL;
    struct rlimit before, small;
    struct error err;
    int fd = -1;
    (void)state;
    assert_non_null(mkdtemp(dir));
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); // as good as a full disk
    assert_int_equal(status_page_open(dir_fd, "p", false, &page, &fd, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err.code, EFBIG);
    assert_int_equal(faccessat(dir_fd, "p", F_OK, 0), -1);
    close(dir_fd);
    assert_int_equal(rmdir(dir), 0);
}

static void short_files_are_not_mapped(void **state)
{
    const struct status_page *mapped = NULL;
    struct error err;
    int fd = memfd_create("page", MFD_CLOEXEC);
    (void)state;
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(status_page_map(fd, &mapped, &err), -1);
    assert_int_equal(err.code, EBADMSG);
    assert_int_equal(ftruncate(fd, STATUS_PAGE_FILE_BYTES), 0);
    assert_int_equal(status_page_map(fd, &mapped, &err), -1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_what_clients_map),
        cmocka_unit_test(pages_are_freed_where_nobody_else_can_put_them),
        cmocka_unit_test(a_page_without_room_leaves_no_file),
        cmocka_unit_test(short_files_are_not_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
