// One error object for the whole house: filled where the fault is known, given context by callers,
// printed by main() (or by the library's single reporting place) and by nobody else.
#ifndef COSCHED_COMMON_ERROR_H
#define COSCHED_COMMON_ERROR_H

#include <stdarg.h>

#define ERROR_TEXT_MAX 512

struct error {
    int code;                  // an errno value; 0 while there is no error
    char text[ERROR_TEXT_MAX]; // one line: what, on which file or job, why, what to do about it;
                               // control characters are "?" in it
};

// Records a fault: `code` is an errno value (0 is stored as EINVAL), the text is printf-like and
// ends without a newline. A null `err` is allowed and drops the text. Always returns -1, so that
// `return error_set(...)` reads as what it is.
int error_set(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The same, with ": <strerror(code)>" appended.
int error_errno(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Puts "<context>: " in front of what is already there; the code stays. Returns -1.
int error_context(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
