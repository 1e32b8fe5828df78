// A whole run of BT or SP: all but the systems of equations that make the difference.
#ifndef COSCHED_BENCH_ADI_JOB_H
#define COSCHED_BENCH_ADI_JOB_H

#include "bench/npb/adi/class.h"
#include "bench/npb/adi/lines.h"
#include "bench/npb/common/job.h"

struct adi_solver {
    const char *name;
    const struct adi_class *classes; // ADI_CLASSES of them
    double operations[4]; // of a time step, as NAS counts: factors of points^3, ^2, ^1, ^0
    bool with_sound;      // whether cells are to know the speed of sound
    struct adi_method method;
    // What happens to `right` of a cell between right side and systems; null for nothing.
    void (*before_lines)(struct adi_cell *cell);
    // Makes the solution of the systems the new state.
    void (*after_lines)(struct adi_cell *cell);
};

// The functions of struct npb_kernel; `solver` must outlive the job.
const char *adi_job_prepare(const struct adi_solver *solver, const struct npb_job *job,
                            void **state);
void adi_job_run(void *state);
bool adi_job_verify(const void *state);
double adi_job_operations(const void *state);
void adi_job_release(void *state);

#endif
