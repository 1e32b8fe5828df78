#include "ctl/top.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "ctl/show.h"
#include "ctl/talk.h"

#include <errno.h>
#include <inttypes.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_MAX_BYTES = 256 };

// What classd said at one moment.
struct look {
    struct protocol_node_record node;
    struct protocol_job_record *jobs;
    size_t count;
    double at_s;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / (double)NS_PER_SEC;
}

static int take_look(const struct config *config, struct look *look, struct error *err)
{
    *look = (struct look){.at_s = now_s()};
    cleanup_close int fd = talk_connect(config, err);
    if (fd < 0 || talk_node(fd, &look->node, err) < 0)
        return -1;
    return talk_jobs(fd, &look->jobs, &look->count, err);
}

static const struct protocol_job_record *find(const struct look *look,
                                              const struct protocol_job_record *job)
{
    for (size_t i = 0; i < look->count; i++) {
        if (look->jobs[i].uid == job->uid && strcmp(look->jobs[i].job_id, job->job_id) == 0)
            return &look->jobs[i];
    }
    return NULL;
}

static double per_second(uint64_t now, uint64_t before, double elapsed_s)
{
    return elapsed_s > 0 && now >= before ? (double)(now - before) / elapsed_s : 0;
}

// Time here over what it would be if the job had always held its equal part: 1 is a fair share.
static double stretch(const struct protocol_job_record *job, uint32_t takers)
{
    double fair = (double)job->scheduled_ns * takers;
    return fair > 0 ? (double)job->registered_ns / fair : 0;
}

static void format_node(char text[LINE_MAX_BYTES], const struct look *look,
                        const struct look *before)
{
    double elapsed_s = look->at_s - before->at_s;
    char preemption[SHOW_PREEMPTION_MAX];
    show_preemption(&look->node, preemption);
    snprintf(text, LINE_MAX_BYTES,
             "%s, slice %.3g s, %s, %" PRIu32 " CPUs, %" PRIu32
             " jobs; per second: %.2f switches, %.1f requests, %.1f granted",
             look->node.policy, (double)look->node.time_slice_ns / (double)NS_PER_SEC, preemption,
             look->node.cpus, look->node.jobs,
             per_second(look->node.switches, before->node.switches, elapsed_s),
             per_second(look->node.requests, before->node.requests, elapsed_s),
             per_second(look->node.requests_granted, before->node.requests_granted, elapsed_s));
}

#define TITLE "JOB                        UID PROCS STATE      SHARE   CPU %  HELD_S STRETCH  REQ/s"

static void format_job(char text[LINE_MAX_BYTES], const struct look *look, size_t index,
                       const struct look *before)
{
    const struct protocol_job_record *job = &look->jobs[index], *old = find(before, job);
    double elapsed_s = look->at_s - before->at_s;
    char share[16] = "no limit";
    if (job->limited)
        snprintf(share, sizeof share, "%.1f %%", 100.0 * job->share_ppm / SHARE_WHOLE_PPM);
    snprintf(
        text, LINE_MAX_BYTES, "%-22s %7" PRIu32 " %5" PRIu32 " %-9s %8s %6.1f %7.1f %7.2f %6.1f",
        job->job_id, job->uid, job->processes, show_state(job), share,
        old == NULL ? 0
                    : 100 * per_second(job->cpu_ns, old->cpu_ns, elapsed_s) / (double)NS_PER_SEC,
        (double)job->scheduled_ns / (double)NS_PER_SEC,
        stretch(job, show_turn_takers(&look->node, look->jobs, look->count)),
        old == NULL ? 0 : per_second(job->requests, old->requests, elapsed_s));
}

static void print_table(const struct look *look, const struct look *before)
{
    char text[LINE_MAX_BYTES];
    format_node(text, look, before);
    puts(text);
    puts(TITLE);
    for (size_t i = 0; i < look->count; i++) {
        format_job(text, look, i, before);
        puts(text);
    }
}

static void draw_screen(const struct look *look, const struct look *before)
{
    char text[LINE_MAX_BYTES];
    erase();
    format_node(text, look, before);
    mvaddnstr(0, 0, text, COLS);
    attron(A_REVERSE);
    mvaddnstr(2, 0, TITLE, COLS);
    attroff(A_REVERSE);
    for (size_t i = 0; i < look->count && (int)i + 3 < LINES; i++) {
        bool scheduled = look->jobs[i].scheduled != 0;
        format_job(text, look, i, before);
        if (scheduled)
            attron(A_BOLD);
        mvaddnstr((int)i + 3, 0, text, COLS);
        attroff(A_BOLD);
    }
    refresh();
}

// Waits for a key until the next look is due. A terminal that is gone has none, at once and for
// ever.
static int key_until(uint64_t due_ns)
{
    uint64_t now_ns = clock_now_ns();
    timeout(due_ns > now_ns ? (int)((due_ns - now_ns) / NS_PER_MS) : 0);
    int key = getch();
    struct timespec due = {.tv_sec = (time_t)(due_ns / NS_PER_SEC),
                           .tv_nsec = (long)(due_ns % NS_PER_SEC)};
    if (key == ERR)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    return key;
}

static int run_screen(const struct config *config, double interval_s, struct look *before,
                      struct error *err)
{
    int rc = 0, key = 0;
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (screen == NULL)
        return error_set(err, ENOTTY, "this terminal is not known; set TERM, or pipe through cat");
    cbreak();
    noecho();
    curs_set(0);
    while (rc == 0 && key != 'q') {
        struct look look;
        uint64_t due_ns = clock_now_ns() + (uint64_t)(interval_s * (double)NS_PER_SEC);
        rc = take_look(config, &look, err);
        if (rc == 0) {
            draw_screen(&look, before);
            free(before->jobs);
            *before = look;
            key = key_until(due_ns);
        }
    }
    endwin();
    delscreen(screen);
    return rc;
}

static int run_plain(const struct config *config, double interval_s, const struct look *before,
                     struct error *err)
{
    struct look look;
    struct timespec pause = {.tv_sec = (time_t)interval_s,
                             .tv_nsec = (long)((interval_s - (double)(time_t)interval_s) * 1e9)};
    nanosleep(&pause, NULL);
    if (take_look(config, &look, err) < 0)
        return -1;
    print_table(&look, before);
    free(look.jobs);
    return 0;
}

int top_run(const struct config *config, double interval_s, struct error *err)
{
    struct look before;
    if (take_look(config, &before, err) < 0)
        return -1;
    int rc = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO)
                 ? run_screen(config, interval_s, &before, err)
                 : run_plain(config, interval_s, &before, err);
    free(before.jobs);
    return rc;
}
