#include "ctl/metrics.h"

#include "common/units.h"

#include <inttypes.h>

static void head(FILE *stream, const char *name, const char *type, const char *help)
{
    fprintf(stream, "# TYPE cosched_%s %s\n# HELP cosched_%s %s\n", name, type, name, help);
}

static void gauge(FILE *stream, const char *name, const char *help, double value)
{
    head(stream, name, "gauge", help);
    fprintf(stream, "cosched_%s %.10g\n", name, value);
}

static void counter(FILE *stream, const char *name, const char *help, uint64_t value)
{
    head(stream, name, "counter", help);
    fprintf(stream, "cosched_%s_total %" PRIu64 "\n", name, value);
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_SEC;
}

static double job_suspended(const struct protocol_job_record *job)
{
    return job->suspended != 0;
}

static double job_dormant(const struct protocol_job_record *job)
{
    return job->dormant;
}

static double job_scheduled(const struct protocol_job_record *job)
{
    return job->scheduled;
}

static double job_share(const struct protocol_job_record *job)
{
    return (double)job->share_ppm / SHARE_WHOLE_PPM;
}

static double job_processes(const struct protocol_job_record *job)
{
    return job->processes;
}

static double job_cpu(const struct protocol_job_record *job)
{
    return seconds(job->cpu_ns);
}

static double job_held(const struct protocol_job_record *job)
{
    return seconds(job->scheduled_ns);
}

static double job_switches(const struct protocol_job_record *job)
{
    return (double)job->switches;
}

static double job_requests(const struct protocol_job_record *job)
{
    return (double)job->requests;
}

static const struct job_metric {
    const char *name, *type, *help;
    double (*value)(const struct protocol_job_record *job);
} job_metrics[] = {
    {"job_scheduled", "gauge", "Whether the job holds the CPUs.", job_scheduled},
    {"job_suspended", "gauge", "Whether somebody has suspended the job.", job_suspended},
    {"job_dormant", "gauge", "Whether the job sleeps, so that others have its turns.", job_dormant},
    {"job_share_ratio", "gauge", "The job's share of the node.", job_share},
    {"job_processes", "gauge", "Processes of the job on this node.", job_processes},
    {"job_cpu_seconds", "counter", "CPU time consumed on this node.", job_cpu},
    {"job_scheduled_seconds", "counter", "Time for which the job held the CPUs.", job_held},
    {"job_switches", "counter", "Times the job became scheduled.", job_switches},
    {"job_requests", "counter", "Requests for the CPU.", job_requests},
};

static void print_job_metric(const struct job_metric *metric,
                             const struct protocol_job_record *jobs, size_t count, FILE *stream)
{
    const char *suffix = metric->type[0] == 'c' ? "_total" : "";
    head(stream, metric->name, metric->type, metric->help);
    for (size_t i = 0; i < count; i++) // a job id has no character that would need a backslash
        fprintf(stream, "cosched_%s%s{job=\"%s\",uid=\"%" PRIu32 "\"} %.10g\n", metric->name,
                suffix, jobs[i].job_id, jobs[i].uid, metric->value(&jobs[i]));
}

void metrics_print(const struct protocol_node_record *node, const struct protocol_job_record *jobs,
                   size_t count, FILE *stream)
{
    // Prometheus' text format, which textfile collectors read, has no type "info", and all of a
    // file with one is refused.
    head(stream, "classd_info", "gauge", "The scheduler of this node.");
    fprintf(stream, "cosched_classd_info{version=\"%s\",policy=\"%s\",backend=\"%s\"} 1\n",
            node->version, node->policy, node->backend);
    gauge(stream, "uptime_seconds", "Time since the start of classd.", seconds(node->uptime_ns));
    gauge(stream, "time_slice_seconds", "Interval of the switches.", seconds(node->time_slice_ns));
    gauge(stream, "cpus", "CPUs that the jobs share.", node->cpus);
    gauge(stream, "jobs", "Jobs on this node.", node->jobs);
    gauge(stream, "processes", "Registered processes.", node->processes);
    gauge(stream, "clock_off_jobs", "Jobs without slots since this node's clock is off.",
          node->clock_off_jobs);
    if (node->timer_silent_ns != 0)
        gauge(stream, "timer_silent_seconds", "Time since timerd last asked for a switch.",
              seconds(node->timer_silent_ns));
    counter(stream, "registrations_refused",
            "Registrations that classd has refused; its log has why.", node->refused);
    counter(stream, "switches", "Switches asked for by timerd.", node->switches);
    counter(stream, "requests", "Requests for the CPU.", node->requests);
    counter(stream, "requests_granted", "Requests that scheduled the job.", node->requests_granted);
    counter(stream, "requests_discarded", "Requests that were not followed.",
            node->requests_discarded);
    for (size_t i = 0; i < sizeof job_metrics / sizeof *job_metrics; i++)
        print_job_metric(&job_metrics[i], jobs, count, stream);
    fputs("# EOF\n", stream);
}
