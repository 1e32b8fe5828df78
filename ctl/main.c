// coschedctl: looks at a node's scheduler, and changes it.
#include "cgroup-backend/in_force.h"
#include "common/cleanup.h"
#include "common/config.h"
#include "common/output.h"
#include "common/status_page.h"
#include "common/units.h"
#include "common/version.h"
#include "ctl/doctor.h"
#include "ctl/metrics.h"
#include "ctl/show.h"
#include "ctl/talk.h"
#include "ctl/top.h"
#include "ctl/trace.h"
#include "ctl/track.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

// Options that only some commands know.
enum { JSON = 1 << 0, FORCE = 1 << 1, MEANS = 1 << 2, SUBTREE = 1 << 3 };

struct wishes {
    bool json;
    bool force;
    const char *means;   // of suspend
    const char *subtree; // of suspend, resume and kill
    int count;           // of what follows the command
    char *const *arguments;
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

static int do_metrics(const struct config *config, const struct wishes *wishes, struct error *err)
{
    cleanup_free struct protocol_job_record *jobs = NULL;
    struct protocol_node_record node;
    size_t count = 0;
    (void)wishes;
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_node(fd, &node, err) < 0 || talk_jobs(fd, &jobs, &count, err) < 0)
        return -1;
    metrics_print(&node, jobs, count, stdout);
    return 0;
}

static int top_interval(const struct wishes *wishes, uint64_t *interval_ns, struct error *err)
{
    *interval_ns = NS_PER_SEC;
    if (wishes->count == 1 && units_parse_duration(wishes->arguments[0], interval_ns, err) < 0)
        return -1;
    if (*interval_ns < 100 * NS_PER_MS || *interval_ns > 3600 * NS_PER_SEC)
        return error_set(err, EINVAL, "the interval must be between 100ms and 1h");
    return 0;
}

static int check_top(const struct wishes *wishes, struct error *err)
{
    uint64_t interval_ns;
    return top_interval(wishes, &interval_ns, err);
}

static int do_top(const struct config *config, const struct wishes *wishes, struct error *err)
{
    uint64_t interval_ns;
    if (top_interval(wishes, &interval_ns, err) < 0)
        return -1;
    return top_run(config, (double)interval_ns / (double)NS_PER_SEC, err);
}

static int check_trace(const struct wishes *wishes, struct error *err)
{
    return trace_check(wishes->count, wishes->arguments, err);
}

static int do_trace(const struct config *config, const struct wishes *wishes, struct error *err)
{
    return trace_command(config, wishes->count, wishes->arguments, err);
}

static int do_doctor(const struct config *config, const struct wishes *wishes, struct error *err)
{
    (void)wishes;
    int faults = doctor_run(config);
    return faults == 0 ? 0 : error_set(err, ENOTRECOVERABLE, "see the faults above");
}

static int do_reload(const struct config *config, const struct wishes *wishes, struct error *err)
{
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_reload(fd, err) < 0)
        return -1;
    puts(wishes->json ? "{\"reloaded\": true}" : "classd has read its configuration again");
    return 0;
}

static bool classd_answers(const struct config *config)
{
    struct error err;
    struct protocol_node_record node;
    cleanup_close int fd = talk_connect(config, &err);
    return fd >= 0 && talk_node(fd, &node, &err) == 0;
}

// Jobs are told also when a limit stays: they would wait for turns that nobody gives them.
static int lift_all(const struct config *config, unsigned *lifted, struct error *err)
{
    struct backend_settings settings = {.kind = config->backend,
                                        .root = config->cgroup_root,
                                        .cpus = config_cpus(config),
                                        .period_ns = config->period_ns,
                                        .records = config->runtime_dir};
    int rc = in_force_release(&settings, lifted, err);
    return status_page_free_all(config->runtime_dir, rc == 0 ? err : NULL) < 0 ? -1 : rc;
}

static int do_release(const struct config *config, const struct wishes *wishes, struct error *err)
{
    unsigned lifted = 0;
    if (!wishes->force && classd_answers(config))
        return error_set(err, EBUSY,
                         "classd is running and would set its limits again; use \"coschedctl "
                         "shutdown\", or --force to lift them for a moment");
    if (lift_all(config, &lifted, err) < 0)
        return -1;
    if (wishes->json)
        printf("{\"lifted\": %u}\n", lifted);
    else
        printf("%u classes without a limit now\n", lifted);
    return 0;
}

static int do_shutdown(const struct config *config, const struct wishes *wishes, struct error *err)
{
    unsigned lifted = 0; // by us, where it was killed before it had
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_shutdown(fd, err) < 0)
        return -1;
    if (geteuid() == 0 && !classd_answers(config) && lift_all(config, &lifted, err) < 0)
        return error_context(err, "classd has ended; whether it has left limits is not known");
    puts(wishes->json ? "{\"shutdown\": true}" : "classd has ended");
    return 0;
}

static struct track_wish track_wish_of(const struct wishes *wishes, enum protocol_command command)
{
    return (struct track_wish){.command = command,
                               .job = wishes->count > 0 ? wishes->arguments[0] : NULL,
                               .means = wishes->means,
                               .subtree = wishes->subtree};
}

static int check_track(const struct wishes *wishes, struct error *err)
{
    struct track_wish wish = track_wish_of(wishes, PROTOCOL_SUSPEND); // any of the three
    return track_check(&wish, err);
}

static int track(const struct config *config, const struct wishes *wishes,
                 enum protocol_command command, struct error *err)
{
    struct track_wish wish = track_wish_of(wishes, command);
    return track_run(config, &wish, wishes->json, err);
}

static int do_suspend(const struct config *config, const struct wishes *wishes, struct error *err)
{
    return track(config, wishes, PROTOCOL_SUSPEND, err);
}

static int do_resume(const struct config *config, const struct wishes *wishes, struct error *err)
{
    return track(config, wishes, PROTOCOL_RESUME, err);
}

static int do_kill(const struct config *config, const struct wishes *wishes, struct error *err)
{
    return track(config, wishes, PROTOCOL_KILL, err);
}

static const struct command {
    const char *name;
    int (*run)(const struct config *config, const struct wishes *wishes, struct error *err);
    int (*check)(const struct wishes *wishes, struct error *err); // null: nothing to misunderstand
    int most;                                                     // arguments
    unsigned options;                                             // that mean something with it
    const char *meaning;
} commands[] = {
    {"status", do_status, NULL, 0, JSON, "the node, its policy and what was switched so far"},
    {"jobs", do_jobs, NULL, 0, JSON, "the jobs on this node: your own, or as root all"},
    {"top", do_top, check_top, 1, 0, "the jobs, refreshed; top INTERVAL"},
    {"metrics", do_metrics, NULL, 0, 0, "the same as OpenMetrics text"},
    {"trace", do_trace, check_trace, INT_MAX, 0,
     "records what is scheduled when, and draws it: see coschedctl(1)"},
    {"doctor", do_doctor, NULL, 0, 0, "what on this node would keep cosched from working"},
    {"suspend", do_suspend, check_track, 1, JSON | MEANS | SUBTREE,
     "stop a job, or a subtree of it, on this node: suspend [USER/]JOB"},
    {"resume", do_resume, check_track, 1, JSON | SUBTREE, "continue it"},
    {"kill", do_kill, check_track, 1, JSON | SUBTREE,
     "end all processes of a job, or of a subtree of it, on this node"},
    {"reload", do_reload, NULL, 0, JSON, "have classd read its configuration again"},
    {"release", do_release, NULL, 0, JSON | FORCE,
     "lift every limit when classd does not run; --force: even if it does"},
    {"shutdown", do_shutdown, NULL, 0, JSON, "end classd; every job then runs without a limit"},
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
         "  --means MEANS    with suspend: share, freezer or signals\n"
         "  --subtree PID    with suspend, resume and kill: a process and its descendants only\n"
         "  --version        print the version\n"
         "  --help           print this text\n"
         "\n"
         "The exit status is 0, 1 when it could not be done, 2 when it was not understood.");
}

// Without a file at the default place the defaults hold. Limits must be lifted even when it is
// broken.
static int load(const char *given, const struct command *command, struct config *config,
                struct error *err)
{
    const char *file = given != NULL ? given : COSCHED_CONFIG_FILE;
    if (command->run == do_release)
        signal(SIGPIPE, SIG_IGN); // limits are lifted whether or not somebody reads of it
    if (config_load(file, config, err) == 0)
        return 0;
    if (command->run == do_release && (given != NULL || err->code != ENOENT)) {
        config_salvage(file, config);
        fprintf(stderr, "coschedctl: %s; releasing below the root \"%s\"\n", err->text,
                config->cgroup_root);
        return 0;
    }
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

// The first option that the command does not know, or null.
static const char *useless_option(const struct command *command, const struct wishes *wishes)
{
    return wishes->json && (command->options & JSON) == 0                 ? "--json"
           : wishes->force && (command->options & FORCE) == 0             ? "--force"
           : wishes->means != NULL && (command->options & MEANS) == 0     ? "--means"
           : wishes->subtree != NULL && (command->options & SUBTREE) == 0 ? "--subtree"
                                                                          : NULL;
}

// Whether what the command is given can be understood; if not, it has been said why.
static bool understood(const struct command *command, const struct wishes *wishes)
{
    const char *useless = useless_option(command, wishes);
    struct error err = {0};
    if (wishes->count > command->most) {
        misused("too many arguments for ", command->name);
        return false;
    }
    if (useless != NULL) {
        fprintf(stderr, "coschedctl: %s means nothing with %s; leave it out\n", useless,
                command->name);
        return false;
    }
    if (command->check == NULL || command->check(wishes, &err) == 0)
        return true;
    fprintf(stderr, "coschedctl: %s\n", err.text);
    return false;
}

static int execute(const char *config_file, const struct command *command,
                   const struct wishes *wishes)
{
    struct config config;
    struct error err = {0};
    if (load(config_file, command, &config, &err) == 0 &&
        command->run(&config, wishes, &err) == 0 && output_finish(&err) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "coschedctl: %s\n", err.text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'}, {"json", no_argument, NULL, 'j'},
        {"means", required_argument, NULL, 'm'},  {"subtree", required_argument, NULL, 's'},
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
        case 'm':
            wishes.means = optarg;
            break;
        case 's':
            wishes.subtree = optarg;
            break;
        case 'v':
            printf("coschedctl %s\n", cosched_version);
            return output_end("coschedctl");
        case 'h':
            print_help();
            return output_end("coschedctl");
        default:
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return misused("which command?", "");
    const struct command *command = find_command(argv[optind]);
    if (command == NULL)
        return misused("no such command: ", argv[optind]);
    wishes.count = argc - optind - 1;
    wishes.arguments = argv + optind + 1;
    return understood(command, &wishes) ? execute(config_file, command, &wishes) : EXIT_USAGE;
}
