#include "ctl/show.h"

#include "common/units.h"
#include "ctl/user.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_json(json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    puts(text != NULL ? text : "null");
    free(text);
    json_decref(value);
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_SEC;
}

// Node ids use all 64 bits, more than many JSON readers keep of a number.
static json_t *json_node_id(uint64_t node_id)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, node_id);
    return json_string(text);
}

bool show_timer_is_late(const struct protocol_node_record *node)
{
    return node->timer_silent_ns / 2 > node->time_slice_ns;
}

void show_timer(const struct protocol_node_record *node, char text[SHOW_TIMER_MAX])
{
    double silent_s = seconds(node->timer_silent_ns);
    if (node->timer_silent_ns == 0)
        text[0] = '\0';
    else if (show_timer_is_late(node))
        snprintf(text, SHOW_TIMER_MAX, "not heard of for %.1f s", silent_s);
    else if (node->switches == 0)
        snprintf(text, SHOW_TIMER_MAX, "not heard of yet, for %.1f s", silent_s);
    else
        snprintf(text, SHOW_TIMER_MAX, "heard %.1f s ago", silent_s);
}

static json_t *json_preemption(const struct protocol_node_record *node)
{
    if (node->dcs_quantum_ns == 0)
        return json_pack("{s:f}", "gmet_s", seconds(node->gmet_ns));
    return json_pack("{s:i, s:f, s:f, s:b}", "exponent", (int)node->dcs_exponent, "constant_s",
                     seconds(node->dcs_constant_ns), "quantum_s", seconds(node->dcs_quantum_ns),
                     "calibrate", node->dcs_calibrate != 0);
}

// Seconds, or null.
static json_t *json_timer(const struct protocol_node_record *node)
{
    return node->timer_silent_ns != 0 ? json_real(seconds(node->timer_silent_ns)) : NULL;
}

json_t *show_node_json(const struct protocol_node_record *node)
{
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:o?}",
        "node_id", json_node_id(node->node_id), "version", node->version, "policy", node->policy,
        "backend", node->backend, "pid", (json_int_t)node->pid, "uptime_s",
        seconds(node->uptime_ns), "time_slice_s", seconds(node->time_slice_ns), "idle_share",
        (double)node->idle_share_ppm / SHARE_WHOLE_PPM, "cpus", (json_int_t)node->cpus, "jobs",
        (json_int_t)node->jobs, "processes", (json_int_t)node->processes, "generation",
        (json_int_t)node->generation, "switches", (json_int_t)node->switches, "requests",
        (json_int_t)node->requests, "requests_granted", (json_int_t)node->requests_granted,
        "requests_discarded", (json_int_t)node->requests_discarded, "clock_off_jobs",
        (json_int_t)node->clock_off_jobs, "registrations_refused", (json_int_t)node->refused,
        "timer_silent_s", json_timer(node));
    json_t *preemption = json_preemption(node);
    json_object_update(object, preemption);
    json_decref(preemption);
    return object;
}

void show_preemption(const struct protocol_node_record *node, char text[SHOW_PREEMPTION_MAX])
{
    char gmet[24], constant[24], quantum[24];
    units_format_duration(node->gmet_ns, gmet, sizeof gmet);
    units_format_duration(node->dcs_constant_ns, constant, sizeof constant);
    units_format_duration(node->dcs_quantum_ns, quantum, sizeof quantum);
    if (node->dcs_quantum_ns == 0)
        snprintf(text, SHOW_PREEMPTION_MAX, "GMET %s", gmet);
    else
        snprintf(text, SHOW_PREEMPTION_MAX,
                 "exponent %" PRId32 ", constant %s, quantum %s, calibrate %s", node->dcs_exponent,
                 constant, quantum, node->dcs_calibrate != 0 ? "yes" : "no");
}

static void print_node(const struct protocol_node_record *node)
{
    char slice[32], preemption[SHOW_PREEMPTION_MAX], idle[32], timer[SHOW_TIMER_MAX];
    units_format_duration(node->time_slice_ns, slice, sizeof slice);
    show_preemption(node, preemption);
    show_timer(node, timer);
    units_format_share(node->idle_share_ppm, idle, sizeof idle);
    printf("classd      version %s, pid %" PRIu32 ", up %.0f s, start %" PRIu32 "\n", node->version,
           node->pid, seconds(node->uptime_ns), node->generation);
    printf("node        %016" PRIx64 ", %" PRIu32 " CPUs, cgroup %s\n", node->node_id, node->cpus,
           node->backend);
    printf("policy      %s, time slice %s, %s, idle share %s\n", node->policy, slice, preemption,
           idle);
    printf("jobs        %" PRIu32 " with %" PRIu32 " processes\n", node->jobs, node->processes);
    printf("switches    %" PRIu64 "\n", node->switches);
    if (timer[0] != '\0')
        printf("timerd      %s%s\n", timer, show_timer_is_late(node) ? ": " SHOW_TIMER_REMEDY : "");
    printf("requests    %" PRIu64 ": %" PRIu64 " granted, %" PRIu64 " discarded\n", node->requests,
           node->requests_granted, node->requests_discarded);
    if (node->refused > 0)
        printf("refused     %" PRIu32 " registrations; journalctl -u cosched-classd has why\n",
               node->refused);
    if (node->clock_off_jobs > 0)
        printf("clock       off for %" PRIu32 " of the jobs; " SHOW_CLOCK_REMEDY "\n",
               node->clock_off_jobs);
}

void show_node(const struct protocol_node_record *node, bool json)
{
    if (json)
        print_json(show_node_json(node));
    else
        print_node(node);
}

// Null when it is not.
static const char *suspended_by(const struct protocol_job_record *job)
{
    static const char *const means[] = {NULL, "share", "freezer", "signals"};
    return job->suspended < sizeof means / sizeof *means ? means[job->suspended] : NULL;
}

void show_slots(const struct protocol_job_record *job, char text[SHOW_SLOTS_MAX])
{
    if (job->slots_agreed == 0)
        snprintf(text, SHOW_SLOTS_MAX, "-");
    else
        snprintf(text, SHOW_SLOTS_MAX, "%u/%u", slots_count(job->slots & SLOTS_ALL), SLOTS_ROUND);
}

// The record of the sequential class, which has no processes of its own; its age is that in the
// turns.
static bool sequential_takes_turns(const struct protocol_job_record *job)
{
    return job->processes == 0 && job->registered_ns > 0;
}

uint32_t show_turn_takers(const struct protocol_node_record *node,
                          const struct protocol_job_record *jobs, size_t count)
{
    uint32_t takers = node->jobs, aside = 0;
    for (size_t i = 0; i < count; i++) {
        takers += sequential_takes_turns(&jobs[i]);
        aside += suspended_by(&jobs[i]) != NULL || jobs[i].dormant != 0;
    }
    return takers > aside ? takers - aside : 1;
}

// Their numbers, or null.
static json_t *json_slots(const struct protocol_job_record *job)
{
    json_t *list = job->slots_agreed != 0 ? json_array() : NULL;
    for (unsigned s = 0; list != NULL && s < SLOTS_ROUND; s++) {
        if (job->slots >> s & 1)
            json_array_append_new(list, json_integer(s));
    }
    return list;
}

void show_clock(const struct protocol_job_record *job, char text[SHOW_CLOCK_MAX])
{
    const struct protocol_clock *clock = &job->clock;
    double off_s = (double)clock->ahead_ns / (double)NS_PER_SEC;
    const char *where = off_s < 0 ? "behind" : "ahead of";
    off_s = off_s < 0 ? -off_s : off_s;
    if (clock->ahead_ns == 0)
        text[0] = '\0';
    else if (protocol_slots_are_others(clock))
        snprintf(text, SHOW_CLOCK_MAX, "job %s began before slots became %.3g s %s here",
                 job->job_id, off_s, clock->ahead_ns < 0 ? "shorter" : "longer");
    else if (clock->nodes == 0)
        snprintf(text, SHOW_CLOCK_MAX,
                 "job %s had agreed on slots before the node's clock was set by %.3g s",
                 job->job_id, (double)clock->ahead_ns / (double)NS_PER_SEC);
    else if (clock->agreeing > 0)
        snprintf(text, SHOW_CLOCK_MAX,
                 "job %s found the node's clock %.3g s %s those of %" PRIu32 " of its %" PRIu32
                 " nodes",
                 job->job_id, off_s, where, clock->agreeing, clock->nodes);
    else
        snprintf(text, SHOW_CLOCK_MAX,
                 "job %s found the clocks of its %" PRIu32
                 " nodes differ, this one %.3g s %s another, and no majority",
                 job->job_id, clock->nodes, off_s, where);
}

const char *show_clock_remedy(const struct protocol_job_record *job)
{
    return protocol_slots_are_others(&job->clock)
               ? "set [gang] slot alike on all nodes, best while no jobs run"
               : SHOW_CLOCK_REMEDY;
}

// Seconds, or null.
static json_t *json_clock(const struct protocol_job_record *job)
{
    bool off = job->clock.ahead_ns != 0 && !protocol_slots_are_others(&job->clock);
    return off ? json_real((double)job->clock.ahead_ns / (double)NS_PER_SEC) : NULL;
}

json_t *show_job_json(const struct protocol_job_record *job)
{
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:b, s:s?, s:b, s:b, s:f, s:f, s:f, s:f, s:I, s:I, s:o?, s:o?}",
        "job_id", job->job_id, "uid", (json_int_t)job->uid, "processes", (json_int_t)job->processes,
        "ranks", (json_int_t)job->ranks, "width", (json_int_t)job->width, "scheduled",
        (int)job->scheduled, "suspended", suspended_by(job), "dormant", (int)job->dormant,
        "limited", (int)job->limited, "share", (double)job->share_ppm / SHARE_WHOLE_PPM, "cpu_s",
        seconds(job->cpu_ns), "registered_s", seconds(job->registered_ns), "scheduled_s",
        seconds(job->scheduled_ns), "switches", (json_int_t)job->switches, "requests",
        (json_int_t)job->requests, "slots", json_slots(job), "clock_ahead_s", json_clock(job));
}

const char *show_state(const struct protocol_job_record *job)
{
    return suspended_by(job) != NULL ? "suspended"
           : job->scheduled          ? "scheduled"
           : job->dormant            ? "dormant"
                                     : "idle";
}

static void print_job(const struct protocol_job_record *job)
{
    char share[32] = "no limit", user[USER_NAME_MAX], slots[SHOW_SLOTS_MAX];
    if (job->limited)
        units_format_share(job->share_ppm, share, sizeof share);
    show_slots(job, slots);
    user_name(job->uid, user);
    printf("%-24s %-10s %5" PRIu32 " %5" PRIu32 " %5" PRIu32 " %-9s %9s %10.1f %10.1f %8" PRIu64
           " %8" PRIu64 " %5s\n",
           job->job_id, user, job->processes, job->ranks, job->width, show_state(job), share,
           seconds(job->cpu_ns), seconds(job->scheduled_ns), job->switches, job->requests, slots);
}

static void print_clock(const struct protocol_job_record *job)
{
    char text[SHOW_CLOCK_MAX];
    show_clock(job, text);
    if (text[0] != '\0')
        printf("%s: it has no slots here; %s\n", text, show_clock_remedy(job));
}

void show_jobs(const struct protocol_job_record *jobs, size_t count, bool json)
{
    if (json) {
        json_t *list = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, show_job_json(&jobs[i]));
        print_json(list);
        return;
    }
    printf("%-24s %-10s %5s %5s %5s %-9s %9s %10s %10s %8s %8s %5s\n", "JOB", "USER", "PROCS",
           "RANKS", "WIDTH", "STATE", "SHARE", "CPU_S", "SCHED_S", "SWITCHES", "REQUESTS", "SLOTS");
    for (size_t i = 0; i < count; i++)
        print_job(&jobs[i]);
    for (size_t i = 0; i < count; i++)
        print_clock(&jobs[i]);
}
