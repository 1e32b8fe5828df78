#include "classd/scheduler_state.h"

#include "classd/job_cpus.h"
#include "common/units.h"

#include <errno.h>
#include <unistd.h>

// The engine learns of the job; it decides in scheduler_resume(), when all jobs are there.
static int tell_engine(struct scheduler *scheduler, struct job *job, uint64_t now_ns,
                       struct error *err)
{
    const struct status_turns *turns = &job->page->turns;
    uint64_t max_jobs = scheduler->config->max_jobs;
    uint64_t slots = clocks_keep_slots(job) ? job->page->slots : 0;
    job->named_ranks = turns->named_ranks != 0 ? turns->named_ranks : worlds_largest(&job->worlds);
    struct engine_account account = {
        .service_ns = job->page->service_ns,
        .suspended = job->suspended,
        .scheduled = turns->scheduled != 0 && !job->suspended,
        .scheduled_since_ns = turns->scheduled_since_ns,
        .scheduled_total_ns = turns->scheduled_total_ns,
        .switches = turns->switches,
        .slices_waited = turns->slices_waited,
        .most_jobs = turns->most_jobs < max_jobs ? turns->most_jobs : (uint32_t)max_jobs,
        .came_ns = job->registered_ns,
        .slots = slots_of_word(slots),
        .term = slots_term_of_word(slots),
    };
    struct engine_event event = {.kind = ENGINE_ADOPT,
                                 .job = job->id,
                                 .name = job_turn_name(job),
                                 .owner = job_owner(job),
                                 .list = job->page->list,
                                 .account = &account};
    job_cpus_look(job, now_ns);
    for (uint32_t i = 0; i < job->process_count; i++) {
        event.width = job->processes[i]->width;
        event.cpus = job_cpus(job);
        if (engine_event(scheduler->engine, &event, now_ns).outcome != ENGINE_DONE)
            return error_errno(err, ENOMEM, "engine"); // only possible for the first
    }
    return 0;
}

// This one may be killed, too: the page lists everybody all the time, as those who live come in the
// order in which they are listed there, and move to the front.
static bool adopt_process(struct scheduler *scheduler, struct job *job,
                          const struct status_member *member, int pidfd, struct error *err)
{
    struct world unknown = {.ranks = job->page->ranks};
    const struct process *process = jobs_enter(scheduler, job, member, &unknown, pidfd, err);
    if (process == NULL)
        return false;
    job->page->members[process->slot] = *member;
    return true;
}

int scheduler_adopt(scheduler_t *scheduler, const struct adoption *adoption, uint64_t now_ns,
                    struct error *err)
{
    uint32_t entered = 0;
    struct class_suspension how;
    struct job *job = table_add_job(scheduler->table, adoption->uid, adoption->job_id);
    if (job != NULL) {
        job->class_ = adoption->class_;
        job->page = adoption->page;
        job->page_fd = adoption->page_fd;
        worlds_take_over(&job->worlds, job->page->worlds);
        // A classd that died while it killed may have left it frozen, and nobody would thaw it.
        bool suspended = class_suspended(job->class_, &how);
        job->suspended = suspended && how.root == 0;
        if (class_has_freezer(job->class_) && (!suspended || how.means != CLASS_BY_FREEZER))
            class_thaw(job->class_, NULL);
        job->registered_ns = job->page->turns.registered_ns;
        if (job->registered_ns == 0 || job->registered_ns > now_ns)
            job->registered_ns = now_ns;
        while (entered < adoption->count &&
               adopt_process(scheduler, job, &adoption->processes[entered],
                             adoption->pidfds[entered], err))
            entered++;
        page_keep_members(job->page, entered);
    }
    for (uint32_t i = entered; i < adoption->count; i++)
        close(adoption->pidfds[i]);
    if (job == NULL) {
        class_close(adoption->class_);
        status_page_close(adoption->page, adoption->page_fd);
        return error_errno(err, ENOMEM, "process table");
    }
    if (entered < adoption->count || tell_engine(scheduler, job, now_ns, err) < 0) {
        jobs_drop_processes(scheduler, job, now_ns);
        jobs_end(scheduler, job, now_ns);
        return -1;
    }
    accounts_start(scheduler, job, now_ns);
    jobs_publish_size(job);
    jobs_publish_degree(scheduler);
    return 0;
}
