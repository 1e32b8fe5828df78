#include "classd/job_cpus.h"

#include "cgroup-backend/affinity.h"
#include "classd/policy/cpus.h"
#include "common/units.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Programs bind themselves when they begin to compute.
#define LOOK_NS (5 * NS_PER_SEC)

enum { THREADS_MOST = 256 }; // or so, looked at of a job; with more it is bound to nothing

static void unbind(struct job *job)
{
    job->cpus = (struct engine_cpus){0};
    job->bound = false;
}

static bool read_cpus(pid_t thread, struct engine_cpus *cpus)
{
    *cpus = (struct engine_cpus){0};
    return syscall(SYS_sched_getaffinity, thread, sizeof cpus->words, cpus->words) >= 0;
}

// Its first thread has fewer CPUs than the process can use, so that was bound for itself.
static void unite_threads(pid_t pid, struct engine_cpus *cpus, size_t *looks)
{
    cleanup_affinity struct affinity threads = {0};
    if (*looks < THREADS_MOST)
        affinity_note(pid, &threads);
    for (size_t i = 0; threads.mask_bytes <= sizeof cpus->words && i < threads.count; i++) {
        struct engine_cpus one = {0};
        memcpy(one.words, threads.masks + i * threads.mask_bytes, threads.mask_bytes);
        cpus_unite(cpus, &one, ENGINE_CPU_WORDS);
    }
    *looks += threads.count;
}

static void add(struct job *job, const struct process *process, size_t *looks)
{
    struct engine_cpus cpus;
    if (!job->bound)
        return;
    if (!read_cpus(process->pid, &cpus)) {
        if (errno != ESRCH)
            unbind(job);
        return;
    }
    if (cpus_count(&cpus, ENGINE_CPU_WORDS) < process->width)
        unite_threads(process->pid, &cpus, looks);
    cpus_unite(&job->cpus, &cpus, ENGINE_CPU_WORDS);
    // Others are still to come, or were not looked at.
    if (cpus_count(&cpus, ENGINE_CPU_WORDS) < process->width || *looks >= THREADS_MOST)
        unbind(job);
}

// As many CPUs as there are is all of them.
static void finish(struct job *job)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (job->bound && online > 0 && cpus_count(&job->cpus, ENGINE_CPU_WORDS) >= (uint64_t)online)
        unbind(job);
}

void job_cpus_join(struct job *job, const struct process *process)
{
    if (job->process_count == 1) {
        unbind(job);
        job->bound = true;
    }
    size_t looks = 0;
    add(job, process, &looks);
    finish(job);
}

bool job_cpus_look(struct job *job, uint64_t now_ns)
{
    const struct engine_cpus before = job->cpus;
    if (now_ns - job->cpus_seen_ns < LOOK_NS)
        return false;
    job->cpus_seen_ns = now_ns;
    unbind(job);
    job->bound = true;
    size_t looks = 0;
    for (uint32_t i = 0; i < job->process_count; i++)
        add(job, job->processes[i], &looks);
    finish(job);
    return !cpus_same(&job->cpus, &before, ENGINE_CPU_WORDS);
}

const struct engine_cpus *job_cpus(const struct job *job)
{
    return job->bound ? &job->cpus : NULL;
}
