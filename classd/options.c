#include "classd/options.h"

#include "common/config.h"

#include <getopt.h>
#include <stdio.h>

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check-config", no_argument, NULL, MODE_CHECK_CONFIG},
    {"print-config", no_argument, NULL, MODE_PRINT_CONFIG},
    {"print-manual", no_argument, NULL, MODE_PRINT_MANUAL},
    {"release", no_argument, NULL, MODE_RELEASE},
    {"version", no_argument, NULL, MODE_VERSION},
    {"help", no_argument, NULL, MODE_HELP},
    {NULL, 0, NULL, 0},
};

int options_parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){.config_file = COSCHED_CONFIG_FILE};
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == 'c') {
            options->config_file = optarg;
            options->config_given = true;
        } else if (option == '?') {
            return -1;
        } else {
            options->mode = (enum mode)option;
        }
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "classd: unexpected argument \"%s\"\n", argv[optind]);
    return -1;
}

void options_print_help(void)
{
    puts("Usage: classd [--config FILE] [MODE]\n"
         "\n"
         "The scheduler daemon of a node. It runs in the foreground.\n"
         "\n"
         "  --config FILE    read FILE instead of " COSCHED_CONFIG_FILE "\n"
         "\n"
         "Modes, instead of serving:\n"
         "  --check-config   read the configuration and exit\n"
         "  --print-config   print every key with its value and meaning\n"
         "  --print-manual   print the keys as a manual page section\n"
         "  --release        lift the limit of every job and exit\n"
         "  --version        print the version\n"
         "  --help           print this text");
}
