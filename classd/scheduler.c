#include "classd/scheduler_state.h"

#include "classd/deaths.h"
#include "classd/job_class.h"
#include "classd/job_cpus.h"
#include "classd/log.h"
#include "common/gang_lists.h"
#include "common/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(GANG_LISTS_MAX == ENGINE_LISTS, "the engine has as many lists as people may write");

static void set_lists(struct engine_settings *settings, const struct config *config)
{
    struct gang_lists lists;
    if (!config_is_gang(config) || gang_lists_parse(config->gang_lists, &lists, NULL) < 0)
        return;
    settings->list_count = lists.count;
    for (unsigned i = 0; i < lists.count; i++)
        settings->lists[i] =
            (struct engine_list){.slots = lists.list[i].slots, .until_ns = lists.list[i].until_ns};
}

static struct engine_settings engine_settings(const struct config *config)
{
    struct engine_settings settings = {
        .policy = config->policy,
        .cpus = config_cpus(config),
        .servants = config_is_gang(config) ? (unsigned)config->gang_servants : 1,
        .idle_share_ppm = config->idle_share_ppm,
        .idle_total_ppm = config->idle_total_ppm,
        .interactive_share_ppm = config->interactive_share_ppm,
        .sequential_share_ppm =
            *config->sequential_groups != '\0' ? config->sequential_share_ppm : 0,
        .time_slice_ns = config_slice_ns(config),
        .gmet_ns = config_gmet_ns(config),
        .dcs = {.exponent = (int)config->dcs_exponent,
                .constant_ns = config->dcs_constant_ns,
                .quantum_ns = config->dcs_quantum_ns,
                .calibrate = config->dcs_calibrate},
    };
    set_lists(&settings, config);
    return settings;
}

int scheduler_open(const struct config *config, backend_t *backend, pages_t *pages, uint64_t now_ns,
                   scheduler_t **scheduler, struct error *err)
{
    struct scheduler *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_errno(err, ENOMEM, "scheduler");
    made->config = config;
    made->backend = backend;
    made->pages = pages;
    made->started_ns = made->timer_heard_ns = now_ns;
    made->slice_ns = config_slice_ns(config);
    clocks_slice_is(made);
    struct engine_settings settings = engine_settings(config);
    made->engine = engine_new(&settings);
    made->table = table_new();
    made->trace = trace_new();
    made->leavers = leavers_new(SCHEDULER_CLASSES_MAX);
    made->deaths = deaths_open(err);
    if (made->deaths >= 0 && made->engine != NULL && made->table != NULL && made->trace != NULL &&
        made->leavers != NULL && sequential_open(made, err) == 0) {
        *scheduler = made;
        return 0;
    }
    if (made->deaths >= 0)
        error_errno(err, ENOMEM, "policy %s", config->policy);
    scheduler_close(made);
    return -1;
}

void scheduler_close(scheduler_t *scheduler)
{
    if (scheduler == NULL)
        return;
    for (size_t i = 0; scheduler->table != NULL && i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        class_close(job->class_);
        status_page_close(job->page, job->page_fd);
    }
    leaving_close(scheduler);
    sequential_close(scheduler);
    table_free(scheduler->table);
    trace_free(scheduler->trace);
    engine_free(scheduler->engine);
    if (scheduler->deaths >= 0)
        close(scheduler->deaths);
    free(scheduler);
}

int scheduler_deaths_fd(const scheduler_t *scheduler)
{
    return scheduler->deaths;
}

// ---- turns

// The number of the slice that begins, which all nodes give it; 0: not known. timerd's ticks come
// at about the multiples of the slice. A late one is as good as none, but for slots: they are what
// the clock says, whenever it is asked.
static uint64_t turn_at(const struct config *config, uint64_t wall_ns)
{
    uint64_t slice_ns = config_slice_ns(config), early_ns = slice_ns / 8;
    bool on_time = (wall_ns + early_ns) % slice_ns < 2 * early_ns;
    if (!config->timer_align || wall_ns == 0 || !(on_time || config_is_gang(config)))
        return 0;
    return (wall_ns + early_ns) / slice_ns;
}

static void number_slice(struct scheduler *scheduler, uint64_t turn)
{
    scheduler->turn = turn;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        atomic_store_explicit(&table_job_at(scheduler->table, i)->page->turn, status_turn(turn),
                              memory_order_relaxed);
}

// Processes that run for another slice look at the page, and at what peers on other nodes have told
// them: where nobody else wants the CPUs they would never do so, and it would pile up. They tell
// peers that they have the node for this slice, too, who will not act on what they heard in the
// last.
static void announce_slice(struct scheduler *scheduler)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        uint64_t word = atomic_load_explicit(&job->page->word, memory_order_relaxed);
        if ((status_word_flags(word) & STATUS_SCHEDULED) != 0 && !jobs_is_here_alone(job))
            status_page_nudge(job->page);
    }
}

static void review_cpus(struct scheduler *scheduler, uint64_t now_ns)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        if (job_cpus_look(job, now_ns))
            decisions_take(
                scheduler,
                (struct engine_event){.kind = ENGINE_CPUS, .job = job->id, .cpus = job_cpus(job)},
                now_ns);
    }
}

static void take_turns(struct scheduler *scheduler, uint64_t turn, uint64_t now_ns,
                       uint64_t wall_ns)
{
    uint64_t slice_ns = config_slice_ns(scheduler->config);
    bool first = scheduler->last_switch_ns == 0;
    bool silent = !first && (scheduler->unasked ||
                             now_ns - scheduler->last_switch_ns > slice_ns + slice_ns / 2);
    // timerd may have lifted limits meanwhile, or do so while the first late turn is taken.
    bool lifted = first || silent || scheduler->was_silent;
    scheduler->last_switch_ns = now_ns;
    scheduler->was_silent = silent;
    scheduler->wall_offset_ns = wall_ns != 0 ? wall_ns - now_ns : 0;
    sequential_search(scheduler);
    accounts_read_all(scheduler, now_ns);
    dormant_wake(scheduler, now_ns);
    sequential_review(scheduler, now_ns);
    review_cpus(scheduler, now_ns);
    tracking_look_at_managers(scheduler, now_ns);
    trace_event(scheduler->trace, PROTOCOL_EVENT_SWITCH, 0, 0, now_ns);
    number_slice(scheduler, turn);
    decisions_take(scheduler, (struct engine_event){.kind = ENGINE_SWITCH, .turn = turn}, now_ns);
    dormant_fall_asleep(scheduler, now_ns);
    announce_slice(scheduler);
    slots_review(scheduler, turn, now_ns);
    if (lifted)
        decisions_reassert(scheduler);
    else
        decisions_reassert_doubtful(scheduler);
    tracking_reassert(scheduler);
}

void scheduler_switch(scheduler_t *scheduler, uint64_t now_ns, uint64_t wall_ns)
{
    scheduler->switches++;
    scheduler->timer_heard_ns = now_ns;
    take_turns(scheduler, turn_at(scheduler->config, wall_ns), now_ns, wall_ns);
    if (scheduler->unasked)
        log_line(LOG_NOTICE, "timerd asks for switches again");
    scheduler->unasked = false;
}

// A timerd that is dead, hangs or is of another version must not leave idle jobs idle for ever.
static uint64_t overdue_ns(const struct scheduler *scheduler)
{
    uint64_t last_ns = scheduler->last_switch_ns > scheduler->timer_heard_ns
                           ? scheduler->last_switch_ns
                           : scheduler->timer_heard_ns;
    return last_ns + 2 * config_slice_ns(scheduler->config);
}

static uint64_t turn_deadline_ns(const struct scheduler *scheduler)
{
    return table_job_count(scheduler->table) > 0 ? overdue_ns(scheduler) : SCHEDULER_NO_DEADLINE;
}

// Not by the clock: every second slice would be the same jobs' by it.
void scheduler_deadline(scheduler_t *scheduler, uint64_t now_ns, uint64_t wall_ns)
{
    if (turn_deadline_ns(scheduler) > now_ns)
        return;
    take_turns(scheduler, 0, now_ns, wall_ns);
    if (!scheduler->unasked)
        log_line(LOG_WARNING,
                 "no SWITCH for two time-slices: classd switches by itself; see whether "
                 "timerd runs (systemctl status cosched-timerd)");
    scheduler->unasked = true;
}

void scheduler_request(scheduler_t *scheduler, struct process *process, uint64_t now_ns)
{
    struct engine_event event = {.kind = ENGINE_SCHEDULE, .job = process->job->id};
    process->job->requests++;
    scheduler->requests++;
    accounts_read_stale(scheduler, now_ns);
    dormant_rouse(scheduler, process->job);
    enum engine_outcome outcome = decisions_take(scheduler, event, now_ns);
    bool granted = outcome == ENGINE_GRANTED;
    if (granted)
        scheduler->granted++;
    else
        scheduler->discarded++;
    trace_event(scheduler->trace, granted ? PROTOCOL_EVENT_GRANTED : PROTOCOL_EVENT_DISCARDED,
                job_trace_number(process->job), 0, now_ns);
}

void scheduler_watch(scheduler_t *scheduler, uint64_t now_ns)
{
    sequential_account(scheduler, now_ns);
    dormant_wake(scheduler, now_ns);
    sequential_review(scheduler, now_ns);
}

// ---- changes from outside

void scheduler_reconfigure(scheduler_t *scheduler, uint64_t now_ns)
{
    struct engine_settings settings = engine_settings(scheduler->config);
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        pages_describe_node(scheduler->pages, table_job_at(scheduler->table, i)->page);
    // It is not late by a slice that it did not know.
    if (config_slice_ns(scheduler->config) != scheduler->slice_ns)
        scheduler->timer_heard_ns = now_ns;
    scheduler->slice_ns = config_slice_ns(scheduler->config);
    clocks_slice_is(scheduler);
    accounts_read_all(scheduler, now_ns);
    decisions_take(scheduler, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings},
                   now_ns);
    decisions_reassert(scheduler); // [scheduler] strict is no decision of the engine's
}

int scheduler_start_trace(scheduler_t *scheduler, uint32_t capacity, uint64_t now_ns,
                          struct error *err)
{
    if (trace_start(scheduler->trace, capacity, err) < 0)
        return -1;
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        decisions_record_arrival(scheduler, table_job_at(scheduler->table, i), now_ns);
    sequential_record_arrival(scheduler, now_ns);
    return 0;
}

trace_t *scheduler_trace(const scheduler_t *scheduler)
{
    return scheduler->trace;
}

uint64_t scheduler_deadline_ns(const scheduler_t *scheduler)
{
    const uint64_t each_ns[] = {turn_deadline_ns(scheduler), tracking_deadline_ns(scheduler),
                                leaving_deadline_ns(scheduler), dormant_deadline_ns(scheduler)};
    uint64_t first_ns = SCHEDULER_NO_DEADLINE;
    for (size_t i = 0; i < sizeof each_ns / sizeof *each_ns; i++)
        first_ns = each_ns[i] < first_ns ? each_ns[i] : first_ns;
    return first_ns;
}

// ---- beginning and end

void scheduler_resume(scheduler_t *scheduler, uint64_t now_ns)
{
    struct engine_settings settings = engine_settings(scheduler->config);
    decisions_take(scheduler, (struct engine_event){.kind = ENGINE_SETTINGS, .settings = &settings},
                   now_ns);
    decisions_reassert(scheduler);
    tracking_reassert(scheduler);
    sequential_search(scheduler);
}

void scheduler_lift(scheduler_t *scheduler)
{
    struct error err;
    bool failed = backend_release_all(scheduler->backend, NULL, &err) != 0;
    if (failed)
        log_line(LOG_ERR, "limits stay behind: %s; lift them with coschedctl release", err.text);
    sequential_give_back(scheduler);
    for (size_t i = 0; i < table_job_count(scheduler->table); i++) {
        struct job *job = table_job_at(scheduler->table, i);
        // Its record may be gone, with the runtime directory.
        if (failed || class_is_in_place(job->class_))
            job_class_limit(scheduler->config, scheduler->backend, &scheduler->moment, job, false,
                            ENGINE_WHOLE_PPM);
        class_let_run(job->class_);
        decisions_publish(scheduler, job, true, false);
    }
}

bool scheduler_calls(const scheduler_t *scheduler)
{
    return scheduler->calls;
}

void scheduler_called(scheduler_t *scheduler)
{
    for (size_t i = 0; i < table_job_count(scheduler->table); i++)
        table_job_at(scheduler->table, i)->called = false;
    scheduler->calls = false;
}

void scheduler_dissolve(scheduler_t *scheduler, uint64_t now_ns)
{
    scheduler_lift(scheduler);
    while (table_job_count(scheduler->table) > 0) {
        struct job *job = table_job_at(scheduler->table, 0);
        jobs_drop_processes(scheduler, job, now_ns);
        jobs_end(scheduler, job, now_ns);
    }
    leaving_finish(scheduler, now_ns);
}
