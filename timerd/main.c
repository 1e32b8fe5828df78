// timerd: the timer daemon of a node (Yoo & Jette, section 2.2.3), and its dead man's switch.
//
// Every time-slice it asks classd to switch. When classd has not answered for two of them, it lifts
// every limit by itself, says so once, and goes on trying.
#include "classd/log.h"
#include "classd/notify.h"
#include "classd/privileges.h"
#include "classd/urgent.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/output.h"
#include "common/version.h"
#include "timerd/outage.h"
#include "timerd/pulse.h"
#include "timerd/tick.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define READY_AGAIN_NS (30 * NS_PER_SEC)

enum { EXIT_USAGE = 2, LOOK_MS = 1000, POLL_MOST_MS = 3600000 };

struct timer {
    struct config *config; // its slice is classd's, once that is known
    int tick;
    int signals;
    struct pulse pulse;
    struct outage outage;
    bool refused;      // said once
    uint64_t feeds_ns; // how often the watchdog is fed; 0: there is none
    uint64_t fed_ns;
};

static int open_signals(struct error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : error_errno(err, errno, "wait for signals");
}

// True when the signal ends the daemon.
static bool take_signal(int signals)
{
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info)
        return false;
    if (info.ssi_signo == SIGHUP) {
        log_line(LOG_NOTICE, "SIGHUP ignored; timerd goes by what classd has read: reload that");
        return false;
    }
    log_line(LOG_NOTICE, "%s received", strsignal((int)info.ssi_signo));
    return true;
}

// classd has read its configuration again, or is another one.
static void follow(struct timer *timer, const struct protocol_switched *classd)
{
    struct config *config = timer->config;
    struct error err;
    bool align = classd->align != 0;
    if (classd->time_slice_ns == 0 ||
        (classd->time_slice_ns == config->time_slice_ns && align == config->timer_align))
        return;
    int tick = tick_open(classd->time_slice_ns, align, &err);
    if (tick < 0) {
        log_line(LOG_ERR, "the old time slice goes on: %s", err.text);
        return;
    }
    close(timer->tick);
    timer->tick = tick;
    timer->pulse.answered_ns = clock_now_ns(); // it is not late by a slice that it did not know
    config->time_slice_ns = classd->time_slice_ns;
    config->timer_align = align;
    log_line(LOG_NOTICE, "time slice %.3f s%s", (double)config->time_slice_ns / (double)NS_PER_SEC,
             align ? ", at its multiples" : "");
}

static void take_news(struct timer *timer)
{
    enum pulse_news news = pulse_listen(&timer->pulse, clock_now_ns());
    // Whoever was there may have stopped some before it went.
    if (news == PULSE_FOUND || timer->pulse.fd < 0)
        outage_classd_found(&timer->outage);
    if (news == PULSE_SILENT)
        outage_continue(&timer->outage, timer->pulse.last_fault.text);
    if (news == PULSE_ANSWERED || news == PULSE_FOUND)
        follow(timer, &timer->pulse.switched);
    if (news != PULSE_ANSWERED && news != PULSE_REFUSED)
        return;
    if (news == PULSE_REFUSED && !timer->refused)
        log_line(LOG_ERR, "%s%s", timer->pulse.last_fault.text,
                 timer->pulse.last_fault.code == EPERM
                     ? "; run timerd as root, who may lift limits, too, when classd is silent"
                     : "");
    timer->refused = news == PULSE_REFUSED;
    outage_end(&timer->outage);
}

// In ms for poll(): when the watchdog is to be fed, or for ever.
static int watchdog_ms(const struct timer *timer)
{
    uint64_t waited_ns = clock_now_ns() - timer->fed_ns;
    if (timer->feeds_ns == 0)
        return -1;
    uint64_t left_ns = timer->feeds_ns > waited_ns ? timer->feeds_ns - waited_ns : 0;
    uint64_t left_ms = left_ns / NS_PER_MS + 1;
    return left_ms < POLL_MOST_MS ? (int)left_ms : POLL_MOST_MS;
}

// The same, or when a classd is to be looked for.
static int patience_ms(const struct timer *timer)
{
    int feeds_ms = watchdog_ms(timer);
    bool sooner = timer->pulse.fd < 0 && (feeds_ms < 0 || feeds_ms > LOOK_MS);
    return sooner ? LOOK_MS : feeds_ms;
}

static void feed_watchdog(struct timer *timer)
{
    uint64_t now_ns = clock_now_ns();
    if (timer->feeds_ns == 0 || now_ns - timer->fed_ns < timer->feeds_ns)
        return;
    notify_watchdog();
    timer->fed_ns = now_ns;
}

static void beat(struct timer *timer)
{
    const struct config *config = timer->config;
    if (!tick_take(timer->tick, config->time_slice_ns, config->timer_align))
        return;
    bool was_there = timer->pulse.fd >= 0;
    bool silent = pulse_beat(&timer->pulse, clock_now_ns());
    if (was_there && timer->pulse.fd < 0)
        outage_classd_found(&timer->outage);
    if (silent)
        outage_continue(&timer->outage, timer->pulse.last_fault.text);
}

static int run(struct timer *timer, struct error *err)
{
    timer->feeds_ns = notify_watchdog_interval_ns();
    // READY counts; but it may have been lost, and is said again before systemd has waited in vain.
    timer->fed_ns = clock_now_ns();
    if (timer->feeds_ns > READY_AGAIN_NS)
        timer->fed_ns -= timer->feeds_ns - READY_AGAIN_NS;
    for (;;) {
        // A descriptor of -1 is left out by poll().
        struct pollfd fds[] = {
            {.fd = timer->signals, .events = POLLIN},
            {.fd = timer->pulse.fd, .events = POLLIN},
            {.fd = timer->tick, .events = POLLIN},
        };
        int ready = poll(fds, sizeof fds / sizeof *fds, patience_ms(timer));
        if (ready < 0 && errno != EINTR)
            return error_errno(err, errno, "wait for the next tick");
        feed_watchdog(timer);
        if (ready == 0)
            pulse_look(&timer->pulse);
        if (fds[0].revents != 0 && take_signal(timer->signals))
            return 0;
        if (fds[1].revents != 0)
            take_news(timer);
        if (fds[2].revents != 0)
            beat(timer);
    }
}

static int serve(struct config *config, struct error *err)
{
    struct timer timer = {.config = config, .outage.config = config, .tick = -1, .signals = -1};
    int rc = -1;
    config->time_slice_ns = config_slice_ns(config);
    urgent_watch();
    pulse_init(&timer.pulse, config, clock_now_ns());
    if (privileges_drop(err) == 0)
        timer.signals = open_signals(err);
    if (!privileges_reach_all_groups())
        log_line(LOG_WARNING,
                 "neither root nor with CAP_DAC_OVERRIDE: should classd hang, limits stay but for "
                 "those of user %u's own groups",
                 (unsigned)geteuid());
    if (timer.signals >= 0)
        timer.tick = tick_open(config->time_slice_ns, config->timer_align, err);
    if (timer.tick >= 0) {
        notify_ready();
        rc = run(&timer, err);
        notify_stopping();
    }
    pulse_fini(&timer.pulse);
    cleanup_close_fn(&timer.tick);
    cleanup_close_fn(&timer.signals);
    return rc;
}

static void print_help(void)
{
    puts("Usage: timerd [--config FILE]\n"
         "\n"
         "The timer daemon of a node: asks classd to switch at every time-slice, and lifts every\n"
         "limit when classd is silent for two. It runs in the foreground.\n"
         "\n"
         "  --config FILE    read FILE instead of " COSCHED_CONFIG_FILE "\n"
         "  --version        print the version\n"
         "  --help           print this text");
}

// Without a file at the default place the defaults hold. What classd has read may have been sound:
// a broken file is no reason for its limits to be without a dead man's switch.
static int load(const char *given, struct config *config, struct error *err)
{
    const char *path = given != NULL ? given : COSCHED_CONFIG_FILE;
    if (config_load(path, config, err) == 0)
        return 0;
    if (err->code == ENOENT && given != NULL)
        return -1;
    if (err->code == ENOENT) {
        config_defaults(config);
    } else {
        config_salvage(path, config);
        log_line(
            LOG_WARNING,
            "%s; going on by the rest, below the root \"%s\": restart timerd when it is mended",
            err->text, config->cgroup_root);
    }
    *err = (struct error){0};
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *config_file = NULL;
    struct config config;
    struct error err = {0};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'c') {
            config_file = optarg;
        } else if (option == 'v') {
            printf("timerd %s\n", cosched_version);
            return output_end("timerd");
        } else if (option == 'h') {
            print_help();
            return output_end("timerd");
        } else {
            fputs("Try \"timerd --help\".\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (optind != argc) {
        fprintf(stderr, "timerd: unexpected argument \"%s\"\n", argv[optind]);
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); // who reads the log may end
    log_init("timerd", "info");
    if (load(config_file, &config, &err) == 0) {
        log_init("timerd", config.log_level);
        if (serve(&config, &err) == 0)
            return EXIT_SUCCESS;
    }
    log_line(LOG_ERR, "%s", err.text);
    return EXIT_FAILURE;
}
