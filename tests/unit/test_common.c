// common/: units, the configuration and its messages, the doors of the protocol, the status page,
// and the client's waits.
#include "common/client.h"
#include "common/config.h"
#include "common/gang_lists.h"
#include "common/group_list.h"
#include "common/protocol.h"
#include "common/status_page.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// ---- units

static void errors_are_one_printable_line(void **state)
{
    struct error err;
    (void)state;
    assert_int_equal(error_set(&err, EBUSY, "process \"%s\" is here", "\x1b[2J\n\x7fJ\xc3\xbc"),
                     -1);
    assert_string_equal(err.text, "process \"?[2J??J\xc3\xbc\" is here");
    error_context(&err, "%s", "a\tb");
    assert_string_equal(err.text, "a?b: process \"?[2J??J\xc3\xbc\" is here");
    error_errno(&err, ENOENT, "%s", "\r");
    assert_string_equal(err.text, "?: No such file or directory");
    assert_int_equal(err.code, ENOENT);
}

static void durations_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"15s", 15 * NS_PER_SEC},
        {"500ms", 500 * NS_PER_MS},
        {"250us", 250 * NS_PER_US},
        {"2min", 120 * NS_PER_SEC},
        {"1h", 3600 * NS_PER_SEC},
        {"1.5s", 1500 * NS_PER_MS},
        {"0.001us", 1},
        {"0s", 0},
        {"0.000000001s", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t ns = 99;
        assert_int_equal(units_parse_duration(good[i].text, &ns, NULL), 0);
        assert_int_equal(ns, good[i].ns);
    }
}

static void bad_durations_name_the_remedy(void **state)
{
    static const char *const bad[] = {
        "",         "5",   "s",     "5 parsecs", "-1s",
        "1e3s",     "1.s", "0x10s", "5ss",       "1..5s",
        "0.0001ns", "inf", "5S",    "1,5s",      "99999999999999999999s"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ns;
        struct error err = {0};
        assert_int_equal(units_parse_duration(bad[i], &ns, &err), -1);
        assert_int_equal(err.code, EINVAL);
        assert_non_null(strstr(err.text, "15s"));
    }
}

static void shares_are_parts_per_million(void **state)
{
    uint32_t ppm;
    (void)state;
    assert_int_equal(units_parse_share("1%", &ppm, NULL), 0);
    assert_int_equal(ppm, 10000);
    assert_int_equal(units_parse_share("0.5%", &ppm, NULL), 0);
    assert_int_equal(ppm, 5000);
    assert_int_equal(units_parse_share("1", &ppm, NULL), -1);
    assert_int_equal(units_parse_share("%", &ppm, NULL), -1);
    assert_int_equal(units_parse_share("-1%", &ppm, NULL), -1);
}

static void formatted_durations_read_back(void **state)
{
    static const uint64_t values[] = {0,
                                      1,
                                      999,
                                      1500 * NS_PER_MS,
                                      15 * NS_PER_SEC,
                                      60 * NS_PER_SEC,
                                      3600 * NS_PER_SEC,
                                      90 * NS_PER_SEC,
                                      NS_PER_SEC + 1,
                                      123456789012345};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[40];
        uint64_t back = ~values[i];
        units_format_duration(values[i], text, sizeof text);
        assert_int_equal(units_parse_duration(text, &back, NULL), 0);
        assert_int_equal(back, values[i]);
    }
}

// ---- configuration

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
    assert_int_equal(load("; a comment\n[scheduler]\ntime_slice = 2s\ngmet=500ms\n[timer]\n"
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
        {"[cgroup]\nroot = a\x1b[2J\n", "control character"},
        {"[daemon]\nruntime_dir =\n", "x.ini:2: [daemon] runtime_dir: the value is empty"},
        {"[scheduler]\nrubbish\n", "x.ini:2: not a section"},
        {"[scheduler]\ngmet = 20s\n", "gmet is longer than time_slice"},
        {"[daemon]\nruntime_dir = run\n", "must be an absolute path"},
        {"[cgroup]\nroot = ../etc\n", "must be relative"},
        {"[cgroup]\nroot = /cosched\n", "must be relative"},
        {"[cgroup]\nroot = cosched/\n", "empty parts"},
        {"[cgroup]\nroot = a//b\n", "empty parts"},
        {"[cgroup]\nroot = .\n", "empty parts"},
        {"[dcs]\nexponent = -17\n", "x.ini:2: [dcs] exponent: -17 is out of range; use -16 to 16"},
        {"[dcs]\nexponent = 17\n", "17 is out of range"},
        {"[dcs]\nexponent = 0.5\n", "x.ini:2: [dcs] exponent: \"0.5\" is not a whole number"},
        {"[dcs]\nexponent = --1\n", "\"--1\" is not a whole number"},
        {"[dcs]\nexponent = -\n", "\"-\" is not a whole number"},
        {"[dcs]\nexponent = 9223372036854775808\n", "is not a whole number"},
        {"[dcs]\nconstant = 100\n", "x.ini:2: [dcs] constant: \"100\" is not a duration"},
        {"[dcs]\nconstant = -1ms\n", "x.ini:2: [dcs] constant: \"-1ms\" is not a duration"},
        {"[dcs]\nquantum = 999us\n", "x.ini:2: [dcs] quantum: 999us is out of range; use 1ms"},
        {"[dcs]\ncalibrate = 1\n", "x.ini:2: [dcs] calibrate: \"1\" is neither yes nor no"},
        {"[scheduler]\npolicy = dcs\ntime_slice = 100ms\n[dcs]\nquantum = 101ms\n",
         "quantum is longer than time_slice"},
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
        {"[scheduler]\npolicy = gang\n[timer]\nalign = no\n", "set [timer] align = yes"},
        {"[sequential]\ngroups = /user.slice\n", "\"/user.slice\" must be relative"},
        {"[sequential]\ngroups = user.slice a/../b\n", "\"a/../b\" must be relative"},
        {"[sequential]\ngroups = user.slice,.\n", "\".\" must be relative"},
        {"[sequential]\ngroups = lab\n[cgroup]\nroot = lab/node0\n",
         "\"lab\" is [cgroup] root, above"},
        {"[sequential]\ngroups = cosched\n", "\"cosched\" is [cgroup] root"},
        {"[sequential]\ngroups = a, cosched/job-0-a\n", "\"cosched/job-0-a\" is [cgroup] root"},
        {"[sequential]\ngroups = a/b c a\n", "\"a/b\" and \"a\" are one group"},
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

static void a_broken_configuration_keeps_what_makes_sense(void **state)
{
    char path[] = "/tmp/cosched-test-file-XXXXXX";
    static const char text[] = "no sense\n[cgroup]\nperiod = soon\nroot = lab/node0\n[nowhere]\n"
                               "a = b\n[scheduler]\ngmet = 1h\n[cgroup";
    struct config config;
    (void)state;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    config_salvage(path, &config);
    unlink(path);
    assert_string_equal(config.cgroup_root, "lab/node0");
    assert_int_equal(config.period_ns, 100 * NS_PER_MS);
    assert_int_equal(config.gmet_ns, 3600 * NS_PER_SEC);
    config_salvage(path, &config);
    assert_string_equal(config.cgroup_root, "cosched");
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

// ---- protocol

static struct protocol_request good_register(void)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_REGISTER, 7);
    strcpy(request.register_.job_id, "job.1-a_B");
    request.register_.width = 1;
    request.register_.rank = 3;
    request.register_.ranks = 4;
    return request;
}

static int check(const struct protocol_request *request, size_t length)
{
    struct protocol_request out;
    struct error err = {0};
    return protocol_check_request(request, length, &out, &err) == 0 ? 0 : err.code;
}

static void good_requests_pass(void **state)
{
    struct protocol_request request = good_register(), out;
    // Nothing may be assumed about the alignment of what was received.
    char shifted[sizeof request + 1];
    (void)state;
    memcpy(shifted + 1, &request, sizeof request);
    assert_int_equal(protocol_check_request(shifted + 1, sizeof request, &out, NULL), 0);
    assert_memory_equal(&request, &out, sizeof out);
    for (int command = PROTOCOL_EXIT; command <= PROTOCOL_SHUTDOWN; command++) {
        request = protocol_request_new((enum protocol_command)command, 1);
        assert_int_equal(check(&request, sizeof request), 0);
    }
}

static void requests_of_the_wrong_form_are_refused(void **state)
{
    struct protocol_request request = good_register();
    (void)state;
    for (size_t length = 0; length < sizeof request; length++)
        assert_int_equal(check(&request, length), EPROTO);
    request.header.magic ^= 1;
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request = protocol_request_new(PROTOCOL_RESUME, 1);
    strcpy(request.target.job_id, "a");
    assert_int_equal(check(&request, sizeof request), 0);
    request.target.subtree = 1;
    assert_int_equal(check(&request, sizeof request), EPROTO);
}

// A later client's, which is to be answered.
static void unknown_commands_are_told_from_rubbish(void **state)
{
    struct protocol_request request = good_register(), out;
    struct error err = {0};
    (void)state;
    request.header.command = 0;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request.header.command = PROTOCOL_CLOCK + 1;
    assert_int_equal(protocol_check_request(&request, sizeof request, &out, &err), -1);
    assert_int_equal(err.code, EOPNOTSUPP);
    assert_int_equal(out.header.command, PROTOCOL_CLOCK + 1);
    assert_int_equal(out.header.sequence, 7);
    request = protocol_request_new(PROTOCOL_QUERY, 1);
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request.query.kind = PROTOCOL_QUERY_TRACE_JOB + 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
}

static struct protocol_request good_request(enum protocol_command command)
{
    struct protocol_request request = protocol_request_new(command, 1);
    if (command == PROTOCOL_REGISTER)
        return good_register();
    if (command == PROTOCOL_QUERY)
        request.query.kind = PROTOCOL_QUERY_NODE;
    if (command >= PROTOCOL_SUSPEND && command <= PROTOCOL_KILL)
        strcpy(request.target.job_id, "a");
    if (command == PROTOCOL_CLOCK)
        request.clock.nodes = 2;
    return request;
}

static void unknown_fields_are_refused(void **state)
{
    struct protocol_request request;
    (void)state;
    for (enum protocol_command command = PROTOCOL_REGISTER; command <= PROTOCOL_CLOCK; command++) {
        request = good_request(command);
        assert_int_equal(check(&request, sizeof request), 0);
        request.bytes[sizeof request.bytes - 1] = 1;
        assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
        request = good_request(command);
        request.header.status = 1;
        assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    }
    request = good_request(PROTOCOL_REGISTER);
    request.register_.reserved = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request = good_request(PROTOCOL_SUSPEND);
    request.target.reserved = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request = good_request(PROTOCOL_CLAIM);
    request.claim.reserved = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
    request = good_request(PROTOCOL_SCHEDULE);
    request.bytes[0] = 1;
    assert_int_equal(check(&request, sizeof request), EOPNOTSUPP);
}

static void claims_of_impossible_slots_are_refused(void **state)
{
    struct protocol_claim good = {.slots = SLOTS_ALL, .term = 15, .due = 60, .final = 1};
    struct protocol_claim bad[] = {good, good, good, good};
    (void)state;
    bad[0].slots = UINT64_C(1) << 60;
    bad[1].term = 16;
    bad[2].due = 61;
    bad[3].final = 2;
    for (int command = PROTOCOL_CLAIM; command <= PROTOCOL_NARROW; command++) {
        struct protocol_request request = protocol_request_new((enum protocol_command)command, 1);
        request.claim = good;
        assert_int_equal(check(&request, sizeof request), 0);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            request.claim = bad[i];
            assert_int_equal(check(&request, sizeof request), EPROTO);
        }
    }
}

static void clocks_that_cannot_be_are_refused(void **state)
{
    struct protocol_clock good = {.ahead_ns = -1, .nodes = 2, .agreeing = 2};
    struct protocol_clock bad[] = {good, good, good, good};
    struct protocol_request request = protocol_request_new(PROTOCOL_CLOCK, 1);
    (void)state;
    bad[0].ahead_ns = INT64_MIN; // has no opposite
    bad[1].nodes = 1;
    bad[2].nodes = PROTOCOL_CLOCK_NODES_MAX + 1;
    bad[3].agreeing = 3;
    request.clock = good;
    assert_int_equal(check(&request, sizeof request), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        request.clock = bad[i];
        assert_int_equal(check(&request, sizeof request), EPROTO);
    }
}

static void another_version_is_told_apart(void **state)
{
    struct protocol_request request = good_register(), out;
    struct error err;
    (void)state;
    request.header.version++;
    // A future request may be longer; the header is what both sides know.
    assert_int_equal(protocol_check_request(&request, sizeof request.header, &out, &err), -1);
    assert_int_equal(err.code, EPROTONOSUPPORT);
    assert_int_equal(out.header.sequence, 7);
}

static void registers_with_impossible_values_are_refused(void **state)
{
    static const char *const bad_ids[] = {"", ".", ".a", "a/b", "a b", "a\nb", "\xff"};
    struct protocol_request request;
    (void)state;
    for (size_t i = 0; i < sizeof bad_ids / sizeof *bad_ids; i++) {
        request = good_register();
        strcpy(request.register_.job_id, bad_ids[i]);
        assert_int_equal(check(&request, sizeof request), EPROTO);
    }
    request = good_register();
    memset(request.register_.job_id, 'a', sizeof request.register_.job_id);
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    strcpy(request.register_.list, "long");
    assert_int_equal(check(&request, sizeof request), 0);
    strcpy(request.register_.list, "a b");
    assert_int_equal(check(&request, sizeof request), EPROTO);
    memset(request.register_.list, 'a', sizeof request.register_.list);
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request.register_.width = 0;
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request.register_.rank = request.register_.ranks;
    assert_int_equal(check(&request, sizeof request), EPROTO);
    request = good_register();
    request.register_.ranks = INT_MAX; // what MPI_Comm_size() can say
    assert_int_equal(check(&request, sizeof request), 0);
    request.register_.ranks++;
    assert_int_equal(check(&request, sizeof request), EPROTO);
}

// ---- status page

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

// ---- client

struct pair {
    int client;
    int server;
};

static struct pair pair_open(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){fds[0], fds[1]};
}

static void pair_close(struct pair pair)
{
    close(pair.client);
    close(pair.server);
}

static void answer(int server, const struct protocol_request *request, int status)
{
    struct protocol_reply reply = protocol_reply_new(request, status);
    assert_int_equal(send(server, &reply, sizeof reply, 0), sizeof reply);
}

static void late_replies_are_dropped(void **state)
{
    struct protocol_request old = protocol_request_new(PROTOCOL_SWITCH, UINT32_MAX);
    struct protocol_request new = protocol_request_new(PROTOCOL_SWITCH, 1); // wrapped around
    struct protocol_reply reply;
    struct pair pair = pair_open();
    (void)state;
    answer(pair.server, &old, 0);
    answer(pair.server, &new, 0);
    assert_int_equal(client_transact(pair.client, &new, &reply, NULL, 10000, NULL), 0);
    assert_int_equal(reply.header.sequence, 1);
    pair_close(pair);
}

static void say_turn(int server, uint32_t sequence)
{
    struct protocol_request unasked = protocol_request_new(PROTOCOL_TURN, sequence);
    answer(server, &unasked, 0);
}

static void what_is_said_unasked_is_no_answer(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 7);
    struct protocol_reply reply;
    struct pair pair = pair_open();
    char byte;
    (void)state;
    say_turn(pair.server, 0);
    say_turn(pair.server, 7);
    answer(pair.server, &request, 0);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, NULL), 0);
    assert_int_equal(reply.header.command, PROTOCOL_SWITCH);
    assert_int_equal(client_discard(pair.client), 0);
    say_turn(pair.server, 0);
    answer(pair.server, &request, 0); // too late
    assert_int_equal(client_discard(pair.client), 0);
    assert_int_equal(recv(pair.client, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    close(pair.server);
    assert_int_equal(client_discard(pair.client), -1);
    close(pair.client);
}

static void a_silent_server_is_not_waited_for(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 1);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    (void)state;
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    while (client_send(pair.client, &request, &err) == 0)
        continue;
    assert_int_equal(err.code, EAGAIN);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    pair_close(pair);
}

static void refusals_are_told_from_faults(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 1);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    (void)state;
    answer(pair.server, &request, EPERM);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_int_equal(err.code, EPERM);
    assert_int_equal(reply.header.status, EPERM);

    struct protocol_request other = protocol_request_new(PROTOCOL_EXIT, 1);
    answer(pair.server, &other, EPERM);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_int_equal(err.code, EPROTO);
    assert_int_equal(reply.header.status, 0);

    close(pair.server);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_true(err.code == ECONNRESET || err.code == EPIPE);
    close(pair.client);
}

static int check_answer(const struct protocol_request *request, const struct protocol_reply *reply)
{
    struct protocol_reply out;
    struct error err = {0};
    return protocol_check_reply(reply, sizeof *reply, request, &out, &err) == 0 ? 0 : err.code;
}

static struct protocol_reply good_node(const struct protocol_request *request)
{
    struct protocol_reply reply = protocol_reply_new(request, 0);
    reply.node.time_slice_ns = 15 * NS_PER_SEC;
    strcpy(reply.node.policy, "yoo-jette");
    return reply;
}

static void nodes_that_cannot_be_are_refused(void **state)
{
    static const uint64_t slices_ns[] = {0, 100 * NS_PER_MS - 1, 3600 * NS_PER_SEC + 1, UINT64_MAX};
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    request.query.kind = PROTOCOL_QUERY_NODE;
    struct protocol_reply reply = good_node(&request);
    (void)state;
    assert_int_equal(check_answer(&request, &reply), 0);
    for (size_t i = 0; i < sizeof slices_ns / sizeof *slices_ns; i++) {
        reply.node.time_slice_ns = slices_ns[i];
        assert_int_equal(check_answer(&request, &reply), EPROTO);
    }
    reply = good_node(&request);
    memset(reply.node.version, 'a', sizeof reply.node.version);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    memset(reply.node.policy, 'a', sizeof reply.node.policy);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    memset(reply.node.backend, 'a', sizeof reply.node.backend);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    reply.node.idle_share_ppm = SHARE_WHOLE_PPM + 1;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = good_node(&request);
    reply.bytes[sizeof reply.bytes - 1] = 1; // of a later classd
    assert_int_equal(check_answer(&request, &reply), 0);
}

static void jobs_that_cannot_be_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    request.query.kind = PROTOCOL_QUERY_JOB;
    struct protocol_reply good = protocol_reply_new(&request, 0);
    strcpy(good.job.job_id, "a");
    struct protocol_reply bad[] = {good, good, good, good, good, good};
    (void)state;
    assert_int_equal(check_answer(&request, &good), 0);
    memset(bad[0].job.job_id, 'a', sizeof bad[0].job.job_id);
    strcpy(bad[1].job.job_id, "\033[2J");
    bad[2].job.scheduled = 2;
    bad[3].job.limited = 2;
    bad[4].job.share_ppm = SHARE_WHOLE_PPM + 1;
    bad[5].job.suspended = PROTOCOL_MEANS_SIGNALS + 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(check_answer(&request, &bad[i]), EPROTO);
    bad[0].header.status = ENOENT; // behind the last one: no record
    assert_int_equal(check_answer(&request, &bad[0]), ENOENT);
}

static void recordings_that_cannot_be_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    struct protocol_reply reply = protocol_reply_new(&request, 0);
    (void)state;
    request.query.kind = PROTOCOL_QUERY_TRACE;
    reply.events.count = PROTOCOL_EVENTS_MAX;
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.events.count++;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    request.query.kind = PROTOCOL_QUERY_TRACE_JOB;
    reply = protocol_reply_new(&request, 0);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    strcpy(reply.event_job.job_id, "a");
    assert_int_equal(check_answer(&request, &reply), 0);
}

static void slices_that_cannot_be_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_SWITCH, 1);
    struct protocol_reply reply = protocol_reply_new(&request, 0);
    (void)state;
    assert_int_equal(check_answer(&request, &reply), 0); // nothing is said
    reply.switched.time_slice_ns = 100 * NS_PER_MS;
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.switched.time_slice_ns--;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply.switched.time_slice_ns = 3600 * NS_PER_SEC;
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.switched.time_slice_ns++;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply.switched = (struct protocol_switched){.align = 2};
    assert_int_equal(check_answer(&request, &reply), EPROTO);
}

static void texts_without_an_end_are_refused(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_RELOAD, 1);
    struct protocol_reply reply = protocol_reply_new(&request, EINVAL);
    (void)state;
    assert_int_equal(check_answer(&request, &reply), EINVAL);
    memset(reply.text, 'a', sizeof reply.text);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    request = good_request(PROTOCOL_KILL);
    reply = protocol_reply_new(&request, 0);
    assert_int_equal(check_answer(&request, &reply), 0);
    reply.tracked.means = PROTOCOL_MEANS_SIGNALS + 1;
    assert_int_equal(check_answer(&request, &reply), EPROTO);
    reply = protocol_reply_new(&request, ESRCH);
    memset(reply.tracked.text, 'a', sizeof reply.tracked.text);
    assert_int_equal(check_answer(&request, &reply), EPROTO);
}

static void an_old_server_is_said_plainly(void **state)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_TRACE, 1);
    struct protocol_reply reply;
    struct error err;
    struct pair pair = pair_open();
    (void)state;
    answer(pair.server, &request, EOPNOTSUPP);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_int_equal(err.code, EOPNOTSUPP);
    assert_non_null(strstr(err.text, "does not know this command: restart classd"));
    assert_int_equal(reply.header.status, EOPNOTSUPP);

    // Its own word, in a reply that says more, and of a command that depends on the policy.
    request = good_request(PROTOCOL_SUSPEND);
    reply = protocol_reply_new(&request, EOPNOTSUPP);
    strcpy(reply.tracked.text, "there is no freezer here");
    assert_int_equal(send(pair.server, &reply, sizeof reply, 0), sizeof reply);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_null(strstr(err.text, "restart"));
    assert_string_equal(reply.tracked.text, "there is no freezer here");
    request = protocol_request_new(PROTOCOL_OFFER, 1);
    answer(pair.server, &request, EOPNOTSUPP);
    assert_int_equal(client_transact(pair.client, &request, &reply, NULL, 10000, &err), -1);
    assert_null(strstr(err.text, "restart"));
    pair_close(pair);
}

static void no_server_is_said_plainly(void **state)
{
    struct error err;
    char name[200];
    (void)state;
    assert_int_equal(client_connect("/nonexistent", &err), -1);
    assert_int_equal(err.code, ENOENT);
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(client_connect(name, &err), -1);
    assert_int_equal(err.code, ENAMETOOLONG);
}

// A classd's socket below a directory of its own; as few may wait in line as can be.
static int listen_below(char *dir, char path[108])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(dir));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" PROTOCOL_SOCKET_NAME, dir);
    snprintf(path, 108, "%s", address.sun_path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 0), 0);
    return listener;
}

static void who_waits_in_line_gets_a_connection(void **state)
{
    char dir[] = "/tmp/cosched-test-XXXXXX", path[108];
    struct error err;
    int listener = listen_below(dir, path);
    (void)state;
    int first = client_connect(dir, NULL);
    assert_true(first >= 0);
    assert_int_equal(client_connect(dir, &err), -1);
    assert_int_equal(err.code, EAGAIN);
    assert_int_equal(client_connect_within(dir, 20, &err), -1);
    assert_int_equal(err.code, ETIMEDOUT);
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        _exit(accept(listener, NULL, NULL) < 0);
    }
    int second = client_connect_within(dir, 60000, NULL);
    assert_true(second >= 0);
    assert_true(fcntl(second, F_GETFL) & O_NONBLOCK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(first);
    close(second);
    close(listener);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_one_printable_line),
        cmocka_unit_test(durations_are_read_exactly),
        cmocka_unit_test(bad_durations_name_the_remedy),
        cmocka_unit_test(shares_are_parts_per_million),
        cmocka_unit_test(formatted_durations_read_back),
        cmocka_unit_test(keys_overrule_defaults),
        cmocka_unit_test(dynamic_coscheduling_is_configured),
        cmocka_unit_test(config_of_gang),
        cmocka_unit_test(lists_of_gang),
        cmocka_unit_test(config_errors_name_file_and_line),
        cmocka_unit_test(groups_are_listed_one_by_one),
        cmocka_unit_test(the_end_of_a_long_line_is_no_line),
        cmocka_unit_test(indented_lines_are_lines),
        cmocka_unit_test(a_broken_configuration_keeps_what_makes_sense),
        cmocka_unit_test(the_printed_configuration_is_a_configuration),
        cmocka_unit_test(good_requests_pass),
        cmocka_unit_test(requests_of_the_wrong_form_are_refused),
        cmocka_unit_test(unknown_commands_are_told_from_rubbish),
        cmocka_unit_test(unknown_fields_are_refused),
        cmocka_unit_test(claims_of_impossible_slots_are_refused),
        cmocka_unit_test(clocks_that_cannot_be_are_refused),
        cmocka_unit_test(another_version_is_told_apart),
        cmocka_unit_test(registers_with_impossible_values_are_refused),
        cmocka_unit_test(a_page_is_what_clients_map),
        cmocka_unit_test(a_page_without_room_leaves_no_file),
        cmocka_unit_test(short_files_are_not_mapped),
        cmocka_unit_test(late_replies_are_dropped),
        cmocka_unit_test(what_is_said_unasked_is_no_answer),
        cmocka_unit_test(a_silent_server_is_not_waited_for),
        cmocka_unit_test(refusals_are_told_from_faults),
        cmocka_unit_test(nodes_that_cannot_be_are_refused),
        cmocka_unit_test(jobs_that_cannot_be_are_refused),
        cmocka_unit_test(recordings_that_cannot_be_are_refused),
        cmocka_unit_test(slices_that_cannot_be_are_refused),
        cmocka_unit_test(texts_without_an_end_are_refused),
        cmocka_unit_test(an_old_server_is_said_plainly),
        cmocka_unit_test(no_server_is_said_plainly),
        cmocka_unit_test(who_waits_in_line_gets_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
