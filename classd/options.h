// The command line of classd.
#ifndef COSCHED_CLASSD_OPTIONS_H
#define COSCHED_CLASSD_OPTIONS_H

#include <stdbool.h>

enum mode {
    MODE_SERVE,
    MODE_CHECK_CONFIG,
    MODE_PRINT_CONFIG,
    MODE_PRINT_MANUAL,
    MODE_RELEASE,
    MODE_VERSION,
    MODE_HELP,
};

struct options {
    enum mode mode;
    const char *config_file;
    bool config_given; // else the default file, which may be missing
};

// Returns 0, or -1 after a line on stderr that says what was wrong.
int options_parse(int argc, char **argv, struct options *options);

void options_print_help(void);

#endif
