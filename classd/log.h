// Lines for the journal or a terminal. The priorities are those of <syslog.h>, LOG_ERR to
// LOG_DEBUG.
//
// The level and the form are the only state that a daemon keeps outside its objects: a line must be
// possible from everywhere.
#ifndef COSCHED_CLASSD_LOG_H
#define COSCHED_CLASSD_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

// Chooses the least severe priority that is logged, by its name in [daemon] log_level, and the
// form:
// "<6>text" where stderr is the journal, "program: text" elsewhere. Before this call everything
// from LOG_INFO up is logged. `program` must outlive all calls.
void log_init(const char *program, const char *level);

// Another level from now on, by its name.
void log_set_level(const char *level);

// One line to stderr; `format` ends without a newline. Longer lines than 1 KiB are cut, and what is
// not printable ASCII is "?". Nobody is waited for: a line is lost where nobody takes it now.
void log_line(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

// True when lines of this priority are logged: saves the work of preparing one.
bool log_wants(int priority);

// For lines that outsiders can cause at will: true at most 20 times a minute. The first true after
// a flood has logged how many lines were left out. Start with all zero.
struct log_valve {
    uint64_t minute;
    unsigned passed;
    unsigned dropped;
};
bool log_valve_open(struct log_valve *valve, uint64_t now_ns);

#endif
