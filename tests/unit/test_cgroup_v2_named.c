// Groups of others that are limited in place, on a tree of plain files: their own limits come back.
#include "tests/unit/v2_files.h"

#include <errno.h>

static void assert_limit(const char *group, const char *expected)
{
    char path[256], text[64] = "";
    snprintf(path, sizeof path, "%s/%s/cpu.max", mount, group);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, strlen(expected), file)] =
        '\0'; // a plain file keeps the end of a longer line
    fclose(file);
    assert_string_equal(text, expected);
}

// Somebody else sets a limit just when there is no space for the record of it.
static void a_record_is_written_as_soon_as_there_is_space(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    char draft[128];
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    snprintf(draft, sizeof draft, "%s/records/placed/.s", mount);
    assert_int_equal(mkdir(draft, 0700), 0);
    put("user.slice", "cpu.max", "300000 100000\n");
    assert_int_equal(class_set_share(class_, 50000, &err), -1);
    assert_int_equal(err.code, EISDIR);
    assert_limit("user.slice", "300000 100000\n");
    assert_int_equal(rmdir(draft), 0);
    assert_int_equal(class_set_share(class_, 50000, NULL), 0);
    assert_limit("user.slice", "20000 100000\n");
    assert_int_equal(class_remove(class_, NULL), 0);
    assert_limit("user.slice", "300000 100000\n");
}

// It may be the only one who knows the group's own limit, and can be read again later.
static void a_record_that_cannot_be_read_now_stays(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    char record[128];
    struct stat status;
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    assert_int_equal(class_set_share(class_, 50000, NULL), 0);
    class_close(class_);
    snprintf(record, sizeof record, "%s/records/placed/s", mount);
    assert_int_equal(unlink(record), 0);
    assert_int_equal(symlink("s", record), 0);
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, &err), -1);
    assert_int_equal(err.code, ELOOP);
    assert_int_equal(lstat(record, &status), 0);
    assert_limit("user.slice", "20000 100000\n");
    assert_int_equal(unlink(record), 0);
}

// As when systemd takes the controller away from a slice in which no unit wants it any more.
static void a_limit_that_is_gone_needs_no_lifting(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    unsigned lifted = 1;
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    assert_int_equal(class_set_share(class_, 50000, NULL), 0);
    unlink_file("user.slice", "cpu.max");
    assert_int_equal(backend_release_all(backend, &lifted, &err), 0);
    assert_int_equal(lifted, 0);
    class_close(class_);
    // Nor is the class in place any more. (Plain files do not come with a directory that is made.)
    assert_int_equal(class_open(backend, "s", &class_, &err), -1);
    assert_non_null(strstr(err.text, "lab/node0/s/cpu.max"));
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, &err), -1);
    assert_int_equal(err.code, ENOTSUP); // which the log tells of a job, too
    assert_non_null(strstr(err.text, "user.slice has no cpu.max: the group above it must pass"));
}

// Jobs and named groups in place need no root; whoever lifts what a killed daemon has left must not
// fail for it.
static void limits_are_lifted_whatever_became_of_the_root(void **state)
{
    (void)state;
    struct error err = {0};
    struct backend_settings lifting = settings;
    class_t *class_ = NULL;
    char path[96];
    snprintf(path, sizeof path, "%s/records", mount);
    lifting.records = path;
    lifting.as_it_is = true;
    put_class("user.slice");
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, NULL), 0);
    backend_t *killed = backend; // which the class lives on
    backend = NULL;
    for (int gone = 0; gone < 2; gone++) {
        put("user.slice", "cpu.max", "max 100000\n"); // (a plain file keeps the end of a line)
        assert_int_equal(class_set_share(class_, 50000, NULL), 0);
        assert_limit("user.slice", "20000 100000\n");
        if (gone) {
            char command[128];
            snprintf(command, sizeof command, "rm -r '%s/lab'", mount);
            assert_int_equal(system(command), 0);
        } else {
            put("lab/node0", "cgroup.type", "domain threaded\n");
            put("lab/node0", "cgroup.procs", "4711\n");
            assert_int_equal(v2_open(mount, &settings, &backend, &err), -1);
            assert_int_equal(err.code, EBUSY);
        }
        if (v2_open(mount, &lifting, &backend, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(backend_release_all(backend, NULL, &err), 0);
        assert_limit("user.slice", "max 100000\n");
        backend_close(backend);
        backend = NULL;
    }
    assert_int_equal(access(path, F_OK), 0); // the record is the next daemon's
    class_close(class_);
    backend_close(killed);
}

static void assert_no_records(void)
{
    char records[96];
    snprintf(records, sizeof records, "%s/records", mount);
    assert_int_equal(rmdir(records), 0);
}

static void a_named_group_is_limited_in_place(void **state)
{
    (void)state;
    struct error err = {0};
    class_t *class_ = NULL;
    uint64_t usage_ns = 0;
    open_backend_with_records();
    assert_int_equal(class_open_named(backend, "s", "user.slice", &class_, &err), -1);
    assert_int_equal(err.code, ENOENT);
    put_class("user.slice");
    if (class_open_named(backend, "s", "user.slice", &class_, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(class_set_share(class_, 50000, &err), 0);
    assert_limit("user.slice", "20000 100000\n");
    assert_file("user.slice", "cpu.weight", "");
    assert_file("user.slice", "cgroup.freeze", "");
    assert_int_equal(class_usage(class_, &usage_ns, &err), 0);
    assert_int_equal(usage_ns, 1234567000);
    assert_int_equal(class_remove(class_, &err), 0);
    assert_limit("user.slice", "max 100000\n");
    assert_no_records();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_files(a_named_group_is_limited_in_place),
        on_files(a_record_is_written_as_soon_as_there_is_space),
        on_files(a_record_that_cannot_be_read_now_stays),
        on_files(a_limit_that_is_gone_needs_no_lifting),
        on_files(limits_are_lifted_whatever_became_of_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
