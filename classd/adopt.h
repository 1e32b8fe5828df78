// Takes over what a former classd left: classes with their limits, pages with their members.
#ifndef COSCHED_CLASSD_ADOPT_H
#define COSCHED_CLASSD_ADOPT_H

#include "classd/scheduler.h"

// Every class `job-<uid>-<job id>` with a page of its own and at least one member that still lives
// (same pid, same start time, in the class) becomes a job of the scheduler again, with the turns
// that its page tells; every other class of that form and every other page is removed, by and by
// where processes are left (scheduler_leave_on()): nothing here waits for them. Faults of single
// jobs are logged and cost that job its management, not the start; if there are more classes than
// SCHEDULER_CLASSES_MAX, those beyond have no limit from then on. Returns 0, or -1 when the classes
// cannot be listed.
int adopt_jobs(scheduler_t *scheduler, backend_t *backend, pages_t *pages, uint64_t now_ns,
               struct error *err);

// Before a daemon begins whose `backend` was opened with `settings`: if its predecessor had its
// classes in another place, by another configuration, their limits are lifted and they are removed,
// as far as waiting for the processes of ten of them is enough; jobs whose class that was run on
// without a scheduler. Then notes the place for the next one. What fails is logged, and keeps
// nobody from serving.
void adopt_elsewhere(const struct backend_settings *settings, backend_t *backend);

#endif
