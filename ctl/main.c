// coschedctl: looks at a node's scheduler, and stops it.
#include "cgroup-backend/backend.h"
#include "common/cleanup.h"
#include "common/config.h"
#include "ctl/show.h"
#include "ctl/talk.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

struct wishes {
    bool json;
    bool force;
};

static int do_status(const struct config *config, const struct wishes *wishes, struct error *err)
{
    struct protocol_node_record node;
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_node(fd, &node, err) < 0)
        return -1;
    show_node(&node, wishes->json);
    return 0;
}

static int do_jobs(const struct config *config, const struct wishes *wishes, struct error *err)
{
    cleanup_free struct protocol_job_record *jobs = NULL;
    size_t count = 0;
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_jobs(fd, &jobs, &count, err) < 0)
        return -1;
    show_jobs(jobs, count, wishes->json);
    return 0;
}

static bool classd_answers(const struct config *config)
{
    struct error err;
    struct protocol_node_record node;
    cleanup_close int fd = talk_connect(config, &err);
    return fd >= 0 && talk_node(fd, &node, &err) == 0;
}

static int do_release(const struct config *config, const struct wishes *wishes, struct error *err)
{
    unsigned lifted = 0;
    backend_t *backend = NULL;
    struct backend_settings settings = {.kind = config->backend,
                                        .root = config->cgroup_root,
                                        .cpus = config_cpus(config),
                                        .period_ns = config->period_ns};
    if (!wishes->force && classd_answers(config))
        return error_set(err, EBUSY,
                         "classd is running and would set its limits again; use \"coschedctl "
                         "shutdown\", or --force to lift them for a moment");
    if (backend_open(&settings, &backend, err) < 0)
        return -1;
    int failed = backend_release_all(backend, &lifted, err);
    backend_close(backend);
    if (failed != 0)
        return -1;
    if (wishes->json)
        printf("{\"lifted\": %u}\n", lifted);
    else
        printf("%u classes without a limit now\n", lifted);
    return 0;
}

static int do_shutdown(const struct config *config, const struct wishes *wishes, struct error *err)
{
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_shutdown(fd, err) < 0)
        return -1;
    puts(wishes->json ? "{\"shutdown\": true}" : "classd has ended; no job is limited");
    return 0;
}

static const struct command {
    const char *name;
    int (*run)(const struct config *config, const struct wishes *wishes, struct error *err);
    const char *meaning;
} commands[] = {
    {"status", do_status, "the node, its policy and what was switched so far"},
    {"jobs", do_jobs, "the jobs on this node: your own, or as root all"},
    {"release", do_release, "lift every limit when classd does not run; --force: even if it does"},
    {"shutdown", do_shutdown, "end classd; every job then runs without a limit"},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static void print_help(void)
{
    puts("Usage: coschedctl [--json] [--force] [--config FILE] COMMAND\n\nCommands:");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  %-16s %s\n", commands[i].name, commands[i].meaning);
    puts("\nOptions:\n"
         "  --config FILE    read FILE instead of " COSCHED_CONFIG_FILE "\n"
         "  --json           print JSON\n"
         "  --version        print the version\n"
         "  --help           print this text\n"
         "\n"
         "The exit status is 0, 1 when it could not be done, 2 when it was not understood.");
}

// Without a file at the default place the defaults hold.
static int load(const char *given, struct config *config, struct error *err)
{
    if (config_load(given != NULL ? given : COSCHED_CONFIG_FILE, config, err) == 0)
        return 0;
    if (given != NULL || err->code != ENOENT)
        return -1;
    config_defaults(config);
    return 0;
}

static int misused(const char *why, const char *what)
{
    fprintf(stderr, "coschedctl: %s%s; try \"coschedctl --help\"\n", why, what);
    return EXIT_USAGE;
}

static int execute(const char *config_file, const struct command *command,
                   const struct wishes *wishes)
{
    struct config config;
    struct error err = {0};
    if (load(config_file, &config, &err) == 0 && command->run(&config, wishes, &err) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "coschedctl: %s\n", err.text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'}, {"json", no_argument, NULL, 'j'},
        {"force", no_argument, NULL, 'f'},        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    const char *config_file = NULL;
    struct wishes wishes = {0};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'c':
            config_file = optarg;
            break;
        case 'j':
            wishes.json = true;
            break;
        case 'f':
            wishes.force = true;
            break;
        case 'v':
            puts("coschedctl " COSCHED_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            print_help();
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind + 1 != argc)
        return misused(optind == argc ? "which command?" : "one command at a time", "");
    const struct command *command = find_command(argv[optind]);
    if (command == NULL)
        return misused("no such command: ", argv[optind]);
    return execute(config_file, command, &wishes);
}
