#include "pmpi/variant/wait.h"

#include "common/units.h"
#include "pmpi/variant/arrivals.h"

#include <sched.h>

enum {
    POLLS_BEFORE_YIELD = 10, // a reply that is on its way is cheaper to wait for than to yield for
    POLLS_PER_LOOK = 16,     // of an idle rank, for notices and before it sleeps
    NAPS = 4,                // of an idle rank, between polls
    POLLS_PER_CLOCK = 256,   // of a scheduled rank, which polls some million times a second
};

// A scheduled rank that has waited this long tells its peers again: they may have become idle, or
// have asked for the CPU in vain.
#define STILL_WAITING_NS UINT64_C(50000000)

// How late a sleeping rank learns that its job is scheduled, unless something comes for it before.
#define NAP_NS (2 * NS_PER_MS)

// Nobody is idle for longer than the other jobs' slices: a status that says so is not believed for
// ever, should whoever lifted the limits not have been able to say it.
#define IDLE_MAX_NS (120 * NS_PER_SEC)

bool wait_yields;
bool wait_collectives_polled;
_Atomic bool wait_persistent_collectives;

static void pause_scheduled(struct wait *wait)
{
    if (wait->polls % POLLS_PER_CLOCK != 0)
        return;
    uint64_t now = clock_now_ns();
    if (wait->last_word_ns == 0)
        wait->last_word_ns = now;
    if (now - wait->last_word_ns < STILL_WAITING_NS)
        return;
    wait->last_word_ns = now;
    carrier_still_waiting();
}

static bool is_idle_long(uint64_t word)
{
    static _Atomic uint64_t since_ns;
    static _Atomic uint32_t epoch;
    uint64_t now = clock_now_ns();
    if (atomic_exchange_explicit(&epoch, status_word_epoch(word), memory_order_relaxed) !=
        status_word_epoch(word))
        atomic_store_explicit(&since_ns, now, memory_order_relaxed);
    return now - atomic_load_explicit(&since_ns, memory_order_relaxed) > IDLE_MAX_NS;
}

// An idle rank has one millisecond of CPU time in a hundred. Spent on polls, it is gone when a
// message comes, and the job stays idle here until the next hundred begin. So the rank sleeps.
static void pause_idle(const struct wait *wait)
{
    if (wait->polls % POLLS_PER_LOOK != 0)
        return;
    carrier_idle_look();
    uint64_t word = session_word();
    if (is_idle_long(word))
        return;
    for (int i = 0; i < NAPS && session_word_idle(session_word()); i++) {
        if (arrivals_sleep(NAP_NS))
            return;
    }
}

void wait_pause(struct wait *wait)
{
    wait->polls++;
    if (carrier.on) {
        carrier_look();
        if (session_word_idle(session_word()))
            pause_idle(wait);
        else
            pause_scheduled(wait);
    }
    if (wait_yields && wait->polls > POLLS_BEFORE_YIELD)
        sched_yield();
}

bool wait_polls_on(MPI_Comm comm)
{
    int inter = 0;
    return mpi_next[1].Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

void wait_for_collectives(const struct mpi_next *next, int count, const MPI_Request *requests)
{
    struct wait wait = wait_new();
    for (int i = 0; i < count; i++) {
        int flag = 0;
        while (next->Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               !flag)
            wait_pause(&wait);
    }
}

int wait_request(const struct mpi_next *next, MPI_Request *request)
{
    struct wait wait = wait_new();
    int flag = 0, rc;
    while ((rc = next->Test(request, &flag, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !flag)
        wait_pause(&wait);
    return rc;
}

int wait_for_message(const struct mpi_next *next, MPI_Request *trial, int source, int tag,
                     MPI_Comm comm)
{
    struct wait wait = wait_new();
    int flag = 0, rc;
    next->Request_free(trial);
    while ((rc = next->Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !flag)
        wait_pause(&wait);
    return rc;
}

int wait_sent(const struct mpi_next *next, int rc, MPI_Request *trial, MPI_Request *send)
{
    if (*trial != MPI_REQUEST_NULL)
        next->Request_free(trial);
    if (*send == MPI_REQUEST_NULL)
        return rc;
    if (rc == MPI_SUCCESS)
        return wait_request(next, send);
    next->Request_free(send); // nobody may be there to take it
    return rc;
}
