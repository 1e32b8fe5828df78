#include "pmpi/variant/within.h"

#include "pmpi/variant/core.h"

#ifdef OPEN_MPI
#include <dlfcn.h>
#endif

bool within_mpi_yields;
static bool may_sleep;
static _Thread_local struct wait own_wait;

// A rank that is idle naps here, too.
static bool sleeps_now(void)
{
    if (!may_sleep)
        return false;
    wait_nap_while_idle(&own_wait);
    return wait_sleeps_now();
}

#ifdef OPEN_MPI

// What Open MPI calls in each round of its progress, and how many events that has found.
typedef int progress_function(void);

static bool (*set_mpi_yields)(bool);

// Open MPI knows better when to give the CPU away: not after a round that found something.
static int look(void)
{
    if (!core_within)
        return 0;
    bool sleeps = sleeps_now();
    set_mpi_yields(!sleeps && wait_yields_within(&own_wait));
    if (sleeps)
        wait_pause_within(&own_wait, true);
    return 0;
}

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void come_by(void)
{
    int (*add)(progress_function *) = (int (*)(progress_function *))find("opal_progress_register");
    set_mpi_yields = (bool (*)(bool))find("opal_progress_set_yield_when_idle");
    if (add == NULL || set_mpi_yields == NULL)
        return;
    add(look);
    within_mpi_yields = set_mpi_yields(false);
    set_mpi_yields(within_mpi_yields);
    if (within_mpi_yields)
        wait_yield_at_once();
}

void within_hold_mpi(void)
{
    set_mpi_yields(false);
}

void within_let_go(void)
{
    set_mpi_yields(true);
}

static void leave_mpi(void)
{
    if (set_mpi_yields != NULL)
        set_mpi_yields(false);
}

#else

static void look(void)
{
    if (core_within)
        wait_pause_within(&own_wait, sleeps_now());
}

static void come_by(void)
{
    core_when_nothing_moved(look);
}

static void leave_mpi(void)
{
}

void within_hold_mpi(void)
{
}

void within_let_go(void)
{
}

#endif

void within_start(void)
{
    static bool comes_by;
    int level = MPI_THREAD_MULTIPLE;
    mpi_next[1].Query_thread(&level);
    may_sleep = level != MPI_THREAD_MULTIPLE;
    if (!comes_by)
        come_by();
    comes_by = true;
}

void within_stop(void)
{
    core_within = may_sleep = false;
    within_give_back();
}

void within_begin_yielding(void)
{
    own_wait = wait_new();
    core_within = true;
}

void within_end_yielding(void)
{
    core_within = false;
    leave_mpi();
}
