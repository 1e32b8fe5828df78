// Protects what people read and write: durations and shares are exact, and an error is one line.
#include "common/error.h"
#include "common/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void errors_are_one_printable_line(void **state)
{
    struct error err;
    (void)state;
    assert_int_equal(error_set(&err, EBUSY, "process \"%s\" is here", "\x1b[2J\n\x7fJ\xc3\xbc"),
                     -1);
    assert_string_equal(err.text, "process \"?[2J??J\xc3\xbc\" is here");
    error_context(&err, "%s", "a\tb");
    assert_string_equal(err.text, "a?b: process \"?[2J??J\xc3\xbc\" is here");
    error_set(&err, EBUSY, "%s", "a\xc2\x9b[2J\xc2\x80\xc2\xa0\xc2");
    assert_string_equal(err.text, "a??[2J??\xc2\xa0\xc2");
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
    static const char *const bad[] = {"",      "5",   "s",     "5 parsecs", "-1s", "1e3s", "1.s",
                                      "0x10s", "5ss", "1..5s", "inf",       "5S",  "1,5s"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ns;
        struct error err = {0};
        assert_int_equal(units_parse_duration(bad[i], &ns, &err), -1);
        assert_int_equal(err.code, EINVAL);
        assert_non_null(strstr(err.text, "h, min, s, ms, us, ns, for example 15s"));
    }
}

static void what_cannot_be_counted_is_told_from_what_is_no_number(void **state)
{
    uint64_t value = 0;
    int64_t integer = 0;
    uint32_t ppm = 0;
    struct error err = {0};
    (void)state;
    assert_int_equal(units_parse_duration("99999999999999999999s", &value, &err), -1);
    assert_int_equal(err.code, ERANGE);
    assert_int_equal(units_parse_duration("2562047h", &value, &err), 0);
    assert_int_equal(units_parse_duration("2562048h", &value, &err), -1);
    assert_int_equal(err.code, ERANGE);
    assert_non_null(strstr(err.text, "\"2562048h\" is too long"));
    assert_int_equal(units_parse_duration("0.0001ns", &value, &err), -1);
    assert_int_equal(err.code, EINVAL);
    assert_non_null(strstr(err.text, "digits beyond the nanosecond"));
    assert_int_equal(units_parse_share("33.3333%", &ppm, &err), 0);
    assert_int_equal(units_parse_share("33.33333%", &ppm, &err), -1);
    assert_non_null(strstr(err.text, "more than four decimals"));
    assert_int_equal(units_parse_share("99999999999999999999%", &ppm, &err), -1);
    assert_non_null(strstr(err.text, "from 0% to 100%"));
    assert_int_equal(units_parse_count("99999999999999999999", &value, &err), -1);
    assert_int_equal(err.code, ERANGE);
    assert_int_equal(units_parse_integer("-99999999999999999999", &integer, &err), -1);
    assert_int_equal(err.code, ERANGE);
    assert_non_null(strstr(err.text, "\"-99999999999999999999\" is too large"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_one_printable_line),
        cmocka_unit_test(durations_are_read_exactly),
        cmocka_unit_test(bad_durations_name_the_remedy),
        cmocka_unit_test(what_cannot_be_counted_is_told_from_what_is_no_number),
        cmocka_unit_test(shares_are_parts_per_million),
        cmocka_unit_test(formatted_durations_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
