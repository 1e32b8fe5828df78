#include "classd/log.h"

#include "common/units.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024, VALVE_LINES_PER_MINUTE = 20 };

static struct {
    const char *program;
    int level;
    bool journal;
} state = {.level = LOG_INFO};

static int priority_named(const char *name)
{
    static const struct {
        const char *name;
        int priority;
    } known[] = {
        {"err", LOG_ERR},   {"warning", LOG_WARNING}, {"notice", LOG_NOTICE},
        {"info", LOG_INFO}, {"debug", LOG_DEBUG},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0)
            return known[i].priority;
    }
    return LOG_INFO;
}

void log_set_level(const char *level)
{
    state.level = priority_named(level);
}

// As systemd.exec(5) says: the variable names the stream by device and inode, and is inherited by
// those whose standard error is another.
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    char name[48];
    if (stream == NULL || fstat(fd, &status) < 0)
        return false;
    snprintf(name, sizeof name, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    return strcmp(stream, name) == 0;
}

void log_init(const char *program, const char *level)
{
    state.program = program;
    log_set_level(level);
    state.journal = is_journal(STDERR_FILENO);
}

bool log_wants(int priority)
{
    return priority <= state.level;
}

// Whoever should read may hang, or have stopped the terminal: nobody stays limited for that long.
static bool is_writable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    return poll(&poll_fd, 1, 0) == 1;
}

void log_line(int priority, const char *format, ...)
{
    if (!log_wants(priority))
        return;
    char line[LINE_MAX_BYTES];
    int used = 0;
    if (state.journal)
        used = snprintf(line, sizeof line, "<%d>", priority);
    else if (state.program != NULL)
        used = snprintf(line, sizeof line, "%s: ", state.program);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    if (length > sizeof line - 1)
        length = sizeof line - 1;
    // Names of other people's processes and groups may hold anything.
    for (size_t i = 0; i < length; i++) {
        if (line[i] < ' ' || line[i] > '~')
            line[i] = '?';
    }
    line[length] = '\n';
    // One write, so that lines of several programs do not mix. A lost line has no better place to
    // go.
    if (is_writable(STDERR_FILENO) && write(STDERR_FILENO, line, length + 1) < 0)
        return;
}

bool log_valve_open(struct log_valve *valve, uint64_t now_ns)
{
    uint64_t minute = now_ns / (60 * NS_PER_SEC);
    if (minute != valve->minute) {
        if (valve->dropped > 0)
            log_line(LOG_NOTICE, "%u further lines of the last kind were left out", valve->dropped);
        *valve = (struct log_valve){.minute = minute};
    }
    if (valve->passed < VALVE_LINES_PER_MINUTE) {
        valve->passed++;
        return true;
    }
    valve->dropped++;
    return false;
}
