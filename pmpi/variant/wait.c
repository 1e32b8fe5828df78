#include "pmpi/variant/wait.h"

#include "common/units.h"
#include "pmpi/variant/arrivals.h"
#include "pmpi/variant/contention.h"
#include "pmpi/variant/courtesy.h"
#include "pmpi/variant/held.h"
#include "pmpi/variant/job.h"
#include "pmpi/variant/requests.h"
#include "pmpi/variant/wire.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

enum {
    POLLS_BEFORE_YIELD = 10,    // about what two switches between ranks that yield cost
    POLLS_BEFORE_COURTESY = 64, // what comes at once is not kept waiting
    POLLS_PER_NAP = 16,         // of an idle rank: the steps of a message that has come
    POLLS_PER_VAIN_NAP = 4,     // when nothing came in the last one
    POLLS_PER_CLOCK = 256,      // of a scheduled rank, which polls some million times a second
};

// A scheduled rank that has waited this long tells its peers again: they may have become idle, or
// have asked for the CPU in vain.
#define STILL_WAITING_NS UINT64_C(50000000)

// Of an idle rank, between polls, unless something comes for it before; the longer one when nothing
// came in the last.
#define NAP_NS      (8 * NS_PER_MS)
#define VAIN_NAP_NS (16 * NS_PER_MS)

// How late it learns that its job is scheduled, where classd does not tell it.
#define LOOK_NS (2 * NS_PER_MS)

// A program that looks for messages by itself rings so often, besides when it finds one.
#define LOOKS_RING_NS (NS_PER_MS / 2)

bool wait_yields;
bool wait_blocks;
bool wait_adapts;
bool wait_collectives_polled;
_Atomic bool wait_whole;
_Atomic bool wait_generalized;
_Atomic bool wait_persistent;
static uint64_t yield_limit_ns; // 0: polls_before_yield
static uint32_t polls_before_yield = POLLS_BEFORE_YIELD;
static _Atomic bool strangers; // are in some intracommunicator

// The persistent requests that are large, each with its bytes in place of a pointer.
static struct requests large = {.threaded = true, .busy = ATOMIC_FLAG_INIT};

_Static_assert(PEERS_UNKNOWN == DOORBELL_ALL, "a seat is a rank in MPI_COMM_WORLD");

void wait_set_spin_limit(uint64_t spin_limit_ns)
{
    yield_limit_ns = spin_limit_ns;
    if (spin_limit_ns != 0)
        block.spin_limit_ns = spin_limit_ns;
}

void wait_yield_at_once(void)
{
    polls_before_yield = 0;
}

static void pause_scheduled(struct wait *wait, bool sleeps)
{
    if (wait->polls - wait->clocked < POLLS_PER_CLOCK && !sleeps)
        return;
    wait->clocked = wait->polls;
    uint64_t now = clock_now_ns();
    if (wait->last_word_ns == 0)
        wait->last_word_ns = now;
    if (now - wait->last_word_ns < STILL_WAITING_NS)
        return;
    wait->last_word_ns = now;
    carrier_still_waiting();
}

static bool is_held(void)
{
    static _Thread_local struct held held;
    return held_believed(&held, status_word_epoch(session_word()), clock_now_ns(),
                         clock_spent_ns());
}

// True when something came.
static bool nap(uint64_t nap_ns)
{
    int ear = session_ear();
    uint64_t step_ns = ear >= 0 ? nap_ns : LOOK_NS;
    for (uint64_t slept_ns = 0; slept_ns < nap_ns; slept_ns += step_ns) {
        if (!session_word_idle(session_word()))
            return true;
        bool heard;
        enum arrivals came = arrivals_sleep(step_ns, ear, &heard);
        if (heard)
            session_listen();
        if (came != ARRIVALS_NONE)
            return true;
    }
    return false;
}

static bool time_to_nap(const struct wait *wait)
{
    return wait->polls - wait->napped >= (wait->overslept ? POLLS_PER_VAIN_NAP : POLLS_PER_NAP);
}

static void take_nap(struct wait *wait)
{
    wait->napped = wait->polls;
    if (is_held())
        wait->overslept = !nap(wait->overslept ? VAIN_NAP_NS : NAP_NS);
}

// An idle rank has one millisecond of CPU time in a hundred. Spent on polls, it is gone when a
// message comes, and the job stays idle here until the next hundred begin. So the rank sleeps; and
// what it does not spend, the scheduled job has.
static void pause_idle(struct wait *wait)
{
    if (!time_to_nap(wait))
        return;
    carrier_idle_look();
    take_nap(wait);
}

void wait_nap_while_idle(struct wait *wait)
{
    if (carrier.on && time_to_nap(wait) && session_word_idle(session_word()))
        take_nap(wait);
}

static bool time_to_yield(struct wait *wait)
{
    if (yield_limit_ns == 0)
        return wait->polls > polls_before_yield;
    uint64_t now = clock_now_ns();
    if (wait->yield_after_ns == 0)
        wait->yield_after_ns = now + yield_limit_ns;
    return now >= wait->yield_after_ns;
}

// One that is held to its share does not learn who else computes.
static void note_yield(struct wait *wait)
{
    uint64_t before = wait->yielded_ns;
    wait->yielded_ns = clock_now_ns();
    if (session_word_idle(session_word()))
        contention_forget();
    else
        contention_yielded(wait->yielded_ns, wait->yielded_ns - before);
}

static void prepare_yield(struct wait *wait)
{
    wait->yields++;
    doorbell_ring_now_and_then(wait->yields, wait->yields == 1 ? wait->peer : DOORBELL_ALL);
    if (wait_adapts && wait->yielded_ns == 0)
        wait->yielded_ns = clock_now_ns();
}

static void pause_yielding(struct wait *wait)
{
    if (!time_to_yield(wait))
        return;
    prepare_yield(wait);
    sched_yield();
    stats_add(STATS_YIELDS, 1);
    if (wait_adapts)
        note_yield(wait);
}

// A scheduled rank that has a CPU of its own, of a job that shares its nodes: see courtesy.h.
static bool is_courteous(const struct wait *wait)
{
    uint64_t word = session_word();
    return wait_adapts && carrier.on && wait->polls > POLLS_BEFORE_COURTESY &&
           session_word_contended(word) && !session_word_idle(word);
}

static void yield_by_courtesy(void)
{
    static _Thread_local struct courtesy courtesy;
    uint64_t before_ns = clock_now_ns();
    if (!courtesy_allows(&courtesy, before_ns))
        return;
    sched_yield();
    stats_add(STATS_YIELDS, 1);
    courtesy_took(&courtesy, clock_now_ns() - before_ns);
}

bool wait_yields_within(struct wait *wait)
{
    wait->polls++;
    if (doorbell_announced)
        doorbell_withdraw();
    if (wait_adapts && wait->yielded_ns != 0)
        note_yield(wait);
    if (!time_to_yield(wait))
        return false;
    prepare_yield(wait);
    stats_add(STATS_YIELDS, 1);
    return true;
}

bool wait_sleeps_now(void)
{
    return wait_blocks && (!wait_adapts || contention_known()) &&
           !(carrier.on && session_word_idle(session_word()));
}

static void give_away(struct wait *wait, bool sleeps)
{
    if (sleeps) {
        wait->yielded_ns = 0;
        block_pause(&wait->block, wait->peer);
        return;
    }
    if (doorbell_announced)
        doorbell_withdraw();
    if (wait_yields)
        pause_yielding(wait);
    else if (is_courteous(wait))
        yield_by_courtesy();
}

// True: first it is looked whether the last poll has brought what is waited for. Else the CPU would
// be given away beside a message that is there, and a sleeper not be rung that has not slept yet.
static bool is_to_look_again(struct wait *wait)
{
    wait->looked = wait->looks_first && !wait->looked;
    return wait->looked;
}

void wait_pause(struct wait *wait)
{
    wait->polls++;
    if (is_to_look_again(wait))
        return;
    bool sleeps = wait_sleeps_now();
    if (carrier.on) {
        carrier_look();
        if (session_word_idle(session_word()))
            pause_idle(wait);
        else
            pause_scheduled(wait, sleeps);
    }
    give_away(wait, sleeps);
}

void wait_pause_within(struct wait *wait, bool sleeps)
{
    wait->polls++;
    give_away(wait, sleeps);
}

void wait_tested_in_vain(void)
{
    static _Atomic uint64_t rang_ns;
    if (doorbell_announced)
        doorbell_withdraw();
    doorbell_fence(); // what the test has moved comes first
    if (atomic_load_explicit(&doorbell.room->asleep, memory_order_relaxed) == 0)
        return;
    uint64_t now = clock_now_ns();
    if (now - atomic_load_explicit(&rang_ns, memory_order_relaxed) < LOOKS_RING_NS)
        return;
    atomic_store_explicit(&rang_ns, now, memory_order_relaxed);
    doorbell_ring(DOORBELL_ALL);
}

#ifdef OPEN_MPI

void wait_progress(void)
{
    static _Atomic(void *) progress; // itself: there is none
    void *found = atomic_load_explicit(&progress, memory_order_relaxed);
    if (found == NULL) {
        found = core_find("opal_progress");
        if (found == NULL)
            found = &progress;
        atomic_store_explicit(&progress, found, memory_order_relaxed);
    }
    if (found != &progress)
        ((int (*)(void))found)();
}

#else

void wait_progress(void)
{
}

#endif

bool wait_polls_on(MPI_Comm comm)
{
    return peers_intra(comm) &&
           (!atomic_load_explicit(&strangers, memory_order_relaxed) || peers_ours(comm));
}

void wait_merged(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && !peers_ours(comm))
        atomic_store_explicit(&strangers, true, memory_order_relaxed);
}

#ifndef OPEN_MPI

// Predefined, but with gaps, so that they are not among the basic ones: those of MPI_MINLOC.
static bool is_pair(MPI_Datatype type)
{
    return type == MPI_DOUBLE_INT || type == MPI_FLOAT_INT || type == MPI_2INT ||
           type == MPI_LONG_INT || type == MPI_SHORT_INT || type == MPI_LONG_DOUBLE_INT;
}

#endif

// Whether a type that MPI has not seen yet is one. Asked for its size MPI would tell of a wrong one
// to MPI_COMM_WORLD's error handler, though the call to come has a communicator with another. So it
// is tried in a request on the private one, where nobody is told, which is never started.
static bool is_type(MPI_Datatype type)
{
    if (wire_basic_size(type) != 0)
        return true;
    if (type == MPI_DATATYPE_NULL || type == (MPI_Datatype)0)
        return false;
#ifndef OPEN_MPI // where any other handle is taken for one
    static const char anything = 0;
    const struct mpi_next *mpi = &mpi_next[1];
    MPI_Request trial = MPI_REQUEST_NULL;
    if (is_pair(type))
        return true;
    if (mpi->Send_init(&anything, 1, type, job.rank, 0, job.comm, &trial) != MPI_SUCCESS)
        return false;
    mpi->Request_free(&trial);
#endif
    return true;
}

static uint64_t bytes_of(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == MPI_DATATYPE_NULL || next->Type_size_x(type, &size) != MPI_SUCCESS || size <= 0 ||
        count <= 0)
        return 0;
    return count < INT64_MAX / size ? (uint64_t)(count * size) : INT64_MAX;
}

void wait_expects_message(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    block_expect(bytes_of(next, count, type));
}

void wait_will_expect(const struct mpi_next *next, MPI_Count count, MPI_Datatype type)
{
    if (is_type(type))
        block_expect(bytes_of(next, count, type));
}

// The handle may have been that of another request, which was freed.
void wait_keeps(const struct mpi_next *next, MPI_Request request, MPI_Count count,
                MPI_Datatype type)
{
    uint64_t bytes = bytes_of(next, count, type);
    bool failed;
    if (bytes >= BLOCK_LARGE_BYTES)
        requests_insert(&large, (uintptr_t)request, (void *)(uintptr_t)bytes, &failed);
    else
        wait_forgets(&request);
}

void wait_begins(int count, const MPI_Request *requests)
{
    if (!wait_blocks || requests_none(&large))
        return;
    for (int i = 0; i < count; i++)
        block_expect((uintptr_t)requests_find(&large, (uintptr_t)requests[i]));
}

void wait_forgets(const MPI_Request *request)
{
    if (!requests_none(&large) && request != NULL)
        requests_take(&large, (uintptr_t)*request);
}

bool wait_is_small(const struct mpi_next *next, MPI_Comm comm, MPI_Count count, MPI_Datatype type,
                   bool blocks)
{
    int ranks = 1;
    uint64_t bytes = is_type(type) ? bytes_of(next, count, type) : 0;
    return bytes <= INT_MAX && (!blocks || (next->Comm_size(comm, &ranks) == MPI_SUCCESS &&
                                            bytes * (uint64_t)ranks <= INT_MAX));
}
