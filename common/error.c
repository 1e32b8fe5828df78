#include "common/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// U+0080 to U+009F, which move cursors as well.
static bool is_wide_control(const char *at)
{
    return (unsigned char)at[0] == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80;
}

// Texts may quote what other people chose, such as a process's name: it stays one line, and moves
// no terminal's cursor.
static int finish(struct error *err)
{
    for (char *at = err->text; *at != '\0'; at++) {
        if (is_wide_control(at))
            at[0] = at[1] = '?';
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            *at = '?';
    }
    return -1;
}

int error_set(struct error *err, int code, const char *format, ...)
{
    if (err == NULL)
        return -1;
    va_list args;
    va_start(args, format);
    err->code = code != 0 ? code : EINVAL;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return finish(err);
}

int error_errno(struct error *err, int code, const char *format, ...)
{
    if (err == NULL)
        return -1;
    va_list args;
    va_start(args, format);
    err->code = code != 0 ? code : EINVAL;
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    char buffer[128];
    if (used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s",
                 strerror_r(code, buffer, sizeof buffer));
    return finish(err);
}

int error_context(struct error *err, const char *format, ...)
{
    if (err == NULL)
        return -1;
    char inner[ERROR_TEXT_MAX];
    memcpy(inner, err->text, sizeof inner);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", inner);
    return finish(err);
}
