#include "bench/npb/common/report.h"

#include <mpi.h>
#include <stdio.h>

void npb_timer_start(struct npb_timer *timer)
{
    timer->started_s = MPI_Wtime();
}

void npb_timer_stop(struct npb_timer *timer)
{
    timer->total_s += MPI_Wtime() - timer->started_s;
}

double npb_timer_slowest_s(const struct npb_timer *timer)
{
    double slowest_s = 0;
    MPI_Allreduce(&timer->total_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest_s;
}

void npb_report_result(const struct npb_result *result)
{
    double mops = result->seconds > 0 ? result->operations / result->seconds * 1e-6 : 0;
    printf("Time %.3f s, %.1f million operations per second, %.1f per rank; verification %s\n",
           result->seconds, mops, mops / result->ranks, result->verified ? "successful" : "FAILED");
    printf("NPB kernel=%s class=%c ranks=%d repeat=%d seconds=%.3f mops=%.1f verified=%s\n",
           result->kernel, result->size_class, result->ranks, result->repeat, result->seconds, mops,
           result->verified ? "yes" : "no");
    fflush(stdout);
}
