// The class of a job: where it is ([cgroup] placement), who is in it, what limits it. Errors are
// said in the log as far as an admin can do something about them.
#ifndef COSCHED_CLASSD_JOB_CLASS_H
#define COSCHED_CLASSD_JOB_CLASS_H

#include "cgroup-backend/backend.h"
#include "classd/table.h"
#include "common/config.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The name of the class of this user's job.
void job_class_name(char name[BACKEND_NAME_MAX], uid_t uid, const char *job_id);

// Opens the class of a new job, whose first process is `pid`, as [cgroup] placement says. Returns
// 0, or -1 with a reason: EXDEV, in words that the client may be told, when the job must run where
// it is, and cannot be limited there.
int job_class_open(const struct config *config, backend_t *backend, struct job *job, pid_t pid,
                   struct error *err);

// Removes a class for good, of many one after the other: *waits of them, counted down here, may be
// waited for as by class_remove(). Returns 0, or -1 with a reason, EBUSY when somebody is left. The
// class is released in any case.
int job_class_remove(class_t *class_, unsigned *waits, struct error *err);

// Takes a process into the class. A class in place that cannot take it is given up for one of its
// own, if [cgroup] placement and its manager allow that. Returns 0, or -1 with a reason: EXDEV, in
// words that the client may be told, where the two must stay apart.
int job_class_place(const struct config *config, backend_t *backend, struct job *job, pid_t pid,
                    uint64_t start_time, struct error *err);

// A process of a new job lives in the group of a batch script in which this job is in place: the
// limit would hold up that one's launcher. Moves the job to a class of its own, if [cgroup]
// placement and its manager allow that: true, and the limit is to be set anew.
bool job_class_give_way(const struct config *config, backend_t *backend, struct job *job,
                        pid_t pid);

// Sets or lifts the limit; fails open. Returns false when the job must go unlimited because the
// limit could not be set. A kernel that refused one write may accept a later one, so a job whose
// limit could not even be lifted is marked as stuck, to be tried again every turn.
bool job_class_limit(const struct config *config, backend_t *backend,
                     const struct phase_moment *moment, struct job *job, bool limited,
                     uint32_t share_ppm);

#endif
