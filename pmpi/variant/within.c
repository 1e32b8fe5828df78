#include "pmpi/variant/within.h"

#include <pthread.h>

#include "pmpi/variant/core.h"

bool within_mpi_yields;
static bool may_sleep;
static pthread_once_t comes_by = PTHREAD_ONCE_INIT; // threads may be the first to wait together
static _Thread_local bool for_strangers;
static _Thread_local struct wait own_wait;

// A rank that is idle naps here, too.
static bool sleeps_now(void)
{
    if (!may_sleep)
        return false;
    wait_nap_while_idle(&own_wait);
    return wait_sleeps_now() ||
           (for_strangers && !(carrier.on && session_word_idle(session_word())));
}

#ifdef OPEN_MPI

enum { LOOKS_LATE = true }; // comes by between its transports and its look at what they have found

// What Open MPI calls in each round of its progress, and how many events that has found.
typedef int progress_function(void);

static bool (*set_mpi_yields)(bool);

// Open MPI knows better when to give the CPU away: not after a round that found something.
static int look(void)
{
    if (!core_within)
        return 0;
    bool sleeps = sleeps_now();
    if (wait_yields)
        set_mpi_yields(!sleeps && wait_yields_within(&own_wait));
    if (sleeps || !wait_yields)
        wait_pause_within(&own_wait, sleeps);
    return 0;
}

static void come_by(void)
{
    int (*add)(progress_function *) =
        (int (*)(progress_function *))core_find("opal_progress_register");
    set_mpi_yields = (bool (*)(bool))core_find("opal_progress_set_yield_when_idle");
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
    if (set_mpi_yields != NULL && wait_yields)
        set_mpi_yields(false);
}

#else

enum { LOOKS_LATE = false };

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
    int level = MPI_THREAD_MULTIPLE;
    mpi_next[1].Query_thread(&level);
    may_sleep = level != MPI_THREAD_MULTIPLE;
    if (wait_yields)
        pthread_once(&comes_by, come_by);
}

void within_stop(void)
{
    core_within = may_sleep = false;
    within_give_back();
}

// A rank that does not yield comes by only once its node has been contended: polls are as quick as
// the MPI's before.
void within_begin_waiting(void)
{
    if (!wait_yields && !may_sleep)
        return;
    pthread_once(&comes_by, come_by);
    own_wait = wait_new();
    own_wait.block.looks_late = LOOKS_LATE;
    for_strangers = false;
    core_within = true;
}

void within_begin_for_strangers(void)
{
    if (!wait_adapts && !wait_yields) {
        within_begin();
        return;
    }
    within_start();
    within_begin_waiting();
    for_strangers = core_within;
}

void within_end_waiting(void)
{
    core_within = false;
    leave_mpi();
}
