// Where classes are when the configuration has been changed since: what is noted, what is taken for
// a note, and that limits are lifted in both places. The last on the real cgroups of this machine,
// below a root of this test's own.
#include "cgroup-backend/discovery.h"
#include "cgroup-backend/in_force.h"
#include "cgroup-backend/record.h"
#include "common/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64], note[96];
static struct in_force noted;
static struct error err;

static int set_up(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/cosched-test-XXXXXX");
    snprintf(note, sizeof note, "%s/%s", mkdtemp(directory), IN_FORCE_FILE);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    unlink(note);
    return rmdir(directory);
}

static void put(const char *text)
{
    FILE *file = fopen(note, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void only_what_classd_writes_is_a_note(void **state)
{
    (void)state;
    static const char *const rubbish[] = {"",          "v1",        "v1 \n",   "v1 a",
                                          "v3 a\n",    "v1 ../a\n", "v1 /a\n", "v1 a/./b\n",
                                          "v1 a\nb\n", " a\n"};
    char long_root[400];
    assert_int_equal(in_force_read(directory, &noted, &err), 0);
    for (size_t i = 0; i < sizeof rubbish / sizeof *rubbish; i++) {
        put(rubbish[i]);
        assert_int_equal(in_force_read(directory, &noted, &err), -1);
        assert_int_equal(err.code, EBADMSG);
    }
    memset(long_root, 'a', sizeof long_root);
    memcpy(long_root, "v1 ", 3);
    strcpy(long_root + sizeof long_root - 2, "\n");
    put(long_root);
    assert_int_equal(in_force_read(directory, &noted, &err), -1);
    put("v2 lab/node 0\n");
    assert_int_equal(in_force_read(directory, &noted, &err), 1);
    assert_string_equal(noted.kind, "v2");
    assert_string_equal(noted.root, "lab/node 0");
}

static void nobody_elses_file_is_believed(void **state)
{
    (void)state;
    put("v1 a\n");
    assert_int_equal(chmod(note, 0664), 0);
    assert_int_equal(in_force_read(directory, &noted, &err), -1);
    assert_int_equal(err.code, EPERM);
    assert_int_equal(chmod(note, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(note, 99, 0), 0);
        assert_int_equal(in_force_read(directory, &noted, &err), -1);
        assert_int_equal(err.code, EPERM);
    }
    assert_int_equal(unlink(note), 0);
    assert_int_equal(symlink("/etc/passwd", note), 0);
    assert_int_equal(in_force_read(directory, &noted, &err), -1);
    assert_int_equal(unlink(note), 0);
    assert_int_equal(mkfifo(note, 0600), 0); // must not be waited for
    assert_int_equal(in_force_read(directory, &noted, &err), -1);
}

static struct backend_settings at(const char *root)
{
    return (struct backend_settings){"auto", root, 2, 100 * NS_PER_MS, directory, false, false};
}

static backend_t *open_with(const struct backend_settings *settings)
{
    backend_t *backend = NULL;
    if (backend_open(settings, &backend, &err) != 0)
        fail_msg("%s", err.text);
    return backend;
}

static backend_t *open_at(const char *root)
{
    struct backend_settings settings = at(root);
    return open_with(&settings);
}

static backend_t *open_as_it_is(const char *root)
{
    struct backend_settings settings = at(root);
    settings.as_it_is = true;
    return open_with(&settings);
}

static class_t *limited(backend_t *backend)
{
    class_t *class_ = NULL;
    assert_int_equal(class_open(backend, "a", &class_, NULL), 0);
    assert_int_equal(class_set_share(class_, 10000, NULL), 0);
    return class_;
}

static void remove_groups(const char *root)
{
    struct discovery found;
    assert_int_equal(discovery_find(&found, NULL), 0);
    const char *const mounts[] = {found.v2, found.cpu, found.cpuacct, found.freezer};
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", mounts[i] != NULL ? mounts[i] : "/nowhere", root);
        rmdir(path);
    }
    discovery_free(&found);
}

// The limit of the class "a" below `root`, as the kernel shows it: "max" or "-1" for none.
static bool is_limited(const char *root)
{
    struct discovery found;
    char path[512], text[64] = "";
    assert_int_equal(discovery_find(&found, NULL), 0);
    snprintf(path, sizeof path, "%s/%s/a/%s", found.v2 != NULL ? found.v2 : found.cpu, root,
             found.v2 != NULL ? "cpu.max" : "cpu.cfs_quota_us");
    discovery_free(&found);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    return strncmp(text, "max", 3) != 0 && strncmp(text, "-1", 2) != 0;
}

static void both_places_are_lifted(void **state)
{
    (void)state;
    char top[64], old_root[80], new_root[80];
    unsigned lifted = 0;
    snprintf(top, sizeof top, "cosched-test-%d", (int)getpid());
    snprintf(old_root, sizeof old_root, "%s/old", top);
    snprintf(new_root, sizeof new_root, "%s/new", top);
    struct backend_settings settings = at(new_root), nowhere = at("../x");
    backend_t *old = open_at(old_root), *new = open_at(new_root), *other = NULL;
    class_t *a = limited(old), *b = limited(new);
    assert_int_equal(in_force_write(directory, old, old_root, &err), 0);
    assert_int_equal(in_force_release(&settings, &lifted, &err), 0);
    assert_int_equal(lifted, 2);
    assert_false(is_limited(old_root));
    assert_false(is_limited(new_root));
    // Also where the settings make no sense any more.
    assert_int_equal(class_set_share(a, 10000, NULL), 0);
    assert_int_equal(in_force_release(&nowhere, NULL, &err), 0);
    assert_false(is_limited(old_root));
    // One place is not lifted twice; another's is told from it.
    settings.root = old_root;
    assert_int_equal(in_force_open_other(&settings, &other, &err), 0);
    settings.kind = strcmp(backend_name(old), "v1") == 0 ? "v2" : "v1";
    assert_int_equal(in_force_open_other(&settings, &other, &err), 1);
    backend_close(other);
    settings = at(old_root);
    assert_int_equal(in_force_release(&settings, &lifted, &err), 0);
    assert_int_equal(lifted, 1);
    // Nothing noted, nothing that makes sense: an error.
    unlink(note);
    assert_int_equal(in_force_release(&nowhere, NULL, &err), -1);
    assert_int_equal(err.code, EINVAL);
    assert_int_equal(class_remove(a, NULL), 0);
    assert_int_equal(class_remove(b, NULL), 0);
    backend_close(old);
    backend_close(new);
    remove_groups(old_root);
    remove_groups(new_root);
    remove_groups(top);
}

// Lifting is no reason to make what it would then be looked for in.
static void lifting_makes_no_root(void **state)
{
    (void)state;
    char root[64], path[256];
    struct discovery found;
    unsigned lifted = 1;
    snprintf(root, sizeof root, "cosched-test-%d-none", (int)getpid());
    struct backend_settings settings = at(root);
    assert_int_equal(in_force_release(&settings, &lifted, &err), 0);
    assert_int_equal(lifted, 0);
    assert_int_equal(discovery_find(&found, NULL), 0);
    snprintf(path, sizeof path, "%s/%s", found.v2 != NULL ? found.v2 : found.cpu, root);
    discovery_free(&found);
    bool made = access(path, F_OK) == 0;
    remove_groups(root);
    assert_false(made);
}

// A record that says that the class "a" below `root` is somebody's, limited by us.
static void record_in_place(const char *placed, const char *root)
{
    struct limit_record record = {.manager = PLACEMENT_NAMED,
                                  .own = {LIMIT_NONE, 100000},
                                  .set = {{2000, 100000}, {2000, 100000}}};
    struct discovery found;
    struct stat status;
    char path[512];
    assert_int_equal(discovery_find(&found, NULL), 0);
    snprintf(path, sizeof path, "%s/%s/a", found.v2 != NULL ? found.v2 : found.cpu, root);
    discovery_free(&found);
    assert_int_equal(stat(path, &status), 0);
    record.inode = status.st_ino;
    snprintf(record.group, sizeof record.group, "/%s/a", root);
    int fd = record_write(placed, "x", &record, &err);
    assert_true(fd >= 0);
    close(fd);
}

static void nobody_elses_directory_is_believed(void **state)
{
    (void)state;
    char top[64], root[80], new_root[80], placed[96];
    snprintf(top, sizeof top, "cosched-test-%d", (int)getpid());
    snprintf(root, sizeof root, "%s/old", top);
    snprintf(new_root, sizeof new_root, "%s/new", top);
    snprintf(placed, sizeof placed, "%s/placed", directory);
    struct backend_settings settings = at(new_root);
    backend_t *backend = open_at(root);
    class_t *class_ = limited(backend);
    record_in_place(placed, root);
    assert_int_equal(in_force_write(directory, backend, root, &err), 0);
    assert_int_equal(chown(directory, 1000, (gid_t)-1), 0);
    int rc = in_force_release(&settings, NULL, &err);
    backend_t *looker = open_as_it_is(new_root);
    int looker_rc = backend_release_all(looker, NULL, NULL);
    bool kept = is_limited(root);
    backend_close(looker);
    assert_int_equal(chown(directory, 0, (gid_t)-1), 0);
    unlink(note); // what is recorded is enough
    int trusted_rc = in_force_release(&settings, NULL, NULL);
    bool lifted = !is_limited(root);
    record_remove(placed, "x");
    assert_int_equal(class_remove(class_, NULL), 0);
    backend_close(backend);
    remove_groups(root);
    remove_groups(top);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, EPERM);
    assert_int_equal(looker_rc, 0);
    assert_true(kept);
    assert_int_equal(trusted_rc, 0);
    assert_true(lifted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_classd_writes_is_a_note, set_up, clean_up),
        cmocka_unit_test_setup_teardown(nobody_elses_file_is_believed, set_up, clean_up),
    };
    const struct CMUnitTest real[] = {
        cmocka_unit_test_setup_teardown(both_places_are_lifted, set_up, clean_up),
        cmocka_unit_test_setup_teardown(lifting_makes_no_root, set_up, clean_up),
        cmocka_unit_test_setup_teardown(nobody_elses_directory_is_believed, set_up, clean_up),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    struct discovery found;
    if (failed != 0 || geteuid() != 0 || discovery_find(&found, &err) != 0)
        return failed != 0 ? failed : 77;
    discovery_free(&found);
    return cmocka_run_group_tests_name("with cgroups", real, NULL, NULL);
}
