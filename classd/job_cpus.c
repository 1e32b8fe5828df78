#include "classd/job_cpus.h"

#include "classd/policy/cpus.h"
#include "common/units.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

// Programs bind themselves when they begin to compute.
#define LOOK_NS (5 * NS_PER_SEC)

static void unbind(struct job *job)
{
    job->cpus = (struct engine_cpus){0};
    job->bound = false;
}

// A thread is seen, the process's first. One that has fewer CPUs than the process can use was bound
// for itself, and the others to others.
static void add(struct job *job, const struct process *process)
{
    struct engine_cpus cpus = {0};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (!job->bound)
        return;
    if (syscall(SYS_sched_getaffinity, process->pid, sizeof cpus.words, cpus.words) < 0) {
        if (errno != ESRCH)
            unbind(job);
        return;
    }
    uint64_t count = cpus_count(&cpus);
    cpus_unite(&job->cpus, &cpus);
    if (count < process->width || (online > 0 && cpus_count(&job->cpus) >= (uint64_t)online))
        unbind(job);
}

void job_cpus_join(struct job *job, const struct process *process)
{
    if (job->process_count == 1) {
        unbind(job);
        job->bound = true;
    }
    add(job, process);
}

bool job_cpus_look(struct job *job, uint64_t now_ns)
{
    const struct engine_cpus before = job->cpus;
    if (now_ns - job->cpus_seen_ns < LOOK_NS)
        return false;
    job->cpus_seen_ns = now_ns;
    unbind(job);
    job->bound = true;
    for (uint32_t i = 0; i < job->process_count; i++)
        add(job, job->processes[i]);
    return !cpus_same(&job->cpus, &before);
}

const struct engine_cpus *job_cpus(const struct job *job)
{
    return job->bound ? &job->cpus : NULL;
}
