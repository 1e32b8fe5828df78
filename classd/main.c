// classd: the scheduler daemon of a node (Yoo & Jette, section 2.2.3).
#include "cgroup-backend/in_force.h"
#include "classd/adopt.h"
#include "classd/command.h"
#include "classd/descriptors.h"
#include "classd/log.h"
#include "classd/notify.h"
#include "classd/options.h"
#include "classd/pages.h"
#include "classd/privileges.h"
#include "classd/runtime.h"
#include "classd/scheduler.h"
#include "classd/server.h"
#include "classd/urgent.h"
#include "common/cleanup.h"
#include "common/client.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/output.h"
#include "common/status_page.h"
#include "common/version.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2, ANSWER_MS = 500 };

static struct backend_settings backend_settings(const struct config *config)
{
    return (struct backend_settings){.kind = config->backend,
                                     .root = config->cgroup_root,
                                     .cpus = config_cpus(config),
                                     .period_ns = config->period_ns,
                                     .records = config->runtime_dir};
}

static int find_service_user(const struct config *config, uid_t *uid, struct error *err)
{
    errno = 0;
    const struct passwd *entry = getpwnam(config->service_user);
    if (entry == NULL)
        return error_set(err, errno != 0 ? errno : ENOENT,
                         "[daemon] service_user: there is no user \"%s\"", config->service_user);
    *uid = entry->pw_uid;
    return 0;
}

static int run(server_t *server, const struct config *config, struct error *err)
{
    notify_ready();
    int rc = server_run(server);
    notify_stopping();
    return rc == 0 ? 0 : error_set(err, ENOENT, "%s has lost its socket", config->runtime_dir);
}

static int serve(struct config *config, const char *config_file, struct error *err)
{
    config_hold_cpus(config, 0);
    struct backend_settings settings = backend_settings(config);
    struct commands commands = {.config = config, .config_file = config_file};
    runtime_t *runtime = NULL;
    backend_t *backend = NULL;
    pages_t *pages = NULL;
    server_t *server = NULL;
    int rc = -1;

    server_hold_signals();
    urgent_become();
    descriptors_allow(config);
    if (privileges_drop(err) == 0 && find_service_user(config, &commands.service_uid, err) == 0 &&
        runtime_open(config->runtime_dir, &runtime, err) == 0 &&
        backend_open(&settings, &backend, err) == 0)
        adopt_elsewhere(&settings, backend);
    if (backend != NULL &&
        pages_open(runtime_directory(runtime), config, runtime_node_id(runtime),
                   runtime_generation(runtime), &pages, err) == 0 &&
        scheduler_open(config, backend, pages, clock_now_ns(), &commands.scheduler, err) == 0 &&
        adopt_jobs(commands.scheduler, backend, pages, clock_now_ns(), err) == 0 &&
        server_open(config, &commands, &server, err) == 0) {
        log_line(LOG_NOTICE, "serving in %s: policy %s, %u CPUs, cgroup %s", config->runtime_dir,
                 config->policy, settings.cpus, backend_name(backend));
        rc = run(server, config, err);
    }

    // Before the connections close, so that who waits for that finds everything lifted.
    if (commands.scheduler != NULL && commands.shutdown)
        scheduler_dissolve(commands.scheduler, clock_now_ns());
    else if (commands.scheduler != NULL)
        scheduler_lift(commands.scheduler);
    server_close(server);
    scheduler_close(commands.scheduler);
    pages_close(pages);
    backend_close(backend);
    runtime_close(runtime);
    return rc;
}

// One that refuses has answered, too.
static bool another_answers(const struct config *config)
{
    struct protocol_request request = protocol_request_new(PROTOCOL_QUERY, 1);
    struct protocol_reply reply;
    request.query.kind = PROTOCOL_QUERY_NODE;
    cleanup_close int fd = client_connect_within(config->runtime_dir, ANSWER_MS, NULL);
    return fd >= 0 && (client_transact(fd, &request, &reply, NULL, ANSWER_MS, NULL) == 0 ||
                       reply.header.status > 0);
}

// The dead man's grip of the unit file: what a stopped, crashed or killed classd left is lifted.
// Jobs are told so: those that believe in their turn go on asking for it, and wait in polls.
// The limits of a living classd are no dead man's: a second one, which had to refuse, has none.
static int release(const struct config *config, struct error *err)
{
    struct backend_settings settings = backend_settings(config);
    if (another_answers(config)) {
        log_line(LOG_NOTICE,
                 "classd serves in %s, so nothing is released; to end it use \"coschedctl "
                 "shutdown\"",
                 config->runtime_dir);
        return 0;
    }
    int rc = in_force_release(&settings, NULL, err);
    if (status_page_free_all(config->runtime_dir, rc == 0 ? err : NULL) < 0)
        return -1;
    return rc;
}

static int check(const struct config *config, struct error *err)
{
    uid_t uid;
    return find_service_user(config, &uid, err);
}

// Without a file at the default place the defaults hold.
static int load(const struct options *options, struct config *config, struct error *err)
{
    if (config_load(options->config_file, config, err) == 0)
        return 0;
    if (err->code == ENOENT && !options->config_given) {
        config_defaults(config);
        return 0;
    }
    // Limits must be lifted even when the configuration is broken.
    if (options->mode == MODE_RELEASE) {
        config_salvage(options->config_file, config);
        log_line(LOG_WARNING, "%s; releasing below the root \"%s\"", err->text,
                 config->cgroup_root);
        return 0;
    }
    return -1;
}

static int execute(const struct options *options, struct config *config, struct error *err)
{
    if (options->mode == MODE_SERVE || options->mode == MODE_RELEASE)
        signal(SIGPIPE, SIG_IGN); // who reads the log may end
    if (options->mode != MODE_PRINT_MANUAL && load(options, config, err) < 0)
        return -1;
    switch (options->mode) {
    case MODE_SERVE:
        log_init("classd", config->log_level);
        return serve(config, options->config_file, err);
    case MODE_CHECK_CONFIG:
        return check(config, err);
    case MODE_PRINT_CONFIG:
        config_print(config, stdout);
        return 0;
    case MODE_PRINT_MANUAL:
        config_print_manual(stdout);
        return 0;
    case MODE_RELEASE:
        return release(config, err);
    case MODE_VERSION:
    case MODE_HELP:
        break;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    struct config config;
    struct error err = {0};
    if (options_parse(argc, argv, &options) < 0) {
        fputs("Try \"classd --help\".\n", stderr);
        return EXIT_USAGE;
    }
    if (options.mode == MODE_VERSION) {
        printf("classd %s\n", cosched_version);
        return output_end("classd");
    }
    if (options.mode == MODE_HELP) {
        options_print_help();
        return output_end("classd");
    }
    log_init("classd", "info");
    if (execute(&options, &config, &err) == 0 && output_finish(&err) == 0)
        return EXIT_SUCCESS;
    log_line(LOG_ERR, "%s", err.text);
    return EXIT_FAILURE;
}
