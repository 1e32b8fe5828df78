#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit duration_units[] = {
    {"h", 3600 * NS_PER_SEC}, {"min", 60 * NS_PER_SEC}, {"s", NS_PER_SEC},
    {"ms", NS_PER_MS},        {"us", NS_PER_US},        {"ns", 1},
};

enum reading { READ, NO_NUMBER, TOO_LARGE, TOO_FINE };

// Reads "12" or "12.345" exactly, scaled by `factor`. Digits that the factor cannot hold, and
// values beyond 2^63, are refused: a setting is never silently rounded.
static enum reading parse_scaled(const char *text, size_t length, uint64_t factor, uint64_t *value)
{
    const uint64_t limit = UINT64_MAX / 2;
    uint64_t whole = 0;
    size_t i = 0;
    if (length == 0 || !isdigit((unsigned char)text[0]))
        return NO_NUMBER;
    for (; i < length && isdigit((unsigned char)text[i]); i++) {
        if (whole > limit / 10 - 1)
            return TOO_LARGE;
        whole = whole * 10 + (uint64_t)(text[i] - '0');
    }
    if (factor != 0 && whole > limit / factor)
        return TOO_LARGE;
    whole *= factor;
    if (i < length) {
        if (text[i++] != '.' || i == length)
            return NO_NUMBER;
        for (; i < length; i++) {
            if (!isdigit((unsigned char)text[i]))
                return NO_NUMBER;
            if ((factor == 0 || factor % 10 != 0) && text[i] != '0')
                return TOO_FINE;
            factor /= 10;
            whole += (uint64_t)(text[i] - '0') * factor;
        }
    }
    *value = whole;
    return READ;
}

static size_t number_length(const char *text)
{
    return strspn(text, "0123456789.");
}

int units_parse_duration(const char *text, uint64_t *duration_ns, struct error *err)
{
    size_t digits = number_length(text);
    const char *unit = text + digits;
    while (*unit == ' ')
        unit++;
    for (size_t i = 0; i < sizeof duration_units / sizeof *duration_units; i++) {
        if (strcmp(unit, duration_units[i].name) != 0)
            continue;
        switch (parse_scaled(text, digits, duration_units[i].factor, duration_ns)) {
        case READ:
            return 0;
        case TOO_LARGE:
            return error_set(err, ERANGE, "\"%s\" is too long; write at most 2562047h", text);
        case TOO_FINE:
            return error_set(err, EINVAL, "\"%s\" has digits beyond the nanosecond; write fewer",
                             text);
        case NO_NUMBER:
            break;
        }
        break;
    }
    return error_set(err, EINVAL,
                     "\"%s\" is not a duration; write a number with one of the units h, min, s, "
                     "ms, us, ns, for example 15s",
                     text);
}

int units_parse_share(const char *text, uint32_t *share_ppm, struct error *err)
{
    size_t digits = number_length(text);
    const char *unit = text + digits;
    uint64_t ppm = 0;
    enum reading reading = parse_scaled(text, digits, SHARE_WHOLE_PPM / 100, &ppm);
    while (*unit == ' ')
        unit++;
    if (strcmp(unit, "%") == 0 && reading == TOO_FINE)
        return error_set(err, EINVAL, "\"%s\" has more than four decimals; write fewer", text);
    if (strcmp(unit, "%") != 0 || reading != READ || ppm > SHARE_WHOLE_PPM)
        return error_set(err, EINVAL,
                         "\"%s\" is not a share; write a percentage from 0%% to 100%%, for example "
                         "1%%",
                         text);
    *share_ppm = (uint32_t)ppm;
    return 0;
}

int units_parse_count(const char *text, uint64_t *count, struct error *err)
{
    size_t digits = strspn(text, "0123456789");
    enum reading reading = parse_scaled(text, digits, 1, count);
    if (text[digits] != '\0' || reading == NO_NUMBER)
        return error_set(err, EINVAL, "\"%s\" is not a whole number", text);
    if (reading == TOO_LARGE)
        return error_set(err, ERANGE, "\"%s\" is too large a number", text);
    return 0;
}

int units_parse_integer(const char *text, int64_t *integer, struct error *err)
{
    bool negative = text[0] == '-';
    uint64_t magnitude = 0;
    struct error fault = {0};
    if (units_parse_count(text + negative, &magnitude, &fault) < 0)
        return error_set(err, fault.code, "\"%s\" is %s", text,
                         fault.code == ERANGE ? "too large a number" : "not a whole number");
    *integer = negative ? -(int64_t)magnitude : (int64_t)magnitude; // at most half of what fits
    return 0;
}

void units_format_duration(uint64_t duration_ns, char *buffer, unsigned size)
{
    static const struct unit exact[] = {{"s", NS_PER_SEC}, {"ms", NS_PER_MS}, {"us", NS_PER_US}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (duration_ns % exact[i].factor == 0) {
            snprintf(buffer, size, "%llu%s", (unsigned long long)(duration_ns / exact[i].factor),
                     exact[i].name);
            return;
        }
    }
    snprintf(buffer, size, "%lluns", (unsigned long long)duration_ns);
}

void units_format_share(uint32_t share_ppm, char *buffer, unsigned size)
{
    unsigned whole = share_ppm / 10000, rest = share_ppm % 10000;
    char digits[8];
    if (rest == 0) {
        snprintf(buffer, size, "%u%%", whole);
        return;
    }
    snprintf(digits, sizeof digits, "%04u", rest);
    for (size_t last = 3; last > 0 && digits[last] == '0'; last--)
        digits[last] = '\0';
    snprintf(buffer, size, "%u.%s%%", whole, digits);
}
