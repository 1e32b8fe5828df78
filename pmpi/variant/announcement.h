// What rank 0 tells all others of the job before they register with their schedulers: its id, the
// same on every node, and when all nodes will know of it.
#ifndef COSCHED_PMPI_VARIANT_ANNOUNCEMENT_H
#define COSCHED_PMPI_VARIANT_ANNOUNCEMENT_H

#include "common/protocol.h"

#include <stdint.h>

// As it travels. For an older library all of it is the job's id, which ends before the rest.
struct announcement {
    char job_id[PROTOCOL_JOB_ID_MAX - sizeof(uint64_t)];
    uint64_t starts_ns; // a time of day; 0: not told
};

// Of a job that starts at the time of day `now_ns`. Its id is Slurm's job and step where there is
// one, else a random one; when that is too long, there is no time. `membership` is
// /proc/self/cgroup.
struct announcement announcement_new(uint64_t now_ns, const char *membership);

// Of processes that join the job `job_id`, which is on some of their nodes already.
struct announcement announcement_of(const char job_id[PROTOCOL_JOB_ID_MAX], uint64_t now_ns);

// Reads what rank 0 has said; the id may still be none (protocol_job_id_valid). Returns when all
// nodes will know of the job, or 0.
uint64_t announcement_read(const struct announcement *said, char job_id[PROTOCOL_JOB_ID_MAX]);

#endif
