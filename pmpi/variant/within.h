// How a rank waits inside a call that is left to its MPI as a whole: a reduction, which added up by
// polls of the nonblocking one comes to other last digits; what makes communicators and windows. A
// rank that shares its CPUs gives them away there too, between the polls of the MPI's own, and one
// whose job is idle sleeps, or its polls would use up the share that the scheduled job leaves it.
// As far as the MPI comes by here: Open MPI by its list of progress functions, MPICH where its
// transport is UCX.
#ifndef COSCHED_PMPI_VARIANT_WITHIN_H
#define COSCHED_PMPI_VARIANT_WITHIN_H

#include "pmpi/variant/wait.h"

#include <stdbool.h>

// Where this rank yields, at MPI_Init or from now on, or its node may be contended; and at the
// beginning of MPI_Finalize. Unless several threads can be in MPI at the same time, a rank also
// sleeps there, as it does elsewhere while idle and under `block`.
void within_start(void);
void within_stop(void);

// At the beginning and at the end of a call.
void within_begin_waiting(void);
void within_end_waiting(void);

// The same of a call that brings strangers: it starts processes, maybe on this rank's CPU, or waits
// for some of which nobody knows when they come. Nobody counts microseconds there, so the rank
// sleeps, unless it is to spin by its user's word.
void within_begin_for_strangers(void);

// Open MPI gives the CPU away with every poll where it was told to, or believes that its ranks are
// more than the CPUs. In calls that wait the library does so in its place: where somebody else
// takes each CPU that is given, a rank must sleep, and to see that, it must know when it gave its
// CPU away.
extern bool within_mpi_yields HIDDEN;
void within_hold_mpi(void);
void within_let_go(void);

static inline void within_take_over(void)
{
    if (within_mpi_yields && wait_yields)
        within_hold_mpi();
}

static inline void within_give_back(void)
{
    if (within_mpi_yields && wait_yields)
        within_let_go();
}

static inline void within_begin(void)
{
    if (wait_polls())
        within_begin_waiting();
}

static inline void within_end(void)
{
    if (core_within)
        within_end_waiting();
}

#endif
