// The runtime directory at the start of a classd: whose it is, and what a full one is worth.
#include "classd/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    GENERATION_BEFORE = 0xff, // the next one has a digit more
    NOBODY = 65534,
};

static char directory[32];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/cosched-test-XXXXXX");
    return mkdtemp(directory) != NULL && chmod(directory, 0755) == 0 ? 0 : -1;
}

static const char *path_of(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int clean_up(void **state)
{
    static const char *const names[] = {"classd.lock", "node_id", "generation", "ballast"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    rmdir(path_of("generation.new"));
    umount(directory);
    return rmdir(directory);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// What a former classd has left.
static void leave_files(void)
{
    char text[16];
    snprintf(text, sizeof text, "%x\n", GENERATION_BEFORE);
    write_text("node_id", "2a\n");
    write_text("generation", text);
    write_text("classd.lock", "1\n");
}

static void assert_opens(unsigned generation)
{
    struct error err = {0};
    runtime_t *runtime = NULL;
    if (runtime_open(directory, &runtime, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(runtime_node_id(runtime), 0x2a);
    assert_int_equal(runtime_generation(runtime), generation);
    runtime_close(runtime);
}

static void each_classd_is_a_generation_of_its_own(void **state)
{
    (void)state;
    leave_files();
    assert_opens(GENERATION_BEFORE + 1);
    assert_opens(GENERATION_BEFORE + 2);
    assert_int_equal(access(path_of("generation.new"), F_OK), -1);
}

static void timerd_may_read_what_it_goes_by(void **state)
{
    struct stat status;
    (void)state;
    leave_files();
    mode_t before = umask(077);
    assert_opens(GENERATION_BEFORE + 1);
    umask(before);
    assert_int_equal(stat(path_of("generation"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
}

static void without_a_draft_the_number_is_written_in_place(void **state)
{
    (void)state;
    leave_files();
    assert_int_equal(mkdir(path_of("generation.new"), 0755), 0);
    assert_opens(GENERATION_BEFORE + 1);
    assert_opens(GENERATION_BEFORE + 2);
}

static void fill(void)
{
    static const char page[4096];
    int fd = open(path_of("ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, page, sizeof page) > 0)
        continue;
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

// In a mount namespace of this process.
static void a_full_directory_is_opened_again(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", directory, "tmpfs", 0, "size=64k,mode=755") < 0)
        skip();
    leave_files();
    fill();
    assert_opens(GENERATION_BEFORE + 1);
    fill();
    assert_opens(GENERATION_BEFORE + 2);
    assert_int_equal(access(path_of("generation.new"), F_OK), -1);
}

static void assert_refused(const char *path, int code, const char *remedy)
{
    struct error err = {0};
    runtime_t *runtime = NULL;
    assert_int_equal(runtime_open(path, &runtime, &err), -1);
    assert_int_equal(err.code, code);
    if (strstr(err.text, remedy) == NULL)
        fail_msg("%s", err.text);
}

// As ProtectSystem=strict makes all places but the usual one.
static void who_may_not_write_there_is_told_what_to_do(void **state)
{
    char remedy[96];
    (void)state;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", directory, "tmpfs", MS_RDONLY, "size=64k,mode=755") < 0)
        skip();
    snprintf(remedy, sizeof remedy, "(add ReadWritePaths=%s to a drop-in", directory);
    assert_refused(directory, EROFS, remedy);
    snprintf(remedy, sizeof remedy, "(make the directory, and add ReadWritePaths=%s to",
             path_of("new"));
    assert_refused(path_of("new"), EROFS, remedy);
}

static void who_is_not_root_is_told_so(void **state)
{
    (void)state;
    if (geteuid() != 0 || seteuid(NOBODY) < 0)
        skip();
    struct error err = {0};
    runtime_t *runtime = NULL;
    int rc = runtime_open(path_of("new"), &runtime, &err);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, EACCES);
    assert_non_null(strstr(err.text, "(run it as root)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_classd_is_a_generation_of_its_own, set_up, clean_up),
        cmocka_unit_test_setup_teardown(timerd_may_read_what_it_goes_by, set_up, clean_up),
        cmocka_unit_test_setup_teardown(without_a_draft_the_number_is_written_in_place, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_full_directory_is_opened_again, set_up, clean_up),
        cmocka_unit_test_setup_teardown(who_may_not_write_there_is_told_what_to_do, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(who_is_not_root_is_told_so, set_up, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
