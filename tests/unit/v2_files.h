// The v2 backend on a tree of plain files. The kernel's side of it is played by the test: it puts
// the files there, and looks at what was written.
#ifndef COSCHED_TESTS_UNIT_V2_FILES_H
#define COSCHED_TESTS_UNIT_V2_FILES_H

#include "cgroup-backend/groups.h"
#include "common/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char mount[64];
static backend_t *backend;
static const struct backend_settings settings = {"v2", "lab/node0", 4,    100 * NS_PER_MS,
                                                 NULL, false,       false};

static inline void put(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", mount, directory);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s", mount, directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void unlink_file(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", mount, directory, name);
    assert_int_equal(unlink(path), 0);
}

static inline void assert_file(const char *directory, const char *name, const char *expected)
{
    char path[256], text[256] = "";
    snprintf(path, sizeof path, "%s/%s/%s", mount, directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static inline void put_class(const char *directory)
{
    put(directory, "cpu.max", "max 100000\n");
    put(directory, "cpu.weight", "");
    put(directory, "cpu.stat", "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n");
    put(directory, "cgroup.procs", "");
    put(directory, "cgroup.freeze", "");
    put(directory, "cgroup.events", "populated 1\nfrozen 1\n");
    put(directory, "cgroup.kill", "");
}

// The mount point passes cpu on already, "lab" does not yet.
static inline int set_up(void **state)
{
    (void)state;
    snprintf(mount, sizeof mount, "/tmp/cosched-v2-XXXXXX");
    if (mkdtemp(mount) == NULL)
        return -1;
    put("", "cgroup.controllers", "cpuset cpu io\n");
    put("", "cgroup.subtree_control", "cpu memory\n");
    put("", "cgroup.procs", "");
    put("lab", "cgroup.controllers", "cpu memory\n");
    put("lab", "cgroup.subtree_control", "");
    put("lab/node0", "cgroup.controllers", "cpu\n");
    put("lab/node0", "cgroup.subtree_control", "");
    return 0;
}

static inline int clean_up(void **state)
{
    (void)state;
    backend_close(backend);
    backend = NULL;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", mount);
    return system(command);
}

static inline void open_backend(void)
{
    struct error err = {0};
    if (v2_open(mount, &settings, &backend, &err) != 0)
        fail_msg("%s", err.text);
}

// The same with a directory for records, which is below the mount point, too.
static inline void open_backend_with_records(void)
{
    static char records[96];
    struct backend_settings with_records = settings;
    struct error err = {0};
    snprintf(records, sizeof records, "%s/records", mount);
    mkdir(records, 0700);
    with_records.records = records;
    if (v2_open(mount, &with_records, &backend, &err) != 0)
        fail_msg("%s", err.text);
}

static inline class_t *open_class(const char *name)
{
    struct error err = {0};
    class_t *class_ = NULL;
    if (class_open(backend, name, &class_, &err) != 0)
        fail_msg("%s", err.text);
    return class_;
}

#define on_files(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

#endif
