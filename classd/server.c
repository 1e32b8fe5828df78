#include "classd/server_state.h"

#include "classd/notify.h"
#include "common/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    RESTS_PER_PASS = 9, // of process tracking
    BUSY_PART = 4,
    NAP_NS = 100000,
};

#define WATCH_S .25 // looks at the sequential processes

// The loop's own timers are no finer than a millisecond.
static void set_deadline(struct server *server, uint64_t deadline_ns)
{
    struct itimerspec when = {0};
    if (deadline_ns == server->deadline_ns)
        return;
    server->deadline_ns = deadline_ns;
    if (deadline_ns == 0) // past, as any is; a timer takes it for none
        deadline_ns = 1;
    if (deadline_ns != SCHEDULER_NO_DEADLINE)
        when.it_value = (struct timespec){.tv_sec = (time_t)(deadline_ns / NS_PER_SEC),
                                          .tv_nsec = (long)(deadline_ns % NS_PER_SEC)};
    timerfd_settime(server->deadline_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void server_event_over(struct server *server)
{
    packets_call(server);
    set_deadline(server, scheduler_deadline_ns(server->commands->scheduler));
}

static void on_death(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    scheduler_bury(server->commands->scheduler, clock_now_ns());
    server_event_over(server);
}

// Nobody's account pays for these passes, so no user's fork storms get more than a tenth of classd,
// and nobody waits for another's rest. One at a time, so that packets are heard in between.
static void track_on(scheduler_t *scheduler)
{
    uid_t uid;
    uint64_t begun_ns = clock_spent_ns();
    if (!scheduler_track_on(scheduler, clock_now_ns(), &uid))
        return;
    uint64_t spent_ns = clock_spent_ns() - begun_ns;
    scheduler_rest(scheduler, uid, clock_now_ns() + RESTS_PER_PASS * spent_ns);
}

// By the clock: who moves a process waits for the other CPUs.
static void leave_on(scheduler_t *scheduler)
{
    uint64_t begun_ns = clock_now_ns();
    if (!scheduler_leave_on(scheduler, begun_ns))
        return;
    uint64_t now_ns = clock_now_ns();
    scheduler_rest_leaving(scheduler, now_ns - begun_ns, now_ns);
}

static void on_deadline(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    uint64_t times;
    if (read(server->deadline_fd, &times, sizeof times) < 0)
        return; // it has been set to another one since
    server->deadline_ns = SCHEDULER_NO_DEADLINE;
    track_on(server->commands->scheduler);
    leave_on(server->commands->scheduler);
    scheduler_look_at_dormant(server->commands->scheduler, clock_now_ns());
    scheduler_deadline(server->commands->scheduler, clock_now_ns(), clock_wall_ns());
    server_event_over(server);
}

static void on_watch(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop;
    (void)events;
    struct server *server = watcher->data;
    scheduler_watch(server->commands->scheduler, clock_now_ns());
    server_event_over(server);
}

static void on_watchdog(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop;
    (void)watcher;
    (void)events;
    notify_watchdog();
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    (void)events;
    struct server *server = watcher->data;
    struct error err;
    if (watcher->signum == SIGHUP) {
        if (command_reload(server->commands, clock_now_ns(), &err) == 0) // says what is wrong
            packets_tell_timers(server);
        server_event_over(server);
        return;
    }
    server->ended_by = watcher->signum;
    ev_break(loop, EVBREAK_ALL);
}

// Who computes for long without having slept is taken for one that loops for ever (urgent.h), and
// packets may follow each other for as long as enough users like. Who is not busy has slept.
static void on_check(struct ev_loop *loop, ev_check *watcher, int events)
{
    (void)loop;
    (void)events;
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    struct server *server = watcher->data;
    uint64_t now_ns = clock_now_ns();
    if (now_ns - server->looked_ns < NS_PER_SEC)
        return;
    uint64_t spent_ns = clock_spent_ns();
    if (spent_ns - server->spent_ns > (now_ns - server->looked_ns) / BUSY_PART)
        nanosleep(&nap, NULL);
    server->looked_ns = now_ns;
    server->spent_ns = spent_ns;
}

static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP};

enum { SIGNALS = sizeof signal_numbers / sizeof *signal_numbers };

static void mask_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, signal_numbers[i]);
    sigprocmask(how, &set, NULL);
}

void server_hold_signals(void)
{
    mask_signals(SIG_BLOCK);
}

static void watch_all(struct server *server)
{
    double interval_s = (double)notify_watchdog_interval_ns() / NS_PER_SEC;
    listener_watch(server);
    connections_watch(server);
    line_watch(server);
    ev_io_init(&server->deaths, on_death, scheduler_deaths_fd(server->commands->scheduler),
               EV_READ);
    ev_timer_init(&server->watchdog, on_watchdog, interval_s, interval_s);
    ev_io_init(&server->deadline, on_deadline, server->deadline_fd, EV_READ);
    ev_timer_init(&server->watch, on_watch, WATCH_S, WATCH_S);
    ev_check_init(&server->check, on_check);
    server->deaths.data = server->deadline.data = server->watch.data = server;
    server->check.data = server;
    ev_check_start(server->loop, &server->check);
    ev_io_start(server->loop, &server->deaths);
    ev_io_start(server->loop, &server->deadline);
    if (interval_s > 0)
        ev_timer_start(server->loop, &server->watchdog);
    if (*server->config->sequential_groups != '\0') // fixed while classd runs
        ev_timer_start(server->loop, &server->watch);
    for (size_t i = 0; i < SIGNALS; i++) {
        ev_signal_init(&server->signals[i], on_signal, signal_numbers[i]);
        server->signals[i].data = server;
        ev_signal_start(server->loop, &server->signals[i]);
    }
    mask_signals(SIG_UNBLOCK);
}

int server_open(const struct config *config, struct commands *commands, server_t **server,
                struct error *err)
{
    struct server *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_errno(err, ENOMEM, "server");
    made->config = config;
    made->commands = commands;
    made->listener_fd = -1;
    made->deadline_ns = SCHEDULER_NO_DEADLINE;
    made->deadline_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (made->deadline_fd < 0) {
        error_errno(err, errno, "timer of the server");
        free(made);
        return -1;
    }
    made->loop = ev_default_loop(EVBACKEND_EPOLL | EVFLAG_NOENV);
    if (made->loop == NULL || listener_open(made, err) < 0) {
        if (made->loop == NULL)
            error_set(err, ENOSYS, "no event loop; classd needs epoll");
        server_close(made);
        return -1;
    }
    watch_all(made);
    scheduler_on_tracked(commands->scheduler, packets_tell_tracked, made);
    *server = made;
    return 0;
}

void server_close(server_t *server)
{
    if (server == NULL)
        return;
    scheduler_on_tracked(server->commands->scheduler, NULL, NULL);
    if (server->ended_by != 0) // said only now that nobody is limited any more
        log_line(LOG_NOTICE, "%s received", strsignal(server->ended_by));
    connections_close(server);
    users_clear(&server->users);
    listener_close(server);
    if (server->loop != NULL)
        ev_loop_destroy(server->loop);
    close(server->deadline_fd);
    free(server);
}

int server_run(server_t *server)
{
    server_event_over(server);
    ev_run(server->loop, 0);
    return server->lost ? -1 : 0;
}
