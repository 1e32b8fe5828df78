#include "classd/scheduler_state.h"
#include "common/version.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void describe_dcs(const struct config *config, struct protocol_node_record *record)
{
    if (strcmp(config->policy, "dcs") != 0)
        return;
    record->dcs_quantum_ns = config->dcs_quantum_ns;
    record->dcs_constant_ns = config->dcs_constant_ns;
    record->dcs_exponent = (int32_t)config->dcs_exponent;
    record->dcs_calibrate = config->dcs_calibrate;
}

void scheduler_describe_node(const scheduler_t *scheduler, struct protocol_node_record *record,
                             uint64_t now_ns)
{
    const struct config *config = scheduler->config;
    *record = (struct protocol_node_record){
        .node_id = pages_node_id(scheduler->pages),
        .uptime_ns = now_ns - scheduler->started_ns,
        .time_slice_ns = config_slice_ns(config),
        .gmet_ns = config_gmet_ns(config),
        .switches = scheduler->switches,
        .requests = scheduler->requests,
        .requests_granted = scheduler->granted,
        .requests_discarded = scheduler->discarded,
        .idle_share_ppm = config->idle_share_ppm,
        .cpus = config_cpus(config),
        .jobs = (uint32_t)table_job_count(scheduler->table),
        .processes = (uint32_t)table_process_count(scheduler->table),
        .generation = pages_generation(scheduler->pages),
        .pid = (uint32_t)getpid(),
    };
    describe_dcs(config, record);
    record->timer_silent_ns =
        now_ns > scheduler->timer_heard_ns ? now_ns - scheduler->timer_heard_ns : 1;
    record->clock_off_jobs = clocks_count_off(scheduler);
    snprintf(record->policy, sizeof record->policy, "%s", config->policy);
    snprintf(record->backend, sizeof record->backend, "%s", backend_name(scheduler->backend));
    snprintf(record->version, sizeof record->version, "%s", cosched_version);
}

static struct job *visible_job(const struct scheduler *scheduler, uid_t viewer, bool sees_all,
                               uint32_t index)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if ((sees_all || job->uid == viewer) && index-- == 0)
            return job;
    }
    return NULL;
}

static bool describe(struct scheduler *scheduler, struct job *job,
                     struct protocol_job_record *record, uint64_t now_ns)
{
    struct engine_job_view view;
    struct class_suspension how;
    if (!engine_job_find(scheduler->engine, job->id, &view))
        return false;
    if (now_ns - scheduler->usage_read_ns >= USAGE_FRESH_NS)
        accounts_read(scheduler, job, now_ns);
    *record = (struct protocol_job_record){
        .uid = (uint32_t)job->uid,
        .processes = job->process_count,
        .ranks = worlds_ranks(&job->worlds),
        .width = view.width,
        .scheduled = view.scheduled,
        .share_ppm = view.share_ppm,
        .limited = view.limited,
        .cpu_ns = job->usage_ns,
        .registered_ns = now_ns - job->registered_ns,
        .scheduled_ns = view.scheduled_total_ns,
        .switches = view.switches,
        .requests = job->requests,
        .slots = view.slots,
        .slots_agreed = view.slots != 0,
        .dormant = view.dormant,
        .clock = job->page->clock,
    };
    if (job->suspended && class_suspended(job->class_, &how))
        record->suspended = how.means;
    snprintf(record->job_id, sizeof record->job_id, "%s", job->job_id);
    return true;
}

bool scheduler_describe_job(scheduler_t *scheduler, uid_t viewer, bool sees_all, uint32_t index,
                            struct protocol_job_record *record, uint64_t now_ns)
{
    struct job *job = visible_job(scheduler, viewer, sees_all, index);
    if (job == NULL && (index == 0 || visible_job(scheduler, viewer, sees_all, index - 1) != NULL))
        return sequential_describe(scheduler, record, now_ns);
    return job != NULL && describe(scheduler, job, record, now_ns);
}

bool scheduler_describe_world(scheduler_t *scheduler, uid_t uid, uint64_t world,
                              struct protocol_job_record *record, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        // Who is not let in is better off with a job of his own.
        if (job->uid == uid && worlds_have(&job->worlds, world) &&
            job->process_count < scheduler->config->max_processes)
            return describe(scheduler, job, record, now_ns);
    }
    return false;
}
