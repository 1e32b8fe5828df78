// To which CPUs of the node a job's processes are bound: by their MPI's launcher, a batch system, a
// container's cpuset or taskset. Jobs that are bound to other CPUs than each other do not compete.
#ifndef COSCHED_CLASSD_JOB_CPUS_H
#define COSCHED_CLASSD_JOB_CPUS_H

#include "classd/table.h"

// The process, one of the job's, has come.
void job_cpus_join(struct job *job, const struct process *process);

// Looks at all processes anew, if the last look is some seconds ago; true when that changes what is
// known of the job.
bool job_cpus_look(struct job *job, uint64_t now_ns);

// As ENGINE_REGISTER and ENGINE_CPUS want them: null when the job is bound to none. The job's own.
const struct engine_cpus *job_cpus(const struct job *job);

#endif
