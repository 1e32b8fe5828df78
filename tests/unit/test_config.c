// Protects the configuration: each key overrules its default, a fault is told by file and line with
// what to do about it, and what is printed can be read again.
#include "common/config.h"
#include "common/gang_lists.h"
#include "common/group_list.h"
#include "common/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int load(const char *text, struct config *config, struct error *err)
{
    FILE *stream = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(stream);
    int rc = config_load_stream(stream, "x.ini", config, err);
    fclose(stream);
    return rc;
}

static void keys_overrule_defaults(void **state)
{
    struct config config;
    (void)state;
    assert_int_equal(
        load("; a comment\n[scheduler]\t; and another\r\ntime_slice = 2s\ngmet=500ms\n[timer];\n"
             "align = no\n",
             &config, NULL),
        0);
    assert_int_equal(config.time_slice_ns, 2 * NS_PER_SEC);
    assert_int_equal(config.gmet_ns, 500 * NS_PER_MS);
    assert_false(config.timer_align);
    assert_string_equal(config.policy, "yoo-jette");
    assert_string_equal(config.placement, "auto");
    assert_int_equal(config.idle_share_ppm, 10000);
    assert_int_equal(config.idle_total_ppm, 20000);
}

static void comments_stand_behind_values_too(void **state)
{
    struct config config;
    (void)state;
    assert_int_equal(
        load("# one\n\t# two\n[cgroup] # three\nroot = lab # four\nplacement = move\t#\n"
             "[scheduler]\ngmet = 500ms ; five # six\n[sequential]\ngroups = a b #c ;",
             &config, NULL),
        0);
    assert_string_equal(config.cgroup_root, "lab");
    assert_string_equal(config.placement, "move");
    assert_int_equal(config.gmet_ns, 500 * NS_PER_MS);
    assert_string_equal(config.sequential_groups, "a b");
}

static void dynamic_coscheduling_is_configured(void **state)
{
    struct config config;
    (void)state;
    assert_int_equal(load("", &config, NULL), 0);
    assert_int_equal(config.dcs_exponent, 0);
    assert_int_equal(config.dcs_constant_ns, 0);
    assert_int_equal(config.dcs_quantum_ns, 20 * NS_PER_MS);
    assert_true(config.dcs_calibrate);
    // GMET, which dcs has not, may stay longer than the slice.
    assert_int_equal(load("[scheduler]\npolicy = dcs\ntime_slice = 100ms\n[dcs]\nexponent = -1\n"
                          "constant = 1.5ms\nquantum = 40ms\ncalibrate = no\n",
                          &config, NULL),
                     0);
    assert_string_equal(config.policy, "dcs");
    assert_int_equal(config.dcs_exponent, -1);
    assert_int_equal(config.dcs_constant_ns, 1500 * NS_PER_US);
    assert_int_equal(config.dcs_quantum_ns, 40 * NS_PER_MS);
    assert_false(config.dcs_calibrate);
    assert_int_equal(load("[dcs]\nexponent = 16\n", &config, NULL), 0);
    assert_int_equal(config.dcs_exponent, 16);
}

static void config_of_gang(void **state)
{
    struct config config;
    (void)state;
    config_defaults(&config);
    assert_int_equal(config.gang_slot_ns, NS_PER_SEC);
    assert_int_equal(config.gang_servants, 1);
    assert_string_equal(config.gang_lists, "all:1");
    assert_int_equal(config_slice_ns(&config), config.time_slice_ns);
    assert_int_equal(config_gmet_ns(&config), config.gmet_ns);
    // Slice and GMET, which gang has not, say nothing.
    assert_int_equal(load("[scheduler]\npolicy = gang\ntime_slice = 100ms\n[gang]\nslot = 300ms\n"
                          "servants = 2\n",
                          &config, NULL),
                     0);
    assert_int_equal(config.gang_servants, 2);
    assert_int_equal(config_slice_ns(&config), 300 * NS_PER_MS);
    assert_int_equal(config_gmet_ns(&config), 100 * NS_PER_MS);
}

static void a_slice_alone_says_how_long_a_job_keeps_it(void **state)
{
    struct config config;
    (void)state;
    assert_int_equal(load("[scheduler]\ntime_slice = 500ms\n", &config, NULL), 0);
    assert_int_equal(config.gmet_ns, 33 * NS_PER_MS);
    assert_int_equal(load("[scheduler]\ntime_slice = 30s\n", &config, NULL), 0);
    assert_int_equal(config.gmet_ns, 2 * NS_PER_SEC);
    assert_int_equal(load("[scheduler]\ngmet = 3s\ntime_slice = 30s\n", &config, NULL), 0);
    assert_int_equal(config.gmet_ns, 3 * NS_PER_SEC);
    // As the defaults have it.
    config_defaults(&config);
    assert_int_equal(config.gmet_ns * 15, config.time_slice_ns);
}

static void lists_of_gang(void **state)
{
    struct gang_lists lists;
    (void)state;
    assert_int_equal(gang_lists_parse(" short:1:10min, long:4 ", &lists, NULL), 0);
    assert_int_equal(lists.count, 2);
    assert_string_equal(lists.list[0].name, "short");
    assert_int_equal(lists.list[0].slots, 1);
    assert_int_equal(lists.list[0].until_ns, 600 * NS_PER_SEC);
    assert_int_equal(lists.list[1].slots, 4);
    assert_int_equal(gang_lists_find(&lists, "long"), 1);
    assert_int_equal(gang_lists_find(&lists, "lon"), -1);
    assert_false(gang_list_name_valid((char[GANG_LIST_NAME_MAX]){""}));
    assert_true(gang_list_name_valid((char[GANG_LIST_NAME_MAX]){"a_B-9"}));
}

static void config_errors_name_file_and_line(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } bad[] = {
        {"[scheduler]\ntime_slic = 5s\n", "x.ini:2: [scheduler] time_slic: unknown key"},
        {"[sched]\ngmet = 5s\n", "x.ini:2: [sched] gmet: unknown key"},
        {"[scheduler]\ntime_slice = 9999999h\n",
         "time_slice: 9999999h is out of range; use 100ms to 1h"},
        {"[scheduler]\nidle_share = 0.33333%\n",
         "\"0.33333%\" has more than four decimals; write fewer"},
        {"[scheduler]\n\ngmet = 5\n", "x.ini:3: [scheduler] gmet: \"5\" is not a duration"},
        {"[scheduler]\ngmet = 1s\ngmet = 2s\n",
         "x.ini:3: [scheduler] gmet: given before, at line 2"},
        {"[scheduler]\nidle_share = 50%\n", "x.ini:2: [scheduler] idle_share: 50% is out of range"},
        {"[scheduler]\nidle_total = 0%\n", "x.ini:2: [scheduler] idle_total: 0% is out of range"},
        {"[scheduler]\npolicy = fifo\n", "x.ini:2: [scheduler] policy: \"fifo\" is not one of"},
        {"[scheduler]\npolicy = yoo-jette dcs\n", "\"yoo-jette dcs\" is not one of"},
        {"[timer]\nalign = true\n", "x.ini:2: [timer] align: \"true\" is neither yes nor no"},
        {"[daemon]\nmax_jobs = many\n", "x.ini:2: [daemon] max_jobs"},
        {"[cgroup]\nplacement = in place\n", "is not one of: auto move in-place"},
        {"[cgroup]\nplacement = place\n", "x.ini:2: [cgroup] placement: \"place\" is not one of"},
        {"[cgroup]\nroot =; a comment\n", "x.ini:2: [cgroup] root: the value has a semicolon"},
        {"[cgroup]\nroot =# a comment\n", "x.ini:2: [cgroup] root: the value has a semicolon, a #"},
        {"[cgroup]\nroot = lab#1\n", "a comment behind a value needs a space before it"},
        {"[cgroup]\nroot = a\x1b[2J\n", "control character"},
        {"[daemon]\nruntime_dir =\n", "x.ini:2: [daemon] runtime_dir: the value is empty"},
        {"[scheduler]\nrubbish\n", "x.ini:2: not a section"},
        {"\n[scheduler] policy = dcs\n", "x.ini:2: there is more behind the section's name"},
        {"  [scheduler]]\n", "x.ini:1: there is more behind the section's name"},
        {"[scheduler]\ngmet = 20s\n", "x.ini:2: gmet is longer than time_slice"},
        {"[scheduler]\ntime_slice = 1s\ngmet = 2s\n", "x.ini:3: gmet is longer"},
        {"[daemon]\nruntime_dir = run\n", "x.ini:2: [daemon] runtime_dir must be an absolute path"},
        {"[cgroup]\nroot = ../etc\n", "x.ini:2: [cgroup] root must be relative"},
        {"[cgroup]\nroot = /cosched\n", "must be relative"},
        {"[cgroup]\nroot = cosched/\n", "empty parts"},
        {"[cgroup]\nroot = a//b\n", "empty parts"},
        {"[cgroup]\nroot = .\n", "empty parts"},
        {"[cgroup]\nroot = system.slice\n", "\"system.slice\" is systemd's; name a group of"},
        {"[cgroup]\nroot = a.slice/b.scope\n", "is systemd's"},
        {"[cgroup]\nroot = cosched-classd.service\n", "is systemd's"},
        {"[dcs]\nexponent = -17\n", "x.ini:2: [dcs] exponent: -17 is out of range; use -16 to 16"},
        {"[dcs]\nexponent = 17\n", "17 is out of range"},
        {"[dcs]\nexponent = 0.5\n", "x.ini:2: [dcs] exponent: \"0.5\" is not a whole number"},
        {"[dcs]\nexponent = --1\n", "\"--1\" is not a whole number"},
        {"[dcs]\nexponent = -\n", "\"-\" is not a whole number"},
        {"[dcs]\nexponent = 9223372036854775808\n",
         "9223372036854775808 is out of range; use -16 to 16"},
        {"[dcs]\nconstant = 100\n", "x.ini:2: [dcs] constant: \"100\" is not a duration"},
        {"[dcs]\nconstant = -1ms\n", "x.ini:2: [dcs] constant: \"-1ms\" is not a duration"},
        {"[dcs]\nquantum = 999us\n", "x.ini:2: [dcs] quantum: 999us is out of range; use 1ms"},
        {"[dcs]\ncalibrate = 1\n", "x.ini:2: [dcs] calibrate: \"1\" is neither yes nor no"},
        {"[scheduler]\npolicy = dcs\ntime_slice = 100ms\n[dcs]\nquantum = 101ms\n",
         "x.ini:5: [dcs] quantum is longer than time_slice"},
        {"[gang]\nslot = 99ms\n", "x.ini:2: [gang] slot: 99ms is out of range; use 100ms to 1min"},
        {"[gang]\nservants = 0\n", "x.ini:2: [gang] servants: 0 is out of range; use 1 to 16"},
        {"[gang]\nlists =\n", "x.ini:2: [gang] lists: the value is empty"},
        {"[gang]\nlists = ,\n", "there must be a list; for example all:1"},
        {"[gang]\nlists = short\n", "\"short\": the length must be a number of slots that divides"},
        {"[gang]\nlists = a:7\n", "\"a:7\": the length must be a number of slots that divides"},
        {"[gang]\nlists = a:0\n", "\"a:0\": the length must be"},
        {"[gang]\nlists = a:60\n", "\"a:60\": the length must be"},
        {"[gang]\nlists = :1\n", "\":1\" is not a list: NAME:LENGTH:AGE"},
        {"[gang]\nlists = a.b:1\n", "\"a.b:1\" is not a list"},
        {"[gang]\nlists = a2345678901234567:1\n", "is not a list: NAME:LENGTH:AGE"},
        {"[gang]\nlists = a:1:1s:2 b:2\n", "\"a:1:1s:2\" is not a list"},
        {"[gang]\nlists = a:1:ten b:2\n", "\"a:1:ten\": \"ten\" is not an age"},
        {"[gang]\nlists = a:1:0s b:2\n", "\"0s\" is not an age"},
        {"[gang]\nlists = a:1 b:2\n", "nobody ever leaves list \"a\" for \"b\"; give it an age"},
        {"[gang]\nlists = a:1:1min\n", "nobody leaves \"a\", the last list; remove its age"},
        {"[gang]\nlists = a:1:1min a:2\n", "there are two lists \"a\"; rename one"},
        {"[gang]\nlists = a:1:2min b:2:1min c:2\n",
         "that of list \"b\" must be above that of \"a\""},
        {"[gang]\nlists = a:4:1min b:6\n", "the length 6 of list \"b\" must be a multiple of 4"},
        {"[gang]\nlists = a:1:1s b:1:2s c:1:3s d:1:4s e:1\n", "\"e:1\" is one list too many"},
        {"[scheduler]\npolicy = gang\n[timer]\nalign = no\n",
         "x.ini:4: policy gang counts its slots by the wall clock; set [timer] align = yes"},
        {"[sequential]\ngroups = /user.slice\n",
         "x.ini:2: [sequential] groups: \"/user.slice\" must be relative"},
        {"[sequential]\ngroups = user.slice a/../b\n", "\"a/../b\" must be relative"},
        {"[sequential]\ngroups = user.slice,.\n", "\".\" must be relative"},
        {"[sequential]\ngroups = lab\n[cgroup]\nroot = lab/node0\n",
         "x.ini:2: [sequential] groups: \"lab\" is [cgroup] root, above"},
        {"[sequential]\ngroups = cosched\n", "\"cosched\" is [cgroup] root"},
        {"[sequential]\ngroups = a, cosched/job-0-a\n", "\"cosched/job-0-a\" is [cgroup] root"},
        {"[sequential]\ngroups = a/b c a\n",
         "x.ini:2: [sequential] groups: \"a/b\" and \"a\" are one group"},
        {"[sequential]\nshare = 3%\n", "share: 3% is out of range; use 5% to 90%; or use fair"},
        {"[sequential]\nshare = unfair\n", "x.ini:2: [sequential] share: \"unfair\""},
        {"[sequential]\ninteractive_share = 50%\n", "interactive_share: 50% is out of range"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct config config;
        struct error err = {0};
        assert_int_equal(load(bad[i].text, &config, &err), -1);
        if (strstr(err.text, bad[i].part) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", bad[i].part, err.text);
        assert_null(strchr(err.text, '\n'));
    }
}

static void a_group_below_a_unit_is_no_unit(void **state)
{
    static const char *const roots[] = {"cosched-classd.service/jobs", "a.slice/b", "slice",
                                        "a.slices", "lab.service.d/node0"};
    (void)state;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        struct config config;
        char text[96];
        snprintf(text, sizeof text, "[cgroup]\nroot = %s\n", roots[i]);
        assert_int_equal(load(text, &config, NULL), 0);
    }
}

static void groups_are_listed_one_by_one(void **state)
{
    struct config config;
    char group[16];
    (void)state;
    assert_int_equal(load("", &config, NULL), 0);
    const char *at = config.sequential_groups;
    assert_false(group_list_next(&at, group, sizeof group));
    assert_int_equal(config.interactive_share_ppm, 50000);
    assert_int_equal(load("[sequential]\ngroups = a/b,c , a/bc  dd\n", &config, NULL), 0);
    at = config.sequential_groups;
    const char *const expected[] = {"a/b", "c", "a/bc", "dd"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(group_list_next(&at, group, sizeof group));
        assert_string_equal(group, expected[i]);
    }
    assert_false(group_list_next(&at, group, sizeof group));
}

// The parser cuts long lines: the end of one must not be taken for a key of its own.
static void the_end_of_a_long_line_is_no_line(void **state)
{
    struct config config;
    struct error err = {0};
    char text[400];
    (void)state;
    snprintf(text, sizeof text, "[scheduler]\n%199s\n", "gmet = 1s");
    assert_int_equal(load(text, &config, &err), -1);
    assert_non_null(strstr(err.text, "x.ini:2: the line is longer than"));
    snprintf(text, sizeof text, "[scheduler]\n;%210s\n", "gmet = 1s");
    assert_int_equal(load(text, &config, &err), -1);
    assert_non_null(strstr(err.text, "x.ini:2: the line is longer than"));
    snprintf(text, sizeof text, "[scheduler]\n;%190s\n", "gmet = 1s");
    assert_int_equal(load(text, &config, NULL), 0);
}

static int load_bytes(const char *bytes, size_t size, struct config *config, struct error *err)
{
    FILE *stream = fmemopen((void *)(uintptr_t)bytes, size, "r");
    assert_non_null(stream);
    int rc = config_load_stream(stream, "x.ini", config, err);
    fclose(stream);
    return rc;
}

// Nor is anything behind a NUL, in the last line either.
static void what_is_no_text_is_refused(void **state)
{
    static const char first[] = "[scheduler]\ngmet = 1s\0junk\n", last[] = "[scheduler]\ngmet = 1s\0junk",
                      alone[] = "[scheduler]\ngmet = 1s\0";
    struct config config;
    struct error err = {0};
    (void)state;
    assert_int_equal(load_bytes(first, sizeof first - 1, &config, &err), -1);
    assert_non_null(strstr(err.text, "x.ini:2: the line is longer than"));
    assert_int_equal(load_bytes(last, sizeof last - 1, &config, &err), -1);
    assert_non_null(strstr(err.text, "or no text"));
    assert_int_equal(load_bytes(alone, sizeof alone - 1, &config, &err), -1);
    assert_int_equal(load_bytes(last, strlen(last), &config, NULL), 0);
}

static void a_byte_order_mark_hides_nothing(void **state)
{
    struct config config;
    struct error err = {0};
    (void)state;
    assert_int_equal(load("\xEF\xBB\xBF[scheduler]\ntime_slice = 1s\n", &config, NULL), 0);
    assert_int_equal(config.time_slice_ns, NS_PER_SEC);
    assert_int_equal(load("\xEF\xBB\xBF[scheduler] time_slice = 1s\n", &config, &err), -1);
    assert_non_null(strstr(err.text, "x.ini:1: there is more behind the section's name"));
}

static void indented_lines_are_lines(void **state)
{
    struct config config;
    struct error err;
    (void)state;
    assert_int_equal(
        load("[scheduler]\n  policy = dcs\n\ttime_slice = 5s\n  [dcs]\n  quantum = 30ms\n", &config,
             &err),
        0);
    assert_string_equal(config.policy, "dcs");
    assert_true(config.time_slice_ns == 5 * NS_PER_SEC);
    assert_true(config.dcs_quantum_ns == 30 * NS_PER_MS);
    assert_int_equal(load("[scheduler]\n  policy = dcs\n  rubbish\n", &config, &err), -1);
    assert_non_null(strstr(err.text, "x.ini:3: "));
}

static void salvage(const void *text, size_t size, struct config *config)
{
    char path[] = "/tmp/cosched-test-file-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
    config_salvage(path, config);
    unlink(path);
}

static void a_broken_configuration_keeps_what_makes_sense(void **state)
{
    static const char text[] = "no sense\n[cgroup]\nperiod = soon\nroot = lab/node0\n[nowhere]\n"
                               "a = b\n[scheduler]\ngmet = 1h\n[cgroup";
    struct config config;
    (void)state;
    salvage(text, strlen(text), &config);
    assert_string_equal(config.cgroup_root, "lab/node0");
    assert_int_equal(config.period_ns, 100 * NS_PER_MS);
    assert_int_equal(config.gmet_ns, 3600 * NS_PER_SEC);
    config_salvage("/nonexistent/cosched.ini", &config);
    assert_string_equal(config.cgroup_root, "cosched");
}

// Whoever lifts limits would look for them in another place.
static void what_is_no_line_of_text_is_left_out_alone(void **state)
{
    struct config config;
    char text[700];
    (void)state;
    for (int width = 190; width < 610; width++) {
        int size = snprintf(text, sizeof text, "[cgroup]\n;%*s\nroot = lab/node0\n", width,
                            "root = other");
        salvage(text, (size_t)size, &config);
        assert_string_equal(config.cgroup_root, "lab/node0");
    }
    static const char zero[] = "[cgroup]\n\0\nroot = lab/node1\nperiod\0 = 1ms\nplacement = move";
    salvage(zero, sizeof zero - 1, &config);
    assert_string_equal(config.cgroup_root, "lab/node1");
    assert_string_equal(config.placement, "move");
}

static void the_printed_configuration_is_a_configuration(void **state)
{
    struct config config, again;
    char *text = NULL;
    size_t size = 0;
    (void)state;
    assert_int_equal(load("[scheduler]\ntime_slice = 1500ms\ngmet = 0s\n[daemon]\nmax_jobs = 7\n"
                          "[sequential]\ngroups = a b/c\nshare = 12.5%\n"
                          "[gang]\nlists = a:1:10min b:2:1h c:6\nservants = 3\n"
                          "[dcs]\nexponent = -3\nconstant = 100ms\n",
                          &config, NULL),
                     0);
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    config_print(&config, stream);
    fclose(stream);
    struct error err = {0};
    int rc = load(text, &again, &err);
    if (rc != 0)
        fail_msg("%s", err.text);
    assert_memory_equal(&config, &again, sizeof config);
    free(text);
}

// Else who edits the slice in the file that was installed would keep the GMET of another one.
static void gmet_follows_the_slice_in_a_printed_configuration(void **state)
{
    struct config config;
    char *text = NULL;
    size_t size = 0;
    (void)state;
    config_defaults(&config);
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    config_print(&config, stream);
    fclose(stream);
    assert_non_null(strstr(text, "\n; gmet = 1s\n"));
    char *slice = strstr(text, "\ntime_slice = 15s");
    assert_non_null(slice);
    memcpy(slice, "\ntime_slice = 60s", strlen("\ntime_slice = 60s"));
    assert_int_equal(load(text, &config, NULL), 0);
    assert_int_equal(config.gmet_ns, 4 * NS_PER_SEC);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_overrule_defaults),
        cmocka_unit_test(comments_stand_behind_values_too),
        cmocka_unit_test(dynamic_coscheduling_is_configured),
        cmocka_unit_test(config_of_gang),
        cmocka_unit_test(a_slice_alone_says_how_long_a_job_keeps_it),
        cmocka_unit_test(lists_of_gang),
        cmocka_unit_test(config_errors_name_file_and_line),
        cmocka_unit_test(a_group_below_a_unit_is_no_unit),
        cmocka_unit_test(groups_are_listed_one_by_one),
        cmocka_unit_test(the_end_of_a_long_line_is_no_line),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(a_byte_order_mark_hides_nothing),
        cmocka_unit_test(indented_lines_are_lines),
        cmocka_unit_test(a_broken_configuration_keeps_what_makes_sense),
        cmocka_unit_test(what_is_no_line_of_text_is_left_out_alone),
        cmocka_unit_test(the_printed_configuration_is_a_configuration),
        cmocka_unit_test(gmet_follows_the_slice_in_a_printed_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
